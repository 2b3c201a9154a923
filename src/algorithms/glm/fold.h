/* fold.h - one fold's rows and columns: what is held out weighs nothing, and columns are measured by what is left. */
#ifndef HW_ALGORITHMS_GLM_FOLD_H
#define HW_ALGORITHMS_GLM_FOLD_H

#include "algorithms/glm/linear.h"

/* Fills means, norms and penalties of a block's columns, whose weights and total are set. */
hawser_status hw_linear_measure(const hw_linear *linear, hw_linear_columns *columns, hawser_error *error) HAWSER_MUST_USE;
/* Sum of weights and of weighted errors of the rows that a fold holds out, given X w and the intercept. */
void hw_linear_held_out(const hw_linear_problem *problem, const double *image, double intercept, uint32_t fold,
                        double *weight, double *errors);

#endif
