/*
 * Entries on other nodes are never taken for zeros: a split by rows of an input that the nodes share is refused in the plan,
 * a unit that looks at a whole input without fetching fails by name, and so does one whose kernel touches a column of
 * another node.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "directory.h"
#include "hawser/job_data.h"
#include "nodes.h"
#include "sanitized.h"

enum { ROWS = 60, COLS = 12, FILES = 2 };

/* The n-th reading of a matrix in a unit. */
typedef hawser_status read_function(hawser_context *context, const hawser_matrix *A, double *sum);

typedef struct probe {
    const char *paths[FILES]; /* the second may be NULL */
    hawser_split split;
    read_function *read, *kernel;
    bool fetch;              /* all columns first */
    bool one;                /* on one block */
    bool around;             /* by the dataset's own matrix, not by the view */
    const hawser_sync *sync; /* in a loop under this sync; NULL: in no loop */
    bool counted;            /* the columns that nodes receive are those of the other nodes, once each */
    double expected;         /* what the reading of all blocks comes to; NAN: it is refused */
    const char *words[3];    /* of the refusal */
    bool in_plan;            /* it is refused there, too */
} probe;

static void write_dense(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "y,a,b,c,d,e,f,g,h,i,j,k,l\n");
    for (int i = 0; i < ROWS; i++) {
        fprintf(file, "%d", i);
        for (int j = 0; j < COLS; j++)
            fprintf(file, ",%d", 1 + (i + 3 * j) % 7);
        fputc('\n', file);
    }
    fclose(file);
}

/* The first `heavy` columns have an entry in every row, the others in every second one. */
static void write_sparse(const char *path, int heavy)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < ROWS; i++) {
        fprintf(file, "%d", i);
        for (int j = 0; j < COLS; j++)
            if (j < heavy || (i + j) % 2 == 0)
                fprintf(file, " %d:%d", j + 1, 1 + (i + 3 * j) % 7);
        fputc('\n', file);
    }
    fclose(file);
}

static double value(const hawser_matrix *A, uint64_t entry)
{
    return A->type == HAWSER_F32 ? (double)((const float *)A->values)[entry] : ((const double *)A->values)[entry];
}

/* Without a kernel, as a unit's inner loop may do it. */
static hawser_status walk(hawser_context *context, const hawser_matrix *A, double *sum)
{
    (void)context;
    for (size_t j = 0; j < A->cols; j++)
        if (A->layout == HAWSER_DENSE)
            for (size_t i = 0; i < A->rows; i++)
                *sum += value(A, j * A->stride + i);
        else
            for (uint64_t e = A->offsets[j]; e < A->offsets[j + 1]; e++)
                *sum += value(A, e);
    return HAWSER_OK;
}

