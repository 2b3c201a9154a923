#include "algorithms/newton/block.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/fold.h"

static const double TIGHT = 1e-18; /* of the objective, for the intercept that is saved */

static hawser_status no_memory(hawser_error *error, const hawser_matrix *X)
{
    return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a block of %zu rows and %zu columns", X->rows, X->cols);
}

void hw_newton_block_release(void *scratch)
{
    hw_newton_block *block = scratch;
    if (block->linear != NULL)
        block->linear->choices.settings.solver->free_state(block->solver);
    hw_newton_quadratic_free(&block->own);
    hw_newton_quadratic_free(&block->whole);
    hw_newton_dual_free(&block->dual);
    hw_linear_scan_free(&block->scan);
    hw_linear_search_free(&block->search);
    free(block->row_weights);
    free(block->rounds_memory);
    free(block->whole_v);
    free(block->whole_list);
    free(block->point.pull);
    hw_linear_columns_free(&block->columns);
    memset(block, 0, sizeof *block);
}

static hawser_status allocate(hw_newton_block *block, const hawser_matrix *X, hawser_error *error)
{
    const hw_linear *linear = block->linear;
    block->columns.X = *X;
    HAWSER_TRY(hw_linear_columns_new(&block->columns, error));
    HAWSER_TRY(hw_linear_new_doubles(&block->point.pull, 2 * X->rows, error));
    block->point.curve = block->point.pull + X->rows;
    if (hw_linear_weighted(&linear->problem))
        HAWSER_TRY(hw_linear_new_doubles(&block->row_weights, X->rows, error));
    HAWSER_TRY(hw_newton_dual_new(&block->dual, &linear->problem, error));
    HAWSER_TRY(hw_linear_scan_new(&block->scan, X, error));
    return linear->choices.settings.solver->new_state(&block->columns, &block->solver, error);
}

hawser_status hw_newton_block_for_rounds(hw_newton_block *block, hawser_error *error)
{
    size_t n = block->columns.X.rows, p = block->columns.X.cols;
    if (block->rounds_memory != NULL)
        return HAWSER_OK;
    block->rounds_memory = calloc(4 * n + p + 1, sizeof(double));
    if (block->rounds_memory == NULL)
        return no_memory(error, &block->columns.X);
    block->start = block->rounds_memory;
    block->move = block->start + n;
    block->there = block->move + n;
    block->residual = block->there + n;
    block->start_alpha = block->residual + n;
    HAWSER_TRY(hw_newton_quadratic_new(&block->own, &block->columns.X, block->linear->choices.seed, error));
    block->own.columns.l1 = block->columns.l1;
    block->own.columns.l2 = block->columns.l2;
    block->own.columns.lower = block->columns.lower;
    block->own.columns.upper = block->columns.upper;
    return HAWSER_OK;
}

hawser_status hw_newton_block_for_all(hw_newton_block *block, const hawser_matrix *whole, size_t most, hawser_error *error)
{
    size_t n = whole->rows;
    if (block->whole_v != NULL)
        return HAWSER_OK;
    block->whole_v = calloc(3 * n + 1, sizeof(double));
    block->whole_list = calloc(most + 1, sizeof *block->whole_list);
    if (block->whole_v == NULL || block->whole_list == NULL)
        return no_memory(error, whole);
    block->whole_move = block->whole_v + n;
    block->whole_there = block->whole_move + n;
    HAWSER_TRY(hw_newton_quadratic_new(&block->whole, whole, block->linear->choices.seed, error));
    block->learned_together = block->whole.learned;
    return HAWSER_OK;
}

hawser_status hw_newton_block_prepare(hw_newton_block *block, const hw_linear *linear, const hawser_matrix *X, uint32_t fold,
                                      double *most, hawser_error *error)
{
    if (block->linear == NULL) {
        block->linear = linear;
        HAWSER_TRY(allocate(block, X, error));
    }
    block->fold = fold;
    HAWSER_TRY(hw_linear_begin_fold(linear, X, fold, block->row_weights, &block->columns, error));
    block->rows = (hw_newton_rows){.loss = linear->problem.kind->loss,
                                   .count = X->rows,
                                   .target = linear->problem.target,
                                   .target_log = linear->problem.target_log,
                                   .weights = block->row_weights,
                                   .offset = linear->problem.offset,
                                   .total = block->columns.total,
                                   .intercept = linear->choices.settings.intercept};
    HAWSER_TRY(block->rows.loss->check(&linear->problem, &block->rows, hw_linear_fold_text(linear, fold), error));
    HAWSER_TRY(hw_linear_measure(linear, &block->columns, error));
    linear->choices.settings.solver->reset(block->solver);
    hw_linear_scan_reset(&block->scan);
    double *v = calloc(X->rows + 1, sizeof *v);
    if (v == NULL)
        return no_memory(error, X);
    hw_newton_dual_start(&block->dual, &linear->problem, &block->rows, v, &block->point, &block->zero_objective);
    free(v);
    if (!isfinite(block->zero_objective))
        return hawser_fail(error, HAWSER_NOT_FINITE,
                           "the loss at weights of zero is not finite: the offsets or the target are too large");
    if (most == NULL)
        return HAWSER_OK;
    hw_newton_dual_make(&block->dual, &linear->problem, &block->rows, &block->point, false);
    hw_linear_scan_all(&block->scan, &block->columns, block->dual.pull, block->dual.sum);
    *most = hw_linear_scan_most(&block->scan, &block->columns);
    return HAWSER_OK;
}

size_t hw_newton_block_measure(hw_newton_block *block, const double *v, const double *alpha, double lambda,
                               hw_linear_sums *sums)
{
    const hw_linear_columns *columns = &block->columns;
    block->rows.loss->settle(&block->rows, v, TIGHT, &block->point);
    hw_newton_dual_make(&block->dual, &block->linear->problem, &block->rows, &block->point, true);
    hw_linear_scan_run(&block->scan, columns, block->dual.pull, block->dual.sum, alpha, lambda);
    *sums = (hw_linear_sums){.loss = block->point.loss};
    return hw_linear_scan_sums(&block->scan, columns, alpha, lambda, sums);
}

void hw_newton_block_rows(const hw_newton_block *block, uint32_t own, size_t *first, size_t *last)
{
    size_t n = block->rows.count, blocks = block->linear->choices.blocks;
    *first = n / blocks * own + n % blocks * own / blocks;
    *last = n / blocks * (own + 1) + n % blocks * (own + 1) / blocks;
}

double hw_newton_scale(double ratio)
{
    return ratio > 1.0 ? 1.0 / ratio : 1.0; /* theta may not leave [0, 1] */
}
