/* exponential.h - exp and log with the same bits on every machine: a C library chooses its own by processor. Pure. */
#ifndef HW_ALGORITHMS_NEWTON_EXPONENTIAL_H
#define HW_ALGORITHMS_NEWTON_EXPONENTIAL_H

#include <stdint.h>
#include <string.h>

static const double HW_LN2_HIGH = 0x1.62e42fee00000p-1, HW_LN2_LOW = 0x1.a39ef35793c76p-33, HW_LOG2_E = 0x1.71547652b82fep+0;

static inline double hw_from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t hw_to_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The functions below choose by bits instead of branches, so that loops over rows become vector code. Returns all ones for x
 * < 0. */
static inline uint64_t hw_if_negative(double x)
{
    return 0 - (hw_to_bits(x) >> 63);
}

static inline double hw_chosen(uint64_t mask, double value)
{
    return hw_from_bits(mask & hw_to_bits(value));
}

/* Returns exp(x) for x <= 709, at least the smallest normal number: 2^k times a polynomial on half a binary digit either
 * way. */
static inline double hw_exponential(double x)
{
    static const double shift = 0x1.8p52;
    uint64_t below = hw_if_negative(x + 708.0);
    x = hw_from_bits((below & hw_to_bits(-708.0)) | (~below & hw_to_bits(x)));
    double rounded = x * HW_LOG2_E + shift, k = rounded - shift;
    double r = (x - k * HW_LN2_HIGH) - k * HW_LN2_LOW, p = 1.0 / 6227020800.0;
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
    return p * hw_from_bits((hw_to_bits(rounded) + 1023) << 52);
}

/* Returns (atanh(z) / z - 1) / z^2 for z^2 = s, |z| <= 0.18. */
static inline double hw_atanh_rest(double s)
{
    double p = 1.0 / 23.0;
    p = p * s + 1.0 / 21.0;
    p = p * s + 1.0 / 19.0;
    p = p * s + 1.0 / 17.0;
    p = p * s + 1.0 / 15.0;
    p = p * s + 1.0 / 13.0;
    p = p * s + 1.0 / 11.0;
    p = p * s + 1.0 / 9.0;
    p = p * s + 1.0 / 7.0;
    p = p * s + 1.0 / 5.0;
    return p * s + 1.0 / 3.0;
}

/* Returns 2 atanh(z) = log((1 + z) / (1 - z)) for |z| <= 0.18. */
static inline double hw_twice_atanh(double z)
{
    double s = z * z;
    return 2.0 * z + 2.0 * z * (hw_atanh_rest(s) * s);
}

/* Returns log(1 + e) for 0 <= e <= 1. */
static inline double hw_log_of_one_plus(double e)
{
    uint64_t large = hw_if_negative(0.41421356237309503 - e);
    double one = hw_chosen(large, 1.0);
    return hw_chosen(large, HW_LN2_HIGH) + (hw_chosen(large, HW_LN2_LOW) + hw_twice_atanh((e - one) / (e + (2.0 + one))));
}

/* Returns log(x) for normal x > 0. */
static inline double hw_logarithm(double x)
{
    uint64_t bits = hw_to_bits(x) - hw_to_bits(0.70710678118654757);
    double k = (double)((int64_t)bits >> 52);
    double m = hw_from_bits((bits & UINT64_C(0xfffffffffffff)) + hw_to_bits(0.70710678118654757));
    return k * HW_LN2_HIGH + (k * HW_LN2_LOW + hw_twice_atanh((m - 1.0) / (m + 1.0)));
}

/* Sums in the order that four lanes have. */
static inline double hw_sum_of(size_t count, const double *values)
{
    double lane[4] = {0.0};
    for (size_t i = 0; i + 4 <= count; i += 4)
        for (size_t k = 0; k < 4; k++)
            lane[k] += values[i + k];
    for (size_t i = count / 4 * 4; i < count; i++)
        lane[i % 4] += values[i];
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

#endif
