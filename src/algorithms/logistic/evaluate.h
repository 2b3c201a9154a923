/* evaluate.h - probabilities and labels from a model, and their measures. */
#ifndef HW_ALGORITHMS_LOGISTIC_EVALUATE_H
#define HW_ALGORITHMS_LOGISTIC_EVALUATE_H

#include "hawser/algorithm.h"

hawser_status hw_logistic_predict(const hawser_model *model, const hawser_dataset *data, double *predictions,
                                  hawser_error *error);
hawser_status hw_logistic_label(const hawser_model *model, const hawser_dataset *data, double *labels, hawser_error *error);
hawser_status hw_logistic_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error);

#endif
