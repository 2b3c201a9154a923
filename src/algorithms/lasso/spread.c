#include "algorithms/lasso/spread.h"

#include <stdlib.h>

#include "algorithms/glm/fold.h"
#include "algorithms/solve/entries.h"

/* What a member of a working set costs besides scans, in their entries: descents pass over its own, and over the set's Gram matrix.
 * Chosen by measuring problems that lie unevenly: with many members half or twice as much serves as well, with a dozen it does not. */
static const double PASSES = 4.0, MEMBER = 1000.0;

/* r = w (y - mean). */
static void first_residual(const hw_linear *lasso, double *r)
{
    size_t n = lasso->X->rows;
    double mean = 0.0, total = hw_linear_weigh(lasso, 0, r);
    for (size_t i = 0; lasso->settings.intercept && i < n; i++)
        mean += r[i] * lasso->target[i] / total;
    for (size_t i = 0; i < n; i++)
        r[i] *= lasso->target[i] - mean;
}

/* The L1 part of a column's penalty at lambda 1. */
static double penalty_of(const hw_linear *lasso, size_t j)
{
    double factor = lasso->factor != NULL ? lasso->factor[j] : 1.0, sum = 0.0, squares = 0.0;
    if (!lasso->settings.standardize)
        return factor * lasso->settings.l1_ratio;
    hawser_column_moments(lasso->X, j, lasso->weights, lasso->total, 0.0, &sum, &squares);
    double mean = sum / lasso->total, variance = squares / lasso->total - mean * mean;
    return factor * lasso->settings.l1_ratio * sqrt(fmax(0.0, variance));
}

static double entries(const hawser_matrix *X, size_t j)
{
    uint64_t begin, end;
    hw_linear_entries(X, j, &begin, &end);
    return (double)(end - begin);
}

/* A column whose correlation with the target is above the smallest lambda will sooner or later be in a working set, as a rule. */
static void foresee(hw_linear *lasso, double *costs)
{
    const hawser_matrix *X = lasso->X;
    double most = 0.0;
    for (size_t j = 0; j < X->cols; j++) {
        double penalty = penalty_of(lasso, j);
        costs[j] = penalty > 0.0 ? fabs(costs[j]) / lasso->total / penalty : INFINITY;
        most = isinf(costs[j]) ? most : fmax(most, costs[j]);
    }
    hw_linear_grid(lasso, most);
    double least = lasso->lambdas[lasso->lambda_count - 1];
    for (size_t j = 0; j < X->cols; j++)
        costs[j] = costs[j] > least ? PASSES * entries(X, j) + MEMBER : 0.0;
}

hawser_status hw_lasso_spread(hw_linear *lasso, double **costs, hawser_error *error)
{
    const hawser_matrix *X = lasso->X;
    double *r = malloc((X->rows + 1) * sizeof *r), *made = malloc((X->cols + 1) * sizeof *made);
    *costs = NULL;
    if (r == NULL || made == NULL) {
        free(r);
        free(made);
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory to foresee the work on %zu columns", X->cols);
    }
    first_residual(lasso, r);
    hawser_scan(X, r, made);
    foresee(lasso, made);
    free(r);
    *costs = made;
    return HAWSER_OK;
}
