/*
 * exchange.h - descent among blocks: everybody's products out of stored states, and the largest eigenvalue of all columns. For units; the block
 * stands in their scratch.
 */
#ifndef HW_ALGORITHMS_SGD_EXCHANGE_H
#define HW_ALGORITHMS_SGD_EXCHANGE_H

#include "algorithms/sgd/problem.h"

/* Every chunk of a state that holds `count` products of each block: block->margins is their sum, in the order of chunks. */
hawser_status hw_descent_take_products(hawser_context *context, hw_descent_block *block, const char *state,
                                       size_t count) HAWSER_MUST_USE;
/* The same out of a state that holds the weights: chunks are worked on as they come. */
hawser_status hw_descent_make_products(hawser_context *context, hw_descent_block *block, const char *state,
                                       hw_row_batch batch) HAWSER_MUST_USE;
/* All columns of the data state "whole". */
hawser_status hw_descent_want_all(hawser_context *context, size_t columns) HAWSER_MUST_USE;

/* The power method on (columns of scale 1)' W (columns of scale 1) / W. The stored state "board" has blocks x rows numbers, at first what
 * hw_descent_squares gives. Metrics: "row_square" (max) of the longest row, by its weight; "squares" (sum); "curvature" (last), the eigenvalue. */
hawser_status hw_descent_point(hawser_context *context, hw_descent_block *block) HAWSER_MUST_USE; /* once, before the loop */
hawser_status hw_descent_power(hawser_context *context, hw_descent_block *block) HAWSER_MUST_USE; /* in it */
bool hw_descent_powers_done(hawser_progress *progress, void *user);                               /* ends it */

#endif
