/* evaluate.h - predictions of several targets, and their measures. */
#ifndef HW_ALGORITHMS_MULTITASK_EVALUATE_H
#define HW_ALGORITHMS_MULTITASK_EVALUATE_H

#include "hawser/algorithm.h"

extern const hawser_measure_row hw_multitask_measures[];

size_t hw_multitask_outputs(const hawser_model *model);
hawser_status hw_multitask_predict(const hawser_model *model, const hawser_dataset *data, double *predictions,
                                   hawser_error *error);
hawser_status hw_multitask_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error);

#endif
