/*
 * hawser_cocoa: local solvers of the user's on subproblems of columns (the lasso, certified by its duality gap) and of rows
 * (the dual of ridge regression, compared with the normal equations), for threads, nodes, layouts and syncs; and what is
 * refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hawser/cocoa.h"
#include "hawser/row_kernels.h"
#include "nodes.h"

enum { ROWS = 26, COLS = 17, LAYOUTS = 4 };
static const double LAMBDA = 0.9, C = 0.7;

/* One matrix in four layouts; a third of it is zero. */
static double by_column[ROWS * COLS], by_row[ROWS * COLS], of_columns[ROWS * COLS], of_rows[ROWS * COLS], y[ROWS];
static uint64_t columns_begin[COLS + 1], rows_begin[ROWS + 1];
static uint32_t in_column[ROWS * COLS], in_row[ROWS * COLS];
static hawser_matrix layouts[LAYOUTS];

/* Returns numbers in [-1, 1] without a pattern, and a third of zeros. */
static double entry(size_t i, size_t j)
{
    uint64_t x = (i * COLS + j + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 29)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (x >> 7) % 3 == 0 ? 0.0 : (double)((x >> 32) % 2001) / 1000.0 - 1.0;
}

static int fill(void **state)
{
    (void)state;
    uint64_t stored = 0;
    for (size_t j = 0; j < COLS; j++) {
        for (size_t i = 0; i < ROWS; i++)
            if ((by_column[j * ROWS + i] = entry(i, j)) != 0.0) {
                in_column[stored] = (uint32_t)i;
                of_columns[stored++] = entry(i, j);
            }
        columns_begin[j + 1] = stored;
    }
    stored = 0;
    for (size_t i = 0; i < ROWS; i++) {
        y[i] = 3.0 * cos(0.8 * (double)i) + entry(i, 3);
        for (size_t j = 0; j < COLS; j++)
            if ((by_row[i * COLS + j] = entry(i, j)) != 0.0) {
                in_row[stored] = (uint32_t)j;
                of_rows[stored++] = entry(i, j);
            }
        rows_begin[i + 1] = stored;
    }
    layouts[0] = (hawser_matrix){.values = by_column, .stride = ROWS, .stored = ROWS * COLS};
    layouts[1] = (hawser_matrix){
        .layout = HAWSER_CSC, .offsets = columns_begin, .indices = in_column, .values = of_columns, .stored = stored};
    layouts[2] = (hawser_matrix){.layout = HAWSER_DENSE_ROWS, .values = by_row, .stride = COLS, .stored = ROWS * COLS};
    layouts[3] =
        (hawser_matrix){.layout = HAWSER_CSR, .offsets = rows_begin, .indices = in_row, .values = of_rows, .stored = stored};
    for (size_t k = 0; k < LAYOUTS; k++) {
        layouts[k].rows = ROWS;
        layouts[k].cols = COLS;
    }
    return 0;
}

/* What a program is made of, and its results on each node. */
typedef struct plan {
    bool rows; /* the ridge problem, else the lasso */
    size_t layout;
    double gamma;
    hawser_sync sync;
    double tolerance;
    size_t steps; /* of a round, over the own coordinates; 0: as many as there are */
    double alpha[NODES_MOST][ROWS], v[NODES_MOST][ROWS];
    double measure[NODES_MOST];
} plan;

/* ---- the lasso: 1/2 |v - y|^2 + lambda |alpha|_1 over columns ---- */

static double shrink(double value, double by)
{
    return value > by ? value - by : value < -by ? value + by : 0.0;
}

/* At the beginning of a round, one block alone sees v = A alpha, also in rounds before v is rebuilt. */
static bool agrees(const hawser_subproblem *s)
{
    for (size_t i = 0; i < s->size; i++) {
        double sum = 0.0;
        for (size_t j = 0; j < s->coordinates; j++)
            sum += entry(i, j) * s->alpha[j];
        if (!(fabs(sum - s->v[i]) <= 1e-12))
            return false;
    }
    return true;
}

static hawser_status descend(hawser_context *context, hawser_subproblem *s)
{
    const plan *how = hawser_user(context);
    if (hawser_blocks(context) == 1 && !agrees(s))
        return hawser_unit_fail(context, HAWSER_INTERNAL, "v is not A alpha");
    size_t steps = how->steps != 0 ? how->steps : s->coordinates;
    for (size_t n = 0; n < steps && s->coordinates > 0; n++) {
        size_t j = hawser_random_below(context, s->coordinates);
        double slope = 0.0, square = 0.0;
        for (size_t i = 0; i < ROWS; i++) {
            double a = entry(i, s->first + j);
            slope += a * (s->v[i] - y[i]);
            square += a * a;
        }
        square *= s->sigma;
        hawser_subproblem_step(s, j, shrink(s->alpha[j] - slope / square, LAMBDA / square) - s->alpha[j]);
    }
    return HAWSER_OK;
}

