/*
 * Results of local and stored states after a run: every node reads every range of them, of every type, from whichever nodes
 * have them; the whole is fetched on request alone; a job is closed once no other node can read from it; wrong ranges and
 * closed jobs are refused.
 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cluster/gathering.h"
#include "hawser/stored.h"
#define NODES_OF_TEST 11
#include "nodes.h"
#include "runtime/drive/collect.h"
#include "runtime/job/kept_results.h"
#include "sanitized.h"

enum { COUNT = 23, CLOCKS = 3, THREADS = 2, NODES = 3 };

/* What units leave in number e of a state after `clocks` clocks, in every type. */
static double left(const char *state, size_t e, uint32_t blocks)
{
    double all = blocks * (blocks + 1) / 2.0;
    switch (state[0]) {
    case 'd': return (double)e / 2 + 1 + CLOCKS;    /* f64, one writer */
    case 'f': return (double)e * 3 + CLOCKS;        /* f32, one writer */
    case 'l': return (double)e * 5 - 7 + CLOCKS;    /* i64, one writer */
    case 'm': return (double)e + blocks;            /* i64, the largest of all */
    case 'a': return (double)e + all * CLOCKS;      /* f64, a sum */
    case 'p': return (double)e / 4 - 1 + CLOCKS;    /* f64, local */
    case 'q': return (double)e * 7 + CLOCKS;        /* f32, local */
    case 'o': return (double)e * 9 - 3 + CLOCKS;    /* i64, local */
    case 'i': return (double)e - 11 + CLOCKS;       /* i32, local */
    case 't': return (double)e + 1.5 + CLOCKS;      /* f64, local, tied: of two copies */
    case 'z': return (double)e + 0.5;               /* f64, local: no unit uses it */
    case 'u': return (double)e - 0.25;              /* f64, one writer: no unit uses it */
    case 'v': return (double)e - 0.75;              /* f32, a sum: likewise */
    default: return (double)(CLOCKS + 10 * (int)e); /* r: i32, replicated, changed by one block */
    }
}

static hawser_status step(hawser_context *context)
{
    uint64_t keys[COUNT];
    double more[COUNT];
    int64_t largest[COUNT];
    uint32_t block = hawser_block(context);
    HAWSER_WRITE(context, double, d);
    HAWSER_WRITE(context, float, f);
    HAWSER_WRITE(context, int64_t, l);
    for (size_t i = hawser_part(context, "d", NULL); i > 0; i--) {
        d[i - 1]++;
        f[i - 1]++;
        l[i - 1]++;
    }
    HAWSER_WRITE(context, double, p);
    HAWSER_WRITE(context, float, q);
    HAWSER_WRITE(context, int64_t, o);
    HAWSER_WRITE(context, double, t);
    int32_t *whole;
    HAWSER_TRY(hawser_write(context, "i", &whole));
    for (size_t i = hawser_part(context, "p", NULL); i > 0; i--) {
        p[i - 1]++;
        q[i - 1]++;
        o[i - 1]++;
        whole[i - 1]++;
        t[i - 1]++;
    }
    for (size_t e = 0; e < COUNT; e++) {
        keys[e] = e;
        more[e] = block + 1.0;
        largest[e] = (int64_t)(e + block + 1);
    }
    HAWSER_WRITE(context, int32_t, r);
    for (int e = 0; block == 0 && e < COUNT; e++)
        r[e]++;
    HAWSER_TRY(hawser_inc(context, "a", keys, more, COUNT));
    return hawser_inc(context, "m", keys, largest, COUNT);
}

static hawser_status fall_apart(hawser_context *context)
{
    size_t first;
    HAWSER_WRITE(context, double, d);
    if (hawser_clock(context) == 1 && hawser_part(context, "d", &first) > 0 && first == 0)
        d[0] = INFINITY;
    return HAWSER_OK;
}

/* Several blocks, and thereby nodes, leave numbers that are not finite: the first one is reported. */
static hawser_status fall_apart_locally(hawser_context *context)
{
    size_t first;
    HAWSER_WRITE(context, double, p);
    for (size_t i = hawser_part(context, "p", &first); i > 0 && hawser_clock(context) == 1; i--)
        if (first + i - 1 >= 3)
            p[i - 1] = -INFINITY;
    return HAWSER_OK;
}

