/* fold.h - one fold's rows and columns: what is held out weighs nothing, and columns are measured by what is left. */
#ifndef HW_ALGORITHMS_GLM_FOLD_H
#define HW_ALGORITHMS_GLM_FOLD_H

#include "algorithms/glm/problem.h"

/* Whether a row is held out in a fold; fold 0 is the whole problem. */
bool hw_linear_out(const hw_linear *linear, size_t row, uint32_t fold);
/* Whether folds or examples differ in weight at all: else rows need no weights. */
bool hw_linear_weighted(const hw_linear *linear);
/* Fills one weight a row (NULL where rows all weigh alike), and says what they come to. */
double hw_linear_weigh(const hw_linear *linear, uint32_t fold, double *weights);
/* Fills means, norms and penalties of a block's columns, whose weights and total are set. */
hawser_status hw_linear_measure(const hw_linear *linear, hw_linear_columns *columns, hawser_error *error) HAWSER_MUST_USE;
/* Sum of weights and of weighted errors of the rows that a fold holds out, given X w and the intercept. */
void hw_linear_held_out(const hw_linear *linear, const double *image, double intercept, uint32_t fold, double *weight,
                        double *errors);

#endif
