#include "algorithms/lasso/covariance.h"

#include <string.h>

enum { COLUMNS_OF_A_LAMBDA = 8 }; /* up to this many columns for each lambda, their products cost less than two scans */

static const double SMALL = 0.1;       /* of the tolerance: errors that do not matter */
static const double SMALL_EDGE = 1e-3; /* of a penalty's edge */

bool hw_lasso_covariance_pays(const hw_linear *lasso)
{
    const hw_linear_problem *problem = &lasso->problem;
    const hw_linear_choices *choices = &lasso->choices;
    size_t n = problem->X->rows, p = problem->X->cols;
    return choices->route == HW_LINEAR_SINGLE && choices->settings.solver->whole != NULL &&
           problem->X->layout == HAWSER_DENSE && problem->free_count + problem->box_count == 0 &&
           choices->settings.l1_ratio > 0.0 && choices->lambda_first > 1 && 2 * p <= n &&
           p <= COLUMNS_OF_A_LAMBDA * choices->lambda_first && p <= HW_LINEAR_LARGEST_GRAM;
}

void hw_lasso_covariance_begin(hw_lasso_covariance *covariance, const hw_linear_columns *columns, const double *target,
                               double *u)
{
    const double *weights = columns->weights;
    size_t n = columns->X.rows, p = columns->X.cols;
    double total = columns->total;
    if (covariance->known)
        return;
    covariance->mean = 0.0;
    if (columns->centred)
        covariance->mean = (weights != NULL ? hawser_dot(n, target, weights, NULL) : hw_linear_total(n, target)) / total;
    for (size_t i = 0; i < n; i++)
        u[i] = target[i] - covariance->mean;
    covariance->square = hawser_dot(n, u, u, weights) / total;
    for (size_t i = 0; weights != NULL && i < n; i++)
        u[i] *= weights[i];
    double left = columns->centred ? hw_linear_total(n, u) / total : 0.0; /* of the mean, by its rounding */
    hawser_scan(&columns->X, u, covariance->target);
    covariance->rough = columns->far; /* rounds then read the rows */
    for (size_t j = 0; j < p; j++) {
        covariance->target[j] = columns->norm[j] > 0.0 ? covariance->target[j] / total - columns->mean[j] * left : 0.0;
        covariance->rough = covariance->rough || hw_linear_rough(columns, j);
    }
    covariance->mean += left;
    covariance->square = fmax(0.0, covariance->square - left * left);
    covariance->known = true;
}

/* Returns a bound of the relative error of a product of two columns, centred by subtraction: that of a sum in eight lanes,
 * for the product and for both means, rounded up. */
static double unit_of(const hw_linear_columns *columns)
{
    return (0.25 * (double)columns->X.rows + 64.0) * DBL_EPSILON;
}

/* Returns the size of the target and of all terms of X w, as if none cancelled. */
static double size_of(const hw_lasso_covariance *covariance, const hw_linear_columns *columns, const double *alpha)
{
    double size = sqrt(covariance->square);
    for (size_t j = 0; j < columns->X.cols; j++)
        if (alpha[j] != 0.0)
            size += fabs(alpha[j]) * sqrt(hw_linear_raw_square(columns, j));
    return size;
}

/* Computes g = c - G w. */
static void correlate(const hw_lasso_covariance *covariance, const hw_linear_gram *gram, size_t columns, const double *alpha,
                      double *gradient)
{
    memcpy(gradient, covariance->target, columns * sizeof *gradient);
    for (size_t j = 0; j < columns; j++)
        if (alpha[j] != 0.0)
            hawser_column_axpy(&gram->view, j, -alpha[j], gradient);
}

/* Returns the largest error of a correlation relative to the edge of its column's penalty. */
static double most_of_edge(const hw_linear_columns *columns, double blur, double lambda)
{
    double most = 0.0;
    for (size_t j = 0; j < columns->X.cols; j++)
        most = fmax(most, blur * sqrt(hw_linear_raw_square(columns, j)) / (lambda * columns->l1[j]));
    return most;
}

/* Returns what rounding may have added to the objective or taken from the dual objective at this scale. */
static double blur_at(double unit, double size, double scale)
{
    return 0.5 * unit * size * size * (1.0 + scale) * (1.0 + scale);
}

bool hw_lasso_covariance_suffices(const hw_lasso_covariance *covariance, const hw_linear_columns *columns,
                                  const double *alpha, double lambda, double tolerance)
{
    double unit = unit_of(columns), size = size_of(covariance, columns, alpha);
    return !covariance->rough && blur_at(unit, size, 1.0) <= SMALL * tolerance &&
           most_of_edge(columns, unit * size, lambda) <= SMALL_EDGE;
}

bool hw_lasso_covariance_measure(hw_lasso_covariance *covariance, const hw_linear_gram *gram,
                                 const hw_linear_columns *columns, const double *alpha, double lambda, double tolerance,
                                 hw_linear_scan *scan, hw_linear_sums *sums)
{
    double unit = unit_of(columns), size = size_of(covariance, columns, alpha), pulled = 0.0, fitted = 0.0;
    double *gradient = scan->gradient;
    correlate(covariance, gram, columns->X.cols, alpha, gradient);
    for (size_t j = 0; j < columns->X.cols; j++)
        if (alpha[j] != 0.0) {
            fitted += covariance->target[j] * alpha[j];
            pulled += gradient[j] * alpha[j];
        }
    for (size_t j = 0; j < columns->X.cols; j++)
        gradient[j] = columns->norm[j] > 0.0 ? gradient[j] : 0.0;
    *sums = (hw_linear_sums){.target = covariance->square - fitted};
    sums->square = fmax(0.0, sums->target - pulled);
    sums->loss = 0.5 * sums->square;
    hw_linear_scan_take(scan, columns->X.cols, unit * size);
    (void)hw_linear_scan_sums(scan, columns, alpha, lambda, sums);
    double edge = most_of_edge(columns, unit * size, lambda), scale = hw_linear_scale(sums);
    double slack = fabs(sums->target - scale * (sums->square + sums->curved)); /* the slope of the dual in its scale */
    covariance->blur = blur_at(unit, size, fmax(1.0, scale));
    return covariance->blur + scale * edge * slack <= SMALL * tolerance;
}
