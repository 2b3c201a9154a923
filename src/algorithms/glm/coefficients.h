/* coefficients.h - reads the model file of a linear model: coefficients, intercept, facts, and the margins that it predicts. */
#ifndef HW_ALGORITHMS_GLM_COEFFICIENTS_H
#define HW_ALGORITHMS_GLM_COEFFICIENTS_H

#include "hawser/algorithm.h"

/* Stores the coefficients of a model in `columns` places, and its intercept. Fails if the model has more columns. */
hawser_status hw_linear_model_coefficients(const hawser_model *model, size_t columns, double *alpha, double *intercept,
                                           hawser_error *error) HAWSER_MUST_USE;
/* Computes margins = X w + b + offset, one per row of `data`. Columns that the data lack count as zeros. */
hawser_status hw_linear_margins(const hawser_model *model, const hawser_dataset *data, double *margins, hawser_error *error);
/* Returns a number of the model's facts, or `otherwise`. */
double hw_linear_fact(const hawser_model *model, const char *key, double otherwise);

#endif
