/*
 * validation.h - the error on validation data while a linear model trains.
 *
 * Node 0 has the data of --validation; the rows of --validation-fraction are part of the training data, with weight 0. At
 * each certificate of all rows a unit (hw_linear_validate in program.h) measures the error, and the driver (driver.c)
 * publishes it and ends the training (--early-stopping).
 */
#ifndef HW_ALGORITHMS_GLM_VALIDATION_H
#define HW_ALGORITHMS_GLM_VALIDATION_H

#include "algorithms/glm/linear.h"

/* Fills linear->early: takes and checks the validation data, and fails if --early-stopping has none. Collective;
 * problem and choices are made. */
hawser_status hw_linear_validation_new(hw_linear *linear, hawser_job *job, const hawser_training_input *input,
                                       hawser_error *error) HAWSER_MUST_USE;
/* Returns whether the error on validation data is measured while the model trains. */
bool hw_linear_validates(const hw_linear *linear);
/* Returns whether the training has one lambda and ends with the coefficients of the least error, which may be those of an
 * earlier certificate. */
bool hw_linear_keeps_valid(const hw_linear *linear);
/* Computes the sums of weights and of weighted errors of the rows of --validation, on node 0. Coefficient j of output o is
 * values[(j q + o) stride], where q counts the outputs. */
hawser_status hw_linear_validation_errors(const hw_linear *linear, const double *values, size_t stride,
                                          const double *intercepts, double *weight, double *errors,
                                          hawser_error *error) HAWSER_MUST_USE;

#endif
