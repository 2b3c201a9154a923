/*
 * numbers.h - arithmetic on the entries of a state, by the type of the state.
 *
 * Each type computes in itself: f32 is never widened, and i64 never passes through a double. Floats have no check here: the
 * callers test whether their sums are finite. Integers are checked at each addition and subtraction. A kernel that adds
 * returns the position of the first entry that overflows, else the number of entries; the entries behind that position are
 * unspecified.
 */
#ifndef HW_EXCHANGE_NUMBERS_H
#define HW_EXCHANGE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/type.h"
#include "exchange/encoding.h"

enum { HW_NUMBER_TEXT = 32 };

typedef struct hw_numbers {
    const char *name; /* "f64" */
    size_t size;
    bool whole; /* integers */
    /* Returns the position of the first number that is NaN or infinite; n if there is none. */
    size_t (*first_not_finite)(const void *values, size_t n);
    /* Returns how many entries differ in their bits. From 0.0 to -0.0 is a change. */
    size_t (*changed)(const void *a, const void *b, size_t n);
    /* Stores the changed entries of at most HW_TILE in `out` and their positions in `places`, and returns their number: the
     * values of `cache`, or if `values` is false (cache - origin) / gain. *good is the number of stored entries that do not
     * overflow. */
    size_t (*pick)(const void *cache, const void *origin, size_t n, double gain, bool values, void *out, uint16_t *places,
                   size_t *good);
    /* out = (from - less) / gain; a zero of this is 0.0. */
    size_t (*subtract)(void *out, const void *from, const void *less, double gain, size_t n);
    size_t (*add)(void *to, const void *from, double scale, size_t n);       /* to += scale * from */
    size_t (*join)(void *to, const void *left, const void *right, size_t n); /* to = left + right */
    /* to += scale * sum. A zero leaves an entry as it is, even -0.0, so the bits do not depend on whether a block sent zero
     * or nothing. */
    size_t (*merge)(void *to, const void *sum, double scale, size_t n);
    /* to[index - offset] += scale * value for positions [begin, end) of a sparse payload; returns a position of the
     * payload. */
    size_t (*scatter)(void *to, size_t offset, const hw_payload *payload, size_t begin, size_t end, double scale);
    size_t (*inc)(void *to, const uint64_t *keys, const void *values, double gain, size_t n); /* to[key] += gain * value */
    /* held += (cache - origin) / gain where they differ. With `check` nothing is stored, and sums of floats that are not
     * finite count as overflows. */
    size_t (*hold)(void *held, const void *cache, const void *origin, double gain, bool check, size_t n);
    /* cache = base + gain * held + (cache - was), without the last if `ended`, and origin = the first two if held is not
     * NULL, which may be. */
    size_t (*fold)(void *cache, void *origin, const void *base, const void *held, const void *was, double gain, bool ended,
                   size_t n);
    double (*load)(const void *values, size_t i); /* as a double, of an i64 rounded: for scores and messages */
    void (*text)(const void *values, size_t i, char text[HW_NUMBER_TEXT]);
} hw_numbers;

const hw_numbers *hw_numbers_of(hawser_type type);

/* Returns true if the bits of two entries differ. */
static inline bool hw_bits_differ(const hw_numbers *numbers, const void *a, const void *b)
{
    return numbers->size == sizeof(uint64_t) ? memcmp(a, b, sizeof(uint64_t)) != 0 : memcmp(a, b, sizeof(uint32_t)) != 0;
}

/* Returns true for an entry that is 0, 0.0 or -0.0. */
static inline bool hw_is_zero(const hw_numbers *numbers, const void *values, size_t i)
{
    uint64_t bits = 0;
    uint32_t half;
    if (numbers->size == sizeof bits) {
        memcpy(&bits, (const char *)values + i * sizeof bits, sizeof bits);
    } else {
        memcpy(&half, (const char *)values + i * sizeof half, sizeof half);
        bits = (uint64_t)half << 32;
    }
    return (numbers->whole ? bits : bits << 1) == 0; /* without the sign of a float */
}

#endif