static hawser_status certify_columns(hawser_context *context)
{
    HAWSER_READ(context, hawser_matrix, A);
    HAWSER_READ(context, double, v);
    HAWSER_READ(context, double, alpha);
    double r[ROWS], most = 0.0, norm = 0.0, square = 0.0, with_target = 0.0;
    for (size_t i = 0; i < ROWS; i++) {
        r[i] = y[i] - v[i];
        square += r[i] * r[i];
        with_target += r[i] * y[i];
    }
    for (size_t j = 0; j < A->cols; j++) {
        most = fmax(most, fabs(hawser_column_dot(A, j, r)));
        norm += fabs(alpha[j]);
    }
    HAWSER_TRY(hawser_report(context, "most", most));
    HAWSER_TRY(hawser_report(context, "norm", norm));
    HAWSER_TRY(hawser_report(context, "square", square));
    return hawser_report(context, "with_target", with_target);
}

static bool closed(hawser_progress *progress, void *user)
{
    const plan *how = user;
    double most = hawser_progress_metric(progress, "most"), square = hawser_progress_metric(progress, "square");
    double scale = most > LAMBDA ? LAMBDA / most : 1.0;
    double dual = scale * hawser_progress_metric(progress, "with_target") - 0.5 * scale * scale * square;
    double gap = 0.5 * square + LAMBDA * hawser_progress_metric(progress, "norm") - dual;
    hawser_progress_set(progress, "gap", gap);
    return gap <= how->tolerance || hawser_progress_clock(progress) > 800;
}

/* ---- ridge regression by its dual: 1/2 |A^T alpha|^2 + sum of alpha_i^2 / (2 C) - y_i alpha_i over rows ---- */

static hawser_status ascend(hawser_context *context, hawser_subproblem *s)
{
    const plan *how = hawser_user(context);
    size_t steps = how->steps != 0 ? how->steps : s->coordinates;
    for (size_t n = 0; n < steps && s->coordinates > 0; n++) {
        size_t i = hawser_random_below(context, s->coordinates);
        double square = 0.0;
        for (size_t j = 0; j < COLS; j++)
            square += entry(s->first + i, j) * entry(s->first + i, j);
        double slope = hawser_row_dot(s->A, i, s->v) - y[s->first + i] + s->alpha[i] / C;
        hawser_subproblem_step(s, i, -slope / (s->sigma * square + 1.0 / C));
    }
    return HAWSER_OK;
}

static hawser_status certify_rows(hawser_context *context)
{
    HAWSER_READ(context, hawser_matrix, A);
    HAWSER_READ(context, double, v);
    HAWSER_READ(context, double, alpha);
    double most = 0.0;
    for (size_t i = 0; i < A->rows; i++)
        most = fmax(most, fabs(hawser_row_dot(A, i, v) - y[A->first + i] + alpha[i] / C));
    return hawser_report(context, "most", most);
}

static bool flat(hawser_progress *progress, void *user)
{
    const plan *how = user;
    double most = hawser_progress_metric(progress, "most");
    hawser_progress_set(progress, "gap", most);
    return most <= how->tolerance || hawser_progress_clock(progress) > 800;
}

/* ---- runs ---- */

static hawser_program *make(const hawser_job *job, plan *how)
{
    hawser_program *program = hawser_program_new("cocoa", how);
    hawser_state *A = HAWSER_STATE(program, "A", HAWSER_DATA, .matrix = &layouts[how->layout],
                                   .split = how->rows ? HAWSER_BY_ROW : HAWSER_BY_COLUMN);
    const hawser_rule rule = hawser_cocoa_rule(job, how->gamma, how->sync);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = how->rows ? COLS : ROWS, .damping = rule.damping,
                                   .gain = rule.gain);
    hawser_state *alpha = HAWSER_STATE(program, "alpha", HAWSER_LOCAL, .along = A);
    hawser_metric_declare(program, "most", HAWSER_MAX);
    hawser_metric_declare(program, "norm", HAWSER_SUM);
    hawser_metric_declare(program, "square", HAWSER_LAST);
    hawser_metric_declare(program, "with_target", HAWSER_LAST);
    hawser_metric_declare(program, "gap", HAWSER_LAST);
    hawser_operator *outer = hawser_loop(hawser_root(program), "outer",
                                         (hawser_until){.test = how->rows ? flat : closed, .user = how}, hawser_bsp());
    hawser_operator *rounds = hawser_loop(outer, "rounds", (hawser_until){.clocks = 8}, how->sync);
    hawser_cocoa(rounds, "solve", how->rows ? ascend : descend, alpha, v, NULL);
    HAWSER_UNIT(outer, "certify", how->rows ? certify_rows : certify_columns, .reads = {A, v, alpha});
    return program;
}

