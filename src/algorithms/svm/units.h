/* units.h - the dual of a support vector machine, and what is reported of both. */
#ifndef HW_ALGORITHMS_SVM_UNITS_H
#define HW_ALGORITHMS_SVM_UNITS_H

#include "algorithms/svm/block.h"

/* Measures the rows, before the iterations. A unit. */
hawser_status hw_svm_prepare(hawser_context *context);
/* One iteration: passes over the rows of each block, all but the first only over rows that may move. Some iterations end with a certificate. */
hawser_status hw_svm_step(hawser_context *context, hw_svm_block *block) HAWSER_MUST_USE;
/* Returns whether the gap of a problem has hardly fallen in some iterations before this one. The same on all blocks. */
bool hw_svm_is_slow(hw_svm_block *block);

/* Reports the metrics of an iteration, from block->memory, and finishes a model that is done. */
hawser_status hw_svm_report(hawser_context *context, hw_svm_block *block);

/* The most numbers that a unit reduces at a time. */
size_t hw_svm_reduces(const hw_svm *svm);

#endif