static hawser_status own_columns(hawser_context *context, const hawser_matrix *A, double *sum)
{
    HAWSER_READ(context, hawser_matrix, own);
    double ones[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        ones[i] = 1;
    HAWSER_TRY(hawser_data_fetch(context, "data", NULL, 0)); /* says that no others are looked at */
    for (size_t j = own->first; j < own->first + own->cols; j++)
        *sum += hawser_column_dot(A, j, ones);
    return HAWSER_OK;
}

/* One kernel each: the sum of a matrix, by kernels alone. */
static const double *ones(void)
{
    static const double one[ROWS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    return one;
}

static const uint32_t numbers[COLS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static void add_up(const double *values, size_t count, double *sum)
{
    for (size_t i = 0; i < count; i++)
        *sum += values[i];
}

static hawser_status by_dot(hawser_context *context, const hawser_matrix *A, double *sum)
{
    (void)context;
    for (size_t j = 0; j < A->cols; j++)
        *sum += hawser_column_dot(A, j, ones());
    return HAWSER_OK;
}

static hawser_status by_axpy(hawser_context *context, const hawser_matrix *A, double *sum)
{
    double out[ROWS] = {0};
    (void)context;
    for (size_t j = 0; j < A->cols; j++)
        hawser_column_axpy(A, j, 1, out);
    add_up(out, A->rows, sum);
    return HAWSER_OK;
}

static hawser_status by_moments(hawser_context *context, const hawser_matrix *A, double *sum)
{
    (void)context;
    for (size_t j = 0; j < A->cols; j++) {
        double one, squares;
        hawser_column_moments(A, j, NULL, ROWS, 0, &one, &squares);
        *sum += one;
    }
    return HAWSER_OK;
}

static hawser_status by_scan(hawser_context *context, const hawser_matrix *A, double *sum)
{
    double out[COLS];
    (void)context;
    hawser_scan(A, ones(), out);
    add_up(out, A->cols, sum);
    return HAWSER_OK;
}

static hawser_status by_scan_some(hawser_context *context, const hawser_matrix *A, double *sum)
{
    double out[COLS];
    (void)context;
    hawser_scan_some(A, numbers, A->cols, ones(), out);
    add_up(out, A->cols, sum);
    return HAWSER_OK;
}

static hawser_status by_combine(hawser_context *context, const hawser_matrix *A, double *sum)
{
    double out[ROWS] = {0};
    (void)context;
    hawser_combine(A, numbers, ones(), A->cols, out);
    add_up(out, A->rows, sum);
    return HAWSER_OK;
}

static hawser_status by_multiply(hawser_context *context, const hawser_matrix *A, double *sum)
{
    double out[ROWS];
    (void)context;
    hawser_multiply(A, ones(), 0, out);
    add_up(out, A->rows, sum);
    return HAWSER_OK;
}

/* By a view of all columns and one of all rows, which are the matrix itself. */
static hawser_status by_views(hawser_context *context, const hawser_matrix *A, double *sum)
{
    hawser_matrix columns = hawser_matrix_columns(A, 1, A->cols), rows;
    *sum += hawser_column_dot(A, 0, ones());
    if (A->layout != HAWSER_DENSE)
        return by_scan(context, &columns, sum);
    rows = hawser_matrix_rows(&columns, 0, 7);
    HAWSER_TRY(by_scan(context, &rows, sum));
    rows = hawser_matrix_rows(&columns, 7, A->rows);
    return by_scan(context, &rows, sum);
}

/* The sum of the Gram matrix's entries is the square of the rows' sums: what it says is compared with those of all
 * kernels. */
static hawser_status by_gram(hawser_context *context, const hawser_matrix *A, double *sum)
{
    double G[COLS * COLS], products = 0, squares = 0, out[ROWS] = {0};
    hawser_error error;
    if (hawser_gram(A, numbers, 0, A->cols, NULL, G, COLS, &error) != HAWSER_OK)
        return hawser_unit_fail(context, error.status, "%s", error.text);
    add_up(G, COLS * COLS, &products);
    HAWSER_TRY(walk(context, A, sum));
    for (size_t j = 0; j < A->cols; j++)
        for (uint64_t e = 0; e < (A->layout == HAWSER_DENSE ? A->rows : A->offsets[j + 1] - A->offsets[j]); e++)
            if (A->layout == HAWSER_DENSE)
                out[e] += value(A, j * A->stride + e);
            else
                out[A->indices[A->offsets[j] + e]] += value(A, A->offsets[j] + e);
    for (size_t i = 0; i < A->rows; i++)
        squares += out[i] * out[i];
    return fabs(products - squares) <= 1e-9 * squares ? HAWSER_OK
                                                      : hawser_unit_fail(context, HAWSER_INTERNAL, "another Gram matrix");
}

/* What the units of a program read. */
typedef struct reading {
    const probe *what;
    const hawser_matrix *matrix;
} reading;

static hawser_status look(hawser_context *context)
{
    const reading *given = hawser_user(context);
    const probe *what = given->what;
    double sum = 0;
    const hawser_matrix *A = given->matrix;
    if (!what->around)
        HAWSER_TRY(hawser_read(context, "data", &A));
    if (what->fetch)
        HAWSER_TRY(hawser_data_fetch(context, "data", numbers, A->cols));
    HAWSER_TRY(what->read(context, A, &sum));
    return hawser_report(context, "sum", sum);
}

static hawser_program *make(reading *given, const hawser_dataset *const *data)
{
    const probe *what = given->what;
    given->matrix = hawser_dataset_matrix(data[0]);
    hawser_program *program = hawser_program_new("probe", given);
    hawser_state *state = HAWSER_STATE(program, "data", HAWSER_DATA, .data = data[0], .split = what->split);
    hawser_state *own = HAWSER_STATE(program, "own", HAWSER_DATA, .data = data[data[1] != NULL], .split = HAWSER_BY_COLUMN);
    hawser_metric_declare(program, "sum", HAWSER_SUM);
    hawser_operator *place = hawser_root(program);
    if (what->sync != NULL)
        place = hawser_loop(place, "again", (hawser_until){.clocks = 3}, *what->sync);
    if (what->one)
        HAWSER_UNIT(place, "look", look, .one = true, .reads = {state});
    else
        HAWSER_UNIT(place, "look", look, .reads = {state, own});
    return program;
}

static hawser_status check_plan(test_node *node, hawser_program *program, const probe *what)
{
    FILE *out = fopen("/dev/null", "w");
    hawser_error error = {0};
    if (out == NULL)
        return hawser_fail(&node->error, HAWSER_IO, "/dev/null cannot be opened");
    hawser_status status = hawser_plan_print(node->job, program, HAWSER_PLAN_PHYSICAL, out, &error);
    fclose(out);
    if (status == (what->in_plan ? HAWSER_BAD_PROGRAM : HAWSER_OK) &&
        (!what->in_plan || strstr(error.text, what->words[0]) != NULL))
        return HAWSER_OK;
    return hawser_fail(&node->error, HAWSER_INTERNAL, "the plan: %d %s", status, error.text);
}

/* Compares the columns that nodes have received with those that each lacked. */
static hawser_status check_received(test_node *node, const hawser_run *run, const hawser_matrix *A)
{
    enum { HEAD = 16 };
    const hawser_figures *figures = hawser_run_figures(run);
    uint64_t missing = 0, received = 0,
             entry = A->layout == HAWSER_DENSE ? sizeof(double) : sizeof(double) + sizeof(uint32_t);
    for (size_t j = 0; j < A->cols; j++) {
        uint64_t bytes = entry * (A->layout == HAWSER_DENSE ? A->rows : A->offsets[j + 1] - A->offsets[j]);
        missing += (node->nodes - 1) * ((bytes + 7) / 8 * 8 + HEAD);
    }
    for (size_t i = 0; i < figures->flow_count; i++)
        received += strcmp(figures->flows[i].name, "columns") == 0 ? figures->flows[i].bytes_plain : 0;
    return received == missing ? HAWSER_OK
                               : hawser_fail(&node->error, HAWSER_INTERNAL, "%llu bytes of columns were received, not %llu",
                                             (unsigned long long)received, (unsigned long long)missing);
}

static void run_probe(test_node *node)
{
    const probe *what = node->user;
    hawser_dataset *data[FILES] = {NULL, NULL};
    const hawser_load load = {0};
    for (int i = 0; i < FILES && node->status == HAWSER_OK && what->paths[i] != NULL; i++)
        node->status = hawser_job_load(node->job, &what->paths[i], 1, &load, &data[i], &node->error);
    if (node->status == HAWSER_OK) {
        reading given = {.what = what};
        hawser_program *program = make(&given, (const hawser_dataset *const *)data);
        hawser_run *run = NULL;
        if (node->nodes > 1)
            node->status = check_plan(node, program, what);
        if (node->status == HAWSER_OK)
            node->status = hawser_run_program(node->job, program, &run, &node->error);
        if (node->status == HAWSER_OK && node->node == 0 && !(hawser_result_metric(run, "sum") == what->expected))
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "the sum is %g instead of %g",
                                       hawser_result_metric(run, "sum"), what->expected);
        if (node->status == HAWSER_OK && node->node == 0 && what->counted)
            node->status = check_received(node, run, hawser_dataset_matrix(data[0]));
        hawser_run_free(run);
        hawser_program_free(program);
    }
    for (int i = 0; i < FILES; i++)
        hawser_dataset_free(data[i]);
}

/* Over so many nodes it is right, or refused everywhere in the words that are asked for. */
static void over_nodes(uint32_t count, probe what)
{
    test_node nodes[NODES_MOST];
    run_nodes(nodes, count, (const char *const[]){"workers", "4", "timeout", "60", NULL}, run_probe, &what);
    for (uint32_t i = 0; i < count; i++) {
        if (!isnan(what.expected) && nodes[i].status != HAWSER_OK)
            fail_msg("node %u of %u: %s", i, count, nodes[i].error.text);
        if (isnan(what.expected) && nodes[i].status != HAWSER_BAD_PROGRAM)
            fail_msg("node %u of %u: %d %s", i, count, nodes[i].status, nodes[i].error.text);
        for (int w = 0; isnan(what.expected) && w < 3 && what.words[w] != NULL; w++)
            if (strstr(nodes[i].error.text, what.words[w]) == NULL)
                fail_msg("node %u of %u does not say '%s': %s", i, count, what.words[w], nodes[i].error.text);
    }
}

static double sum_of(const char *path)
{
    const hawser_load load = {0};
    hawser_dataset *data = NULL;
    double sum = 0;
    assert_int_equal(hawser_dataset_load(&path, 1, &load, &data, NULL), HAWSER_OK);
    assert_int_equal(walk(NULL, hawser_dataset_matrix(data), &sum), HAWSER_OK);
    hawser_dataset_free(data);
    return sum;
}

static void split_by_rows_is_refused_over_nodes(void **state)
{
    (void)state;
    write_dense("a.csv");
    probe what = {.paths = {"a.csv"},
                  .split = HAWSER_BY_ROW,
                  .read = walk,
                  .expected = sum_of("a.csv"),
                  .words = {"data state 'data' is split by row", "columns"}};
    over_nodes(1, what);
    what.expected = (double)NAN;
    what.in_plan = true;
    over_nodes(2, what);
    over_nodes(3, what);
}

static read_function *const kernels[] = {by_dot,     by_axpy,     by_moments, by_scan, by_scan_some,
                                         by_combine, by_multiply, by_gram,    by_views};

static void fetched_states_are_right_or_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {"a.csv", "a.svm"};
    write_dense(paths[0]);
    write_sparse(paths[1], 0);
    for (int p = 0; p < 2; p++) {
        probe what = {.paths = {paths[p]}, .split = HAWSER_FETCHED, .read = walk, .expected = 4 * sum_of(paths[p])};
        over_nodes(1, what);
        what.fetch = true;
        over_nodes(2, what);
        what.fetch = false;
        what.expected = (double)NAN;
        what.words[0] = "unit 'look', block ";
        what.words[1] = "data state 'data'";
        what.words[2] = "hawser_data_fetch";
        over_nodes(2, what);
        over_nodes(3, what);
    }
}

/* The number of all entries is that of one node, by every kernel and by a walk, on each block and on one. */
static void whole_states_are_whole_over_nodes(void **state)
{
    (void)state;
    static const char *const paths[] = {"a.csv", "a.svm"};
    write_dense(paths[0]);
    write_sparse(paths[1], 0);
    for (int p = 0; p < 2; p++)
        for (size_t k = 0; k <= sizeof kernels / sizeof *kernels; k++) {
            bool walks = k == sizeof kernels / sizeof *kernels;
            probe what = {.paths = {paths[p]},
                          .split = HAWSER_WHOLE,
                          .read = walks ? walk : kernels[k],
                          .counted = true,
                          .expected = 4 * sum_of(paths[p])};
            for (uint32_t count = walks ? 1 : 3; count <= 4; count++)
                over_nodes(count, what);
            what.one = true;
            what.counted = false;
            what.expected = sum_of(paths[p]);
            over_nodes(3, what);
        }
}

static void whole_states_are_fetched_once_under_any_sync(void **state)
{
    (void)state;
    const hawser_sync syncs[] = {hawser_bsp(), hawser_ssp(1), hawser_tap()};
    write_sparse("a.svm", 5);
    for (int s = 0; s < 3; s++)
        for (uint32_t count = 1; count <= 3; count++)
            over_nodes(count, (probe){.paths = {"a.svm"},
                                      .split = HAWSER_WHOLE,
                                      .read = walk,
                                      .sync = &syncs[s],
                                      .counted = true,
                                      .expected = 4 * sum_of("a.svm")});
}

/* It fetches a column, so it knows that it has to; a kernel still sees the others. */
static hawser_status after_one_column(hawser_context *context, const hawser_matrix *A, double *sum)
{
    HAWSER_TRY(hawser_data_fetch(context, "data", numbers, 1));
    return ((const reading *)hawser_user(context))->what->kernel(context, A, sum);
}

static void kernels_record_columns_of_other_nodes(void **state)
{
    (void)state;
    static const char *const paths[] = {"a.csv", "a.svm"};
    write_dense(paths[0]);
    write_sparse(paths[1], 0);
    for (int p = 0; p < 2; p++)
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
            probe what = {.paths = {paths[p]},
                          .split = HAWSER_FETCHED,
                          .read = after_one_column,
                          .kernel = kernels[k],
                          .fetch = true,
                          .expected = 4 * sum_of(paths[p])};
            over_nodes(2, what);
            what.fetch = false;
            what.expected = (double)NAN;
            what.words[0] = "unit 'look', block ";
            what.words[1] = "of data state 'data'";
            what.words[2] = "hawser_data_fetch";
            over_nodes(2, what);
        }
}