/* First values; they must live until the run. */
typedef struct first_values {
    double d[COUNT], a[COUNT], u[COUNT], p[COUNT], t[COUNT], z[COUNT];
    float f[COUNT], v[COUNT], q[COUNT];
    int64_t l[COUNT], o[COUNT];
    int32_t r[COUNT], i[COUNT];
} first_values;

static void fill(first_values *first)
{
    for (int e = 0; e < COUNT; e++) {
        first->d[e] = e / 2.0 + 1;
        first->a[e] = e;
        first->u[e] = e - 0.25;
        first->v[e] = (float)e - 0.75F;
        first->f[e] = (float)e * 3;
        first->l[e] = e * 5 - 7;
        first->r[e] = 10 * e;
        first->p[e] = e / 4.0 - 1;
        first->q[e] = (float)e * 7;
        first->o[e] = e * 9 - 3;
        first->i[e] = e - 11;
        first->t[e] = e + 1.5;
        first->z[e] = e + 0.5;
    }
}

/* Adds local states along the columns of a matrix. One is tied to a replicated state that no unit changes. */
static void add_local(hawser_program *p, first_values *first, hawser_state *locals[6])
{
    static const double data[COUNT] = {1};
    static const hawser_matrix A = {
        .rows = 1, .cols = COUNT, .stored = COUNT, .values = (void *)(uintptr_t)data, .stride = 1};
    hawser_state *X = HAWSER_STATE(p, "X", HAWSER_DATA, .matrix = &A, .split = HAWSER_BY_COLUMN);
    (void)HAWSER_STATE(p, "z", HAWSER_LOCAL, .along = X, .initial = first->z);
    locals[0] = HAWSER_STATE(p, "p", HAWSER_LOCAL, .along = X, .initial = first->p);
    locals[1] = HAWSER_STATE(p, "q", HAWSER_LOCAL, .type = HAWSER_F32, .along = X, .initial = first->q);
    locals[2] = HAWSER_STATE(p, "o", HAWSER_LOCAL, .type = HAWSER_I64, .along = X, .initial = first->o);
    locals[3] = HAWSER_STATE(p, "i", HAWSER_LOCAL, .type = HAWSER_I32, .along = X, .initial = first->i);
    locals[5] = HAWSER_STATE(p, "tied", HAWSER_REPLICATED, .rows = 1);
    locals[4] = HAWSER_STATE(p, "t", HAWSER_LOCAL, .along = X, .initial = first->t, .tie = locals[5]);
}

static hawser_program *program(hawser_unit_function *unit, first_values *first)
{
    fill(first);
    hawser_state *locals[6];
    hawser_program *p = hawser_program_new("results", NULL);
    add_local(p, first, locals);
    (void)HAWSER_STATE(p, "u", HAWSER_STORED, .rows = COUNT, .initial = first->u);
    hawser_state *d = HAWSER_STATE(p, "d", HAWSER_STORED, .rows = COUNT, .initial = first->d);
    hawser_state *f = HAWSER_STATE(p, "f", HAWSER_STORED, .type = HAWSER_F32, .rows = COUNT, .initial = first->f);
    (void)HAWSER_STATE(p, "v", HAWSER_STORED, .type = HAWSER_F32, .rows = COUNT, .initial = first->v, .function = "add");
    hawser_state *l = HAWSER_STATE(p, "l", HAWSER_STORED, .type = HAWSER_I64, .rows = COUNT, .initial = first->l);
    hawser_state *r = HAWSER_STATE(p, "r", HAWSER_REPLICATED, .type = HAWSER_I32, .rows = COUNT, .initial = first->r);
    hawser_state *a = HAWSER_STATE(p, "a", HAWSER_STORED, .rows = COUNT, .initial = first->a, .function = "add");
    hawser_state *m = HAWSER_STATE(p, "m", HAWSER_STORED, .type = HAWSER_I64, .rows = COUNT, .function = "max");
    hawser_operator *loop = hawser_loop(hawser_root(p), "loop", (hawser_until){.clocks = CLOCKS}, hawser_bsp());
    (void)HAWSER_UNIT(loop, "step", unit,
                      .updates = {d, f, l, r, a, m, locals[0], locals[1], locals[2], locals[3], locals[4], locals[5]});
    return p;
}

