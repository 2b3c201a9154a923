/* members.h - one model after the other: the values of C of a path, and the folds (glm/row_path.h). */
#ifndef HW_ALGORITHMS_SVM_MEMBERS_H
#define HW_ALGORITHMS_SVM_MEMBERS_H

#include "algorithms/svm/block.h"

/* Measure the rows that are not held out, and look at the first model. `begin` is that of the dual. */
hawser_status hw_svm_begin(hawser_context *context, hw_svm_block *block) HAWSER_MUST_USE;
hawser_status hw_svm_primal_begin(hawser_context *context, hw_svm_block *block) HAWSER_MUST_USE;

/* Goes on to the next model if the last one is finished. */
hawser_status hw_svm_next_member(hawser_context *context, hw_svm_block *block) HAWSER_MUST_USE;
/* Measures the best models, if there are validation data, and reports their accuracy or error. *keep becomes whether they are the result so far.
 * Called by each block of a unit that reduces. */
hawser_status hw_svm_validate(hawser_context *context, hw_svm_block *block, bool *keep) HAWSER_MUST_USE;
/* Sums over the problems. */
typedef struct hw_svm_total {
    double objective, gap;
    double rounding; /* bound of the gap's rounding error */
} hw_svm_total;
/* Writes the block's shares of the best models, which are the result so far, and of their fields. */
void hw_svm_keep(hawser_context *context, const hw_svm_block *block, const hw_svm_total *total);
/* Finishes a model: writes the block's shares of it. *ended becomes GOES_ON if another model follows, else the end that weighs most. */
hawser_status hw_svm_end_member(hawser_context *context, hw_svm_block *block, const hw_svm_total *total,
                                hw_row_end *ended) HAWSER_MUST_USE;

#endif
