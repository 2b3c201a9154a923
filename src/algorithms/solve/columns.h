/*
 * columns.h - one block's columns with example weights, an implicit centring (so that sparse data stay sparse) and a penalty
 * per column. Pure.
 *
 * With W the sum of the weights w_i, m_j the weighted column means and z the centred target, the problem is
 *     min over alpha of 1/(2W) sum_i w_i (z_i - sum_j (x_ij - m_j) alpha_j)^2 + sum_j h_j(alpha_j),
 *     h_j(t) = lambda (l1_j |t| + l2_j t^2 / 2) for lower_j <= t <= upper_j.
 * Standardising is part of the penalty: l1_j = p_j s_j rho, l2_j = p_j s_j^2 (1 - rho), where s_j is the column's standard
 * deviation.
 */
#ifndef HW_ALGORITHMS_SOLVE_COLUMNS_H
#define HW_ALGORITHMS_SOLVE_COLUMNS_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "hawser/matrix.h"

typedef struct hw_linear_columns {
    hawser_matrix X;
    const double *weights; /* one per row; NULL for ones */
    double total;          /* W */
    bool centred;          /* a free intercept */
    double *mean;          /* zeros unless centred */
    double *norm;          /* sum_i w_i (x_ij - m_j)^2 / W; 0 for a column of equal values, which has no gradient */
    double *l1, *l2;
    double *lower, *upper; /* -inf and inf without bounds */
    double
        reach; /* the largest |mean| / deviation of a column: certificates lose this many times the rounding of a double */
    bool far;  /* columns that are not constant are far from zero, and there is no intercept: see pivot.h */
    double weakest; /* the largest ratio of a squared penalty of lambda 1 to the mean square of its column */
} hw_linear_columns;

/* Allocates the arrays by column, for the columns of columns->X. They are adjacent, from `mean` on: hw_linear_columns_free
 * frees them. */
hawser_status hw_linear_columns_new(hw_linear_columns *columns, hawser_error *error) HAWSER_MUST_USE;
void hw_linear_columns_free(hw_linear_columns *columns);

/* The penalty of a column at one lambda. */
typedef struct hw_linear_term {
    double l1, l2, lower, upper;
} hw_linear_term;

static inline hw_linear_term hw_linear_term_at(const hw_linear_columns *columns, size_t j, double lambda)
{
    return (hw_linear_term){lambda * columns->l1[j], lambda * columns->l2[j], columns->lower[j], columns->upper[j]};
}

/* Returns the minimiser over t of curvature/2 t^2 - pull t + h(t). */
static inline double hw_linear_prox(double pull, double curvature, hw_linear_term term)
{
    double shrunk = pull > term.l1 ? pull - term.l1 : pull < -term.l1 ? pull + term.l1 : 0.0;
    double scale = curvature + term.l2;
    double best = scale > 0.0 ? shrunk / scale : 0.0;
    return best < term.lower ? term.lower : best > term.upper ? term.upper : best;
}

/* Returns true if the mean is so large beside the deviation that products, which are centred by subtraction, would lose
 * their digits. */
static inline bool hw_linear_rough(const hw_linear_columns *columns, size_t j)
{
    return columns->mean[j] * columns->mean[j] > 1e8 * columns->norm[j] && columns->norm[j] > 0.0;
}

/* Returns whether a column that is not centred is far from zero, by its mean and its mean square. */
static inline bool hw_linear_is_far(double mean, double raw)
{
    return raw > 0.0 && raw - mean * mean < 1e-4 * raw;
}

/* Returns the mean square of a column about zero. */
static inline double hw_linear_raw_square(const hw_linear_columns *columns, size_t j)
{
    return columns->norm[j] + columns->mean[j] * columns->mean[j];
}

/* Returns the largest gradient of a column that rounding alone may leave, for a dual point whose weighted mean square is
 * `size` squared. */
static inline double hw_linear_noise(const hw_linear_columns *columns, size_t j, double size)
{
    return 32.0 * DBL_EPSILON * (fabs(columns->mean[j]) + sqrt(columns->norm[j])) * size;
}

/* Returns h(t) for t within the bounds. */
static inline double hw_linear_penalty(double t, hw_linear_term term)
{
    return term.l1 * fabs(t) + 0.5 * term.l2 * t * t;
}

/* Returns the sum of the penalties of `count` columns. */
double hw_linear_penalties(const hw_linear_term *terms, const double *x, size_t count);

/* Returns h*(g) = max over t of g t - h(t). If h* is only a constraint (|g| <= l1), it returns 0: the caller satisfies the
 * constraint by scaling (hw_linear_ratio), or by projection for columns without a penalty. */
static inline double hw_linear_conjugate(double gradient, hw_linear_term term)
{
    double excess = fabs(gradient) - term.l1;
    double bound = gradient > 0.0 ? term.upper : -term.lower;
    if (excess <= 0.0 || bound == 0.0)
        return 0.0;
    if (term.l2 <= 0.0)
        return isinf(bound) ? 0.0 : excess * bound;
    double t = excess / term.l2;
    t = t < bound ? t : bound;
    return excess * t - 0.5 * term.l2 * t * t;
}

/* Returns the distance of the gradient to the penalty's subdifferential at t, by which the optimality condition of a column
 * fails. */
static inline double hw_linear_violation(double gradient, double t, hw_linear_term term)
{
    double slope = gradient - term.l2 * t; /* optimal within l1 * sign(t), plus the cone of an active bound */
    bool may_rise = t<term.upper, may_fall = t> term.lower;
    double rise = slope - (t >= 0.0 ? term.l1 : -term.l1);  /* > 0: a larger t is better */
    double fall = -slope - (t <= 0.0 ? term.l1 : -term.l1); /* > 0: a smaller t is better */
    if (may_rise && rise > 0.0)
        return rise;
    return may_fall && fall > 0.0 ? fall : 0.0;
}

/* Returns the ratio of a column: the dual point s r is feasible for it if s <= 1/ratio. Returns 0 if the column does not
 * constrain s. */
static inline double hw_linear_ratio(double gradient, double t, hw_linear_term term)
{
    double slope = gradient - term.l2 * t;
    double bound = slope > 0.0 ? term.upper : -term.lower;
    if (!isinf(bound) || term.l1 <= 0.0)
        return 0.0;
    return fabs(slope) / term.l1;
}

/* Returns sum_i (x_ij - m_j) u_i. u includes the weights, and `sum` is sum_i u_i. */
static inline double hw_linear_dot(const hw_linear_columns *columns, size_t j, const double *u, double sum)
{
    return hawser_column_dot(&columns->X, j, u) - columns->mean[j] * sum;
}

enum { HW_LINEAR_LANES = 8 }; /* partial sums, so that no addition waits for the last one */

/* Returns the sum of `count` numbers, in lanes. */
double hw_linear_total(size_t count, const double *x);

/* Returns whether all values of rows with a weight are equal, by comparison: a variance may be rounding alone. */
bool hw_linear_is_constant(const hw_linear_columns *columns, size_t j);

/* Adds X alpha to the image. `stride` is the distance of two columns' coefficients. */
void hw_linear_combine(const hawser_matrix *X, const double *alpha, size_t stride, double *image);

/* Adds a weighted column: u_i += step w_i x_ij. */
void hw_linear_axpy(const hw_linear_columns *columns, size_t j, double step, double *u);

#endif
