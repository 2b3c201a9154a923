/*
 * States that begin with the numbers of files (--init STATE=FILE): every kind, type and order in memory, on threads and
 * nodes, read back by hawser_result after a unit has changed them; and files that do not fit are refused with one line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "directory.h"
#include "hawser/moving.h"
#include "hawser/stored.h"
#include "job.h"
#include "nodes.h"

enum { WORKERS = 3, COLUMNS = 8, MOST = 32 };

/* --------------------------------------------------------------------------------------------------------- files ---- */

/* Writes an .npy file, as numpy does. */
static void put_npy(const char *path, const char *type, bool fortran, const char *shape, const void *numbers, size_t bytes)
{
    char header[118 + 1], text[100];
    (void)snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", type,
                   fortran ? "True" : "False", shape);
    (void)snprintf(header, sizeof header, "%-117s\n", text);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite("\x93NUMPY\1\0\x76\0", 1, 10, file), 10);
    assert_int_equal(fwrite(header, 1, 118, file), 118);
    assert_int_equal(fwrite(numbers, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* ------------------------------------------------------------------------------------------------------- program ---- */

static double data[COLUMNS];
static const hawser_matrix matrix = {.rows = 1, .cols = COLUMNS, .stored = COLUMNS, .values = data, .stride = 1};

static const double counts[] = {1, 0, 3, 2};
static const uint64_t offsets[] = {0, 1, 1, 3, 4};
static const uint32_t indices[] = {0, 0, 1, 1};
static const hawser_matrix sparse = {
    .rows = 4, .cols = 2, .stored = 4, .layout = HAWSER_CSR, .offsets = offsets, .indices = indices, .values = counts};

#define STATES "w", "f", "rows", "columns", "own", "block", "kept", "added", "n", "z"

static hawser_status add_to_parts(hawser_context *context)
{
    hawser_moving_part part;
    for (;;) {
        HAWSER_TRY(hawser_next_part(context, "n", &part));
        if (part.number == UINT32_MAX)
            return HAWSER_OK;
        for (size_t i = 0; i < part.count; i++)
            ((int64_t *)part.values)[i] += 1;
    }
}

/* Adds 1 to every number of its parts. Block 0 adds 1 to every number of the replicated states, and to every number of
 * "added". */
static hawser_status add_one(hawser_context *context)
{
    static const uint64_t keys[] = {0, 1, 2, 3, 4};
    static const double ones[] = {1, 1, 1, 1, 1};
    HAWSER_WRITE(context, double, w);
    HAWSER_WRITE(context, double, own);
    HAWSER_WRITE(context, double, kept);
    HAWSER_WRITE(context, float, f);
    HAWSER_WRITE(context, int64_t, rows);
    HAWSER_WRITE(context, int32_t, columns);
    HAWSER_WRITE(context, int32_t, block);
    HAWSER_WRITE(context, int32_t, z);
    for (size_t i = 0; hawser_block(context) == 0 && i < 6; i++)
        w[i] += 1;
    for (size_t i = 0; hawser_block(context) == 0 && i < 5; i++)
        f[i] += 1;
    for (size_t i = 0; i < hawser_part(context, "rows", NULL); i++)
        rows[i] += 1;
    for (size_t i = 0; i < hawser_part(context, "columns", NULL); i++)
        columns[i] += 1;
    for (size_t i = 0; i < hawser_part(context, "own", NULL); i++)
        own[i] += 1;
    for (size_t i = 0; i < 2; i++)
        block[i] += 1;
    for (size_t i = 0; i < hawser_part(context, "kept", NULL); i++)
        kept[i] += 1;
    for (size_t i = 0; i < hawser_part(context, "z", NULL); i++)
        z[i] += 1;
    HAWSER_TRY(add_to_parts(context));
    return hawser_block(context) == 0 ? hawser_inc(context, "added", keys, ones, 5) : HAWSER_OK;
}

static hawser_status rebuild(hawser_context *context)
{
    (void)context;
    return HAWSER_OK;
}

static hawser_program *make(void)
{
    static const int32_t sevens[] = {7, 8}; /* must live until the run */
    static const size_t lines[] = {0, 2, 3, 7}, cut[] = {0, 1, 1, 3};
    hawser_program *p = hawser_program_new("first values", NULL);
    hawser_state *X = HAWSER_STATE(p, "X", HAWSER_DATA, .matrix = &matrix, .split = HAWSER_BY_COLUMN);
    hawser_state *w = HAWSER_STATE(p, "w", HAWSER_REPLICATED, .rows = 3, .cols = 2, .by_column = true);
    hawser_state *f = HAWSER_STATE(p, "f", HAWSER_REPLICATED, .type = HAWSER_F32, .rows = 5);
    hawser_state *rows = HAWSER_STATE(p, "rows", HAWSER_PARTITIONED, .type = HAWSER_I64, .rows = 4, .cols = 2);
    hawser_state *columns =
        HAWSER_STATE(p, "columns", HAWSER_PARTITIONED, .type = HAWSER_I32, .rows = 2, .cols = 5, .by_column = true);
    hawser_state *own = HAWSER_STATE(p, "own", HAWSER_LOCAL, .along = X, .cols = 2);
    hawser_state *block =
        HAWSER_STATE(p, "block", HAWSER_LOCAL, .type = HAWSER_I32, .each = true, .rows = 2, .initial = sevens);
    hawser_state *kept = HAWSER_STATE(p, "kept", HAWSER_STORED, .rows = 7);
    hawser_state *added = HAWSER_STATE(p, "added", HAWSER_STORED, .rows = 5, .function = "add");
    hawser_state *n =
        HAWSER_STATE(p, "n", HAWSER_MOVING, .type = HAWSER_I64, .lines = 3, .offsets = lines, .parts = 3, .cut = cut);
    hawser_state *Y = HAWSER_STATE(p, "Y", HAWSER_DATA, .matrix = &sparse, .split = HAWSER_BY_ROW);
    hawser_state *z = HAWSER_STATE(p, "z", HAWSER_ENTRIES, .type = HAWSER_I32, .along = Y, .by_value = true);
    hawser_state *derived = HAWSER_STATE(p, "derived", HAWSER_REPLICATED, .rows = 2, .derive = rebuild);
    (void)HAWSER_STATE(p, "unused", HAWSER_REPLICATED, .rows = 2);
    hawser_operator *loop = hawser_loop(hawser_root(p), "loop", (hawser_until){.clocks = 1}, hawser_bsp());
    HAWSER_UNIT(loop, "add", add_one, .reads = {X, Y, derived},
                .updates = {w, f, rows, columns, own, block, kept, added, n, z});
    return p;
}

static double number_of(const hawser_run *run, const char *state, size_t i, size_t *count)
{
    const double *f64;
    const float *f32;
    const int64_t *i64;
    if (hawser_result(run, state, &f64, count, NULL) == HAWSER_OK)
        return f64[i];
    if (hawser_result(run, state, &f32, count, NULL) == HAWSER_OK)
        return (double)f32[i];
    if (hawser_result(run, state, &i64, count, NULL) == HAWSER_OK)
        return (double)i64[i];
    return RESULT(int32_t, run, state, count)[i];
}

/* Number i of each state in its file, in the order of the result. */
static double first(size_t state, size_t i)
{
    return (double)(100 * (state + 1) + i);
}

/* Writes the files of all states and stores the option. Matrices are written across their order in memory, too. */
static void write_files(char option[600])
{
    double w[6], kept[7], added[5];
    int64_t rows[8];
    int32_t columns[10], block[6], z[6];
    int64_t n[7];
    for (size_t i = 0; i < 3; i++) /* C order of a state that is column-major */
        for (size_t j = 0; j < 2; j++)
            w[i * 2 + j] = first(0, j * 3 + i);
    for (size_t i = 0; i < 4; i++) /* Fortran order of a state that is row-major */
        for (size_t j = 0; j < 2; j++)
            rows[j * 4 + i] = (int64_t)first(2, i * 2 + j);
    for (size_t i = 0; i < 10; i++)
        columns[i] = (int32_t)first(3, i);
    for (size_t i = 0; i < 6; i++)
        block[i] = (int32_t)first(5, i);
    for (size_t i = 0; i < 7; i++)
        kept[i] = first(6, i);
    for (size_t i = 0; i < 5; i++)
        added[i] = first(7, i);
    for (size_t i = 0; i < 7; i++)
        n[i] = (int64_t)first(8, i);
    for (size_t i = 0; i < 6; i++)
        z[i] = (int32_t)first(9, i);
    put_npy("n.npy", "<i8", false, "(7,)", n, sizeof n);
    put_npy("z.npy", "<i4", false, "(6,)", z, sizeof z);
    put_npy("w.npy", "<f8", false, "(3, 2)", w, sizeof w);
    put_file("f.txt", "200\n201.0\n 202\t\n2.03e2\r\n204");
    put_npy("rows.npy", "<i8", true, "(4, 2)", rows, sizeof rows);
    put_npy("columns.npy", "<i4", true, "(2, 5)", columns, sizeof columns);
    char own[200] = "";
    for (size_t i = 0; i < 2 * (size_t)COLUMNS; i++)
        (void)snprintf(own + strlen(own), sizeof own - strlen(own), "%g\n", first(4, i));
    put_file("own,b.txt", own);
    put_npy("block.npy", "<i4", false, "(3, 2)", block, sizeof block);
    put_npy("kept.npy", "<f8", false, "(7,)", kept, sizeof kept);
    put_npy("added.npy", "<f8", false, "(5, 1)", added, sizeof added);
    (void)snprintf(option, 600,
                   "w=w.npy,f=f.txt,rows=rows.npy,columns=columns.npy,own=own,b.txt,block=block.npy,kept=kept.npy,"
                   "added=added.npy,n=n.npy,z=z.npy");
}

/* Runs the program twice: the first run begins with the files, the second as the program says. */
static void check_runs(hawser_job *job)
{
    static const char *const names[] = {STATES};
    for (int again = 0; again < 2; again++) {
        hawser_error error = {0};
        hawser_run *run = NULL;
        hawser_program *program = make();
        if (hawser_run_program(job, program, &run, &error) != HAWSER_OK)
            fail_msg("%s", error.text);
        for (size_t s = 0; s < sizeof names / sizeof *names; s++) {
            size_t count = 1;
            for (size_t i = 0; i < count; i++) {
                double got = number_of(run, names[s], i, &count), zero = s == 5 ? 7 + (double)(i % 2) : 0;
                if (got != (again ? zero : first(s, i)) + 1)
                    fail_msg("run %d: number %zu of '%s' is %g", again, i, names[s], got);
            }
        }
        hawser_run_free(run);
        hawser_program_free(program);
    }
}

static void states_begin_with_the_numbers_of_files_on_threads(void **state)
{
    (void)state;
    char option[600];
    write_files(option);
    for (int threads = 1; threads <= 2; threads++) {
        test_job test = OPEN_JOB("workers", "3", "threads", threads == 1 ? "1" : "2", "init", option);
        check_runs(test.job);
        close_job(test);
    }
}

static void body(test_node *node)
{
    check_runs(node->job);
}

static void states_begin_with_the_numbers_of_files_on_nodes(void **state)
{
    (void)state;
    char option[600];
    write_files(option);
    test_node nodes[NODES_MOST];
    const char *const pairs[] = {"workers", "3", "init", option, NULL};
    for (uint32_t count = 2; count <= 3; count++) {
        run_nodes(nodes, count, pairs, body, NULL);
        check_all(nodes, count, "first values");
    }
}

/* Node 1 reads another file than node 0. */
static void other_body(test_node *node)
{
    hawser_run *run = NULL;
    hawser_program *program = make();
    if (node->node == 1)
        node->job->first.items[0].path[0] = 'v';
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    hawser_run_free(run);
    hawser_program_free(program);
}

static void nodes_whose_files_differ_are_refused(void **state)
{
    (void)state;
    double numbers[6] = {1, 2, 3, 4, 5, 6};
    put_npy("w", "<f8", true, "(3, 2)", numbers, sizeof numbers);
    numbers[5] = nextafter(6, 7);
    put_npy("v", "<f8", true, "(3, 2)", numbers, sizeof numbers);
    test_node nodes[NODES_MOST];
    const char *const pairs[] = {"workers", "3", "init", "w=w", NULL};
    run_nodes(nodes, 2, pairs, other_body, NULL);
    assert_int_equal(nodes[0].status, HAWSER_BAD_PROGRAM);
    if (strstr(nodes[0].error.text, "digest") == NULL || strstr(nodes[0].error.text, "state 'w'") == NULL)
        fail_msg("%s", nodes[0].error.text);
}

/* ------------------------------------------------------------------------------------------------------ refusals ---- */

static const struct {
    const char *option, *says;
} refusals[] = {
    {"w=none.npy", "--init: replicated state 'w' of f64 cannot begin with this file: cannot open 'none.npy'"},
    {"w=.", "cannot begin with this file: .: cannot be read: Is a directory"},
    {"w=wide.npy", "wide.npy: has the shape 2 x 3, and 3 x 2 is expected"},
    {"w=five.npy", "five.npy: has 5 numbers, and 6 (3 x 2) are expected"},
    {"w=single.npy", "single.npy: has numbers of type '<f4', and '<f8' is expected; save the array as '<f8'"},
    {"w=short.npy", "short.npy: has 40 bytes after its header, and its shape takes 48"},
    {"w=nan.npy", "--init: nan.npy: number 4, for state 'w', is nan; all must be finite"},
    {"w=cut.npy", "cut.npy: is not an .npy file, or is cut off in its header"},
    {"f=two.txt", "two.txt: has 2 lines, and 5 (5 x 1) are expected"},
    {"f=six.txt", "six.txt: has more lines than the 5 (5 x 1) that are expected"},
    {"f=word.txt", "word.txt:3: 'two' is no finite number; one is expected in each line"},
    {"f=large.txt", "large.txt:2: '1e39' is no finite number"},
    {"f=inf.txt", "inf.txt:1: 'inf' is no finite number"},
    {"columns=i32.txt", "i32.txt:1: '2147483648' is no integer of 32 bits"},
    {"rows=point.txt", "point.txt:1: '1.5' is no integer of 64 bits"},
    {"block=five.npy", "five.npy: has numbers of type '<f8', and '<i4' is expected"},
    {"derived=f.txt", "--init does nothing here: state 'derived' is derived from other states"},
    {"unused=f.txt", "--init does nothing here: state 'unused' is used by no unit"},
    {"X=f.txt", "--init does nothing here: state 'X' is data"},
    {"q=f.txt", "--init does nothing here: the program has no state 'q'; states: w, f, rows"},
    {"model.st", "--init does nothing here: the program reads no model to start from; give --init STATE=FILE"},
    {"w=five.npy,w=wide.npy", "names two files for state w; give one"},
    {"w=", "a state has no file"},
};

/* Stores the error of a plan with the option from `source`; "" if there is a plan. */
static void plan(const char *option, hawser_source source, char said[700])
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_error error = {0};
    said[0] = '\0';
    assert_int_equal(hawser_options_new(tables, &options, &error), HAWSER_OK);
    assert_int_equal(hawser_options_set(options, "workers", "3", source, "--workers", &error), HAWSER_OK);
    hawser_status status = hawser_options_set(options, "init", option, source, "--init", &error);
    if (status == HAWSER_OK)
        assert_int_equal(hawser_open_options(options, &job, &error), HAWSER_OK);
    hawser_program *program = make();
    FILE *nowhere = fopen("/dev/null", "we");
    if (status == HAWSER_OK)
        status = hawser_plan_print(job, program, HAWSER_PLAN_PHYSICAL, nowhere, &error);
    if (status != HAWSER_OK)
        (void)snprintf(said, 700, "%.699s", error.text);
    fclose(nowhere);
    hawser_program_free(program);
    hawser_close(job);
    hawser_options_free(options);
}

static void file_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    const double numbers[6] = {1, 2, 3, 4, NAN, 6};
    const float singles[6] = {1, 2, 3, 4, 5, 6};
    put_npy("wide.npy", "<f8", false, "(2, 3)", numbers, sizeof numbers);
    put_npy("five.npy", "<f8", false, "(5,)", numbers, 5 * sizeof *numbers);
    put_npy("single.npy", "<f4", false, "(3, 2)", singles, sizeof singles);
    put_npy("short.npy", "<f8", false, "(3, 2)", numbers, 5 * sizeof *numbers);
    put_npy("nan.npy", "<f8", true, "(3, 2)", numbers, sizeof numbers);
    put_file("cut.npy", "\x93NUMPY\1");
    put_file("two.txt", "1\n2\n");
    put_file("six.txt", "1\n2\n3\n4\n5\n6\n");
    put_file("word.txt", "1\n2\ntwo\n4\n5\n");
    put_file("large.txt", "1\n1e39\n2\n3\n4\n");
    put_file("inf.txt", "inf\n1\n2\n3\n4\n");
    put_file("i32.txt", "2147483648\n1\n");
    put_file("point.txt", "1.5\n1\n");
    put_file("f.txt", "1\n2\n");
    char said[700];
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        plan(refusals[i].option, HAWSER_FROM_COMMAND_LINE, said);
        if (strstr(said, refusals[i].says) == NULL)
            fail_msg("--init %s: expected '%s', not '%s'", refusals[i].option, refusals[i].says, said);
    }
    plan("derived=f.txt", HAWSER_FROM_ENVIRONMENT, said); /* noted */
    assert_string_equal(said, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(states_begin_with_the_numbers_of_files_on_threads, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(states_begin_with_the_numbers_of_files_on_nodes, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(nodes_whose_files_differ_are_refused, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(file_that_does_not_fit_is_refused, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
