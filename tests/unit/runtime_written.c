/*
 * runtime_written.c - one unit sums a data state, the next one writes it, and later units read what it has written
 * (Algorithm 5 of Alt). Dense and sparse data, by row and by column, of both types, over threads and nodes, are compared
 * with long double.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "directory.h"
#include "hawser/advanced.h"
#include "hawser/batches.h"
#include "hawser/job_data.h"
#include "memory_checkpointer.h"
#include "nodes.h"

enum { ROWS = 13, COLS = 9, ENTRIES = ROWS * COLS, KEYS = ROWS, CLOCKS = 2 };

/* How the data are stored and divided. */
typedef struct form {
    const char *name;
    hawser_layout layout;
    hawser_split split;
    hawser_type type;
    const char *path;            /* a file that the nodes load, each its own share */
    const hawser_matrix *matrix; /* else an array that each node has */
    uint64_t every;              /* of changes of the view; 0: none */
    bool batches;                /* the last units take mini-batches */
} form;

static double table[ROWS][COLS], target[ROWS];
static uint64_t offsets[ENTRIES];
static uint32_t indices[ENTRIES];
static double wide[ENTRIES * 2];
static float narrow[ENTRIES * 2];

static bool is_sparse(hawser_layout layout)
{
    return layout == HAWSER_CSC || layout == HAWSER_CSR;
}

/* Makes numbers that a float and a few digits of text hold exactly; of sparse data a third of them is 0. */
static void fill(bool sparse)
{
    for (size_t i = 0; i < ROWS; i++) {
        target[i] = (double)(i % 3) - 1;
        for (size_t j = 0; j < COLS; j++) {
            size_t mixed = (i * 7919 + j * 104729 + i * j * 31) % 97;
            table[i][j] = sparse && mixed % 3 == 0 ? 0 : ((double)mixed - 40) / 8;
        }
    }
}

static void put(uint64_t at, double value)
{
    wide[at] = value;
    narrow[at] = (float)value;
}

/* Stores the table in a layout. Lines of dense data have a gap behind them. */
static hawser_matrix matrix_of(const form *f)
{
    hawser_matrix A = {.rows = ROWS, .cols = COLS, .layout = f->layout, .type = f->type};
    bool sparse = is_sparse(f->layout);
    uint64_t at = 0;
    A.stride = sparse ? 0 : hw_line_width(&A) + 2;
    for (size_t l = 0; l < hw_lines(&A); l++) {
        offsets[l] = at;
        for (size_t k = 0; k < hw_line_width(&A); k++) {
            double value = hw_is_by_row(&A) ? table[l][k] : table[k][l];
            if (sparse && value == 0)
                continue;
            indices[at] = (uint32_t)k;
            put(sparse ? at : l * A.stride + k, value);
            at++;
        }
    }
    offsets[hw_lines(&A)] = at;
    A.stored = at;
    A.values = f->type == HAWSER_F32 ? (const void *)narrow : wide;
    if (sparse) {
        A.offsets = offsets;
        A.indices = indices;
    }
    return A;
}

/* An entry of a part: where its value is, its row or column that the split does not cut, and its line of the whole. */
typedef struct entry {
    uint64_t place;
    size_t key, line;
    double value;
} entry;

typedef void use_entry(const entry *one, double *into, void *more);

/* Calls `use` for each stored entry of a part. */
static void visit(const hawser_matrix *A, hawser_split split, use_entry *use, double *into, void *more)
{
    bool dense = hw_is_dense(A);
    for (size_t l = 0; l < hw_lines(A); l++) {
        uint64_t begin = dense ? l * A->stride : A->offsets[l];
        uint64_t end = dense ? begin + hw_line_width(A) : A->offsets[l + 1];
        for (uint64_t e = begin; e < end; e++) {
            size_t k = dense ? (size_t)(e - begin) : A->indices[e];
            size_t row = hw_is_by_row(A) ? l : k, col = hw_is_by_row(A) ? k : l;
            bool by_row = split == HAWSER_BY_ROW;
            entry one = {e, by_row ? col : row, A->first + (by_row ? row : col), hw_value_at(A->values, A->type, e)};
            use(&one, into, more);
        }
    }
}

static void add_moments(const entry *one, double *sums, void *more)
{
    (void)more;
    sums[one->key] += one->value;
    sums[KEYS + one->key] += one->value * one->value;
}

static hawser_status add_up(hawser_context *context)
{
    const form *f = hawser_user(context);
    HAWSER_READ(context, hawser_matrix, data);
    HAWSER_WRITE(context, double, sums);
    visit(data, f->split, add_moments, sums, NULL);
    return HAWSER_OK;
}

