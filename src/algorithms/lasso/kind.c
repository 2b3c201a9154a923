/* kind.c - the functions of the lasso as a kind of linear model. */
#include "algorithms/lasso/parts.h"

#include "algorithms/glm/squared.h"

static hawser_status take_target(hw_linear_problem *problem, const hawser_training_input *input, hawser_error *error)
{
    const double *target = hawser_dataset_target(input->data), *offset = hawser_dataset_offset(input->data);
    HAWSER_TRY(hw_linear_check_numeric(input->data, error));
    for (size_t i = 0; i < problem->X->rows; i++) {
        size_t row = hw_linear_counted(problem, i);
        problem->target[i] = target[row] - (offset != NULL ? offset[row] : 0.0);
    }
    return hw_linear_check_target(problem->target, problem->X->rows, error);
}

/* Adds to the gap what rounding of products of columns may have taken from it, where certificates are made of these. */
static void certificate(hw_linear_metric *metric, const void *source, double zero_objective, double *objective, double *gap)
{
    hw_linear_squared_certificate(metric, source, zero_objective, objective, gap);
    double blur = metric(source, "blur"); /* NaN where the program has no such metric */
    *gap += blur > 0.0 ? blur : 0.0;
}

const hw_linear_kind hw_lasso_kind = {.name = "lasso",
                                      .cv_name = "cv_mse",
                                      .validation_name = "validation_mse",
                                      .error_name = "mean squared error",
                                      .fit_name = "r2",
                                      .centres = true,
                                      .boxes = true,
                                      .take_target = take_target,
                                      .row_error = hw_linear_squared_error,
                                      .errors = hw_linear_squared_errors,
                                      .certificate = certificate,
                                      .rounding = hw_linear_squared_rounding,
                                      .costs = hw_lasso_spread};