static void kernels_over_the_input_itself_are_right_or_refused(void **state)
{
    (void)state;
    write_dense("a.csv");
    write_sparse("a.svm", 0);
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (int p = 0; p < 2; p++) {
            probe what = {.paths = {p == 0 ? "a.csv" : "a.svm"},
                          .split = HAWSER_BY_COLUMN,
                          .read = kernels[k],
                          .around = true,
                          .expected = (double)NAN,
                          .words = {"unit 'look', block ", "of data state 'data'", "hawser_data_fetch"}};
            over_nodes(2, what);
        }
}

static void own_columns_of_a_fetched_state_are_right(void **state)
{
    (void)state;
    write_sparse("a.svm", 0);
    probe what = {.paths = {"a.svm"}, .split = HAWSER_FETCHED, .read = own_columns, .expected = sum_of("a.svm")};
    for (uint32_t count = 1; count <= 4; count++)
        over_nodes(count, what);
}

/* Both are cut as the larger one is, whose front columns are heavier, so a block's columns of the other one are partly
 * elsewhere. */
static void two_inputs_of_the_same_columns_are_cut_alike(void **state)
{
    (void)state;
    write_sparse("front.svm", 9);
    write_sparse("even.svm", 0);
    for (uint32_t count = 1; count <= 4; count++)
        over_nodes(count, (probe){.paths = {"even.svm", "front.svm"},
                                  .split = HAWSER_BY_COLUMN,
                                  .read = walk,
                                  .expected = sum_of("even.svm")});
}

