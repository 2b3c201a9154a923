/*
 * narrow.h - doubles in fewer bits, for the rounding of updates and for numbers that fit fewer bits exactly.
 *
 * Rounding is to nearest, ties to even, and never to infinity: a number that is too large becomes the largest. 8 bits hold a
 * whole number from -127 to 127, times a power of two that HW_TILE neighbouring entries share, so that every rounded number
 * is a double.
 */
#ifndef HW_CODEC_NARROW_H
#define HW_CODEC_NARROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Entries of a tile, the unit of touched ranges and of 8-bit scales. It is small enough for the tree of a merge to stay in
 * the first-level cache. */
enum { HW_TILE = 512 };
enum { HW_SCALE_MOST = 1016 }; /* the largest exponent of a scale: 127 times 2^1016 is a finite double */

typedef enum hw_width { HW_F64, HW_F32, HW_BF16, HW_F16, HW_INT8 } hw_width;

/* Returns the bits of a double, so that -0.0 and 0.0 differ. */
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

/* Returns 2 to the power of `exponent`, which is -1074 to 1023. */
double hw_power_of_two(int exponent);
/* Returns the least exponent so that `most` in units of its power rounds to at most 127, clamped to -1074 ..
 * HW_SCALE_MOST. */
int hw_scale_for(double most);
/* Finds the greatest exponent so that every value is a whole multiple of its power, from -127 to 127. Returns false if there
 * is none, and for -0.0, whose sign would be lost. */
bool hw_scale_of(const double *values, size_t count, int *exponent);

/* Returns value / 2^exponent as a double. */
static inline double hw_scaled(double value, int exponent)
{
    /* It takes two steps, because 2^-exponent may be out of range. */
    int half = exponent / 2;
    return value * hw_power_of_two(-half) * hw_power_of_two(half - exponent);
}

/* Returns `value` rounded to a width, which is not HW_INT8. */
double hw_narrowed(double value, hw_width width);

#endif
