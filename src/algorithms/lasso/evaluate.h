/* evaluate.h - compares the predictions of a lasso with the target. */
#ifndef HW_ALGORITHMS_LASSO_EVALUATE_H
#define HW_ALGORITHMS_LASSO_EVALUATE_H

#include "hawser/algorithm.h"

hawser_status hw_lasso_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error);

#endif
