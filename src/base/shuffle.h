/* shuffle.h - a random order of [0, count) without a list: the k-th number of the order is computed from k and a key. */
#ifndef HW_BASE_SHUFFLE_H
#define HW_BASE_SHUFFLE_H

#include <stdint.h>

enum { HW_SHUFFLE_ROUNDS = 12 };

/* A keyed bijection of [0, count): a Feistel network on numbers of `bits` bits, repeated until the result is below count
 * (cycle walking). */
typedef struct hw_shuffle {
    uint64_t count;
    unsigned low, bits; /* a number has `bits` bits, the lower `low` of them are its right half */
    uint64_t keys[HW_SHUFFLE_ROUNDS];
} hw_shuffle;

/* Returns the order of this key. Equal arguments give equal orders on every machine. count > 0. */
hw_shuffle hw_shuffle_of(uint64_t count, uint64_t seed, uint64_t stream, uint64_t epoch);
/* Returns the number at place k of the order, k < count. */
uint64_t hw_shuffle_at(const hw_shuffle *shuffle, uint64_t k);

#endif
