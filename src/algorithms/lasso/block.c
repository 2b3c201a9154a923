#include "algorithms/lasso/block.h"
#include "algorithms/glm/fold.h"

#include <stdlib.h>
#include <string.h>

void hw_lasso_block_release(void *scratch)
{
    hw_lasso_block *block = scratch;
    if (block->lasso != NULL && block->lasso->choices.settings.solver != NULL)
        block->lasso->choices.settings.solver->free_state(block->solver);
    hw_linear_members_free(&block->joint.members);
    hw_linear_accelerator_free(&block->accelerator);
    hw_linear_search_free(&block->search);
    free(block->row_weights);
    hw_linear_span_free(&block->span);
    free(block->covariance.target);
    hw_linear_hold(&block->dual, NULL);
    free(block->own);
    free(block->measured);
    hw_linear_scan_free(&block->scan);
    hw_linear_columns_free(&block->columns);
    memset(block, 0, sizeof *block);
}

static hawser_status allocate(hw_lasso_block *block, const hawser_matrix *X, hawser_error *error)
{
    const hw_linear *lasso = block->lasso;
    block->columns.X = *X;
    HAWSER_TRY(hw_linear_columns_new(&block->columns, error));
    HAWSER_TRY(hw_linear_new_doubles(&block->own, X->rows, error));
    block->residual = block->own;
    HAWSER_TRY(hw_linear_new_doubles(&block->measured, X->rows, error));
    if (hw_linear_weighted(&lasso->problem))
        HAWSER_TRY(hw_linear_new_doubles(&block->row_weights, X->rows, error));
    HAWSER_TRY(hw_linear_span_new(&block->span, &lasso->problem, error));
    HAWSER_TRY(hw_linear_scan_new(&block->scan, X, error));
    if (lasso->image != NULL)
        HAWSER_TRY(hw_linear_new_doubles(&block->covariance.target, X->cols, error));
    return lasso->choices.settings.solver->new_state(&block->columns, &block->solver, error);
}

static double weight_at(const hw_lasso_block *block, size_t i)
{
    return block->row_weights != NULL ? block->row_weights[i] : 1.0;
}

/* Returns the sum of w x. */
static double weighted_sum(const hw_lasso_block *block, const double *x)
{
    size_t n = block->columns.X.rows;
    return block->row_weights != NULL ? hawser_dot(n, x, block->row_weights, NULL) : hw_linear_total(n, x);
}

hawser_status hw_lasso_block_prepare(hw_lasso_block *block, const hw_linear *lasso, const hawser_matrix *X, uint32_t fold,
                                     hawser_error *error)
{
    if (block->lasso == NULL) {
        block->lasso = lasso;
        HAWSER_TRY(allocate(block, X, error));
    }
    block->fold = fold;
    HAWSER_TRY(hw_linear_begin_fold(lasso, X, fold, block->row_weights, &block->columns, error));
    HAWSER_TRY(hw_linear_measure(lasso, &block->columns, error));
    hw_linear_span_reset(&block->span);
    lasso->choices.settings.solver->reset(block->solver);
    hw_linear_scan_reset(&block->scan);
    block->joint_stale = true;
    block->kept = block->covariance.known = false;
    double mean = block->columns.centred ? weighted_sum(block, lasso->problem.target) / block->columns.total : 0.0;
    double squares = 0.0;
    for (size_t i = 0; i < X->rows; i++)
        squares += weight_at(block, i) * (lasso->problem.target[i] - mean) * (lasso->problem.target[i] - mean);
    block->zero_objective = 0.5 * squares / block->columns.total;
    return HAWSER_OK;
}

/* Multiplies plain residuals by the weights, and computes the sums that depend on both. */
static void finish_residual(hw_lasso_block *block)
{
    double *r = block->residual;
    size_t n = block->columns.X.rows;
    for (size_t i = 0; block->row_weights != NULL && i < n; i++)
        r[i] *= block->row_weights[i];
    block->sum = hw_linear_total(n, r);
    block->target = hawser_dot(n, r, block->lasso->problem.target, NULL) / block->columns.total;
}

static double mean_square(const hw_lasso_block *block)
{
    return hawser_dot(block->columns.X.rows, block->residual, block->residual, block->row_weights) / block->columns.total;
}

static void hold(hw_lasso_block *block, hw_linear_held *dual)
{
    hw_linear_hold(&block->dual, dual);
    block->scan.given = dual;
    block->residual = dual != NULL ? dual->values : block->own;
}

