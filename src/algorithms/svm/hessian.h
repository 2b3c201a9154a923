/* hessian.h - the second derivatives of the losses as matrices, for data of few columns: conjugate gradients take many
 * products with them. A matrix is a weighted sum over the rows with a bend, so between steps it changes only by the rows
 * that gain or lose theirs. Matrices are lower triangles, row after row; the last row is that of the intercept. */
#ifndef HW_ALGORITHMS_SVM_HESSIAN_H
#define HW_ALGORITHMS_SVM_HESSIAN_H

#include "algorithms/svm/block.h"

/* Returns whether the next step takes its products by matrices: if it may have so many products that they pay, or if it
 * is not the first such step. The same on all blocks. */
bool hw_svm_hessian_pays(const hw_svm_block *block);
/* Brings the block's share of a problem's matrix up to `bends`. With several blocks the caller adds up the shares. */
void hw_svm_hessian_update(hw_svm_block *block, size_t problem);
/* Takes the rows that are held out from now on out of the matrices. Classes have no weights. Spoils `costs` and `bends`. */
void hw_svm_hessian_leave_out(hw_svm_block *block);
/* Forgets the matrices: rows have other weights. */
void hw_svm_hessian_forget(hw_svm_block *block);
/* Stores in column `s` of `count` of `reduced` the product of the matrix with `direction`: what hw_svm_bend gives on
 * all blocks together. */
void hw_svm_hessian_product(hw_svm_block *block, size_t problem, size_t s, size_t count);

/* Returns a problem's matrix, the sum over all blocks, and the factor of its products. */
static inline double *hw_svm_hessian_of(const hw_svm_block *block, size_t problem)
{
    return block->primal.hessian + problem * hw_svm_hessian_size(block->width);
}
static inline double hw_svm_hessian_factor(const hw_svm_block *block, size_t problem)
{
    return block->C / block->memory[problem].width;
}

#endif