static hawser_status run_one(hawser_job *job, hawser_unit_function *unit, hawser_run **run, hawser_error *error)
{
    first_values *first = malloc(sizeof *first);
    assert_non_null(first);
    hawser_program *p = program(unit, first);
    hawser_status status = hawser_run_program(job, p, run, error);
    hawser_program_free(p);
    free(first);
    return status;
}

static hawser_type type_of(const char *state)
{
    switch (state[0]) {
    case 'f':
    case 'q':
    case 'v': return HAWSER_F32;
    case 'l':
    case 'o':
    case 'm': return HAWSER_I64;
    case 'i':
    case 'r': return HAWSER_I32;
    default: return HAWSER_F64;
    }
}

/* Reads a range as doubles, which all numbers of the test fit. Numbers outside of it must keep their value. */
static hawser_status range(const hawser_run *run, const char *state, size_t first, size_t count, double out[COUNT],
                           hawser_error *error)
{
    enum { GUARD = 77 };
    double d[COUNT];
    float f[COUNT];
    int64_t l[COUNT];
    int32_t i[COUNT];
    hawser_status status = HAWSER_OK;
    for (int e = 0; e < COUNT; e++) {
        d[e] = f[e] = GUARD;
        l[e] = i[e] = GUARD;
    }
    switch (type_of(state)) {
    case HAWSER_F64: status = hawser_result_range(run, state, first, count, d, error); break;
    case HAWSER_F32: status = hawser_result_range(run, state, first, count, f, error); break;
    case HAWSER_I64: status = hawser_result_range(run, state, first, count, l, error); break;
    case HAWSER_I32: status = hawser_result_range(run, state, first, count, i, error); break;
    }
    for (int e = 0; e < COUNT; e++)
        out[e] = type_of(state) == HAWSER_F64   ? d[e]
                 : type_of(state) == HAWSER_F32 ? (double)f[e]
                 : type_of(state) == HAWSER_I64 ? (double)l[e]
                                                : i[e];
    for (size_t e = count; e < COUNT && status == HAWSER_OK; e++)
        if (out[e] != GUARD)
            return hawser_fail(error, HAWSER_INTERNAL, "state %s: a range of %zu numbers has written number %zu", state,
                               count, e);
    return status;
}

static hawser_status check_ranges(const hawser_run *run, const char *state, uint32_t blocks, size_t stride,
                                  hawser_error *error)
{
    double got[COUNT];
    for (size_t first = 0; first <= COUNT; first += stride)
        for (size_t count = 0; first + count <= COUNT; count++) {
            HAWSER_TRY(range(run, state, first, count, got, error));
            for (size_t e = 0; e < count; e++)
                if (got[e] != left(state, first + e, blocks))
                    return hawser_fail(error, HAWSER_INTERNAL, "state %s, numbers from %zu on: number %zu is %g, not %g",
                                       state, first, first + e, got[e], left(state, first + e, blocks));
        }
    return HAWSER_OK;
}

static hawser_status check_whole(const hawser_run *run, const char *state, uint32_t blocks, hawser_error *error)
{
    size_t count = 0;
    const double *d = RESULT(double, run, state, &count);
    if (type_of(state) != HAWSER_F64 ? d != NULL || count != 0 : d == NULL || count != COUNT)
        return hawser_fail(error, HAWSER_INTERNAL, "state %s: %zu numbers", state, count);
    for (size_t e = 0; d != NULL && e < COUNT; e++)
        if (d[e] != left(state, e, blocks))
            return hawser_fail(error, HAWSER_INTERNAL, "state %s: number %zu of the whole is %g", state, e, d[e]);
    return HAWSER_OK;
}

static const char *const states[] = {"u", "d", "f", "v", "l", "r", "a", "m", "p", "q", "o", "i", "t", "z"};
enum { STATES = sizeof states / sizeof *states };

static hawser_status check_all_states(const hawser_run *run, uint32_t blocks, size_t stride, hawser_error *error)
{
    for (size_t i = 0; i < STATES; i++) {
        if (hawser_result_size(run, states[i]) != COUNT)
            return hawser_fail(error, HAWSER_INTERNAL, "state %s has another size", states[i]);
        HAWSER_TRY(check_ranges(run, states[i], blocks, stride, error));
    }
    return HAWSER_OK;
}

