/* coefficients.h - what a model file of a linear model has, read: coefficients, intercept, facts, and the margins that it predicts. */
#ifndef HW_ALGORITHMS_GLM_COEFFICIENTS_H
#define HW_ALGORITHMS_GLM_COEFFICIENTS_H

#include "hawser/algorithm.h"

/* Coefficients and intercept of a model, into `columns` places; refused when the model has more. */
hawser_status hw_linear_model_coefficients(const hawser_model *model, size_t columns, double *alpha, double *intercept,
                                           hawser_error *error) HAWSER_MUST_USE;
/* margins[rows of data] = X w + b + offset; columns that the data lack are zeros there. */
hawser_status hw_linear_margins(const hawser_model *model, const hawser_dataset *data, double *margins, hawser_error *error);
/* A number among the model's facts, or `otherwise`. */
double hw_linear_fact(const hawser_model *model, const char *key, double otherwise);

#endif
