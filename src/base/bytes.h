/* bytes.h - bit positions, and prefetches of cache lines. */
#ifndef HW_BASE_BYTES_H
#define HW_BASE_BYTES_H

#include <stdint.h>

/* Returns the number of the lowest set bit. bits != 0. */
static inline unsigned hw_lowest_bit(uint64_t bits)
{
    return (unsigned)__builtin_ctzll(bits);
}

/* Returns the number of the highest set bit. bits != 0. */
static inline unsigned hw_highest_bit(uint64_t bits)
{
    return 63 - (unsigned)__builtin_clzll(bits);
}

/* Prefetches a cache line that will be read soon. */
static inline void hw_prefetch(const void *at)
{
    __builtin_prefetch(at);
}

/* Prefetches a cache line that will be written soon. */
static inline void hw_prefetch_store(const void *at)
{
    __builtin_prefetch(at, 1);
}

#endif