/* Runs `body` on one node, which has no cluster, or on several. */
static void on_nodes(uint32_t count, const char *workers, void (*body)(test_node *node), void *user)
{
    const char *const pairs[] = {"workers", workers, "timeout", "30", NULL};
    test_node nodes[NODES_MOST];
    if (count > 1) {
        run_nodes(nodes, count, pairs, body, user);
        check_all(nodes, count, workers);
        return;
    }
    test_job test = open_job(pairs);
    nodes[0] = (test_node){.nodes = 1, .job = test.job, .user = user};
    body(&nodes[0]);
    close_job(test);
    check_all(nodes, 1, workers);
}

/* --------------------------------------------------------------------------------------------------------- ranges ---- */

static void read_twice(test_node *node)
{
    hawser_run *run = NULL;
    uint32_t blocks = hawser_job_workers(node->job);
    node->status = run_one(node->job, step, &run, &node->error);
    if (node->status == HAWSER_OK)
        node->status = check_all_states(run, blocks, 4, &node->error);
    for (size_t i = 0; node->status == HAWSER_OK && i < STATES; i++)
        node->status = check_whole(run, states[i], blocks, &node->error);
    if (node->status == HAWSER_OK) /* from the wholes */
        node->status = check_all_states(run, blocks, 7, &node->error);
    hawser_run_free(run);
}

static void test_every_range_on_every_node(void **ignored)
{
    (void)ignored;
    static const char *const workers[] = {"3", "4", "7", "30"}; /* 30: some shares are empty */
    for (uint32_t count = 1; count <= NODES; count++)
        for (size_t k = 0; k < sizeof workers / sizeof *workers; k += SANITIZED ? 2 : 1)
            on_nodes(count, workers[k], read_twice, NULL);
}

enum { LARGE = 1700000 }; /* numbers: more than a reader requests at a time, of each of two shares */

static hawser_status count_large(hawser_context *context)
{
    size_t first, count = hawser_part(context, "large", &first);
    HAWSER_WRITE(context, double, large);
    for (size_t i = 0; i < count; i++)
        large[i] = (double)(first + i);
    return HAWSER_OK;
}

typedef struct reader {
    const hawser_run *run;
    hawser_status status;
    hawser_error error;
} reader;

static void *read_large(void *argument)
{
    reader *it = argument;
    double *values = calloc(LARGE, sizeof *values);
    size_t first = 5, count = LARGE - 9;
    assert_non_null(values);
    it->status = hawser_result_range(it->run, "large", first, count, values, &it->error);
    for (size_t i = 0; it->status == HAWSER_OK && i < LARGE; i++)
        if (values[i] != (i < count ? (double)(first + i) : 0.0))
            it->status = hawser_fail(&it->error, HAWSER_INTERNAL, "number %zu is %g", first + i, values[i]);
    free(values);
    return NULL;
}

static void read_in_threads(test_node *node)
{
    hawser_run *run = NULL;
    reader readers[THREADS];
    pthread_t threads[THREADS];
    hawser_program *p = hawser_program_new("large", NULL);
    hawser_state *large = HAWSER_STATE(p, "large", HAWSER_STORED, .rows = LARGE);
    (void)HAWSER_UNIT(hawser_root(p), "count", count_large, .updates = {large});
    node->status = hawser_run_program(node->job, p, &run, &node->error);
    for (int i = 0; i < THREADS && node->status == HAWSER_OK; i++) {
        readers[i] = (reader){.run = run};
        assert_int_equal(pthread_create(&threads[i], NULL, read_large, &readers[i]), 0);
    }
    for (int i = 0; i < THREADS && run != NULL; i++) {
        pthread_join(threads[i], NULL);
        if (readers[i].status != HAWSER_OK) {
            node->status = readers[i].status;
            node->error = readers[i].error;
        }
    }
    hawser_run_free(run);
    hawser_program_free(p);
}

static void test_threads_read_many_pieces(void **ignored)
{
    (void)ignored;
    on_nodes(2, "2", read_in_threads, NULL);
}

/* -------------------------------------------------------------------------------------------------------- matrices ---- */

