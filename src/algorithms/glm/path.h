/* path.h - chooses the lambdas of a path, and the lambda of the result. */
#ifndef HW_ALGORITHMS_GLM_PATH_H
#define HW_ALGORITHMS_GLM_PATH_H

#include "algorithms/glm/linear.h"
#include "algorithms/glm/record.h"

/* Fills the lambdas of the path, from high to low. */
void hw_linear_grid(const hw_linear *linear, double lambda_max, double *lambdas);
/* Returns the only lambda of a training without a path. */
double hw_linear_one_lambda(const hw_linear *linear, double lambda_max);
/* Fills error and standard error of the rows from the folds, and returns the chosen lambda, of those that are finished. */
hw_linear_selection hw_linear_select(hw_linear_record *record, bool one_standard_error);
bool hw_linear_folds_done(const hw_linear_record *record);

#endif
