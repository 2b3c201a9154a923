#include "algorithms/logistic/loss.h"

#include <float.h>
#include <math.h>

#include "algorithms/newton/exponential.h"

enum { CHUNK = 256, MOST_STEPS = 100 };

/* The least curvature of a row, as a share of its pull. If a row is far on the wrong side, its true curvature tends to zero,
 * and a step on it would have no scale. */
static const double LEAST_CURVE = 1e-4;

double hw_logistic_loss(double x)
{
    return hw_chosen(hw_if_negative(x), -x) + hw_log_of_one_plus(hw_exponential(-fabs(x)));
}

double hw_logistic_probability(double x)
{
    double e = hw_exponential(-fabs(x));
    return x >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

/* Computes loss, q and q (1 - q) of one chunk, for x = y m. */
static void chunk(size_t count, const double *restrict x, double *restrict loss, double *restrict q, double *restrict bend)
{
    for (size_t i = 0; i < count; i++) {
        double e = hw_exponential(-fabs(x[i])), inverse = 1.0 / (1.0 + e), small = e * inverse;
        uint64_t wrong = hw_if_negative(x[i]);
        loss[i] = hw_chosen(wrong, -x[i]) + hw_log_of_one_plus(e);
        q[i] = hw_from_bits((wrong & hw_to_bits(inverse)) | (~wrong & hw_to_bits(small)));
        bend[i] = small * inverse;
    }
}

/* Computes x = y (v + b + offset) of rows [begin, begin + count). */
static void margins(const hw_newton_rows *rows, const double *v, double intercept, size_t begin, size_t count, double *x)
{
    const double *y = rows->target + begin;
    for (size_t i = 0; i < count; i++)
        x[i] = y[i] * (v[begin + i] + intercept);
    for (size_t i = 0; rows->offset != NULL && i < count; i++)
        x[i] += y[i] * rows->offset[begin + i];
}

void hw_logistic_look(const hw_newton_rows *rows, const double *v, hw_newton_point *point)
{
    double x[CHUNK], loss[CHUNK], q[CHUNK], bend[CHUNK], total = 0.0;
    point->sum = point->bend = 0.0;
    for (size_t begin = 0; begin < rows->count; begin += CHUNK) {
        size_t count = rows->count - begin < CHUNK ? rows->count - begin : CHUNK;
        double *pull = point->pull + begin, *curve = point->curve + begin;
        margins(rows, v, point->intercept, begin, count, x);
        chunk(count, x, loss, q, bend);
        for (size_t i = 0; i < count; i++) {
            double least = LEAST_CURVE * q[i];
            curve[i] = bend[i] > least ? bend[i] : least;
            pull[i] = rows->target[begin + i] * q[i];
        }
        for (size_t i = 0; rows->weights != NULL && i < count; i++) {
            double c = rows->weights[begin + i];
            curve[i] *= c;
            pull[i] *= c;
            loss[i] = c > 0.0 ? c * loss[i] : 0.0;
        }
        total += hw_sum_of(count, loss);
        point->sum += hw_sum_of(count, pull);
        point->bend += hw_sum_of(count, curve);
    }
    point->loss = total / rows->total;
}

/* Runs Newton's method in one dimension, within the interval that the signs of the slope have shown. */
void hw_logistic_settle(const hw_newton_rows *rows, const double *v, double tolerance, hw_newton_point *point)
{
    double low = -INFINITY, high = INFINITY, reach = 4.0;
    for (int step = 0; step < MOST_STEPS; step++) {
        hw_logistic_look(rows, v, point);
        if (!rows->intercept || !(point->bend > 0.0) ||
            0.5 * point->sum * point->sum <= tolerance * point->bend * rows->total)
            return;
        double b = point->intercept, move = point->sum / point->bend;
        if (point->sum > 0.0)
            low = b;
        else
            high = b;
        double next = b + (move > reach ? reach : move < -reach ? -reach : move);
        if (!(next > low && next < high))
            next = 0.5 * (low + high);
        if (next == b || !isfinite(next))
            return;
        reach *= 2.0;
        point->intercept = next;
    }
}

/* Returns -t log t, and 0 at 0. */
static inline double surprise(double t)
{
    return -t * hw_logarithm(t > 1e-300 ? t : 1e-300);
}

double hw_logistic_entropy(const hw_newton_rows *rows, const double *theta, double scale, size_t first, size_t last)
{
    double value[CHUNK], total = 0.0;
    for (size_t begin = first; begin < last; begin += CHUNK) {
        size_t count = last - begin < CHUNK ? last - begin : CHUNK;
        for (size_t i = 0; i < count; i++) {
            double t = scale * theta[begin + i];
            value[i] = surprise(t) + surprise(1.0 - t);
        }
        for (size_t i = 0; rows->offset != NULL && i < count; i++)
            value[i] -= scale * theta[begin + i] * rows->target[begin + i] * rows->offset[begin + i];
        for (size_t i = 0; rows->weights != NULL && i < count; i++)
            value[i] *= rows->weights[begin + i];
        total += hw_sum_of(count, value);
    }
    return total / rows->total;
}

static bool theta_of(const hw_newton_rows *rows, const double *pull, double *theta)
{
    bool inside = true;
    for (size_t i = 0; i < rows->count; i++) {
        double weight = hw_newton_weight(rows, i), share = weight > 0.0 ? rows->target[i] * pull[i] / weight : 0.0;
        inside = inside && share >= -4.0 * DBL_EPSILON && share <= 1.0 + 4.0 * DBL_EPSILON;
        theta[i] = share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share;
    }
    return inside;
}

/* Scales the class with the larger total pull down, because both classes must pull equally on the intercept. */
static void balance(const hw_newton_rows *rows, double *theta)
{
    double side[2] = {0.0, 0.0};
    for (size_t i = 0; i < rows->count; i++)
        side[rows->target[i] > 0.0] += hw_newton_weight(rows, i) * theta[i];
    double least = side[0] < side[1] ? side[0] : side[1];
    double factor[2] = {side[0] > 0.0 ? least / side[0] : 0.0, side[1] > 0.0 ? least / side[1] : 0.0};
    for (size_t i = 0; i < rows->count; i++)
        theta[i] *= factor[rows->target[i] > 0.0];
}

static double pull_of(const hw_newton_rows *rows, const double *theta, double *pull)
{
    double sum = 0.0;
    for (size_t i = 0; i < rows->count; i++) {
        pull[i] = hw_newton_weight(rows, i) * rows->target[i] * theta[i];
        sum += pull[i];
    }
    return sum;
}

static double dual_of(const hw_newton_rows *rows, const double *theta, double scale, double intercept, size_t first,
                      size_t last)
{
    (void)intercept;
    return hw_logistic_entropy(rows, theta, scale, first, last);
}

/* Returns the radius around theta that contains the dual optimum: minus the entropy has second derivatives of at least 4. */
static double radius_of(const hw_newton_rows *rows, const double *theta, double scale, double gap)
{
    (void)rows;
    (void)theta;
    (void)scale;
    return sqrt(0.5 * gap);
}

/* Examples of only one kind have no boundary to learn. */
static hawser_status check(const hw_linear_problem *problem, const hw_newton_rows *rows, const char *where,
                           hawser_error *error)
{
    double weight[2] = {0.0, 0.0};
    for (size_t i = 0; i < rows->count; i++)
        weight[problem->target[i] > 0.0] += hw_newton_weight(rows, i);
    for (size_t k = 0; k < 2; k++)
        if (!(weight[k] > 0.0))
            return hawser_fail(error, HAWSER_BAD_INPUT, "no example with label %g has any weight%s: two classes are needed",
                               problem->labels[k], where);
    return HAWSER_OK;
}

const hw_newton_loss hw_logistic_losses = {.look = hw_logistic_look,
                                           .settle = hw_logistic_settle,
                                           .theta = theta_of,
                                           .balance = balance,
                                           .pull = pull_of,
                                           .dual = dual_of,
                                           .radius = radius_of,
                                           .check = check};