enum { LINES = 11, WIDTH = 3 };

/* Writes line and place of each number into a matrix with one writer per share, and adds them up in one that all change. */
static hawser_status write_lines(hawser_context *context)
{
    size_t first, lines = hawser_part_lines(context, "columns", &first);
    HAWSER_READ(context, hawser_matrix, X);
    if (lines != X->cols) /* whole columns, of the same numbers as those of the data */
        return hawser_unit_fail(context, HAWSER_INTERNAL, "%zu lines along %zu columns", lines, X->cols);
    for (size_t i = 0; i < lines; i++) {
        float *line;
        HAWSER_TRY(hawser_line(context, "columns", i, &line));
        for (size_t j = 0; j < WIDTH; j++)
            line[j] = (float)((first + i) * 100 + j);
    }
    lines = hawser_part_lines(context, "rows", &first);
    for (size_t i = 0; i < lines; i++) {
        double *line;
        HAWSER_TRY(hawser_line(context, "rows", i, &line));
        for (size_t j = 0; j < WIDTH; j++)
            line[j] += (double)((first + i) * 100 + j);
    }
    uint64_t keys[LINES * WIDTH];
    double more[LINES * WIDTH];
    for (size_t k = 0; k < LINES * WIDTH; k++) {
        keys[k] = k;
        more[k] = (double)(k / WIDTH * 100 + k % WIDTH);
    }
    return hawser_inc(context, "sums", keys, more, LINES * WIDTH);
}

static void run_matrices(test_node *node)
{
    static const double data[2 * LINES] = {1};
    const hawser_matrix A = {.rows = 2, .cols = LINES, .stored = 2 * LINES, .values = (void *)(uintptr_t)data, .stride = 2};
    double begins[LINES * WIDTH], rows[LINES * WIDTH], sums[LINES * WIDTH];
    float columns[LINES * WIDTH];
    hawser_run *run = NULL;
    uint32_t blocks = hawser_job_workers(node->job);
    for (int k = 0; k < LINES * WIDTH; k++)
        begins[k] = k;
    hawser_program *p = hawser_program_new("matrices", NULL);
    hawser_state *X = HAWSER_STATE(p, "X", HAWSER_DATA, .matrix = &A, .split = HAWSER_BY_COLUMN);
    hawser_state *c = HAWSER_STATE(p, "columns", HAWSER_STORED, .type = HAWSER_F32, .rows = WIDTH, .cols = LINES,
                                   .by_column = true, .along = X);
    hawser_state *r = HAWSER_STATE(p, "rows", HAWSER_STORED, .rows = LINES, .cols = WIDTH, .initial = begins);
    hawser_state *s =
        HAWSER_STATE(p, "sums", HAWSER_STORED, .rows = LINES, .cols = WIDTH, .initial = begins, .function = "add");
    (void)HAWSER_UNIT(hawser_root(p), "write", write_lines, .reads = {X}, .updates = {c, r, s});
    node->status = hawser_run_program(node->job, p, &run, &node->error);
    hawser_program_free(p);
    if (node->status == HAWSER_OK)
        node->status = hawser_result_range(run, "columns", 0, LINES * WIDTH, columns, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_result_range(run, "rows", 0, LINES * WIDTH, rows, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_result_range(run, "sums", 0, LINES * WIDTH, sums, &node->error);
    for (int k = 0; node->status == HAWSER_OK && k < LINES * WIDTH; k++) {
        int wanted = k / WIDTH * 100 + k % WIDTH;
        if (columns[k] != (float)wanted || rows[k] != k + wanted || sums[k] != k + (double)blocks * wanted)
            node->status =
                hawser_fail(&node->error, HAWSER_INTERNAL, "number %d: %g, %g, %g", k, (double)columns[k], rows[k], sums[k]);
    }
    hawser_run_free(run);
}

static void test_matrices_by_rows_and_columns(void **ignored)
{
    (void)ignored;
    static const char *const workers[] = {"3", "4", "13"};
    for (uint32_t count = 1; count <= NODES; count++)
        for (size_t k = 0; k < sizeof workers / sizeof *workers; k += SANITIZED ? 2 : 1)
            on_nodes(count, workers[k], run_matrices, NULL);
}

static void test_a_matrix_follows_the_lines_of_its_data(void **ignored)
{
    (void)ignored;
    static const double data[2 * LINES] = {1};
    const hawser_matrix A = {.rows = 2, .cols = LINES, .stored = 2 * LINES, .values = (void *)(uintptr_t)data, .stride = 2};
    hawser_run *run = NULL;
    hawser_error error = {0};
    test_job test = OPEN_JOB("workers", "2");
    hawser_program *p = hawser_program_new("matrices", NULL);
    hawser_state *X = HAWSER_STATE(p, "X", HAWSER_DATA, .matrix = &A, .split = HAWSER_BY_COLUMN);
    hawser_state *c = HAWSER_STATE(p, "columns", HAWSER_STORED, .type = HAWSER_F32, .rows = LINES, .cols = WIDTH,
                                   .by_column = true, .along = X);
    (void)HAWSER_UNIT(hawser_root(p), "write", write_lines, .reads = {X}, .updates = {c});
    assert_int_equal(hawser_run_program(test.job, p, &run, &error), HAWSER_BAD_PROGRAM);
    assert_non_null(
        strstr(error.text, "stored state 'columns' has 3 columns, which do not follow the split of 'X' (by column, 11)"));
    hawser_program_free(p);
    close_job(test);
}

/* --------------------------------------------------------------------------------------------------- runs and jobs ---- */

/* Two runs before and after one that fails: the ranges of each are its own. */
static void read_around_a_failure(test_node *node)
{
    hawser_run *before = NULL, *failed = NULL, *after = NULL;
    hawser_error ignored = {0};
    uint32_t blocks = hawser_job_workers(node->job);
    node->status = run_one(node->job, step, &before, &node->error);
    hawser_unit_function *unit = node->user != NULL ? fall_apart_locally : fall_apart;
    if (node->status == HAWSER_OK && run_one(node->job, unit, &failed, &ignored) != HAWSER_NOT_FINITE)
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "the run has not failed: %s", ignored.text);
    if (unit == fall_apart_locally && strstr(ignored.text, "local state 'p': number 3 of the whole became -inf") == NULL)
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "another failure: %s", ignored.text);
    if (node->status == HAWSER_OK)
        node->status = check_all_states(before, blocks, 2, &node->error);
    if (node->status == HAWSER_OK)
        node->status = run_one(node->job, step, &after, &node->error);
    if (node->status == HAWSER_OK)
        node->status = check_all_states(after, blocks, 2, &node->error);
    if (node->status == HAWSER_OK)
        node->status = check_all_states(before, blocks, 2, &node->error);
    assert_null(failed);
    hawser_run_free(before);
    hawser_run_free(after);
}