void hw_lasso_block_own(hw_lasso_block *block)
{
    if (block->dual != NULL)
        memcpy(block->own, block->residual, block->columns.X.rows * sizeof *block->own);
    hold(block, NULL);
}

/* Computes the residual where block->residual is. */
static void compute(hw_lasso_block *block, const double *v, bool dual)
{
    const hw_linear_problem *problem = &block->lasso->problem;
    const double *y = problem->target;
    double *r = block->residual;
    size_t n = block->columns.X.rows;
    for (size_t i = 0; i < n; i++)
        r[i] = y[i] - v[i];
    block->intercept = block->columns.centred ? weighted_sum(block, r) / block->columns.total : 0.0;
    for (size_t i = 0; block->columns.centred && i < n; i++)
        r[i] -= block->intercept;
    block->square = mean_square(block);
    block->loss = 0.5 * block->square;
    if (dual && problem->free_count > 0) {
        hw_linear_span_project(&block->span, problem, &block->columns, y, r);
        block->square = mean_square(block);
    }
    finish_residual(block);
    block->kept = false;
}

void hw_lasso_block_residual(hw_lasso_block *block, const double *v, bool dual)
{
    hold(block, NULL);
    compute(block, v, dual);
}

/* Computes the residual of the best model without columns that have a penalty. */
static hawser_status compute_start(hw_lasso_block *block, hawser_error *error)
{
    const hw_linear *lasso = block->lasso;
    const hw_linear_columns *columns = &block->columns;
    double mean = columns->centred ? weighted_sum(block, lasso->problem.target) / columns->total : 0.0;
    for (size_t i = 0; i < columns->X.rows; i++)
        block->residual[i] = lasso->problem.target[i] - mean;
    if (lasso->problem.free_count + lasso->problem.box_count > 0)
        HAWSER_TRY(
            hw_linear_span_fit(&block->span, &lasso->problem, columns, lasso->problem.target, block->residual, error));
    finish_residual(block);
    block->kept = false;
    return HAWSER_OK;
}

/* ---- once per process ---- */

typedef struct measuring {
    hw_lasso_block *block;
    const double *v; /* NULL: the start */
} measuring;

