/* evaluate.h - means from a model, and how good they are. */
#ifndef HW_ALGORITHMS_POISSON_EVALUATE_H
#define HW_ALGORITHMS_POISSON_EVALUATE_H

#include "hawser/algorithm.h"

hawser_status hw_poisson_predict(const hawser_model *model, const hawser_dataset *data, double *predictions,
                                 hawser_error *error);
hawser_status hw_poisson_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error);

#endif
