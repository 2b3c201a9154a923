/* primal.h - the primal, by Newton's method for all problems together. */
#ifndef HW_ALGORITHMS_SVM_PRIMAL_H
#define HW_ALGORITHMS_SVM_PRIMAL_H

#include "algorithms/svm/block.h"

/* Measures the rows, and looks at the model to start from. A unit. */
hawser_status hw_svm_primal_prepare(hawser_context *context);
/* One step of Newton's method for each problem that is not done, and its certificate. */
hawser_status hw_svm_primal_step(hawser_context *context, hw_svm_block *block) HAWSER_MUST_USE;

#endif
