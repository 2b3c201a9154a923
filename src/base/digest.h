/*
 * digest.h - the digest of values in a history: the sum over all numbers of a mixture of place and bits, modulo 2^64.
 *
 * A sum does not depend on how a vector was cut, encoded or packed: the digests of its pieces add up to its own, and a zero
 * (+0.0, or an omitted number) adds nothing. A change of one number always changes the digest. It detects damage and
 * mistakes, not forgery.
 */
#ifndef HW_BASE_DIGEST_H
#define HW_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define HW_DIGEST_BITS   UINT64_C(0xbf58476d1ce4e5b9)
#define HW_DIGEST_PLACES UINT64_C(0x9e3779b97f4a7c15)

/* The digest of one number at `place`. Each step is one-to-one for a given place and maps 0 to 0. The high half is carried
 * to the low half twice, because a product mixes only upwards: 2.0 has a single bit, the last but one. */
static inline uint64_t hw_digest_one(uint64_t place, uint64_t bits)
{
    uint64_t x = bits * HW_DIGEST_BITS;
    x ^= x >> 32;
    x *= ((place + 1) * HW_DIGEST_PLACES) | 1;
    return x ^ (x >> 32);
}

/* Digests of contiguous numbers of eight and of four bytes, the first at place `first`; they need not be aligned. */
uint64_t hw_digest_64(const void *values, size_t count, uint64_t first);
uint64_t hw_digest_32(const void *values, size_t count, uint64_t first);
/* Digests of numbers at given places. */
uint64_t hw_digest_64_at(const void *values, size_t count, const uint64_t *places);
uint64_t hw_digest_32_at(const void *values, size_t count, const uint64_t *places);

/* The variants that this machine runs, the fastest last; NULL past the last. For tests. */
typedef struct hw_digest_form {
    uint64_t (*beside)(const void *values, size_t count, uint64_t first);
    uint64_t (*at)(const void *values, size_t count, const uint64_t *places);
} hw_digest_form;
const hw_digest_form *hw_digest_64_variant(size_t index);
const hw_digest_form *hw_digest_32_variant(size_t index);

#endif
