#include "algorithms/poisson/loss.h"

#include <float.h>

#include "algorithms/newton/exponential.h"

enum { CHUNK = 256 };

/* How small a row's curvature may be beside its pull: if the mean is far below the count, the true curvature tends to
 * zero. */
static const double LEAST_CURVE = 1e-4;
static const double LARGEST = 709.0; /* the argument up to which exp is finite */
static const double ROUNDING = 4.0;  /* the error of a margin, in units of its last digit */

static inline double exp_of(double x)
{
    return x > LARGEST ? INFINITY : x == x ? hw_exponential(x) : x;
}

double hw_poisson_mean(double margin)
{
    return exp_of(margin);
}

double hw_poisson_log(double x)
{
    return x >= DBL_MIN ? hw_logarithm(x) : 0.0;
}

/* Returns exp(d) - 1 - d for |d| < 0.5, to its last digits: the closed form would lose them. */
static inline double small_rise(double d)
{
    double p = 1.0 / 20922789888000.0;
    p = p * d + 1.0 / 1307674368000.0;
    p = p * d + 1.0 / 87178291200.0;
    p = p * d + 1.0 / 6227020800.0;
    p = p * d + 1.0 / 479001600.0;
    p = p * d + 1.0 / 39916800.0;
    p = p * d + 1.0 / 3628800.0;
    p = p * d + 1.0 / 362880.0;
    p = p * d + 1.0 / 40320.0;
    p = p * d + 1.0 / 5040.0;
    p = p * d + 1.0 / 720.0;
    p = p * d + 1.0 / 120.0;
    p = p * d + 1.0 / 24.0;
    p = p * d + 1.0 / 6.0;
    p = p * d + 0.5;
    return p * d * d;
}

/* The values of one row. */
typedef struct row {
    double loss, residual, mean; /* residual: y - mean */
} row;

/* `size`: of the terms that make up the margin and log y. Where the mean agrees with the count up to the rounding of these,
 * it is the count. */
static inline row row_at(double y, double log_y, double margin, double size)
{
    double d = margin - log_y;
    if (!(y >= DBL_MIN)) {
        double mean = exp_of(margin);
        return (row){mean + 0.0 * margin, -mean, mean}; /* 0 times infinity: a margin that overflowed has no loss */
    }
    if (fabs(d) < 1e-6 && fabs(d) <= DBL_EPSILON * size)
        return (row){0.0, 0.0, y};
    if (fabs(d) < 0.5) {
        double rise = small_rise(d), change = y * (d + rise);
        return (row){y * rise, -change, y + change};
    }
    double ratio = exp_of(d);
    return (row){y * (ratio - 1.0 - d), y * (1.0 - ratio), y * ratio};
}

double hw_poisson_loss(double target, double log_target, double margin)
{
    return row_at(target, log_target, margin, fabs(margin) + fabs(log_target)).loss;
}

static inline double offset_at(const hw_newton_rows *rows, size_t i)
{
    return rows->offset != NULL ? rows->offset[i] : 0.0;
}

static void look(const hw_newton_rows *rows, const double *v, hw_newton_point *point)
{
    double loss[CHUNK], size[CHUNK], total = 0.0, rounding = 0.0, b = point->intercept;
    point->sum = point->bend = 0.0;
    for (size_t begin = 0; begin < rows->count; begin += CHUNK) {
        size_t count = rows->count - begin < CHUNK ? rows->count - begin : CHUNK;
        double *pull = point->pull + begin, *curve = point->curve + begin;
        for (size_t k = 0; k < count; k++) {
            size_t i = begin + k;
            double y = rows->target[i], log_y = rows->target_log[i], offset = offset_at(rows, i);
            double c = hw_newton_weight(rows, i), terms = fabs(v[i]) + fabs(b) + fabs(offset) + fabs(log_y);
            row one = row_at(y, log_y, v[i] + b + offset, terms);
            double least = LEAST_CURVE * fabs(one.residual);
            loss[k] = c > 0.0 ? c * one.loss : 0.0;
            pull[k] = c > 0.0 ? c * one.residual : 0.0;
            curve[k] = c > 0.0 ? c * (one.mean > least ? one.mean : least) : 0.0;
            size[k] = fabs(pull[k]) * terms;
        }
        total += hw_sum_of(count, loss);
        point->sum += hw_sum_of(count, pull);
        point->bend += hw_sum_of(count, curve);
        rounding += hw_sum_of(count, size);
    }
    point->loss = total / rows->total;
    point->rounding = ROUNDING * DBL_EPSILON * rounding / rows->total;
}

