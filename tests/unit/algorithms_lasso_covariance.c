/* Certificates from products of columns (covariance.h), compared with long double arithmetic on the rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algorithms_lasso_problem.h"

enum { OF_ROWS = 400, OF_COLUMNS = 12, POINTS = 30 };

/* The certificate's numbers of a point, from the rows. */
typedef struct exact {
    long double loss, target, intercept, gradient[OF_COLUMNS];
} exact;

static long double mean_of(const problem *q, const double *column)
{
    long double sum = 0.0L, total = 0.0L;
    for (size_t i = 0; i < q->n; i++) {
        sum += (long double)row_weight(q, i) * column[i];
        total += row_weight(q, i);
    }
    return q->lasso.choices.settings.intercept ? sum / total : 0.0L;
}

static void evaluate(const problem *q, const double *alpha, exact *e)
{
    long double *r = malloc(q->n * sizeof *r), means[OF_COLUMNS], centre = mean_of(q, q->lasso.problem.target), total = 0.0L;
    *e = (exact){.intercept = centre};
    for (size_t j = 0; j < q->p; j++) {
        means[j] = mean_of(q, q->dense + j * q->n);
        e->intercept -= means[j] * alpha[j];
    }
    for (size_t i = 0; i < q->n; i++) {
        long double z = q->lasso.problem.target[i] - centre, w = row_weight(q, i);
        r[i] = z;
        for (size_t j = 0; j < q->p; j++)
            r[i] -= (q->dense[j * q->n + i] - means[j]) * alpha[j];
        total += w;
        e->loss += 0.5L * w * r[i] * r[i];
        e->target += w * r[i] * z;
        for (size_t j = 0; j < q->p; j++)
            e->gradient[j] += w * r[i] * (q->dense[j * q->n + i] - means[j]);
    }
    e->loss /= total;
    e->target /= total;
    for (size_t j = 0; j < q->p; j++)
        e->gradient[j] /= total;
    free(r);
}

/* Returns the gap of the block's certificate, and its objective. */
static double gap_of(hw_lasso_block *block, const double *alpha, double lambda, double *objective)
{
    hw_linear_sums sums;
    double conjugate = 0.0, plain = 0.0;
    hw_lasso_block_sums(block, alpha, lambda, &sums);
    hw_linear_scan_conjugate(&block->scan, &block->columns, lambda, hw_linear_scale(&sums), &conjugate, &plain);
    *objective = hw_linear_primal(&sums);
    return hw_linear_gap(&sums, conjugate, plain, block->zero_objective) + block->covariance.blur;
}

/* The certificate is that of the rows within its bounds of errors. Its gap is never below the distance to the optimum. */
static void check_point(problem *q, hw_lasso_block *block, const double *alpha, double least)
{
    exact e;
    bool done = false;
    double objective;
    assert_int_equal(hw_lasso_block_by_products(block, alpha, q->lambda, (hw_linear_stop){0}, &done, NULL), HAWSER_OK);
    assert_true(done);
    assert_true(block->covariance.blur > 0.0);
    assert_true(block->covariance.blur <= 0.1 * q->lasso.choices.settings.tolerance * block->zero_objective);
    evaluate(q, alpha, &e);
    assert_true(fabsl(block->loss - e.loss) <= block->covariance.blur);
    assert_true(fabsl(block->square - 2.0L * e.loss) <= block->covariance.blur);
    assert_true(fabsl(block->target - e.target) <= block->covariance.blur);
    assert_true(fabsl(block->intercept - e.intercept) <= 1e-12L * (fabsl(e.intercept) + sqrtl(e.loss)) + 1e-10L);
    for (size_t j = 0; j < q->p; j++)
        assert_true(fabsl(block->scan.gradient[j] - e.gradient[j]) <=
                    hw_linear_scan_error(&block->scan, &block->columns, j));
    double gap = gap_of(block, alpha, q->lambda, &objective);
    assert_true(reference_objective(q, alpha) - least <= gap * (1.0 + 1e-9));
    double *v = calloc(q->n, sizeof *v), by_rows;
    hw_linear_combine(&q->matrix, alpha, 1, v);
    assert_int_equal(hw_lasso_block_measure(block, v, NULL), HAWSER_OK);
    hw_lasso_block_scan(block, alpha, q->lambda);
    block->covariance.blur = 0.0;
    double rows = gap_of(block, alpha, q->lambda, &by_rows);
    assert_true(fabs(gap - rows) <= 1e-6 * rows + q->lasso.choices.settings.tolerance * block->zero_objective);
    assert_true(fabs(objective - by_rows) <= 1e-9 * by_rows);
    free(v);
}

