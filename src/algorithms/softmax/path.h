/* path.h - one model after the other: the lambdas of a path, and the folds. The functions of hw_member_method. */
#ifndef HW_ALGORITHMS_SOFTMAX_PATH_H
#define HW_ALGORITHMS_SOFTMAX_PATH_H

#include "algorithms/softmax/block.h"

hawser_status hw_softmax_prepare(hawser_context *context, void *block, bool *changed);
hawser_status hw_softmax_begin(hawser_context *context, void *block);
void hw_softmax_fields(const void *block, double fields[HW_ROW_FIELDS]);
/* Stores W: intercepts, and coefficients of a column unless that raises the penalty, add up to zero over the classes. */
void hw_softmax_model(void *block, double *numbers);

#endif
