/* hessian.h - the second derivative of a single problem's loss as a matrix, for data of few columns: conjugate gradients
 * take many products with it. */
#ifndef HW_ALGORITHMS_SVM_HESSIAN_H
#define HW_ALGORITHMS_SVM_HESSIAN_H

#include "algorithms/svm/block.h"

/* Returns whether the next step has so many products that the matrix pays, if it has as many as the last one. The same on
 * all blocks. */
bool hw_svm_hessian_pays(const hw_svm_block *block);
/* Makes the block's share of the matrix from `bends`. */
void hw_svm_hessian_make(hw_svm_block *block);
/* Stores in `reduced` the product of the matrix with `direction`: with the sum of all shares, what hw_svm_bend gives on all
 * blocks together. */
void hw_svm_hessian_product(hw_svm_block *block);

#endif
