/*
 * part.h - one block's part of a problem that several blocks solve together. All of them run the same steps. What costs most is divided: each
 * block computes a part, hw_linear_sum adds the parts of all blocks, and all go on with the same bits.
 */
#ifndef HW_ALGORITHMS_SOLVE_PART_H
#define HW_ALGORITHMS_SOLVE_PART_H

#include "hawser/matrix.h"

typedef struct hw_linear_part {
    size_t begin, end;  /* of an image: the entries that this block sums over */
    hawser_matrix view; /* the matrix cut down to them (not in residual space on sparse data) */
    uint32_t block, blocks;
    /* Adds `count` numbers of all blocks, entry by entry, and stores the sums in `values`. */
    hawser_status (*add)(void *source, double *values, size_t count, hawser_error *error);
    void *source;
} hw_linear_part;

/* Adds numbers over all blocks; a block that has no part of a number has set it to zero. `part` NULL: there is one block, and nothing to add. */
static inline hawser_status hw_linear_sum(const hw_linear_part *part, double *values, size_t count, hawser_error *error)
{
    return part != NULL ? part->add(part->source, values, count, error) : HAWSER_OK;
}

#endif