enum { WIDE = 1000 }; /* rows and columns: 8 MB as numbers */

static void write_wide(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < WIDE; i++) {
        fputc('0', file);
        for (int j = 0; j < WIDE; j++)
            fprintf(file, ",%d", (i + j) % 10);
        fputc('\n', file);
    }
    fclose(file);
}

static hawser_status look_at_nothing(hawser_context *context)
{
    return hawser_data_fetch(context, "data", NULL, 0);
}

/* The plan or the run of a program with one data state. */
static hawser_status with_split(test_node *node, const hawser_matrix *A, hawser_split split, FILE *plan)
{
    hawser_program *program = hawser_program_new("wide", NULL);
    hawser_run *run = NULL;
    hawser_state *data = HAWSER_STATE(program, "data", HAWSER_DATA, .matrix = A, .split = split,
                                      .expect = split == HAWSER_FETCHED && node->user == NULL ? 1 : 0);
    HAWSER_UNIT(hawser_root(program), "look", look_at_nothing, .reads = {data});
    hawser_status status = plan != NULL ? hawser_plan_print(node->job, program, HAWSER_PLAN_PHYSICAL, plan, &node->error)
                                        : hawser_run_program(node->job, program, &run, &node->error);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

static void run_wide(test_node *node)
{
    const char *path = "wide.csv";
    const hawser_load load = {.memory_limit = (uint64_t)1 << 32};
    hawser_dataset *data = NULL;
    node->status = hawser_job_load(node->job, &path, 1, &load, &data, &node->error);
    const hawser_matrix *A = data != NULL ? hawser_dataset_matrix(data) : NULL;
    if (node->status == HAWSER_OK)
        node->status = with_split(node, A, HAWSER_FETCHED, NULL);
    if (node->status == HAWSER_OK)
        node->status = with_split(node, A, HAWSER_BY_COLUMN, NULL);
    if (node->status == HAWSER_OK)
        node->status = with_split(node, A, HAWSER_WHOLE, NULL);
    hawser_dataset_free(data);
}

static void whole_state_over_the_memory_limit_is_refused(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    write_wide("wide.csv");
    const char *const *const options[] = {
        (const char *const[]){"workers", "2", "timeout", "60", "memory-limit", "10M", "transport", "unix", NULL},
        (const char *const[]){"workers", "2", "timeout", "60", "memory-limit", "1G", "transport", "unix", NULL}};
    run_nodes(nodes, 2, options[0], run_wide, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        double fetched, needed, limit;
        assert_int_equal(nodes[i].status, HAWSER_NO_MEMORY);
        if (sscanf(nodes[i].error.text,
                   "data state 'data' is HAWSER_WHOLE, so each of 2 nodes fetches up to %lf MiB of it from other nodes; "
                   "with that "
                   "program 'wide' needs about %lf MiB, but the limit is %lf MiB",
                   &fetched, &needed, &limit) != 3 ||
            strstr(nodes[i].error.text, "make the state HAWSER_FETCHED or HAWSER_BY_COLUMN, or raise --memory-limit") ==
                NULL)
            fail_msg("%s", nodes[i].error.text);
        assert_true(fabs(fetched - WIDE * (WIDE / 2) * 8.0 / 0x1p20) < 0.1);
        assert_true(limit == 10 && needed > limit);
    }
    run_nodes(nodes, 2, options[0], run_wide, nodes);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(nodes[i].status, HAWSER_NO_MEMORY);
        if (strstr(nodes[i].error.text, "if a node fetches all of data state 'data', but the limit is 10.0 MiB") == NULL)
            fail_msg("%s", nodes[i].error.text);
    }
    run_nodes(nodes, 2, options[1], run_wide, NULL);
    check_all(nodes, 2, "with more memory");
}

