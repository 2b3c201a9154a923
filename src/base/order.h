/* order.h - unsigned numbers: their order, their difference, and the range that has one. */
#ifndef HW_BASE_ORDER_H
#define HW_BASE_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* For qsort and bsearch over uint64_t. */
static inline int hw_ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Returns a - b, or 0 if that would be negative: clock t - s - 1 does not exist for t <= s. */
static inline uint64_t hw_beyond(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Returns the last of `count` ranges (at least one, `step` bytes apart, ascending, each with its first number at its front)
 * that begins at or before a number; the first one if none does. */
static inline size_t hw_range_of(const void *ranges, size_t step, size_t count, uint64_t number)
{
    const unsigned char *at = ranges;
    size_t low = 0, high = count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (*(const uint64_t *)(const void *)(at + middle * step) <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

#endif