/* Returns the sum of the means at intercept b, and in *counts that of the counts. */
static double sum_means(const hw_newton_rows *rows, const double *v, double b, double *counts)
{
    double mean[CHUNK], count_of[CHUNK], total = 0.0;
    *counts = 0.0;
    for (size_t begin = 0; begin < rows->count; begin += CHUNK) {
        size_t count = rows->count - begin < CHUNK ? rows->count - begin : CHUNK;
        for (size_t k = 0; k < count; k++) {
            size_t i = begin + k;
            double c = hw_newton_weight(rows, i);
            mean[k] = c > 0.0 ? c * exp_of(v[i] + b + offset_at(rows, i)) : 0.0;
            count_of[k] = c * rows->target[i];
        }
        total += hw_sum_of(count, mean);
        *counts += hw_sum_of(count, count_of);
    }
    return total;
}

/* Returns the largest margin without the intercept of a row with weight; NaN if one is NaN. */
static double largest(const hw_newton_rows *rows, const double *v)
{
    double most = -INFINITY;
    for (size_t i = 0; i < rows->count; i++) {
        double margin = v[i] + offset_at(rows, i);
        if (hw_newton_weight(rows, i) > 0.0)
            most = margin > most || margin != margin ? margin : most;
        if (most != most)
            return most;
    }
    return most;
}

/* The best intercept makes the means sum to the counts. It has a closed form, relative to any intercept at which that sum is
 * a number. */
static void settle(const hw_newton_rows *rows, const double *v, double tolerance, hw_newton_point *point)
{
    (void)tolerance;
    if (rows->intercept) {
        double counts, b = isfinite(point->intercept) ? point->intercept : 0.0, means = sum_means(rows, v, b, &counts);
        if (!(means > 1e-280 && means < 1e280)) {
            b = hw_poisson_log(counts / rows->total) - largest(rows, v);
            means = sum_means(rows, v, b, &counts);
        }
        if (means > 0.0 && means < INFINITY)
            b += hw_poisson_log(counts) - hw_poisson_log(means);
        if (isfinite(b))
            point->intercept = b;
    }
    look(rows, v, point);
}

/* Rows without a count may have means near 0, so that what a projection rounds off is larger than they are: it is measured
 * by the mean count. */
static bool theta_of(const hw_newton_rows *rows, const double *pull, double *theta)
{
    bool inside = true;
    double counts = 0.0;
    for (size_t i = 0; i < rows->count; i++)
        counts += hw_newton_weight(rows, i) * rows->target[i];
    double noise = 4.0 * DBL_EPSILON * counts / rows->total;
    for (size_t i = 0; i < rows->count; i++) {
        double weight = hw_newton_weight(rows, i), y = rows->target[i], residual = weight > 0.0 ? pull[i] / weight : 0.0;
        inside = inside && residual <= y * (1.0 + 4.0 * DBL_EPSILON) + noise;
        theta[i] = residual > y ? y : residual;
    }
    return inside;
}

/* Scales the means so that they sum to the counts. */
static void balance(const hw_newton_rows *rows, double *theta)
{
    double residuals = 0.0, means = 0.0;
    for (size_t i = 0; i < rows->count; i++) {
        double weight = hw_newton_weight(rows, i);
        residuals += weight * theta[i];
        means += weight * (rows->target[i] - theta[i]);
    }
    double share = means > 0.0 ? residuals / means : 0.0;
    for (size_t i = 0; i < rows->count; i++)
        theta[i] -= share * (rows->target[i] - theta[i]);
}