/* Sums the own columns, then the whole by pointers after what `user` has fetched: nothing, or all. */
static hawser_status walk_wide(hawser_context *context)
{
    uint32_t all[WIDE];
    const bool *fetches = hawser_user(context);
    const hawser_matrix *A;
    HAWSER_TRY(hawser_read(context, "data", &A));
    double sum = 0;
    for (uint32_t j = 0; j < WIDE; j++)
        all[j] = j;
    HAWSER_TRY(hawser_data_fetch(context, "data", all, *fetches ? WIDE : 0));
    HAWSER_TRY(walk(context, A, &sum));
    return hawser_report(context, "sum", sum);
}

typedef struct guarded {
    const char *path;
    hawser_split split;
    bool fetches;
    double expected; /* NAN: it is refused */
} guarded;

static void run_guarded(test_node *node)
{
    guarded *what = node->user;
    const hawser_load load = {0};
    hawser_dataset *data = NULL;
    node->status = hawser_job_load(node->job, &what->path, 1, &load, &data, &node->error);
    for (int turn = 0; turn < 2 && node->status == HAWSER_OK; turn++) {
        hawser_program *program = hawser_program_new("guarded", &what->fetches);
        hawser_run *run = NULL;
        hawser_state *state = HAWSER_STATE(program, "data", HAWSER_DATA, .data = data, .split = what->split);
        hawser_metric_declare(program, "sum", HAWSER_SUM);
        HAWSER_UNIT(hawser_root(program), "walk", walk_wide, .reads = {state});
        node->status = hawser_run_program(node->job, program, &run, &node->error);
        if (node->status == HAWSER_OK && node->node == 0 && !(hawser_result_metric(run, "sum") == what->expected))
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "the sum is %g", hawser_result_metric(run, "sum"));
        hawser_run_free(run);
        hawser_program_free(program);
    }
    hawser_dataset_free(data);
}

