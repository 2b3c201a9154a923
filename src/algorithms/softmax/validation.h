/* validation.h - the error of softmax models on validation data. */
#ifndef HW_ALGORITHMS_SOFTMAX_VALIDATION_H
#define HW_ALGORITHMS_SOFTMAX_VALIDATION_H

#include "algorithms/softmax/block.h"

/* Fails if the validation data have a label that the training data lack. Collective. */
hawser_status hw_softmax_validation_check(const hw_softmax *softmax, hawser_job *job, hawser_error *error) HAWSER_MUST_USE;
/* Computes weighted mean log loss and accuracy of the numbers of a model on the validation data, on node 0. */
hawser_status hw_softmax_validation_error(const hw_softmax *softmax, const double *model, double *loss, double *accuracy,
                                          hawser_error *error) HAWSER_MUST_USE;
/* Measures the model of a step, if there are such data, and reports its log loss. *keep becomes whether it is the result so far. Called by each
 * block of a unit that reduces. */
hawser_status hw_softmax_validate(hawser_context *context, hw_softmax_block *block, bool *keep) HAWSER_MUST_USE;

#endif
