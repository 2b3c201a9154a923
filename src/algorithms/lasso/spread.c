/* spread.c - estimates the costs of a lasso's columns before the training, from the target. */
#include "algorithms/lasso/parts.h"

#include <stdlib.h>

#include "algorithms/glm/path.h"
#include "algorithms/solve/entries.h"

/* The cost of a member of a working set besides scans, in entries: descents pass over its entries and over the set's Gram
 * matrix. The numbers were measured on unevenly split problems: with many members half or twice as much works as well, with
 * a dozen it does not. */
static const double PASSES = 4.0, MEMBER = 1000.0;

/* Computes r = w (y - mean). */
static void first_residual(const hw_linear *lasso, double *r)
{
    size_t n = lasso->problem.X->rows;
    double mean = 0.0, total = hw_linear_weigh(&lasso->problem, 0, r);
    for (size_t i = 0; lasso->choices.settings.intercept && i < n; i++)
        mean += r[i] * lasso->problem.target[i] / total;
    for (size_t i = 0; i < n; i++)
        r[i] *= lasso->problem.target[i] - mean;
}

/* Returns the L1 part of a column's penalty at lambda 1. */
static double penalty_of(const hw_linear *lasso, size_t j)
{
    double factor = lasso->problem.factor != NULL ? lasso->problem.factor[j] : 1.0, sum = 0.0, squares = 0.0;
    if (!lasso->choices.settings.standardize)
        return factor * lasso->choices.settings.l1_ratio;
    hawser_column_moments(lasso->problem.X, j, lasso->problem.weights, lasso->problem.total, 0.0, &sum, &squares);
    double mean = sum / lasso->problem.total, variance = squares / lasso->problem.total - mean * mean;
    return factor * lasso->choices.settings.l1_ratio * sqrt(fmax(0.0, variance));
}

static double entries(const hawser_matrix *X, size_t j)
{
    uint64_t begin, end;
    hw_linear_entries(X, j, &begin, &end);
    return (double)(end - begin);
}

/* Adds the cost of a member for columns whose correlation with the target is above the smallest lambda: most of them will
 * enter a working set. */
static hawser_status foresee(const hw_linear *lasso, double *costs, hawser_error *error)
{
    const hawser_matrix *X = lasso->problem.X;
    double most = 0.0, *lambdas = NULL;
    HAWSER_TRY(hw_linear_new_doubles(&lambdas, lasso->choices.lambda_count, error));
    for (size_t j = 0; j < X->cols; j++) {
        double penalty = penalty_of(lasso, j);
        costs[j] = penalty > 0.0 ? fabs(costs[j]) / lasso->problem.total / penalty : INFINITY;
        most = isinf(costs[j]) ? most : fmax(most, costs[j]);
    }
    hw_linear_grid(lasso, most, lambdas);
    double least = lambdas[lasso->choices.lambda_first - 1];
    for (size_t j = 0; j < X->cols; j++)
        costs[j] = costs[j] > least ? PASSES * entries(X, j) + MEMBER : 0.0;
    free(lambdas);
    return HAWSER_OK;
}

hawser_status hw_lasso_spread(const hw_linear *lasso, double **costs, hawser_error *error)
{
    const hawser_matrix *X = lasso->problem.X;
    double *r = NULL;
    HAWSER_TRY(hw_linear_new_doubles(costs, X->cols, error));
    HAWSER_TRY(hw_linear_new_doubles(&r, X->rows, error));
    first_residual(lasso, r);
    hawser_scan(X, r, *costs);
    hawser_status status = foresee(lasso, *costs, error);
    free(r);
    return status;
}
