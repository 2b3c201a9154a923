/* bits.h - counts bits. */
#ifndef HW_BASE_BITS_H
#define HW_BASE_BITS_H

#include <stdint.h>

/* Returns how many bits are set. */
static inline uint32_t hw_bits_set(uint64_t bits)
{
    return (uint32_t)__builtin_popcountll(bits);
}

/* Returns how many of the bits below number `end` are set; end < 64. */
static inline uint32_t hw_bits_set_below(uint64_t bits, uint32_t end)
{
    return hw_bits_set(bits & ((UINT64_C(1) << end) - 1));
}

#endif