static void test_results_outlive_a_failed_run(void **ignored)
{
    (void)ignored;
    for (uint32_t count = 1; count <= NODES; count++)
        for (int local = 0; local < 2; local++)
            on_nodes(count, "4", read_around_a_failure, local ? "local" : NULL);
}

/* The nodes that have freed the run, or have gone to close the job with it. */
typedef struct gone {
    atomic_uint count;
    bool frees;           /* they free the run before */
    uint32_t nodes, last; /* last: the node that reads when the others have gone */
    hawser_run *runs[NODES_MOST];
} gone;

static void read_last(test_node *node)
{
    gone *all = node->user;
    hawser_run **run = &all->runs[node->node];
    node->status = run_one(node->job, step, run, &node->error);
    if (node->node != all->last) { /* these leave at once */
        if (all->frees) {
            hawser_run_free(*run);
            *run = NULL;
        }
        atomic_fetch_add(&all->count, 1);
        return;
    }
    while (atomic_load(&all->count) < all->nodes - 1)
        usleep(1000);
    usleep(20000); /* while they close */
    if (node->status == HAWSER_OK)
        node->status = check_all_states(*run, hawser_job_workers(node->job), 5, &node->error);
    if (node->status == HAWSER_OK)
        node->status = check_whole(*run, "d", hawser_job_workers(node->job), &node->error);
}

