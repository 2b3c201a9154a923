/* units.h - the dual of a support vector machine. */
#ifndef HW_ALGORITHMS_SVM_UNITS_H
#define HW_ALGORITHMS_SVM_UNITS_H

#include "algorithms/svm/block.h"

/* Measures the rows that are not held out, before the iterations of a model. */
hawser_status hw_svm_dual_begin(hawser_context *context, hw_svm_block *block) HAWSER_MUST_USE;
/* One iteration: passes over the rows of each block, all but the first only over rows that may move. Some iterations end
 * with a certificate: then *changed becomes true. */
hawser_status hw_svm_dual_step(hawser_context *context, hw_svm_block *block, bool *changed) HAWSER_MUST_USE;
/* Returns whether so many rows may still move after the first iteration that Newton's method is faster. Only if
 * svm->tries. */
bool hw_svm_keeps_moving(const hw_svm_block *block);
/* Returns whether the gap of a problem has hardly fallen in some iterations before this one. The same on all blocks. */
bool hw_svm_is_slow(hw_svm_block *block);

/* The most numbers that a unit reduces at a time, for dual and primal. */
size_t hw_svm_reduces(const hw_svm *svm);

#endif
