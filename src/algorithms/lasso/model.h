/* model.h - the model file of the lasso: coefficients, intercept, table of the path, facts. */
#ifndef HW_ALGORITHMS_LASSO_MODEL_H
#define HW_ALGORITHMS_LASSO_MODEL_H

#include "algorithms/lasso/problem.h"

/* Makes the model of row `chosen`. `path` holds lambda_count coefficients a column (NULL when there is one lambda: alpha). */
hawser_status hw_lasso_model_make(const hw_lasso *lasso, const hawser_training_input *input, size_t chosen,
                                  const double *alpha, const double *path, hawser_model **model,
                                  hawser_error *error) HAWSER_MUST_USE;
/* Coefficients and intercept of a model, into `columns` places; refused when the model has more. */
hawser_status hw_lasso_model_coefficients(const hawser_model *model, size_t columns, double *alpha, double *intercept,
                                          hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_lasso_predict(const hawser_model *model, const hawser_dataset *data, double *predictions,
                               hawser_error *error);
hawser_status hw_lasso_evaluate(const hawser_model *model, const hawser_dataset *data, const double *predictions,
                                hawser_fact facts[16], hawser_error *error);

#endif
