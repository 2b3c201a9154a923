/* reduce.h - the one shape that every sum over blocks has. */
#ifndef HW_EXCHANGE_REDUCE_H
#define HW_EXCHANGE_REDUCE_H

#include <stdint.h>

/* How many of a range of count >= 2 blocks form the left subtree: the largest power of two below count. */
static inline uint32_t hw_left_of(uint32_t count)
{
    uint32_t left = 1;
    while (left < count - left)
        left *= 2;
    return left;
}

#endif
