/*
 * working_set.h - a step of Newton's method with an L1 norm. The working set has the coefficients that are not zero, and
 * some that should not stay zero. The blocks add up the second derivative on it as a matrix, and each of them solves the
 * same small problem.
 */
#ifndef HW_ALGORITHMS_SOFTMAX_WORKING_SET_H
#define HW_ALGORITHMS_SOFTMAX_WORKING_SET_H

#include "algorithms/softmax/block.h"

/* Chooses the working set, given block->slopes and block->conditioned. Returns whether a step on it pays, given the passes
 * that other steps took since the last one. The same on all blocks. */
bool hw_softmax_set_pays(hw_softmax_block *block);
/* Stores the step in block->step, given block->slopes and block->conditioned, and returns in *along the change of the
 * objective's linear model with the L1 norm, which is below 0 unless there is no step. The model is solved until `share` of
 * the slopes is left. */
hawser_status hw_softmax_set_step(hawser_context *context, hw_softmax_block *block, double share,
                                  double *along) HAWSER_MUST_USE;

#endif
