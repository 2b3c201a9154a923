/*
 * digest.h - what stands for values in a history: the sum over numbers of a mixture of place and bits, modulo 2^64.
 *
 * A sum, so that it does not matter how a vector was cut, encoded or packed on its way: the digests of its pieces add up to its own, and a
 * zero (+0.0, or nothing said) adds nothing. A change of one number changes it for certain. It finds damage and mistakes, not forgery.
 */
#ifndef HW_BASE_DIGEST_H
#define HW_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define HW_DIGEST_BITS   UINT64_C(0xbf58476d1ce4e5b9)
#define HW_DIGEST_PLACES UINT64_C(0x9e3779b97f4a7c15)

/* Of one number at `place`: each step is one-to-one for a place, and takes 0 to 0. Twice what stands high is carried low, where a product
 * mixes: 2.0 has one bit, the last but one. */
static inline uint64_t hw_digest_one(uint64_t place, uint64_t bits)
{
    uint64_t x = bits * HW_DIGEST_BITS;
    x ^= x >> 32;
    x *= ((place + 1) * HW_DIGEST_PLACES) | 1;
    return x ^ (x >> 32);
}

/* Of numbers of eight and of four bytes that lie beside each other, from the place `first` on; they need not be aligned. */
uint64_t hw_digest_64(const void *values, size_t count, uint64_t first);
uint64_t hw_digest_32(const void *values, size_t count, uint64_t first);
/* Of numbers at places of their own. */
uint64_t hw_digest_64_at(const void *values, size_t count, const uint64_t *places);
uint64_t hw_digest_32_at(const void *values, size_t count, const uint64_t *places);

/* The forms that this machine has, the quickest last; NULL past them. For tests. */
typedef struct hw_digest_form {
    uint64_t (*beside)(const void *values, size_t count, uint64_t first);
    uint64_t (*at)(const void *values, size_t count, const uint64_t *places);
} hw_digest_form;
const hw_digest_form *hw_digest_64_variant(size_t index);
const hw_digest_form *hw_digest_32_variant(size_t index);

#endif
