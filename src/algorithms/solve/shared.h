/*
 * shared.h - what the blocks of one process have in common when all blocks solve a problem together: its Gram matrix, and what is known of its
 * columns. Each block goes through the same steps. The first block that enters a step does the step's work on the whole, such as giving
 * slots to columns, and the others find it done. Within a step blocks write different slots. Between writing and reading slots lies a point that
 * all blocks pass: the end of a unit, or a sum over all blocks.
 */
#ifndef HW_ALGORITHMS_SOLVE_SHARED_H
#define HW_ALGORITHMS_SOLVE_SHARED_H

#include <pthread.h>

#include "algorithms/solve/gram.h"

typedef struct hw_linear_shared {
    pthread_mutex_t lock;
    bool alone;           /* no other process has blocks */
    uint64_t step;        /* last step that a block has entered */
    hawser_status status; /* of the work on entering it */
    size_t taken;         /* items of that step that a block has taken */
    hw_linear_gram gram;
    bool use_gram;
    size_t fresh;        /* first slot whose products this step computes */
    double *mean, *norm; /* by column; known for columns that were members */
} hw_linear_shared;

/* Allocates it without memory for columns. `alone`: this process has all blocks. */
hawser_status hw_linear_shared_new(hw_linear_shared **out, bool alone, hawser_error *error) HAWSER_MUST_USE;
void hw_linear_shared_free(hw_linear_shared *shared);
/* Before a program runs: its blocks begin with step 1. */
void hw_linear_shared_reset(hw_linear_shared *shared);
/* Calls `work` if this is the first block in that step; blocks number their steps alike, from 1 on. The other blocks wait and get its
 * status. Allocates the memory for `columns` columns in the first step. */
hawser_status hw_linear_shared_enter(hw_linear_shared *shared, uint64_t step, size_t columns,
                                     hawser_status (*work)(void *argument, hawser_error *error), void *argument,
                                     hawser_error *error) HAWSER_MUST_USE;
/* Returns true to one block of the process for each item 0, 1, ... of a step. Each block asks in ascending order. */
bool hw_linear_shared_take(hw_linear_shared *shared, size_t item);

#endif