/* The targets of a part's rows; NULL: there are none. */
typedef struct targets {
    const double *numbers;
    size_t first;
} targets;

static void add_weighted(const entry *one, double *sums, void *more)
{
    const targets *t = more;
    double weight = t->numbers != NULL ? t->numbers[one->line - t->first] : 1;
    sums[one->key] += weight * one->value * (double)(1 + one->line);
}

static hawser_status add_to(hawser_context *context, const char *state)
{
    const form *f = hawser_user(context);
    HAWSER_READ(context, hawser_matrix, data);
    targets t = {NULL, data->first};
    if (f->path != NULL && f->split == HAWSER_BY_ROW) {
        hawser_beside beside;
        HAWSER_TRY(hawser_data_beside(context, "data", &beside));
        t.numbers = beside.target;
    }
    double *sums;
    HAWSER_TRY(hawser_write(context, state, &sums));
    visit(data, f->split, add_weighted, sums, &t);
    return HAWSER_OK;
}

static hawser_status add_early(hawser_context *context)
{
    return add_to(context, "early");
}

/* Does the same by mini-batches in the order of the rows. */
static hawser_status add_batches(hawser_context *context)
{
    HAWSER_READ(context, hawser_matrix, data);
    HAWSER_WRITE(context, double, late);
    hawser_mini_batch batch = {.last = data->rows == 0};
    for (uint64_t number = 0; !batch.last; number++) {
        HAWSER_TRY(hawser_data_batch(context, "data", 3, number, true, &batch));
        hawser_matrix rows = batch.rows;
        rows.first = data->first + batch.numbers[0];
        targets t = {batch.target, rows.first};
        visit(&rows, HAWSER_BY_ROW, add_weighted, late, &t);
    }
    return HAWSER_OK;
}

static hawser_status add_late(hawser_context *context)
{
    const form *f = hawser_user(context);
    if (f->batches)
        return add_batches(context);
    return add_to(context, "late");
}

/* What a value becomes: sparse data keep their zeros, so they are only scaled. */
static double standard(double value, double sum, double squares, double lines, bool sparse)
{
    double mean = sum / lines, variance = squares / lines - mean * mean;
    return (sparse ? value : value - mean) / (variance > 0 ? sqrt(variance) : 1);
}

typedef struct writing {
    const double *sums;
    double *wide;
    float *narrow;
    double lines;
    bool sparse;
} writing;

static void write_one(const entry *one, double *into, void *more)
{
    const writing *w = more;
    (void)into;
    double value = standard(one->value, w->sums[one->key], w->sums[KEYS + one->key], w->lines, w->sparse);
    if (w->wide != NULL)
        w->wide[one->place] = value;
    else
        w->narrow[one->place] = (float)value;
}

static hawser_status standardise(hawser_context *context)
{
    const form *f = hawser_user(context);
    HAWSER_READ(context, hawser_matrix, data);
    HAWSER_READ(context, double, sums);
    writing w = {.sums = sums, .lines = f->split == HAWSER_BY_ROW ? ROWS : COLS, .sparse = !hw_is_dense(data)};
    if (f->type == HAWSER_F32)
        HAWSER_TRY(hawser_write(context, "data", &w.narrow));
    else
        HAWSER_TRY(hawser_write(context, "data", &w.wide));
    /* The view of hawser_read shows what is written; a second call gives the same memory. */
    void *again = NULL;
    HAWSER_TRY(hawser_write_as(context, "data", f->type, &again));
    if (again != data->values || again != (f->type == HAWSER_F32 ? (void *)w.narrow : (void *)w.wide))
        return hawser_unit_fail(context, HAWSER_INTERNAL, "another memory");
    visit(data, f->split, write_one, NULL, &w);
    return hawser_allreduce(context, &w.lines, 1, HAWSER_MAX);
}

static hawser_program *build(form *f, const hawser_dataset *data)
{
    hawser_program *program = hawser_program_new("written", f);
    hawser_operator *root = hawser_root(program);
    hawser_state *given = HAWSER_STATE(program, "data", HAWSER_DATA, .data = data, .matrix = f->matrix, .split = f->split);
    hawser_state *sums = HAWSER_STATE(program, "sums", HAWSER_REPLICATED, .rows = 2, .cols = KEYS);
    hawser_state *early = HAWSER_STATE(program, "early", HAWSER_REPLICATED, .rows = KEYS);
    hawser_state *late = HAWSER_STATE(program, "late", HAWSER_REPLICATED, .rows = KEYS);
    HAWSER_UNIT(HAWSER_LOOP(root, "before", hawser_bsp(), .clocks = CLOCKS), "early", add_early, .reads = {given},
                .updates = {early});
    HAWSER_UNIT(root, "add_up", add_up, .reads = {given}, .updates = {sums});
    HAWSER_UNIT(root, "standardise", standardise, .reads = {sums}, .updates = {given}, .reduces = 1);
    HAWSER_UNIT(HAWSER_LOOP(root, "after", hawser_ssp(1), .clocks = CLOCKS), "late", add_late, .reads = {given},
                .updates = {late});
    return program;
}

