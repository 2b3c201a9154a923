/* random.h - counter-based random numbers: a draw is a pure function of its key, so any block can be re-executed on any
 * node. */
#ifndef HW_BASE_RANDOM_H
#define HW_BASE_RANDOM_H

#include <stdint.h>

/* Scatters numbers over all of 2^64, one-to-one: the finaliser of SplitMix64 (Steele, Lea, Flood 2014). */
static inline uint64_t hw_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* A stream: (seed, stream, block, clock) and the number of the next draw. A value type; two streams with equal keys are
 * equal. */
typedef struct hw_random {
    uint64_t key[2];
    uint64_t draw;
} hw_random;

hw_random hw_random_at(uint64_t seed, uint64_t stream, uint64_t block, uint64_t clock);
uint64_t hw_random_next(hw_random *random);
/* Returns a number uniform on [0, bound), bound > 0, without bias. */
uint64_t hw_random_below(hw_random *random, uint64_t bound);
/* Returns a number uniform on [0, 1) with 53 bits. */
double hw_random_uniform(hw_random *random);
/* Returns a standard normal number (polar method; the same bits on every machine with IEEE sqrt and this libm's log). */
double hw_random_normal(hw_random *random);

#endif
