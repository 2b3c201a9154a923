/* members.h - one model after the other: the values of C of a path, and the folds. The functions of hw_member_method. */
#ifndef HW_ALGORITHMS_SVM_MEMBERS_H
#define HW_ALGORITHMS_SVM_MEMBERS_H

#include "algorithms/svm/block.h"

hawser_status hw_svm_begin(hawser_context *context, void *block);
/* Fills the sums over the problems. */
void hw_svm_fields(const void *block, double fields[HW_ROW_FIELDS]);
/* Stores the best models. */
void hw_svm_model(void *block, double *numbers);
hawser_status hw_svm_held_out(hawser_context *context, void *block, double sums[2]);

#endif
