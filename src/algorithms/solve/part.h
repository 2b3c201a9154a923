/*
 * part.h - one block's part of a problem that several blocks solve together. All of them run the same steps. Expensive
 * operations are divided: each block computes a part, hw_linear_sum adds up the parts of all blocks, and all go on with the
 * same bits.
 */
#ifndef HW_ALGORITHMS_SOLVE_PART_H
#define HW_ALGORITHMS_SOLVE_PART_H

#include "hawser/matrix.h"

typedef struct hw_linear_part {
    size_t begin, end;  /* the entries of an image that this block sums over */
    hawser_matrix view; /* the part of the matrix with these entries (unused in residual space on sparse data) */
    uint32_t block, blocks;
    /* Adds `count` numbers of all blocks, entry by entry, and stores the sums in `values`. */
    hawser_status (*add)(void *source, double *values, size_t count, hawser_error *error);
    void *source;
} hw_linear_part;

/* Adds up numbers of all blocks. A block sets the numbers of which it has no part to zero. If `part` is NULL, there is a
 * single block and nothing to add. */
static inline hawser_status hw_linear_sum(const hw_linear_part *part, double *values, size_t count, hawser_error *error)
{
    return part != NULL ? part->add(part->source, values, count, error) : HAWSER_OK;
}

#endif