static void test_nodes_that_close_the_job_serve_the_others(void **ignored)
{
    (void)ignored;
    for (int frees = 0; frees < 2; frees++) {
        gone all = {.frees = frees, .nodes = NODES, .last = 1};
        hawser_error error = {0};
        double got[COUNT];
        const double *whole;
        on_nodes(NODES, "5", read_last, &all);
        /* Once the job is closed, a run has what it had fetched. */
        assert_int_equal(check_whole(all.runs[1], "d", 5, &error), HAWSER_OK);
        assert_int_equal(range(all.runs[1], "d", 2, COUNT - 2, got, &error), HAWSER_OK);
        for (const char *state = "ap"; *state != '\0'; state++) { /* stored and local */
            const char name[] = {*state, '\0'};
            char text[100];
            snprintf(text, sizeof text, "the job is closed, and numbers of state '%s' were on other nodes; read them before",
                     name);
            assert_int_equal(range(all.runs[1], name, 0, COUNT, got, &error), HAWSER_BAD_ARGUMENT);
            assert_string_equal(error.text, text);
            assert_int_equal(hawser_result(all.runs[1], name, &whole, NULL, &error), HAWSER_BAD_ARGUMENT);
            assert_string_equal(error.text, text);
            assert_null(whole);
        }
        for (int n = 0; n < NODES; n++)
            hawser_run_free(all.runs[n]);
    }
}

/* The last reader has a parent that is not node 0, or children. */
static void test_nodes_far_down_the_tree_are_waited_for(void **ignored)
{
    (void)ignored;
    for (int k = 0; k < 2; k++) {
        gone all = {.frees = k == 1, .nodes = NODES_MOST, .last = k == 0 ? NODES_MOST - 1 : 1};
        on_nodes(NODES_MOST, "11", read_last, &all);
        for (int n = 0; n < NODES_MOST; n++)
            hawser_run_free(all.runs[n]);
    }
}

/* All nodes free several runs: each sends one message up the tree for each run, and one down to each of its children, which
 * are 2 (N - 1) messages of all. */
static void free_and_count(test_node *node)
{
    enum { FREED = 3 };
    pthread_barrier_t *all = node->user;
    hw_cluster *cluster = node->job->cluster;
    hawser_run *runs[FREED] = {NULL};
    uint32_t first, end;
    hw_gathering_children(node->node, NODES_MOST, &first, &end);
    const uint64_t wanted = FREED * ((uint64_t)(node->node != 0) + end - first);
    for (int k = 0; k < FREED && node->status == HAWSER_OK; k++)
        node->status = run_one(node->job, step, &runs[k], &node->error);
    pthread_barrier_wait(all);
    const uint64_t before = messages_of(cluster);
    pthread_barrier_wait(all);
    for (int k = 0; k < FREED; k++)
        hawser_run_free(runs[k]);
    for (int k = 0; k < 10000 && messages_of(cluster) - before < wanted; k++)
        usleep(1000);
    pthread_barrier_wait(all);
    const uint64_t sent = messages_of(cluster) - before;
    pthread_barrier_wait(all); /* node 0 forwards goodbyes */
    if (node->status == HAWSER_OK && sent != wanted)
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "%llu messages of node %u, not %llu",
                                   (unsigned long long)sent, node->node, (unsigned long long)wanted);
}

static void test_freed_runs_take_a_message_up_and_one_down(void **ignored)
{
    (void)ignored;
    pthread_barrier_t all;
    assert_int_equal(pthread_barrier_init(&all, NULL, NODES_MOST), 0);
    on_nodes(NODES_MOST, "11", free_and_count, &all);
    pthread_barrier_destroy(&all);
}

