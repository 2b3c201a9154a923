/* bytes.h - bytes of memory as the processor likes them: cache lines called for early. */
#ifndef HW_BASE_BYTES_H
#define HW_BASE_BYTES_H

#include <stdint.h>

/* Number of the lowest bit that is set; one is. */
static inline unsigned hw_lowest_bit(uint64_t bits)
{
    return (unsigned)__builtin_ctzll(bits);
}

/* And of the highest. */
static inline unsigned hw_highest_bit(uint64_t bits)
{
    return 63 - (unsigned)__builtin_clzll(bits);
}

/* Has the processor fetch a line of memory that will be read soon. */
static inline void hw_prefetch(const void *at)
{
    __builtin_prefetch(at);
}

/* Calls for the cache line of something that will be written soon. */
static inline void hw_prefetch_store(const void *at)
{
    __builtin_prefetch(at, 1);
}

#endif
