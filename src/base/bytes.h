/* bytes.h - bit positions, memory of zeros, and prefetches of cache lines. */
#ifndef HW_BASE_BYTES_H
#define HW_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* Returns whether all bytes are zero. */
static inline bool hw_all_zero(const void *memory, size_t count)
{
    const char *bytes = memory;
    return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
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