/* Measures a point for all blocks of the process. */
static hawser_status measure_once(void *argument, hawser_error *error)
{
    const measuring *at = argument;
    hw_lasso_block *block = at->block;
    hw_linear_shared *shared = block->lasso->shared;
    size_t n = block->columns.X.rows;
    bool same = shared->dual != NULL && shared->fold == block->fold && !shared->dual_is_start && at->v != NULL;
    if (same && memcmp(shared->dual->values + n, at->v, n * sizeof *at->v) == 0)
        return HAWSER_OK;
    hw_linear_held *dual = hw_linear_held_new(at->v != NULL ? 2 * n : n);
    if (dual == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the residuals of %zu rows", n);
    hold(block, dual);
    hawser_status status = HAWSER_OK;
    if (at->v != NULL) {
        compute(block, at->v, true);
        memcpy(dual->values + n, at->v, n * sizeof *at->v);
    } else {
        status = compute_start(block, error);
    }
    shared->measured = (hw_linear_measured){block->loss, block->square, block->sum, block->target, block->intercept};
    shared->fold = block->fold;
    shared->dual_is_start = at->v == NULL;
    hw_linear_hold(&shared->dual, dual);
    hw_linear_hold(&dual, NULL);
    return status;
}

static bool together(const hw_lasso_block *block)
{
    return block->lasso->choices.route == HW_LINEAR_JOINT && block->lasso->shared != NULL;
}

static hawser_status measure_together(hw_lasso_block *block, const double *v, hawser_error *error)
{
    hw_linear_shared *shared = block->lasso->shared;
    measuring at = {block, v};
    HAWSER_TRY(hw_linear_shared_enter(shared, ++block->joint.step, block->lasso->problem.X->cols, measure_once, &at, error));
    hold(block, shared->dual);
    block->loss = shared->measured.loss;
    block->square = shared->measured.square;
    block->sum = shared->measured.sum;
    block->target = shared->measured.target;
    block->intercept = shared->measured.intercept;
    block->kept = false;
    return HAWSER_OK;
}

hawser_status hw_lasso_block_measure(hw_lasso_block *block, const double *v, hawser_error *error)
{
    size_t bytes = block->columns.X.rows * sizeof *v;
    if (together(block))
        return measure_together(block, v, error);
    if (block->kept && memcmp(block->measured, v, bytes) == 0)
        return HAWSER_OK;
    hw_lasso_block_residual(block, v, true);
    memcpy(block->measured, v, bytes);
    block->kept = true;
    return HAWSER_OK;
}

hawser_status hw_lasso_block_by_products(hw_lasso_block *block, const double *alpha, double lambda, hw_linear_stop stop,
                                         bool *done, hawser_error *error)
{
    const hw_linear *lasso = block->lasso;
    const hw_linear_columns *columns = &block->columns;
    hw_lasso_covariance *covariance = &block->covariance;
    const hw_linear_gram *gram = NULL;
    hw_linear_sums sums;
    *done = false;
    covariance->blur = 0.0;
    if (covariance->target == NULL)
        return HAWSER_OK;
    block->kept = block->kept && covariance->known; /* the residual is scratch at first */
    hw_lasso_covariance_begin(covariance, columns, lasso->problem.target, block->residual);
    double tolerance = lasso->choices.settings.tolerance * block->zero_objective;
    if (hw_lasso_covariance_suffices(covariance, columns, alpha, lambda, tolerance))
        HAWSER_TRY(lasso->choices.settings.solver->whole(block->solver, columns, stop, &gram, error));
    if (gram == NULL ||
        !hw_lasso_covariance_measure(covariance, gram, columns, alpha, lambda, tolerance, &block->scan, &sums)) {
        covariance->blur = 0.0;
        return HAWSER_OK;
    }
    block->loss = sums.loss;
    block->square = sums.square;
    block->target = sums.target;
    block->sum = 0.0;
    block->intercept = covariance->mean;
    for (size_t j = 0; columns->centred && j < columns->X.cols; j++)
        block->intercept -= columns->mean[j] * alpha[j];
    block->kept = false;
    *done = true;
    return HAWSER_OK;
}

void hw_lasso_block_scan(hw_lasso_block *block, const double *alpha, double lambda)
{
    hw_linear_scan_run(&block->scan, &block->columns, block->residual, block->sum, alpha, lambda);
}

hawser_status hw_lasso_block_lambda_max(hw_lasso_block *block, double *most, hawser_error *error)
{
    if (together(block)) {
        HAWSER_TRY(measure_together(block, NULL, error));
    } else {
        hold(block, NULL);
        HAWSER_TRY(compute_start(block, error));
    }
    hw_linear_scan_all(&block->scan, &block->columns, block->residual, block->sum);
    *most = hw_linear_scan_most(&block->scan, &block->columns);
    return HAWSER_OK;
}

size_t hw_lasso_block_sums(const hw_lasso_block *block, const double *alpha, double lambda, hw_linear_sums *sums)
{
    *sums = (hw_linear_sums){.loss = block->loss, .square = block->square, .target = block->target};
    return hw_linear_scan_sums(&block->scan, &block->columns, alpha, lambda, sums);
}

double hw_lasso_block_penalty(const hw_lasso_block *block, const double *alpha, double lambda)
{
    double penalty = 0.0;
    for (size_t j = 0; j < block->columns.X.cols; j++)
        if (alpha[j] != 0.0)
            penalty += hw_linear_penalty(alpha[j], hw_linear_term_at(&block->columns, j, lambda));
    return penalty;
}

static const uint32_t *members(const hw_lasso_block *block, size_t *count)
{
    return block->lasso->choices.settings.solver->members(block->solver, count);
}

hawser_status hw_lasso_block_remember(hw_lasso_block *block, const double *alpha, size_t at, hawser_error *error)
{
    size_t count = 0;
    const uint32_t *list = members(block, &count);
    return hw_linear_accelerator_keep(&block->accelerator, &block->columns, list, count, at, block->residual, alpha, error);
}

double hw_lasso_block_propose(hw_lasso_block *block, const double *alpha, double lambda, double *now)
{
    size_t count = 0;
    const uint32_t *list = members(block, &count);
    return hw_linear_accelerator_propose(&block->accelerator, &block->columns, list, lambda, alpha, now);
}

void hw_lasso_block_take(hw_lasso_block *block, double gain, double *alpha, double *image)
{
    size_t count = 0;
    const uint32_t *list = members(block, &count);
    hw_linear_accelerator_take(&block->accelerator, &block->columns, list, gain, alpha, image);
}
