/* intercept.h - the intercept that minimises a problem's losses, for margins that are given. */
#ifndef HW_ALGORITHMS_SVM_INTERCEPT_H
#define HW_ALGORITHMS_SVM_INTERCEPT_H

#include "algorithms/svm/block.h"

/* Finds it for block->margins, over the rows of all blocks. Collective over the blocks. */
hawser_status hw_svm_intercept(hawser_context *context, const hw_svm_block *block, size_t problem,
                               double *intercept) HAWSER_MUST_USE;
/* The most numbers that it reduces at a time. */
enum { HW_SVM_BINS = 64, HW_SVM_INTERCEPT_REDUCES = 4 * (HW_SVM_BINS + 2) };

#endif