/* Without --check a unit that does not keep its word reads zeros. */
static void walk_over_absent_columns_fails_under_check(void **state)
{
    (void)state;
    const char *const options[] = {"workers", "4", "timeout", "60", "check", "yes", NULL};
    if (SANITIZED) {
        print_message("sanitizers handle faults themselves\n");
        skip();
    }
    const char *const paths[] = {"wide.csv", "wide.svm"};
    write_wide(paths[0]);
    FILE *sparse = fopen(paths[1], "w");
    assert_non_null(sparse);
    for (int i = 0; i < WIDE; i++) {
        fprintf(sparse, "0");
        for (int j = i % 2; j < WIDE; j += 2)
            fprintf(sparse, " %d:%d", j + 1, 1 + (i + j) % 9);
        fputc('\n', sparse);
    }
    fclose(sparse);
    for (int p = 0; p < 2; p++)
        for (uint32_t count = 1; count <= 3; count++) {
            test_node nodes[NODES_MOST];
            guarded what = {paths[p], HAWSER_WHOLE, false, 4 * sum_of(paths[p])};
            run_nodes(nodes, count, options, run_guarded, &what);
            check_all(nodes, count, "a whole state under --check");
            what.split = HAWSER_FETCHED;
            what.fetches = true;
            run_nodes(nodes, count, options, run_guarded, &what);
            check_all(nodes, count, "a fetched state under --check");
            what.fetches = false;
            run_nodes(nodes, count, options, run_guarded, &what);
            for (uint32_t i = 0; count > 1 && i < count; i++)
                if (nodes[i].status != HAWSER_BAD_PROGRAM || strstr(nodes[i].error.text, "unit 'walk', block ") == NULL ||
                    strstr(nodes[i].error.text, "of data state 'data' was read by a pointer, but is on another node") ==
                        NULL)
                    fail_msg("node %u of %u: %d %s", i, count, nodes[i].status, nodes[i].error.text);
        }
}