/* Compares results with long double. Sums have at most 50 terms of numbers below 1000. */
static hawser_status compare(const form *f, const hawser_run *run, bool late, hawser_error *error)
{
    const double *found = RESULT(double, run, late ? "late" : "early", NULL);
    bool by_row = f->split == HAWSER_BY_ROW,
         sparse = f->path != NULL ? strstr(f->path, "svm") != NULL : is_sparse(f->layout);
    size_t lines = by_row ? ROWS : COLS, keys = by_row ? COLS : ROWS;
    for (size_t key = 0; key < KEYS; key++) {
        long double sum = 0, squares = 0, total = 0, size = 0;
        for (size_t l = 0; key < keys && l < lines; l++) {
            long double value = by_row ? table[l][key] : table[key][l];
            sum += value;
            squares += value * value;
        }
        long double mean = sum / (long double)lines, variance = squares / (long double)lines - mean * mean;
        for (size_t l = 0; key < keys && l < lines; l++) {
            long double value = by_row ? table[l][key] : table[key][l];
            long double weight = (f->path != NULL && by_row ? target[l] : 1) * (long double)(1 + l);
            if (late && (!sparse || value != 0))
                value = (sparse ? value : value - mean) / (variance > 0 ? sqrtl(variance) : 1);
            total += CLOCKS * weight * value;
            size += fabsl(CLOCKS * weight * value);
        }
        if (fabsl(found[key] - total) > (late && f->type == HAWSER_F32 ? 2e-7L : 4e-15L * 50) * (size + 1))
            return hawser_fail(error, HAWSER_INTERNAL, "%s, %s %zu: %.17g, not %.17Lg", f->name, late ? "late" : "early",
                               key, found[key], total);
    }
    return HAWSER_OK;
}

static void run_form(test_node *node)
{
    form *f = node->user;
    hawser_dataset *data = NULL;
    hawser_run *run = NULL;
    if (f->path != NULL) {
        const hawser_load load = {.type = f->type, .split = f->split, .header = -1};
        node->status = hawser_job_load(node->job, &f->path, 1, &load, &data, &node->error);
    }
    if (f->every > 0)
        hw_job_change_view(node->job, f->every, 3);
    hawser_program *program = build(f, data);
    if (node->status == HAWSER_OK)
        node->status = hawser_run_program(node->job, program, &run, &node->error);
    if (node->status == HAWSER_OK)
        node->status = compare(f, run, false, &node->error);
    if (node->status == HAWSER_OK)
        node->status = compare(f, run, true, &node->error);
    hawser_run_free(run);
    hawser_program_free(program);
    hawser_dataset_free(data);
}

static const form forms[] = {{"dense rows", HAWSER_DENSE_ROWS, HAWSER_BY_ROW, 0, NULL, NULL, 0, false},
                             {"dense columns by row", HAWSER_DENSE, HAWSER_BY_ROW, 0, NULL, NULL, 0, false},
                             {"dense columns", HAWSER_DENSE, HAWSER_BY_COLUMN, 0, NULL, NULL, 0, false},
                             {"sparse rows", HAWSER_CSR, HAWSER_BY_ROW, 0, NULL, NULL, 0, false},
                             {"sparse columns", HAWSER_CSC, HAWSER_BY_COLUMN, 0, NULL, NULL, 0, false}};
enum { FORMS = sizeof forms / sizeof *forms };

static void run_over(form f, uint32_t count, const char *workers, const char *rehearse)
{
    test_node nodes[NODES_MOST];
    char what[100];
    snprintf(what, sizeof what, "%s, %s, %s workers", f.name, f.type == HAWSER_F32 ? "f32" : "f64", workers);
    run_nodes(nodes, count, (const char *const[]){"workers", workers, "rehearse", rehearse, "timeout", "60", NULL}, run_form,
              &f);
    check_all(nodes, count, what);
}

static const char *const worker_counts[4][4] = {{NULL}, {"1", "2", "4", NULL}, {"2", "4", NULL}, {"3", "4", NULL}};

