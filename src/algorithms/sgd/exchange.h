/*
 * exchange.h - exchanges of a descent: the products of all blocks, read from stored states, and the largest eigenvalue over
 * all columns. For units, which have the block in their scratch.
 */
#ifndef HW_ALGORITHMS_SGD_EXCHANGE_H
#define HW_ALGORITHMS_SGD_EXCHANGE_H

#include "algorithms/sgd/problem.h"

/* Reads all chunks of a state with `count` products of each block, and stores their sum, in the order of chunks, in
 * block->margins. */
hawser_status hw_descent_take_products(hawser_context *context, hw_descent_block *block, const char *state,
                                       size_t count) HAWSER_MUST_USE;
/* Computes the same from a state with the weights; chunks are processed in the order in which they become available. */
hawser_status hw_descent_make_products(hawser_context *context, hw_descent_block *block, const char *state,
                                       hw_row_batch batch) HAWSER_MUST_USE;
/* Fetches all columns of the data state "whole". */
hawser_status hw_descent_fetch_all(hawser_context *context, size_t columns) HAWSER_MUST_USE;

/* The power method on (columns of scale 1)' W (columns of scale 1) / W. The stored state "row_parts" has each block's part
 * of a number per row, at first those of hw_descent_squares. Metrics: "row_square" (max), of the longest row, by its weight;
 * "squares" (sum); "curvature" (last), the eigenvalue. */
hawser_status hw_descent_point(hawser_context *context, hw_descent_block *block) HAWSER_MUST_USE; /* once, before the loop */
hawser_status hw_descent_power(hawser_context *context, hw_descent_block *block) HAWSER_MUST_USE; /* in it */
bool hw_descent_powers_done(hawser_progress *progress, void *user);                               /* ends it */

#endif
