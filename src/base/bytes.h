/* bytes.h - bytes of memory as the processor likes them: 64 characters at a time, cache lines called for early. */
#ifndef HW_BASE_BYTES_H
#define HW_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Bit k tells whether at[k] is `what`, k = 0 .. 63. For machines without the form below, and its test. */
static inline uint64_t hw_equal_64_portable(const char *at, char what)
{
    uint64_t mask = 0;
    for (int k = 0; k < 64; k++)
        mask |= (uint64_t)(at[k] == what) << k;
    return mask;
}

static inline uint64_t hw_equal_64(const char *at, char what)
{
#ifdef __SSE2__
    uint64_t mask = 0;
    for (int k = 0; k < 4; k++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * k));
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(what))) << 16 * k;
    }
    return mask;
#else
    return hw_equal_64_portable(at, what);
#endif
}

/* Number of the lowest bit that is set; one is. */
static inline unsigned hw_lowest_bit(uint64_t bits)
{
    return (unsigned)__builtin_ctzll(bits);
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
