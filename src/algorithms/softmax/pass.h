/* pass.h - passes over the rows of a block. Each fills block->reduced with the block's share of sums over all rows. */
#ifndef HW_ALGORITHMS_SOFTMAX_PASS_H
#define HW_ALGORITHMS_SOFTMAX_PASS_H

#include "algorithms/softmax/block.h"

/* Stores a model's intercepts for the rows of the tiles in block->intercepts. */
void hw_softmax_uncentre(hw_softmax_block *block, const double *model);
/* Makes sums over the rows, with those of the intercepts in the last row, sums over centred rows. */
void hw_softmax_centre(const hw_softmax_block *block, double *sums);
/* Computes the probabilities of a model, the gradient of the mean loss, and behind it the loss and the entropy. */
void hw_softmax_look(hw_softmax_block *block, const double *model);
/* Computes the probabilities of block->W again, after the block was dropped. */
void hw_softmax_refresh(hw_softmax_block *block);
/* Computes the product of the loss's second derivative at the probabilities with `direction`. */
void hw_softmax_bend(hw_softmax_block *block, const double *direction);
/* Computes block->sums. */
void hw_softmax_class_sums(hw_softmax_block *block);
/* Stores the weight of the block's held-out rows, and the sum of their weighted errors (--cv-metric). */
void hw_softmax_add_held_out(hw_softmax_block *block, double sums[2]);
/* Computes the mean squares of the columns. */
void hw_softmax_squares(hw_softmax_block *block);

#endif
