#include "algorithms/lasso/kind.h"

#include "algorithms/lasso/spread.h"
#include "algorithms/solve/certificate.h"

static hawser_status take_target(hw_linear_problem *problem, const hawser_training_input *input, hawser_error *error)
{
    const double *target = hawser_dataset_target(input->data), *offset = hawser_dataset_offset(input->data);
    HAWSER_TRY(hw_linear_check_numeric(input->data, error));
    for (size_t i = 0; i < problem->X->rows; i++)
        problem->target[i] = target[i] - (offset != NULL ? offset[i] : 0.0);
    return hw_linear_check_target(problem->target, problem->X->rows, error);
}

static double row_error(double target, double margin)
{
    return (target - margin) * (target - margin);
}

static double absolute_error(double target, double margin)
{
    return fabs(target - margin);
}

static void certificate(hw_linear_metric *metric, const void *source, double zero_objective, double *objective, double *gap)
{
    hw_linear_sums sums = {.loss = metric(source, "loss"),
                           .square = metric(source, "square"),
                           .target = metric(source, "target"),
                           .penalty = metric(source, "penalty"),
                           .curved = metric(source, "curved"),
                           .ratio = metric(source, "ratio")};
    *objective = hw_linear_primal(&sums);
    *gap = hw_linear_gap(&sums, metric(source, "conjugate"), metric(source, "plain_conjugate"),
                         fmax(zero_objective, *objective));
    hw_linear_refuse_infinite(objective, gap);
}

static const hw_linear_error errors[] = {{"mae", absolute_error}, {NULL, NULL}};

const hw_linear_kind hw_lasso_kind = {.name = "lasso",
                                      .cv_name = "cv_mse",
                                      .validation_name = "validation_mse",
                                      .error_name = "mean squared error",
                                      .fit_name = "r2",
                                      .centres = true,
                                      .boxes = true,
                                      .take_target = take_target,
                                      .row_error = row_error,
                                      .errors = errors,
                                      .certificate = certificate,
                                      .costs = hw_lasso_spread};
