/* order.h - numbers without a sign: which comes first, and how far one is beyond another. */
#ifndef HW_BASE_ORDER_H
#define HW_BASE_ORDER_H

#include <stdint.h>

/* For qsort and bsearch over uint64_t. */
static inline int hw_ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* a - b, and 0 where that would be negative: clock t - s - 1 does not exist for t <= s. */
static inline uint64_t hw_beyond(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

#endif