static void test_a_run_of_one_node_outlives_the_job(void **ignored)
{
    (void)ignored;
    hawser_run *run = NULL;
    hawser_error error = {0};
    test_job test = OPEN_JOB("workers", "3");
    assert_int_equal(run_one(test.job, step, &run, &error), HAWSER_OK);
    close_job(test);
    if (check_all_states(run, 3, 1, &error) != HAWSER_OK || check_whole(run, "d", 3, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    hawser_run_free(run);
}

/* ------------------------------------------------------------------------------------------------- memory, refusals ---- */

/* Nobody has the whole before it is requested, and a whole that exceeds the limit is refused; its ranges are not. */
static void read_with_little_memory(test_node *node)
{
    hawser_run *run = NULL;
    hawser_error error = {0};
    double got[COUNT];
    const double *whole;
    node->status = run_one(node->job, step, &run, &node->error);
    if (node->status != HAWSER_OK)
        return;
    for (uint32_t i = 0; i < run->kept->count; i++)
        assert_null(run->kept->states[i].whole);
    run->kept->limit = 200;
    for (const char *state = "dp"; node->status == HAWSER_OK && *state != '\0'; state++) { /* stored and local */
        const char name[] = {*state, '\0'};
        char text[200];
        snprintf(text, sizeof text,
                 "the whole result of state '%s' takes 0.0 MiB on this node, besides 0.0 MiB of data and results, and its "
                 "limit is 0.0 MiB; read it in parts by hawser_result_range",
                 name);
        if (hawser_result(run, name, &whole, NULL, &error) != HAWSER_NO_MEMORY || strstr(error.text, text) == NULL)
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "the whole is not refused: %s", error.text);
        if (node->status == HAWSER_OK)
            node->status = range(run, name, 0, COUNT, got, &node->error);
    }
    for (uint32_t i = 0; i < run->kept->count; i++)
        assert_null(run->kept->states[i].whole);
    hawser_run_free(run);
}

static void test_the_whole_is_made_on_request_within_the_limit(void **ignored)
{
    (void)ignored;
    on_nodes(2, "4", read_with_little_memory, NULL);
}

static void read_wrongly(test_node *node)
{
    hawser_run *run = NULL;
    hawser_error error = {0};
    double d[COUNT];
    float f[COUNT];
    node->status = run_one(node->job, step, &run, &node->error);
    if (node->status != HAWSER_OK)
        return;
    assert_int_equal(hawser_result_range(run, "d", COUNT - 1, 2, d, &error), HAWSER_BAD_ARGUMENT);
    assert_string_equal(error.text, "state 'd' has 23 numbers, and 2 from number 22 on were requested");
    assert_int_equal(hawser_result_range(run, "d", COUNT + 1, 0, d, &error), HAWSER_BAD_ARGUMENT);
    assert_string_equal(error.text, "state 'd' has 23 numbers, and 0 from number 24 on were requested");
    assert_int_equal(hawser_result_range(run, "d", 1, SIZE_MAX, d, &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_result_range(run, "d", 0, 1, f, &error), HAWSER_BAD_ARGUMENT);
    assert_string_equal(error.text, "state 'd' has numbers of f64, and f32 were requested");
    assert_int_equal(hawser_result_range(run, "none", 0, 1, d, &error), HAWSER_BAD_ARGUMENT);
    assert_string_equal(error.text, "the run has no result of a state 'none'");
    const double *whole;
    assert_int_equal(hawser_result(run, "none", &whole, NULL, &error), HAWSER_BAD_ARGUMENT);
    assert_string_equal(error.text, "the run has no result of a state 'none'");
    assert_int_equal(hawser_result_range(NULL, "d", 0, 1, d, &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_result_range(run, "d", 0, 1, (double *)NULL, &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_result_range(run, "d", COUNT, 0, (double *)NULL, &error), HAWSER_OK);
    assert_int_equal(hawser_result_size(run, "none"), 0);
    assert_int_equal(hawser_result_size(NULL, "d"), 0);
    hawser_run_free(run);
}

static void test_wrong_ranges_are_refused(void **ignored)
{
    (void)ignored;
    for (uint32_t count = 1; count <= 2; count++)
        on_nodes(count, "3", read_wrongly, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_range_on_every_node),
        cmocka_unit_test(test_threads_read_many_pieces),
        cmocka_unit_test(test_matrices_by_rows_and_columns),
        cmocka_unit_test(test_a_matrix_follows_the_lines_of_its_data),
        cmocka_unit_test(test_results_outlive_a_failed_run),
        cmocka_unit_test(test_nodes_that_close_the_job_serve_the_others),
        cmocka_unit_test(test_nodes_far_down_the_tree_are_waited_for),
        cmocka_unit_test(test_freed_runs_take_a_message_up_and_one_down),
        cmocka_unit_test(test_a_run_of_one_node_outlives_the_job),
        cmocka_unit_test(test_the_whole_is_made_on_request_within_the_limit),
        cmocka_unit_test(test_wrong_ranges_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
