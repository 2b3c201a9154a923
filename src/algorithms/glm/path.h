/* path.h - chooses the lambdas of a path, and the lambda of the result. */
#ifndef HW_ALGORITHMS_GLM_PATH_H
#define HW_ALGORITHMS_GLM_PATH_H

#include "algorithms/glm/linear.h"
#include "algorithms/glm/record.h"

/* Fills the lambdas of the path, from high to low. */
void hw_linear_grid(const hw_linear *linear, double lambda_max, double *lambdas);
/* Returns the only lambda of a training without a path. */
double hw_linear_one_lambda(const hw_linear *linear, double lambda_max);
/* Returns whether the options name that lambda, so that it does not depend on lambda_max. */
bool hw_linear_given_lambda(const hw_linear *linear);
/* Returns whether the least given lambda is above 0, but so small that dual points which are scaled by it are rounding
 * alone: below 1e-12 of lambda_max, or, of a squared penalty alone, below 1e-20 of the mean squares of all columns
 * (columns.weakest). The same on all nodes. */
bool hw_linear_vanishes(const hw_linear *linear, double lambda_max, double weakest);
/* Fills error and standard error of the rows from the folds, and returns the chosen lambda, of those that are finished. */
hw_selection hw_linear_select(hw_linear_record *record, bool one_standard_error);

#endif
