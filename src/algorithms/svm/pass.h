/* pass.h - passes of the primal over the rows of a block, for some of the problems: `list` has `count` of them. */
#ifndef HW_ALGORITHMS_SVM_PASS_H
#define HW_ALGORITHMS_SVM_PASS_H

#include "algorithms/svm/block.h"

/* Computes `costs` for this C and fold. */
void hw_svm_price(hw_svm_block *block);
/* Computes the margins of W. */
void hw_svm_refresh(hw_svm_block *block, const size_t *list, size_t count);
/* Computes in `reduced` the block's share of sums over the rows, with the dual variables of the
 * margins: (columns + 1) x 2 count numbers, of which the first `count` of a row are sums of beta_i x_i over positive beta_i,
 * the others over negative ones; then HW_SVM_SCALARS numbers per problem. */
void hw_svm_look(hw_svm_block *block, const size_t *list, size_t count);
enum {
    HW_SVM_LOSS,
    HW_SVM_TARGET,
    HW_SVM_SQUARE = HW_SVM_TARGET + 2,
    HW_SVM_MOVED = HW_SVM_SQUARE + 2,
    HW_SVM_SLOPES,
    HW_SVM_SCALARS
};
/* Computes `moved`, the margins after the whole step, for a squared loss, and there the sums of hw_svm_look, in one pass.
 * Stores in `along` the block's share of the derivatives of the losses along the step, at its end, and of the losses there:
 * HW_SVM_ALONG x count numbers. */
void hw_svm_look_ahead(hw_svm_block *block, const size_t *list, size_t count, double *along);
/* Makes the dual variables of the margins the centres, from the list's problems on. */
void hw_svm_recentre(hw_svm_block *block, const size_t *list, size_t count);
/* Computes `bends`, and their sums: `count` numbers. */
void hw_svm_bends(hw_svm_block *block, const size_t *list, size_t count);
/* Computes the product of the losses' second derivative, from `bends`, with `direction`: (columns + 1) x count numbers. */
void hw_svm_bend(hw_svm_block *block, const size_t *list, size_t count);
/* Computes `moved`, the products with `direction`: what the whole step adds to the margins. Not for a squared loss. */
void hw_svm_move(hw_svm_block *block, const size_t *list, size_t count);
/* Makes `moved` the margins of a problem. Spoils its `bends`. */
void hw_svm_arrive(hw_svm_block *block, size_t problem);
/* Computes the first and the second derivative of the losses along the step, at the length of each line, in `along`:
 * HW_SVM_ALONG x count numbers, of which the third are 0. */
void hw_svm_slope(hw_svm_block *block, const size_t *list, size_t count, double *along);

#endif