static void print_plan(test_node *node)
{
    const char *path = node->user;
    const hawser_load load = {0};
    hawser_dataset *data = NULL;
    char name[40], text[4000], wanted[200];
    uint64_t most = 0, all = 0;
    node->status = hawser_job_load(node->job, &path, 1, &load, &data, &node->error);
    if (node->status != HAWSER_OK)
        return;
    snprintf(name, sizeof name, "plan-%u", node->node);
    FILE *out = fopen(name, "w+");
    node->status = with_split(node, hawser_dataset_matrix(data), HAWSER_WHOLE, out);
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = '\0';
    fclose(out);
    /* Three blocks on three nodes have four columns each. */
    for (size_t j = 0; j < COLS; j++)
        all += ROWS * sizeof(double) * 2;
    most = all / 3;
    snprintf(wanted, sizeof wanted, "a node fetches at most %llu bytes from other nodes, all nodes %llu",
             (unsigned long long)most, (unsigned long long)all);
    if (node->status == HAWSER_OK && strstr(text, wanted) == NULL)
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "'%s' is not in\n%s", wanted, text);
    hawser_dataset_free(data);
}

static void plan_shows_the_bytes_to_fetch(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    write_dense("a.csv");
    run_nodes(nodes, 3, (const char *const[]){"workers", "3", "timeout", "60", NULL}, print_plan,
              (void *)(uintptr_t) "a.csv");
    check_all(nodes, 3, "the plan");
}

/* A data set as a user has it: 97 rows of 8 columns besides the target. */
static void real_data_have_one_sum_on_any_nodes(void **state)
{
    (void)state;
    const char *given = getenv("HAWSER_TEST_DATA"), *file = __FILE__, *root = strstr(file, "/tests/unit/");
    const hawser_load load = {0};
    hawser_dataset *data = NULL;
    hawser_error error = {0};
    char path[1000];
    const char *const paths[] = {path};
    if (given != NULL)
        snprintf(path, sizeof path, "%s/prostate/prostate.csv.zst", given);
    else
        snprintf(path, sizeof path, "%.*s/../shared/data/prostate/prostate.csv.zst", (int)(root - file), file);
    if (access(path, R_OK) != 0) {
        print_message("no %s: set HAWSER_TEST_DATA\n", path);
        skip();
    }
    if (hawser_dataset_load(paths, 1, &load, &data, &error) != HAWSER_OK ||
        hawser_dataset_write(data, 0, hawser_dataset_matrix(data)->rows, HAWSER_CSV, "prostate.csv", &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    hawser_dataset_free(data);
    for (uint32_t count = 1; count <= 3; count++)
        over_nodes(count, (probe){.paths = {"prostate.csv"},
                                  .split = HAWSER_WHOLE,
                                  .read = walk,
                                  .one = true,
                                  .expected = sum_of("prostate.csv")});
}

/* Outside of a run: nothing is written, copied or predicted from entries that are elsewhere. */
static void use_outside(test_node *node)
{
    const char *path = "a.svm";
    const hawser_load load = {0};
    hawser_dataset *data = NULL, *copy = NULL;
    node->status = hawser_job_load(node->job, &path, 1, &load, &data, &node->error);
    if (node->status != HAWSER_OK)
        return;
    const hawser_matrix *A = hawser_dataset_matrix(data);
    char name[40];
    snprintf(name, sizeof name, "out-%u-%u.csv", node->nodes, node->node);
    hawser_status wanted = node->nodes > 1 ? HAWSER_BAD_ARGUMENT : HAWSER_OK;
    for (int fetched = 0; fetched < 2; fetched++) {
        const hawser_status got[] = {hawser_matrix_whole(A, &node->error), hawser_dataset_save(data, name, &node->error),
                                     hawser_dataset_write(data, 0, ROWS, HAWSER_CSV, name, &node->error),
                                     hawser_dataset_from(A, NULL, &copy, &node->error)};
        for (int i = 0; i < 4 && node->status == HAWSER_OK; i++)
            if (got[i] != wanted)
                node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "call %d, fetched %d: %d", i, fetched, got[i]);
        if (fetched == 0 && node->status == HAWSER_OK && wanted != HAWSER_OK && access(name, F_OK) == 0)
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "%s was written", name);
        hawser_dataset_free(copy);
        copy = NULL;
        hawser_status status = hawser_job_fetch(node->job, A, numbers, A->cols, &node->error);
        node->status = status != HAWSER_OK ? status : node->status;
        wanted = HAWSER_OK;
    }
    hawser_dataset_free(data);
}

static void nothing_is_written_from_entries_on_other_nodes(void **state)
{
    (void)state;
    write_sparse("a.svm", 0);
    for (uint32_t count = 1; count <= 3; count++) {
        test_node nodes[NODES_MOST];
        run_nodes(nodes, count, (const char *const[]){"workers", "3", "timeout", "60", NULL}, use_outside, NULL);
        check_all(nodes, count, "outside of a run");
    }
}

