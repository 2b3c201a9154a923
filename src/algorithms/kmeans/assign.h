/* assign.h - the nearest centres of a block's rows, and the sums of their clusters. */
#ifndef HW_ALGORITHMS_KMEANS_ASSIGN_H
#define HW_ALGORITHMS_KMEANS_ASSIGN_H

#include "algorithms/kmeans/block.h"

/* Moves the block's centres, and its bounds along with them. */
hawser_status hw_kmeans_move(hw_kmeans_block *block, const double *values, hawser_error *error) HAWSER_MUST_USE;

/* Gives every row its nearest centre; `labels` and `squares` become those of the present centres. Returns the number of rows
 * whose cluster has changed in *changed: all if they had none. The result is that of comparing each row with all centres.
 * Bounds (Yinyang's) say for most rows which groups of centres need no comparison. */
hawser_status hw_kmeans_assign(hw_kmeans_block *block, size_t *changed, hawser_error *error) HAWSER_MUST_USE;

/* Adds the rows of each cluster up. Only the sums of clusters that rows have joined or left are made anew, from all of their
 * rows. */
void hw_kmeans_sum(hw_kmeans_block *block);

#endif