static double pull_of(const hw_newton_rows *rows, const double *theta, double *pull)
{
    double sum = 0.0;
    for (size_t i = 0; i < rows->count; i++) {
        pull[i] = hw_newton_weight(rows, i) * theta[i];
        sum += pull[i];
    }
    return sum;
}

/* Returns t log(t / y) - t + y for t = y + a, with its last digits also near a = 0; for y = 0, t log t - t. */
static inline double excess(double y, double log_y, double a)
{
    double t = y + a;
    if (fabs(a) <= 0.3 * y) {
        double z = a / (2.0 * y + a), s = z * z; /* log(t / y) = 2 atanh(z) */
        return y * (2.0 * s * (1.0 + z * (1.0 + z) * hw_atanh_rest(s)) / (1.0 - z));
    }
    return (t > DBL_MIN ? t * (hw_logarithm(t) - log_y) : 0.0) - a;
}

static double dual_of(const hw_newton_rows *rows, const double *theta, double scale, double intercept, size_t first,
                      size_t last)
{
    double value[CHUNK], total = 0.0, shift = rows->intercept ? intercept : 0.0;
    for (size_t begin = first; begin < last; begin += CHUNK) {
        size_t count = last - begin < CHUNK ? last - begin : CHUNK;
        for (size_t k = 0; k < count; k++) {
            size_t i = begin + k;
            double y = rows->target[i], log_y = rows->target_log[i], a = -scale * theta[i], c = hw_newton_weight(rows, i);
            value[k] = c > 0.0 ? c * (a * (log_y - offset_at(rows, i) - shift) + excess(y, log_y, a)) : 0.0;
        }
        total -= hw_sum_of(count, value);
    }
    return isfinite(total) ? total / rows->total : -1e300; /* a bound that has overflowed is no bound */
}

/* With t the point's means and t* the best ones, the dual's concave part gives sum c (t log(t / t*) - t + t*) / W <= gap.
 * With D = |t* - t|, each term is at least D^2 / (2 t + 4 D / 3). So no D exceeds its own root of D^2 = (2 t + 4 D / 3) W
 * gap / c, and sum c D^2 / W <= gap times the largest 2 t + 4 D / 3. */
static double radius_of(const hw_newton_rows *rows, const double *theta, double scale, double gap)
{
    double most = 0.0;
    for (size_t i = 0; i < rows->count; i++) {
        double c = hw_newton_weight(rows, i), t = rows->target[i] - scale * theta[i];
        if (!(c > 0.0))
            continue;
        double a = rows->total * gap / c, root = 2.0 * a / 3.0 + sqrt(4.0 * a * a / 9.0 + 2.0 * a * t);
        most = fmax(most, 2.0 * t + 4.0 / 3.0 * root);
    }
    return sqrt(gap * most);
}

/* Without an intercept, nothing brings back a mean that is infinite at weights of zero. */
static hawser_status check_offsets(const hw_newton_rows *rows, hawser_error *error)
{
    for (size_t i = 0; i < rows->count; i++)
        if (offset_at(rows, i) > LARGEST && hw_newton_weight(rows, i) > 0.0)
            return hawser_fail(
                error, HAWSER_NOT_FINITE,
                "row %zu: the offset is %g, and exp of it is not finite; lower the offsets, or fit an intercept", i + 1,
                offset_at(rows, i));
    return HAWSER_OK;
}

/* Without a count above zero the best intercept is minus infinity. */
static hawser_status check(const hw_linear_problem *problem, const hw_newton_rows *rows, const char *where,
                           hawser_error *error)
{
    (void)problem;
    if (!rows->intercept)
        return check_offsets(rows, error);
    for (size_t i = 0; i < rows->count; i++)
        if (rows->target[i] > 0.0 && hw_newton_weight(rows, i) > 0.0)
            return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "all targets with weight are zero%s: the best intercept of a Poisson regression is then minus "
                       "infinity; use other rows, or --no-intercept",
                       where);
}

const hw_newton_loss hw_poisson_losses = {.look = look,
                                          .settle = settle,
                                          .theta = theta_of,
                                          .balance = balance,
                                          .pull = pull_of,
                                          .dual = dual_of,
                                          .radius = radius_of,
                                          .check = check};