static hawser_status replace_by_itself(hawser_context *context)
{
    HAWSER_TRY(hawser_data_fetch(context, "data", NULL, 0));
    HAWSER_READ(context, hawser_matrix, data);
    return hawser_data_replace(context, "data", data);
}

/* Runs a program whose unit replaces a state by what it sees of it: all of it, or the window of this node. */
static void run_replacing(test_node *node)
{
    const char *path = "a.csv";
    const hawser_load load = {0};
    hawser_dataset *data = NULL;
    node->status = hawser_job_load(node->job, &path, 1, &load, &data, &node->error);
    if (node->status != HAWSER_OK)
        return;
    for (int fetched = 0; fetched < 2 && node->status == HAWSER_OK; fetched++) {
        hawser_program *program = hawser_program_new("replace", NULL);
        hawser_run *run = NULL;
        hawser_state *state = HAWSER_STATE(program, "data", HAWSER_DATA, .data = data,
                                           .split = fetched == 0 ? HAWSER_WHOLE : *(const hawser_split *)node->user);
        HAWSER_UNIT(hawser_root(program), "replace", replace_by_itself, .updates = {state});
        node->status = hawser_run_program(node->job, program, &run, &node->error);
        hawser_run_free(run);
        hawser_program_free(program);
        hawser_dataset_free(data);
        data = NULL;
        if (node->status == HAWSER_OK)
            node->status = hawser_job_load(node->job, &path, 1, &load, &data, &node->error);
    }
    hawser_dataset_free(data);
}

static void parts_with_columns_of_other_nodes_replace_nothing(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    hawser_split split = HAWSER_BY_COLUMN;
    const char *const options[] = {"workers", "3", "timeout", "60", NULL};
    write_dense("a.csv");
    run_nodes(nodes, 2, options, run_replacing, &split);
    check_all(nodes, 2, "own columns");
    split = HAWSER_FETCHED;
    run_nodes(nodes, 2, options, run_replacing, &split);
    for (uint32_t i = 0; i < 2; i++)
        if (nodes[i].status != HAWSER_BAD_PROGRAM || strstr(nodes[i].error.text, "unit 'replace', block ") == NULL ||
            strstr(nodes[i].error.text, "hawser_data_replace: columns of the part of 'data' are on other nodes") == NULL)
            fail_msg("node %u: %d %s", i, nodes[i].status, nodes[i].error.text);
}

static void run_after_use(test_node *node)
{
    const char *path = "a.csv";
    const hawser_load load = {0};
    hawser_dataset *data = NULL;
    double out[COLS];
    node->status = hawser_job_load(node->job, &path, 1, &load, &data, &node->error);
    if (node->status == HAWSER_OK) {
        hawser_scan(hawser_dataset_matrix(data), ones(), out);
        node->status = with_split(node, hawser_dataset_matrix(data), HAWSER_BY_COLUMN, NULL);
    }
    hawser_dataset_free(data);
}

static void use_outside_of_units_is_refused_by_the_next_run(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    const char *const options[] = {"workers", "3", "timeout", "60", NULL};
    write_dense("a.csv");
    run_nodes(nodes, 1, options, run_after_use, NULL);
    check_all(nodes, 1, "on one node");
    run_nodes(nodes, 3, options, run_after_use, NULL);
    for (uint32_t i = 0; i < 3; i++)
        if (nodes[i].status == HAWSER_OK || strstr(nodes[i].error.text, "was used outside of a unit") == NULL ||
            strstr(nodes[i].error.text, "of data state 'data'") == NULL)
            fail_msg("node %u: %d %s", i, nodes[i].status, nodes[i].error.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(split_by_rows_is_refused_over_nodes, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(fetched_states_are_right_or_refused, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(whole_states_are_whole_over_nodes, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(whole_state_over_the_memory_limit_is_refused, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(whole_states_are_fetched_once_under_any_sync, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(walk_over_absent_columns_fails_under_check, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(plan_shows_the_bytes_to_fetch, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(real_data_have_one_sum_on_any_nodes, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(kernels_record_columns_of_other_nodes, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(kernels_over_the_input_itself_are_right_or_refused, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(parts_with_columns_of_other_nodes_replace_nothing, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(use_outside_of_units_is_refused_by_the_next_run, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(own_columns_of_a_fetched_state_are_right, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(two_inputs_of_the_same_columns_are_cut_alike, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(nothing_is_written_from_entries_on_other_nodes, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
