/* entries.h - access to single entries of a dense or CSC matrix of any type, and to places in lists of ascending indices. */
#ifndef HW_ALGORITHMS_SOLVE_ENTRIES_H
#define HW_ALGORITHMS_SOLVE_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

#include "algorithms/model/numbers.h"

/* Stores the range of a column's entries. hw_linear_row_of returns their rows. */
static inline void hw_linear_entries(const hawser_matrix *X, size_t j, uint64_t *begin, uint64_t *end)
{
    bool dense = X->layout == HAWSER_DENSE;
    *begin = dense ? j * X->stride : X->offsets[j];
    *end = dense ? *begin + X->rows : X->offsets[j + 1];
}

/* Returns the number of a column's entries. */
static inline double hw_linear_entry_count(const hawser_matrix *X, size_t j)
{
    return X->layout == HAWSER_DENSE ? (double)X->rows : (double)(X->offsets[j + 1] - X->offsets[j]);
}

static inline size_t hw_linear_row_of(const hawser_matrix *X, uint64_t begin, uint64_t at)
{
    return X->layout == HAWSER_DENSE ? at - begin : X->indices[at];
}

/* Returns the first place in [begin, end) whose index is not below `least`; end if there is none. */
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
