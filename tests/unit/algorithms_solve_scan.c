/* Scans of drawn dual points, lambdas and coefficients, beside the correlations of all columns computed here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algorithms/solve/scan.h"
#include "base/random.h"

enum { ROWS = 30, COLUMNS = 200, STEPS = 400 };

typedef struct problem {
    double values[ROWS * COLUMNS], weights[ROWS];
    double mean[COLUMNS], norm[COLUMNS], l1[COLUMNS], l2[COLUMNS], lower[COLUMNS], upper[COLUMNS], alpha[COLUMNS];
    hw_linear_columns columns;
} problem;

static double draw(hw_random *random)
{
    return 2.0 * hw_random_uniform(random) - 1.0;
}

/* Makes columns of different scale, some without an L1 part, without entries, or with a bound on one side. */
static void make(problem *q, hw_random *random)
{
    double total = 0.0;
    for (size_t i = 0; i < ROWS; i++)
        total += q->weights[i] = i % 7 == 3 ? 0.0 : 0.5 + hw_random_uniform(random);
    q->columns = (hw_linear_columns){.X = {.rows = ROWS,
                                           .cols = COLUMNS,
                                           .stored = ROWS * COLUMNS,
                                           .layout = HAWSER_DENSE,
                                           .type = HAWSER_F64,
                                           .values = q->values,
                                           .stride = ROWS},
                                     .weights = q->weights,
                                     .total = total,
                                     .mean = q->mean,
                                     .norm = q->norm,
                                     .l1 = q->l1,
                                     .l2 = q->l2,
                                     .lower = q->lower,
                                     .upper = q->upper};
    for (size_t j = 0; j < COLUMNS; j++) {
        double *x = q->values + j * ROWS, scale = j % 50 == 11 ? 0.0 : 0.1 + hw_random_uniform(random);
        for (size_t i = 0; i < ROWS; i++)
            x[i] = scale * draw(random);
        for (size_t i = 0; i < ROWS; i++)
            q->norm[j] += q->weights[i] * x[i] * x[i] / total;
        q->l1[j] = j % 40 == 4 ? 0.0 : 1.0;
        q->lower[j] = j % 20 == 7 ? 0.0 : -INFINITY;
        q->upper[j] = INFINITY;
    }
}

/* Checks that each column that is not live is well inside the dead zone, and that the gradient is exact or bounds a
 * correlation inside it. */
static size_t check(const hw_linear_scan *scan, const problem *q, const double *dual, double lambda)
{
    size_t at = 0;
    double idle = hw_linear_scan_idle(scan, &q->columns, lambda);
    for (size_t j = 0; j < COLUMNS; j++) {
        double exact = 0.0, edge = lambda * q->l1[j];
        for (size_t i = 0; i < ROWS; i++)
            exact += q->values[j * ROWS + i] * dual[i];
        exact /= q->columns.total;
        bool live = at < scan->live_count && scan->live[at] == j;
        at += live;
        bool equal = fabs(scan->gradient[j] - exact) <= 1e-12;
        assert_true(equal || (fabs(exact) <= fabs(scan->gradient[j]) && fabs(scan->gradient[j]) <= edge));
        assert_true(equal || (q->alpha[j] == 0.0 && edge > 0.0 && q->lower[j] == -INFINITY));
        assert_true(live || (q->alpha[j] == 0.0 && edge > 0.0 && fabs(exact) <= idle * edge && idle <= 1.0));
    }
    assert_int_equal(at, scan->live_count);
    return scan->live_count;
}

/* Scans a point that the scan holds instead of a copy, and compares with a scan of copies. */
static void check_held(hw_linear_scan *scan, hw_linear_held **held, const hw_linear_scan *copies, const problem *q,
                       const double *dual, double lambda)
{
    if (*held == NULL || memcmp((*held)->values, dual, ROWS * sizeof *dual) != 0) {
        hw_linear_hold(held, NULL);
        *held = hw_linear_held_new(ROWS);
        assert_non_null(*held);
        memcpy((*held)->values, dual, ROWS * sizeof *dual);
    }
    scan->given = *held;
    hw_linear_scan_run(scan, &q->columns, (*held)->values, 0.0, q->alpha, lambda);
    assert_ptr_equal(scan->dual, (*held)->values);
    assert_int_equal(scan->live_count, copies->live_count);
    assert_memory_equal(scan->live, copies->live, scan->live_count * sizeof *scan->live);
    assert_memory_equal(scan->gradient, copies->gradient, COLUMNS * sizeof *scan->gradient);
}

static void columns_that_matter_are_live_and_exact(void **unused)
{
    (void)unused;
    problem *q = calloc(1, sizeof *q);
    hw_random random = hw_random_at(9, 0, 0, 0);
    hw_linear_scan scan = {0}, holder = {0};
    hw_linear_held *held = NULL;
    hawser_error error = {0};
    double dual[ROWS], lambda = 0.3;
    size_t live = 0;
    make(q, &random);
    if (hw_linear_scan_new(&scan, &q->columns.X, &error) != HAWSER_OK ||
        hw_linear_scan_new(&holder, &q->columns.X, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < ROWS; i++)
        dual[i] = q->weights[i] * draw(&random);
    for (size_t step = 0; step < STEPS; step++) {
        if (step % 3 != 0) /* else only lambda changes, as between two members of a path */
            for (size_t i = 0; i < ROWS; i++)
                dual[i] += q->weights[i] * (step % 100 == 1 ? 1.0 : 0.01) * draw(&random);
        lambda = step % 100 == 99 ? 0.3 : step == 250 ? 0.0 : fmax(lambda, 0.01) * 0.97;
        for (int k = 0; k < 3; k++) {
            size_t j = (size_t)hw_random_below(&random, COLUMNS);
            q->alpha[j] = step % 2 == 0 ? draw(&random) : 0.0;
        }
        if (step == 200) {
            hw_linear_scan_reset(&scan);
            hw_linear_scan_reset(&holder);
        }
        hw_linear_scan_run(&scan, &q->columns, dual, 0.0, q->alpha, lambda);
        live += check(&scan, q, dual, lambda);
        check_held(&holder, &held, &scan, q, dual, lambda);
    }
    assert_true(live < STEPS * COLUMNS * 9 / 10); /* most scans leave columns out */
    hw_linear_scan_free(&scan);
    hw_linear_scan_free(&holder);
    hw_linear_hold(&held, NULL);
    free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns_that_matter_are_live_and_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