static void body(test_node *node)
{
    plan *how = node->user;
    hawser_run *run = NULL;
    hawser_program *program = make(node->job, how);
    node->status = hawser_run_program(node->job, program, &run, &node->error);
    if (node->status == HAWSER_OK) {
        size_t own, shared;
        const double *alpha = RESULT(double, run, "alpha", &own), *v = RESULT(double, run, "v", &shared);
        memcpy(how->alpha[node->node], alpha, own * sizeof *alpha);
        memcpy(how->v[node->node], v, shared * sizeof *v);
        how->measure[node->node] = hawser_result_metric(run, "gap");
    }
    hawser_run_free(run);
    hawser_program_free(program);
}

static void run(plan *how, uint32_t count, const char *workers, const char *threads, const char *merge)
{
    test_node nodes[NODES_MOST];
    const char *const pairs[] = {"workers", workers, "threads", threads, "merge", merge, "timeout", "60", NULL};
    run_nodes(nodes, count, pairs, body, how);
    check_all(nodes, count, workers);
}

/* v is A alpha, and both are an optimum. */
static void check(const plan *how, uint32_t node)
{
    size_t own = how->rows ? ROWS : COLS, shared = how->rows ? COLS : ROWS;
    for (size_t k = 0; k < shared; k++) {
        double sum = 0.0;
        for (size_t j = 0; j < own; j++)
            sum += (how->rows ? entry(j, k) : entry(k, j)) * how->alpha[node][j];
        assert_true(fabs(sum - how->v[node][k]) <= 1e-12);
    }
    if (!(how->measure[node] <= how->tolerance))
        fail_msg("layout %zu, gamma %g, sync %d: %g", how->layout, how->gamma, (int)how->sync.tightness, how->measure[node]);
    for (size_t j = 0; how->rows && j < COLS; j++) { /* w = v solves (1 + C A^T A) w = C A^T y */
        double wrong = how->v[node][j];
        for (size_t i = 0; i < ROWS; i++) {
            double product = -y[i];
            for (size_t l = 0; l < COLS; l++)
                product += entry(i, l) * how->v[node][l];
            wrong += C * entry(i, j) * product;
        }
        assert_true(fabs(wrong) <= 100.0 * how->tolerance);
    }
}

static const struct {
    bool rows;
    size_t layout;
} problems[] = {{false, 0}, {false, 1}, {true, 0}, {true, 2}, {true, 3}};
#define PROBLEMS (sizeof problems / sizeof *problems)

static void every_layout_on_any_threads_and_nodes(void **state)
{
    (void)state;
    static plan first, other;
    for (size_t p = 0; p < PROBLEMS; p++) {
        first = (plan){.rows = problems[p].rows, .layout = problems[p].layout, .gamma = 1.0, .tolerance = 1e-8};
        run(&first, 1, "4", "1", "add");
        check(&first, 0);
        other = (plan){.rows = first.rows, .layout = first.layout, .gamma = 1.0, .tolerance = 1e-8};
        uint32_t nodes = p % 2 == 0 ? 3 : 1;
        run(&other, nodes, "4", "3", "add");
        for (uint32_t n = 0; n < nodes; n++) {
            assert_memory_equal(first.alpha[0], other.alpha[n], sizeof first.alpha[0]);
            assert_memory_equal(first.v[0], other.v[n], sizeof first.v[0]);
        }
    }
}

static void every_sync_and_both_merges(void **state)
{
    (void)state;
    static plan how;
    const hawser_sync syncs[] = {hawser_bsp(), hawser_ssp(2), hawser_tap()};
    for (size_t k = 0; k < 3; k++)
        for (size_t p = 0; p < PROBLEMS; p += 3) {
            how = (plan){
                .rows = problems[p].rows, .layout = problems[p].layout, .sync = syncs[k], .tolerance = k == 2 ? 1e-3 : 1e-6};
            run(&how, k == 0 ? 1 : 2, "3", "3", k == 0 ? "average" : "add"); /* gamma follows --merge */
            check(&how, 0);
        }
}

static void one_worker_and_more_workers_than_coordinates(void **state)
{
    (void)state;
    static plan how;
    static const char *const workers[] = {"1", "20"};
    for (size_t k = 0; k < 2; k++) {
        how = (plan){.gamma = 1.0, .layout = 1, .tolerance = k == 0 ? 1e-8 : 0.1};
        run(&how, 1, workers[k], "1", "add");
        check(&how, 0);
    }
}

static void a_solver_that_does_little_needs_more_rounds(void **state)
{
    (void)state;
    static plan how;
    how = (plan){.gamma = 1.0, .steps = 1, .tolerance = 1e-4};
    run(&how, 1, "3", "1", "add");
    check(&how, 0);
}

