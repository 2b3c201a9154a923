/* kind.c - what the frame of linear models needs of the multi-task lasso. */
#include "algorithms/multitask/parts.h"

#include <string.h>

#include "algorithms/glm/squared.h"

static hawser_status take_target(hw_linear_problem *problem, const hawser_training_input *input, hawser_error *error)
{
    size_t n = problem->X->rows;
    HAWSER_TRY(hw_linear_check_numeric(input->data, error));
    for (size_t o = 0; o < problem->outputs; o++) {
        const char *name = hawser_dataset_output_name(input->data, o);
        if (problem->outputs > 1 && name != NULL && strpbrk(name, ",\n") != NULL)
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "the target '%.60s' has a comma in its name, which separates the names of targets; rename it",
                               name);
        const double *target = hawser_dataset_output(input->data, o);
        for (size_t i = 0; i < n; i++)
            problem->target[o * n + i] = target[hw_linear_counted(problem, i)];
    }
    return hw_linear_check_target(problem->target, n * problem->outputs, error);
}

const hw_linear_kind hw_multitask_kind = {.name = "multitask",
                                          .cv_name = "cv_mse",
                                          .validation_name = "validation_mse",
                                          .error_name = "mean squared error",
                                          .fit_name = "r2",
                                          .centres = true,
                                          .several = true,
                                          .plain_rounds = true,
                                          .take_target = take_target,
                                          .row_error = hw_linear_squared_error,
                                          .errors = hw_linear_squared_errors,
                                          .certificate = hw_linear_squared_certificate,
                                          .rounding = hw_linear_squared_rounding};
