/*
 * digest.h - what stands for values in a history: the sum over numbers of a mixture of place and bits, modulo 2^64.
 *
 * A sum, so that it does not matter how a vector was cut, encoded or packed on its way: the digests of its pieces add up to its own, and a
 * zero (+0.0, or nothing said) adds nothing. A change of one number changes it for certain. It finds damage and mistakes, not forgery.
 */
#ifndef HW_HISTORY_DIGEST_H
#define HW_HISTORY_DIGEST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Of one number at `place`: each step is one-to-one for a place, and takes 0 to 0. Twice what stands high is carried low, where a product
 * mixes: 2.0 has one bit, the last but one. */
static inline uint64_t hw_digest_one(uint64_t place, uint64_t bits)
{
    uint64_t x = bits * UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 32;
    x *= ((place + 1) * UINT64_C(0x9e3779b97f4a7c15)) | 1;
    return x ^ (x >> 32);
}

static inline uint64_t hw_digest_f64(const double *values, size_t count, uint64_t first)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, values + i, sizeof bits);
        sum += hw_digest_one(first + i, bits);
    }
    return sum;
}

/* Of numbers of four bytes. */
static inline uint64_t hw_digest_32(const void *values, size_t count, uint64_t first)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, (const unsigned char *)values + i * sizeof bits, sizeof bits);
        sum += hw_digest_one(first + i, bits);
    }
    return sum;
}

#endif