static void later_units_read_what_was_written(void **state)
{
    (void)state;
    for (size_t k = 0; k < FORMS; k++)
        for (int type = HAWSER_F64; type <= HAWSER_F32; type++) {
            form f = forms[k];
            f.type = (hawser_type)type;
            fill(is_sparse(f.layout));
            const hawser_matrix A = matrix_of(&f);
            f.matrix = &A;
            for (uint32_t nodes = 1; nodes <= 3; nodes++)
                for (const char *const *workers = worker_counts[nodes]; *workers != NULL; workers++)
                    run_over(f, nodes, *workers, "0");
        }
}

/* Writes the table with its target in front. */
static void write_file(const char *path, bool sparse)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (size_t i = 0; i < ROWS; i++) {
        fprintf(file, "%g", target[i]);
        for (size_t j = 0; j < COLS; j++)
            if (!sparse)
                fprintf(file, ",%.17g", table[i][j]);
            else if (table[i][j] != 0)
                fprintf(file, " %zu:%.17g", j + 1, table[i][j]);
        fprintf(file, "\n");
    }
    assert_int_equal(fclose(file), 0);
}

static void nodes_write_their_shares_of_an_input(void **state)
{
    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        const char *path = sparse ? "in.svm" : "in.csv";
        fill(sparse);
        write_file(path, sparse);
        for (int how = 0; how < 4; how++)
            for (uint32_t nodes = 1; nodes <= 3; nodes++) {
                form f = {.name = path,
                          .split = how & 1 ? HAWSER_BY_ROW : HAWSER_BY_COLUMN,
                          .type = how & 2 ? HAWSER_F32 : HAWSER_F64,
                          .path = path};
                run_over(f, nodes, "4", "0");
                f.batches = f.split == HAWSER_BY_ROW;
                if (f.batches)
                    run_over(f, nodes, "4", "0");
            }
    }
}

/* A stage that runs again begins with the data that were given, not with what it had written. */
static void stages_run_again_from_the_given_data(void **state)
{
    (void)state;
    for (size_t k = 0; k < FORMS; k++) {
        form f = forms[k];
        f.type = k & 1 ? HAWSER_F32 : HAWSER_F64;
        fill(is_sparse(f.layout));
        const hawser_matrix A = matrix_of(&f);
        f.matrix = &A;
        run_over(f, 1, "3", "1");
        f.every = 2;
        run_over(f, 1, "3", "0");
        run_over(f, 2, "4", "0");
    }
}

/* ------------------------------------------------------------------------------------------------------- refusals ---- */

static double *hidden; /* what a unit remembers against the rules: see the next test */

static hawser_status write_hidden(hawser_context *context)
{
    double *values;
    HAWSER_TRY(hawser_write(context, "data", &values));
    values[0] = hidden[hawser_block(context)]++;
    return HAWSER_OK;
}

static hawser_status write_infinity(hawser_context *context)
{
    HAWSER_READ(context, hawser_matrix, data);
    double *values;
    HAWSER_TRY(hawser_write(context, "data", &values));
    values[1] = data->first > 0 ? (double)INFINITY : 0;
    return HAWSER_OK;
}

static hawser_status write_floats(hawser_context *context)
{
    float *values;
    return hawser_write(context, "data", &values);
}

static hawser_status only_read(hawser_context *context)
{
    double *values;
    return hawser_write(context, "data", &values);
}

/* Runs one unit over dense columns. */
static void refused(hawser_unit_function *unit, hawser_split split, bool reads, const char *rehearse, hawser_status wanted,
                    const char *text)
{
    form f = forms[2];
    double count[2] = {0};
    hidden = count;
    fill(false);
    const hawser_matrix A = matrix_of(&f);
    test_job test = OPEN_JOB("workers", "2", "rehearse", rehearse);
    hawser_program *program = hawser_program_new("refused", NULL);
    hawser_run *run = NULL;
    hawser_error error = {0};
    hawser_state *data = HAWSER_STATE(program, "data", HAWSER_DATA, .matrix = &A, .split = split);
    hawser_metric_declare(program, "m", HAWSER_SUM);
    if (reads)
        HAWSER_UNIT(hawser_root(program), "unit", unit, .reads = {data});
    else
        HAWSER_UNIT(hawser_root(program), "unit", unit, .updates = {data});
    hawser_status status = hawser_run_program(test.job, program, &run, &error);
    if (status != wanted || strstr(error.text, text) == NULL)
        fail_msg("%d %s, not %s", status, error.text, text);
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
}

