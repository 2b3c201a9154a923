/* primal.h - the primal, by Newton's method for all problems together. */
#ifndef HW_ALGORITHMS_SVM_PRIMAL_H
#define HW_ALGORITHMS_SVM_PRIMAL_H

#include "algorithms/svm/block.h"

/* Makes given numbers the models to start from. */
void hw_svm_primal_start(hw_svm_block *block, const double *given);
/* Measures the rows that are not held out, and looks at the model to start from. */
hawser_status hw_svm_primal_begin(hawser_context *context, hw_svm_block *block) HAWSER_MUST_USE;
/* One step of Newton's method for each problem that is not done, and its certificate. */
hawser_status hw_svm_primal_step(hawser_context *context, hw_svm_block *block) HAWSER_MUST_USE;

#endif
