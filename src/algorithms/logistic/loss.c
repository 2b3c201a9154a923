#include "algorithms/logistic/loss.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { CHUNK = 256, LANES = 4, MOST_STEPS = 100 };

/* How small a row's curvature may be beside its pull: where a row is far on the wrong side, the true one tends to zero and with it
 * any sense of scale. */
static const double LEAST_CURVE = 1e-4;

static const double LN2_HIGH = 0x1.62e42fee00000p-1, LN2_LOW = 0x1.a39ef35793c76p-33, LOG2_E = 0x1.71547652b82fep+0;

static inline double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t to_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* What follows chooses by bits instead of branches, which loops over many rows could not take side by side. All ones for x < 0: */
static inline uint64_t if_negative(double x)
{
    return 0 - (to_bits(x) >> 63);
}

static inline double chosen(uint64_t mask, double value)
{
    return from_bits(mask & to_bits(value));
}

/* exp(x) for x <= 0, down to the smallest normal number: 2^k times a polynomial on half a binary digit either way. */
static inline double exponential(double x)
{
    static const double shift = 0x1.8p52;
    uint64_t below = if_negative(x + 708.0);
    x = from_bits((below & to_bits(-708.0)) | (~below & to_bits(x)));
    double rounded = x * LOG2_E + shift, k = rounded - shift;
    double r = (x - k * LN2_HIGH) - k * LN2_LOW, p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * (r * r) + r + 1.0;
    return p * from_bits((to_bits(rounded) + 1023) << 52);
}

/* 2 atanh(z) = log((1 + z) / (1 - z)) for |z| <= 0.18. */
static inline double twice_atanh(double z)
{
    double s = z * z, p = 1.0 / 23.0;
    p = p * s + 1.0 / 21.0;
    p = p * s + 1.0 / 19.0;
    p = p * s + 1.0 / 17.0;
    p = p * s + 1.0 / 15.0;
    p = p * s + 1.0 / 13.0;
    p = p * s + 1.0 / 11.0;
    p = p * s + 1.0 / 9.0;
    p = p * s + 1.0 / 7.0;
    p = p * s + 1.0 / 5.0;
    p = p * s + 1.0 / 3.0;
    return 2.0 * z + 2.0 * z * (p * s);
}

/* log(1 + e) for 0 <= e <= 1. */
static inline double log_of_one_plus(double e)
{
    uint64_t large = if_negative(0.41421356237309503 - e);
    double one = chosen(large, 1.0);
    return chosen(large, LN2_HIGH) + (chosen(large, LN2_LOW) + twice_atanh((e - one) / (e + (2.0 + one))));
}

/* log(x) for normal x > 0. */
static inline double logarithm(double x)
{
    uint64_t bits = to_bits(x) - to_bits(0.70710678118654757);
    double k = (double)((int64_t)bits >> 52);
    double m = from_bits((bits & UINT64_C(0xfffffffffffff)) + to_bits(0.70710678118654757));
    return k * LN2_HIGH + (k * LN2_LOW + twice_atanh((m - 1.0) / (m + 1.0)));
}

double hw_logistic_loss(double x)
{
    return chosen(if_negative(x), -x) + log_of_one_plus(exponential(-fabs(x)));
}

double hw_logistic_probability(double x)
{
    double e = exponential(-fabs(x));
    return x >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

/* Of one chunk: loss, q and q (1 - q) for x = y m. */
static void chunk(size_t count, const double *restrict x, double *restrict loss, double *restrict q, double *restrict bend)
{
    for (size_t i = 0; i < count; i++) {
        double e = exponential(-fabs(x[i])), inverse = 1.0 / (1.0 + e), small = e * inverse;
        uint64_t wrong = if_negative(x[i]);
        loss[i] = chosen(wrong, -x[i]) + log_of_one_plus(e);
        q[i] = from_bits((wrong & to_bits(inverse)) | (~wrong & to_bits(small)));
        bend[i] = small * inverse;
    }
}

static double sum_of(size_t count, const double *values)
{
    double lane[LANES] = {0.0};
    for (size_t i = 0; i + LANES <= count; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lane[k] += values[i + k];
    for (size_t i = count / LANES * LANES; i < count; i++)
        lane[i % LANES] += values[i];
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

/* x = y (v + b + offset) of rows [begin, begin + count). */
static void margins(const hw_logistic_rows *rows, const double *v, double intercept, size_t begin, size_t count, double *x)
{
    const double *y = rows->sign + begin;
    for (size_t i = 0; i < count; i++)
        x[i] = y[i] * (v[begin + i] + intercept);
    for (size_t i = 0; rows->offset != NULL && i < count; i++)
        x[i] += y[i] * rows->offset[begin + i];
}

void hw_logistic_look(const hw_logistic_rows *rows, const double *v, hw_logistic_point *point)
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
            pull[i] = rows->sign[begin + i] * q[i];
        }
        for (size_t i = 0; rows->weights != NULL && i < count; i++) {
            double c = rows->weights[begin + i];
            curve[i] *= c;
            pull[i] *= c;
            loss[i] = c > 0.0 ? c * loss[i] : 0.0;
        }
        total += sum_of(count, loss);
        point->sum += sum_of(count, pull);
        point->bend += sum_of(count, curve);
    }
    point->loss = total / rows->total;
}

/* Newton's method in one dimension, within what the signs of the slope have shown. */
void hw_logistic_settle(const hw_logistic_rows *rows, const double *v, double tolerance, hw_logistic_point *point)
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

/* -t log t, 0 at 0. */
static inline double surprise(double t)
{
    return -t * logarithm(t > 1e-300 ? t : 1e-300);
}

double hw_logistic_entropy(const hw_logistic_rows *rows, const double *theta, double scale, size_t first, size_t last)
{
    double value[CHUNK], total = 0.0;
    for (size_t begin = first; begin < last; begin += CHUNK) {
        size_t count = last - begin < CHUNK ? last - begin : CHUNK;
        for (size_t i = 0; i < count; i++) {
            double t = scale * theta[begin + i];
            value[i] = surprise(t) + surprise(1.0 - t);
        }
        for (size_t i = 0; rows->offset != NULL && i < count; i++)
            value[i] -= scale * theta[begin + i] * rows->sign[begin + i] * rows->offset[begin + i];
        for (size_t i = 0; rows->weights != NULL && i < count; i++)
            value[i] *= rows->weights[begin + i];
        total += sum_of(count, value);
    }
    return total / rows->total;
}
