/* wide.h - products of 64-bit numbers that may exceed 64 bits. */
#ifndef HW_BASE_WIDE_H
#define HW_BASE_WIDE_H

#include <stdint.h>

/* Returns floor(a * b / 2^64); the low half in *low. */
static inline uint64_t hw_multiply_high(uint64_t a, uint64_t b, uint64_t *low)
{
    uint64_t a0 = a & UINT32_MAX, a1 = a >> 32, b0 = b & UINT32_MAX, b1 = b >> 32;
    uint64_t bottom = a0 * b0;
    uint64_t left = a1 * b0 + (bottom >> 32); /* no carry is lost: each is at most (2^32 - 1)^2 + 2^32 - 1 */
    uint64_t right = a0 * b1 + (left & UINT32_MAX);
    *low = (right << 32) | (bottom & UINT32_MAX);
    return a1 * b1 + (left >> 32) + (right >> 32);
}

/* Returns floor(whole * part / parts), where parts * parts must fit: the shares of all parts, end to end, are the whole. */
static inline uint64_t hw_share_of(uint64_t whole, uint64_t part, uint64_t parts)
{
    return whole / parts * part + whole % parts * part / parts;
}

#endif