/* Checks drawn points, and points near the optimum. */
static void check(problem *q, uint64_t seed)
{
    hw_lasso_block block = {0};
    double *alpha = calloc(q->p, sizeof *alpha), *best = calloc(q->p, sizeof *best);
    q->lasso.image = calloc(q->n + q->p, sizeof *q->lasso.image);
    q->lasso.choices.settings.tolerance = 1e-6;
    assert_int_equal(hw_lasso_block_prepare(&block, &q->lasso, &q->matrix, 0, NULL), HAWSER_OK);
    reference(q, best);
    double least = reference_objective(q, best);
    for (int k = 0; k < POINTS; k++) {
        double size = k < 3 ? 0.0 : pow(10.0, -k / 3.0);
        for (size_t j = 0; j < q->p; j++)
            alpha[j] = (k == 0 ? 0.0 : best[j]) * (1.0 + size * uniform(&seed));
        check_point(q, &block, alpha, least);
    }
    q->lasso.choices.settings.tolerance = 1e-15; /* rounding is larger */
    bool done = true;
    assert_int_equal(hw_lasso_block_by_products(&block, best, q->lambda, (hw_linear_stop){0}, &done, NULL), HAWSER_OK);
    assert_false(done);
    assert_true(block.covariance.blur == 0.0);
    hw_lasso_block_release(&block);
    free(q->lasso.image);
    free(alpha);
    free(best);
    drop(q);
}

static void weigh(problem *q, uint64_t seed)
{
    double *weights = calloc(q->n, sizeof *weights);
    for (size_t i = 0; i < q->n; i++)
        weights[i] = (double)draw(&seed, 4); /* some are 0 */
    q->lasso.problem.weights = weights;
}

static void plain_columns(void **state)
{
    (void)state;
    problem q;
    make(&q, OF_ROWS, OF_COLUMNS, 0.5, 1.0, 3);
    q.lambda = 0.05;
    check(&q, 7);
}

static void weighted_rows_without_an_intercept(void **state)
{
    (void)state;
    problem q;
    make(&q, OF_ROWS, OF_COLUMNS, 0.3, 1.0, 4);
    weigh(&q, 5);
    q.lasso.choices.settings.intercept = false;
    q.lambda = 0.02;
    check(&q, 8);
}

static void standardised_columns_of_other_scales(void **state)
{
    (void)state;
    problem q;
    make(&q, OF_ROWS, OF_COLUMNS, 0.8, 1.0, 5);
    weigh(&q, 6);
    for (size_t j = 0; j < q.p; j++)
        for (size_t i = 0; i < q.n; i++)
            q.dense[j * q.n + i] *= pow(10.0, (double)(j % 9) - 4.0);
    q.lasso.choices.settings.standardize = true;
    q.lasso.choices.settings.l1_ratio = 0.7;
    q.lambda = 0.01;
    check(&q, 9);
}

static void columns_far_from_zero(void **state)
{
    (void)state;
    problem q;
    make(&q, OF_ROWS, OF_COLUMNS, 0.5, 1.0, 6);
    for (size_t j = 0; j < q.p; j += 2)
        for (size_t i = 0; i < q.n; i++)
            q.dense[j * q.n + i] += 100.0 * (double)j;
    q.lambda = 0.02;
    check(&q, 10);
}

/* A column so far from zero that a product has lost its digits leaves certificates to the rows. */
static void columns_too_far_from_zero(void **state)
{
    (void)state;
    problem q;
    make(&q, OF_ROWS, OF_COLUMNS, 0.5, 1.0, 7);
    for (size_t i = 0; i < q.n; i++)
        q.dense[i] += 1e6;
    q.lambda = 0.02;
    q.lasso.image = calloc(q.n + q.p, sizeof *q.lasso.image);
    q.lasso.choices.settings.tolerance = 1e-3;
    hw_lasso_block block = {0};
    bool done = true;
    assert_int_equal(hw_lasso_block_prepare(&block, &q.lasso, &q.matrix, 0, NULL), HAWSER_OK);
    assert_int_equal(hw_lasso_block_by_products(&block, q.lasso.problem.alpha, q.lambda, (hw_linear_stop){0}, &done, NULL),
                     HAWSER_OK);
    assert_false(done);
    hw_lasso_block_release(&block);
    free(q.lasso.image);
    drop(&q);
}

static bool at_once(void *source)
{
    (void)source;
    return true;
}

static void an_end_leaves_certificates_to_the_rows(void **state)
{
    (void)state;
    problem q;
    make(&q, OF_ROWS, OF_COLUMNS, 0.5, 1.0, 8);
    q.lambda = 0.02;
    q.lasso.image = calloc(q.n + q.p, sizeof *q.lasso.image);
    q.lasso.choices.settings.tolerance = 1e-6;
    hw_lasso_block block = {0};
    bool done = true;
    const double *alpha = q.lasso.problem.alpha;
    assert_int_equal(hw_lasso_block_prepare(&block, &q.lasso, &q.matrix, 0, NULL), HAWSER_OK);
    assert_int_equal(hw_lasso_block_by_products(&block, alpha, q.lambda, (hw_linear_stop){at_once, NULL}, &done, NULL),
                     HAWSER_OK);
    assert_false(done);
    assert_int_equal(hw_lasso_block_by_products(&block, alpha, q.lambda, (hw_linear_stop){0}, &done, NULL), HAWSER_OK);
    assert_true(done);
    hw_lasso_block_release(&block);
    free(q.lasso.image);
    drop(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plain_columns),
                                       cmocka_unit_test(weighted_rows_without_an_intercept),
                                       cmocka_unit_test(standardised_columns_of_other_scales),
                                       cmocka_unit_test(columns_far_from_zero),
                                       cmocka_unit_test(columns_too_far_from_zero),
                                       cmocka_unit_test(an_end_leaves_certificates_to_the_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