static void wrong_writes_are_refused(void **state)
{
    (void)state;
    refused(write_infinity, HAWSER_BY_COLUMN, false, "0", HAWSER_NOT_FINITE,
            "column 0 of the part of 'data' has a number that is not finite");
    refused(write_floats, HAWSER_BY_COLUMN, false, "0", HAWSER_BAD_PROGRAM,
            "hawser_write: a pointer to a float, but the numbers of state 'data' are of f64");
    refused(write_infinity, HAWSER_WHOLE, false, "0", HAWSER_BAD_PROGRAM, "split it by row or column");
    refused(write_infinity, HAWSER_FETCHED, false, "0", HAWSER_BAD_PROGRAM, "split it by row or column");
    refused(only_read, HAWSER_BY_COLUMN, true, "0", HAWSER_BAD_PROGRAM, "add it to .updates");
    refused(write_hidden, HAWSER_BY_COLUMN, false, "1", HAWSER_BAD_PROGRAM, "state 'data' got 0 as its number 0, then 1");
}

/* ---------------------------------------------------------------------------------------------------- checkpoints ---- */

/* What one run leaves. */
typedef struct sums_of_run {
    double sums[2 * KEYS], early[KEYS], late[KEYS];
} sums_of_run;

static hawser_program *build_recorded(form *f)
{
    hawser_program *program = hawser_program_new("recorded", f);
    hawser_operator *root = hawser_root(program);
    hawser_state *given = HAWSER_STATE(program, "data", HAWSER_DATA, .matrix = f->matrix, .split = f->split);
    hawser_state *sums = HAWSER_STATE(program, "sums", HAWSER_REPLICATED, .rows = 2, .cols = KEYS);
    hawser_state *early = HAWSER_STATE(program, "early", HAWSER_REPLICATED, .rows = KEYS);
    hawser_state *late = HAWSER_STATE(program, "late", HAWSER_REPLICATED, .rows = KEYS);
    hawser_metric_declare(program, "none", HAWSER_SUM); /* a loop with a test takes a checkpoint in each clock */
    HAWSER_UNIT(HAWSER_LOOP(root, "before", hawser_bsp(), .clocks = CLOCKS, .metric = "none"), "early", add_early,
                .reads = {given}, .updates = {early});
    HAWSER_UNIT(root, "add_up", add_up, .reads = {given}, .updates = {sums});
    HAWSER_UNIT(root, "standardise", standardise, .reads = {sums}, .updates = {given}, .reduces = 1);
    HAWSER_UNIT(HAWSER_LOOP(root, "after", hawser_bsp(), .clocks = 3, .metric = "none"), "late", add_late, .reads = {given},
                .updates = {late});
    return program;
}

static sums_of_run run_recorded(form *f, memory_checkpointer *kept)
{
    sums_of_run now;
    test_job test = OPEN_JOB("workers", "3");
    hawser_program *program = build_recorded(f);
    hawser_run *run = NULL;
    hawser_error error = {0};
    test.job->checkpointer = kept != NULL ? &kept->own : NULL;
    if (hawser_run_program(test.job, program, &run, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    memcpy(now.sums, RESULT(double, run, "sums", NULL), sizeof now.sums);
    memcpy(now.early, RESULT(double, run, "early", NULL), sizeof now.early);
    memcpy(now.late, RESULT(double, run, "late", NULL), sizeof now.late);
    hawser_run_free(run);
    hawser_program_free(program);
    close_job(test);
    return now;
}

/* Runs to a checkpoint, and goes on from there. */
static void written_data_go_on(void **state)
{
    (void)state;
    static memory_checkpointer kept;
    for (size_t k = 0; k < FORMS; k++) {
        form f = forms[k];
        fill(is_sparse(f.layout));
        const hawser_matrix A = matrix_of(&f);
        f.matrix = &A;
        const sums_of_run whole = run_recorded(&f, NULL);
        uint64_t taken = 0;
        for (uint64_t stop = 1; taken == stop - 1; stop++) {
            memory_open(&kept, 1, stop, 0);
            (void)run_recorded(&f, &kept);
            taken = kept.complete;
            memory_again(&kept, 1, 0);
            const sums_of_run now = run_recorded(&f, &kept);
            memory_close(&kept);
            assert_memory_equal(now.sums, whole.sums, sizeof now.sums);
            assert_memory_equal(now.early, whole.early, sizeof now.early);
            assert_memory_equal(now.late, whole.late, sizeof now.late);
        }
        assert_true(taken > CLOCKS + 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(later_units_read_what_was_written),
                                       cmocka_unit_test(nodes_write_their_shares_of_an_input),
                                       cmocka_unit_test(stages_run_again_from_the_given_data),
                                       cmocka_unit_test(wrong_writes_are_refused), cmocka_unit_test(written_data_go_on)};
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
