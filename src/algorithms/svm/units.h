/* units.h - the units of a support vector machine. */
#ifndef HW_ALGORITHMS_SVM_UNITS_H
#define HW_ALGORITHMS_SVM_UNITS_H

#include "algorithms/svm/block.h"

/* Measures the rows, before the iterations. */
hawser_status hw_svm_prepare(hawser_context *context);
/* One iteration: passes over the rows of each block, all but the first only over rows that may move. Some iterations end with a certificate. */
hawser_status hw_svm_step(hawser_context *context);

/* Reports the metrics of an iteration, from block->memory, and finishes a model that is done. */
hawser_status hw_svm_report(hawser_context *context, hw_svm_block *block);

/* The most numbers that a unit reduces at a time. */
size_t hw_svm_reduces(const hw_svm *svm);

#endif
