/*
 * sets.h - the working sets of all blocks, gathered so that the problem over all of them can be solved as one. Every block
 * has a share of a partitioned state: the number of its members, and the fields of each, the first of which is its column in
 * the whole matrix.
 */
#ifndef HW_ALGORITHMS_GLM_SETS_H
#define HW_ALGORITHMS_GLM_SETS_H

#include "algorithms/glm/program.h"

/* Makes the state "sets", with `fields` fields per member. */
hawser_state *hw_linear_sets_state(const hw_linear_frame *frame, size_t fields);
/* Makes the data state "whole", of which a node fetches the members' columns. The entries of HW_LINEAR_EXPECTED members, the
 * widest columns, are reserved. */
hawser_state *hw_linear_whole_state(const hw_linear_frame *frame);
/* Returns the doubles of a share with `fields` fields per member. */
size_t hw_linear_sets_share(const hw_linear *linear, size_t fields);

/* Iterates over the members of all shares. */
typedef struct hw_linear_sets {
    const double *values;
    size_t share, fields;
    uint32_t blocks;
    uint32_t block; /* the block of the next member */
    size_t at;      /* the number of the next member in that block's share */
} hw_linear_sets;

/* Begins before the first member of the shares at `values`. */
hw_linear_sets hw_linear_sets_of(const hw_linear *linear, size_t fields, const double *values);
/* Returns the fields of the next member, in the order of the blocks; NULL at the end. */
const double *hw_linear_sets_next(hw_linear_sets *sets);
/* Returns the number of members of all shares. */
size_t hw_linear_sets_count(const hw_linear_sets *sets);

#endif