/* ---- misuse ---- */

static hawser_status steps_too_far(hawser_context *context, hawser_subproblem *s)
{
    (void)context;
    hawser_subproblem_step(s, s->coordinates, 1.0);
    return HAWSER_OK;
}

static void a_step_beyond_the_coordinates_fails(void **state)
{
    (void)state;
    static plan how;
    test_job test = OPEN_JOB("workers", "2");
    hawser_program *program = hawser_program_new("cocoa", &how);
    hawser_state *A = HAWSER_STATE(program, "A", HAWSER_DATA, .matrix = &layouts[0], .split = HAWSER_BY_COLUMN);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = ROWS);
    hawser_operator *loop = hawser_loop(hawser_root(program), "rounds", (hawser_until){.clocks = 1}, hawser_bsp());
    hawser_cocoa(loop, "solve", steps_too_far, HAWSER_STATE(program, "alpha", HAWSER_LOCAL, .along = A), v, NULL);
    hawser_run *run = NULL;
    hawser_error error = {0};
    assert_int_equal(hawser_run_program(test.job, program, &run, &error), HAWSER_BAD_PROGRAM);
    if (strstr(error.text, "unit 'solve', block ") == NULL || strstr(error.text, "no own coordinate ") == NULL)
        fail_msg("%s", error.text);
    hawser_program_free(program);
    close_job(test);
}

/* How a program is wrong. */
typedef enum wrong {
    NO_SOLVER,
    WIDE_ALPHA,
    PARTITIONED_ALPHA,
    WHOLE_DATA,
    SHORT_V,
    F32_V,
    DERIVED_V,
    TIED_ALPHA,
    WRONGS
} wrong;

static hawser_status nothing(hawser_context *context)
{
    (void)context;
    return HAWSER_OK;
}

static hawser_program *make_wrong(wrong how)
{
    hawser_program *program = hawser_program_new("cocoa", NULL);
    hawser_state *A = HAWSER_STATE(program, "A", HAWSER_DATA, .matrix = &layouts[0], .split = HAWSER_BY_COLUMN);
    hawser_state *fetched = HAWSER_STATE(program, "F", HAWSER_DATA, .matrix = &layouts[1], .split = HAWSER_FETCHED);
    size_t size = how == SHORT_V ? COLS : ROWS;
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .type = how == F32_V ? HAWSER_F32 : HAWSER_F64,
                                   .rows = size, .derive = how == DERIVED_V ? nothing : NULL);
    hawser_state *other = HAWSER_STATE(program, "other", HAWSER_REPLICATED, .rows = ROWS);
    hawser_state *alpha = how == PARTITIONED_ALPHA
                              ? HAWSER_STATE(program, "alpha", HAWSER_PARTITIONED, .rows = COLS, .along = A)
                              : HAWSER_STATE(program, "alpha", HAWSER_LOCAL, .along = how == WHOLE_DATA ? fetched : A,
                                             .cols = how == WIDE_ALPHA ? 2 : 1, .tie = how == TIED_ALPHA ? other : NULL);
    hawser_operator *loop = hawser_loop(hawser_root(program), "rounds", (hawser_until){.clocks = 1}, hawser_bsp());
    hawser_cocoa(loop, "solve", how == NO_SOLVER ? NULL : descend, alpha, v, NULL);
    return program;
}

static void wrong_programs_are_refused(void **state)
{
    (void)state;
    static const char *const texts[WRONGS] = {"the solver of hawser_cocoa is NULL",
                                              "with one f64 per",
                                              "are a local state",
                                              "'F', which is",
                                              "'v' has 17 numbers, but the product of 'A' and 'alpha' has 26",
                                              "no replicated state of f64",
                                              "is derived already",
                                              "'alpha' is tied to 'other' already"};
    test_job test = OPEN_JOB("workers", "2");
    for (wrong how = 0; how < WRONGS; how++) {
        hawser_program *program = make_wrong(how);
        hawser_run *run = NULL;
        hawser_error error = {0};
        hawser_status status = hawser_run_program(test.job, program, &run, &error);
        if (status != HAWSER_BAD_PROGRAM || strstr(error.text, texts[how]) == NULL)
            fail_msg("%d: %d, %s", (int)how, (int)status, error.text);
        hawser_program_free(program);
    }
    close_job(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_layout_on_any_threads_and_nodes),
                                       cmocka_unit_test(every_sync_and_both_merges),
                                       cmocka_unit_test(one_worker_and_more_workers_than_coordinates),
                                       cmocka_unit_test(a_solver_that_does_little_needs_more_rounds),
                                       cmocka_unit_test(a_step_beyond_the_coordinates_fails),
                                       cmocka_unit_test(wrong_programs_are_refused)};
    return cmocka_run_group_tests(tests, fill, NULL);
}
