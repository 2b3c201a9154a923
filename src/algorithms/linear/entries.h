/* entries.h - places in lists of ascending indices. */
#ifndef HW_ALGORITHMS_LINEAR_ENTRIES_H
#define HW_ALGORITHMS_LINEAR_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

/* The first place in [begin, end) whose index is not below `least`; end where there is none. */
static inline uint64_t hw_linear_first_entry(const uint32_t *indices, uint64_t begin, uint64_t end, size_t least)
{
    while (begin < end) {
        uint64_t middle = begin + (end - begin) / 2;
        if (indices[middle] < least)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

#endif
