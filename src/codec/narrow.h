/*
 * narrow.h - doubles in fewer bits: what a state's rounding does to its updates, and how a number that fits is written.
 *
 * Nearest, ties to even, never to infinity: what is too large becomes the largest. 8 bits are whole numbers from -127 to 127 times
 * a power of two that HW_TILE neighbouring entries share, so that a rounded number is a double like any other.
 */
#ifndef HW_CODEC_NARROW_H
#define HW_CODEC_NARROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Entries in a tile: small enough for a merge's tree to stay in the first cache, the grain of touched ranges, and of the 8-bit
 * scales. */
enum { HW_TILE = 512 };
enum { HW_SCALE_MOST = 1016 }; /* 127 of its powers are a double */

typedef enum hw_width { HW_F64, HW_F32, HW_BF16, HW_F16, HW_INT8 } hw_width;

/* The bits of a double, so that -0.0 and 0.0 differ. */
static inline uint64_t hw_double_bits(double value)
{
    union {
        double number;
        uint64_t bits;
    } u = {value};
    return u.bits;
}

uint16_t hw_to_bf16(double value);
double hw_of_bf16(uint16_t bits);
uint16_t hw_to_f16(double value);
double hw_of_f16(uint16_t bits);

/* 2 to the power of `exponent`, -1074 to 1023. */
double hw_power_of_two(int exponent);
/* The least exponent with `most` <= 127 of its powers, rounded; for 0 the least there is. */
int hw_scale_for(double most);
/* The greatest exponent of which every value is a whole multiple from -127 to 127; false when there is none. Bits count: -0.0 is no
 * multiple. */
bool hw_scale_of(const double *values, size_t count, int *exponent);

/* value / 2^exponent, rounded. */
static inline double hw_scaled(double value, int exponent)
{
    /* In two steps, since 2^-exponent may be out of range. */
    int half = exponent / 2;
    return value * hw_power_of_two(-half) * hw_power_of_two(half - exponent);
}

/* What is left of `value` in so many bits (not HW_INT8); HW_F64: all. */
double hw_narrowed(double value, hw_width width);

#endif
