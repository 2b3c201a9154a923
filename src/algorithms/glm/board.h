/*
 * board.h - the working sets of all blocks, put together so that the problem over all of them can be seen as one. Every block has a
 * share of a partitioned state: the number of its members, and so many fields for each, the first of them its column in the whole.
 */
#ifndef HW_ALGORITHMS_GLM_BOARD_H
#define HW_ALGORITHMS_GLM_BOARD_H

#include "algorithms/glm/linear.h"

/* Doubles of a share. */
size_t hw_linear_board_share(const hw_linear *linear, size_t fields);

/* A look through all shares. */
typedef struct hw_linear_board {
    const double *values;
    size_t share, fields;
    uint32_t blocks;
    uint32_t block; /* whose member is next, */
    size_t at;      /* and which of its members */
} hw_linear_board;

/* Before the first member of what lies at `values`. */
hw_linear_board hw_linear_board_look(const hw_linear *linear, size_t fields, const double *values);
/* Fields of the next member, in the order of the blocks; NULL at the end. */
const double *hw_linear_board_next(hw_linear_board *board);
/* The members of all. */
size_t hw_linear_board_count(const hw_linear_board *board);

#endif
