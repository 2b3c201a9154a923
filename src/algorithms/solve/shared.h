/*
 * shared.h - the memory that the blocks of one process share when all blocks solve a problem together: its Gram matrix, and
 * the moments of its columns. All blocks take the same steps. The first block that enters a step does the step's common
 * work, such as assigning slots to columns. Within a step blocks write different slots. Between writing and reading slots
 * all blocks pass a common point: the end of a unit, or a sum over all blocks.
 */
#ifndef HW_ALGORITHMS_SOLVE_SHARED_H
#define HW_ALGORITHMS_SOLVE_SHARED_H

#include <pthread.h>

#include "algorithms/solve/gram.h"
#include "algorithms/solve/held.h"

/* What a least-squares fit measures at a point, besides its dual point. */
typedef struct hw_linear_measured {
    double loss, square, sum, target, intercept;
} hw_linear_measured;

typedef struct hw_linear_shared {
    pthread_mutex_t lock;
    bool alone;           /* no other process has blocks */
    uint64_t step;        /* the last step that a block has entered */
    hawser_status status; /* of that step's common work */
    size_t taken;         /* items of that step that blocks have taken */
    hw_linear_gram gram;
    bool use_gram;
    size_t fresh;         /* first slot whose products this step computes */
    size_t columns;       /* of the whole data; 0: no step has been entered */
    double *mean, *norm;  /* by column; valid for columns that were members */
    hw_linear_held *dual; /* the last measured dual point, followed by its v; or NULL */
    hw_linear_measured measured;
    uint32_t fold;      /* of the measured point */
    bool dual_is_start; /* it has no v: it is the point at which lambda_max is found */
    double *image;      /* X alpha of the last joint solution; or NULL */
    size_t rows;        /* of it */
} hw_linear_shared;

/* Allocates the shared memory, still without columns. `alone`: this process has all blocks. */
hawser_status hw_linear_shared_new(hw_linear_shared **out, bool alone, hawser_error *error) HAWSER_MUST_USE;
void hw_linear_shared_free(hw_linear_shared *shared);
/* Resets the steps before a program runs, whose blocks begin with step 1. */
void hw_linear_shared_reset(hw_linear_shared *shared);
/* Frees the matrix and the moments, and allocates them for `columns` columns. */
hawser_status hw_linear_shared_renew(hw_linear_shared *shared, size_t columns, hawser_error *error) HAWSER_MUST_USE;
/* Calls `work` if this block is the first in the step; blocks number their steps alike, from 1 on. Other blocks wait for the
 * work and get its status. The first step allocates the memory for `columns` columns. */
hawser_status hw_linear_shared_enter(hw_linear_shared *shared, uint64_t step, size_t columns,
                                     hawser_status (*work)(void *argument, hawser_error *error), void *argument,
                                     hawser_error *error) HAWSER_MUST_USE;
/* Returns true to one block of the process for each item 0, 1, ... of a step. Each block calls it in ascending order. */
bool hw_linear_shared_take(hw_linear_shared *shared, size_t item);

#endif
