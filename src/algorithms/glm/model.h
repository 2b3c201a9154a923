/* model.h - the model file of a linear model: coefficients, intercept, table of the path, facts. */
#ifndef HW_ALGORITHMS_GLM_MODEL_H
#define HW_ALGORITHMS_GLM_MODEL_H

#include "algorithms/glm/problem.h"

/* Makes the model of row `chosen`. `path` holds lambda_count coefficients a column (NULL when there is one lambda: alpha). */
hawser_status hw_linear_model_make(const hw_linear *linear, const hawser_training_input *input, size_t chosen,
                                   const double *alpha, const double *path, hawser_model **model,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Coefficients and intercept of a model, into `columns` places; refused when the model has more. */
hawser_status hw_linear_model_coefficients(const hawser_model *model, size_t columns, double *alpha, double *intercept,
                                           hawser_error *error) HAWSER_MUST_USE;
/* Coefficients of a model to start from, for the columns of `data`: by name where both have names, else by position. Refuses a
 * coefficient of a column that the data lack, or one that is not finite. */
hawser_status hw_linear_model_start(const hawser_model *init, const hawser_dataset *data, double *alpha,
                                    hawser_error *error) HAWSER_MUST_USE;
/* margins[rows of data] = X w + b + offset; columns that the data lack are zeros there. */
hawser_status hw_linear_margins(const hawser_model *model, const hawser_dataset *data, double *margins, hawser_error *error);
/* A number among the model's facts, or `otherwise`. */
double hw_linear_fact(const hawser_model *model, const char *key, double otherwise);

#endif
