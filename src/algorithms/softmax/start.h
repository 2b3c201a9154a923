/* start.h - what a training knows of its rows before the first step. */
#ifndef HW_ALGORITHMS_SOFTMAX_START_H
#define HW_ALGORITHMS_SOFTMAX_START_H

#include "algorithms/softmax/block.h"

/* Adds up the first `count` numbers of block->reduced, by column and class. `values` says what they are, in errors. */
hawser_status hw_softmax_add(hawser_context *context, hw_softmax_block *block, const char *values,
                             size_t count) HAWSER_MUST_USE;
/* Measures the rows that own.turn.fold does not hold out: weights, classes, columns. */
hawser_status hw_softmax_measure(hawser_context *context, hw_softmax_block *block) HAWSER_MUST_USE;
/* Makes the model without coefficients, stores its objective, and returns the largest derivative by a coefficient; 0 where
 * it is but rounding. */
double hw_softmax_start(hw_softmax_block *block);

#endif
