#include "algorithms/glm/validation.h"
#include "hawser/advanced.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns what the loss takes for the target of a row of the validation data. */
static double target_at(const hw_linear_problem *problem, const hawser_dataset *data, size_t output, size_t row)
{
    double y = hawser_dataset_output(data, output)[row];
    return (problem->kind->target_of != NULL ? problem->kind->target_of(problem, y) : y) - problem->target_origin[output];
}

static hawser_status check_targets(const hw_linear_problem *problem, const hawser_dataset *data, hawser_error *error)
{
    const double *weights = hawser_dataset_weights(data);
    for (size_t o = 0; o < problem->outputs; o++)
        for (size_t i = 0; i < hawser_dataset_matrix(data)->rows; i++)
            if ((weights == NULL || weights[i] > 0.0) && isnan(target_at(problem, data, o, i)))
                return hawser_fail(error, HAWSER_BAD_INPUT, "row %zu of the validation data: the target %g %s", i + 1,
                                   hawser_dataset_output(data, o)[i], problem->kind->wrong_target);
    return HAWSER_OK;
}

static hawser_status check_data(const hw_linear_problem *problem, const hawser_dataset *data, hawser_error *error)
{
    const hawser_dataset *train = problem->data;
    if (hawser_dataset_target(data) == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the validation data have no target");
    if (hawser_dataset_outputs(data) != problem->outputs)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the validation data have %zu targets, the training data %zu",
                           hawser_dataset_outputs(data), problem->outputs);
    for (size_t o = 0; problem->outputs > 1 && o < problem->outputs; o++) {
        const char *name = hawser_dataset_output_name(train, o), *other = hawser_dataset_output_name(data, o);
        if (name != NULL && other != NULL && strcmp(name, other) != 0)
            return hawser_fail(
                error, HAWSER_BAD_INPUT,
                "target %zu of the validation data is '%.60s', and that of the training data '%.60s'; give --target "
                "by names",
                o + 1, other, name);
    }
    return check_targets(problem, data, error);
}

hawser_status hw_linear_validation_new(hw_linear *linear, hawser_job *job, const hawser_training_input *input,
                                       hawser_error *error)
{
    const hw_early *early = &linear->early;
    HAWSER_TRY(hw_early_new(&linear->early, job, input, linear->problem.X->cols, true, error));
    HAWSER_TRY(hw_choice_check_validation(input->options, early->validated, error));
    return hawser_job_agree(job, early->data != NULL ? check_data(&linear->problem, early->data, error) : HAWSER_OK, error);
}

bool hw_linear_validates(const hw_linear *linear)
{
    return linear->early.validated || linear->choices.settings.validation_fraction > 0.0;
}

bool hw_linear_keeps_valid(const hw_linear *linear)
{
    return linear->early.patience > 0 && linear->choices.lambda_count == 1;
}

/* Adds the errors of one output, whose margins of all rows are given. */
static void add_errors(const hw_linear_problem *problem, const hawser_dataset *data, size_t output, const double *margins,
                       double *weight, double *errors)
{
    const double *weights = hawser_dataset_weights(data), *offset = hawser_dataset_offset(data);
    for (size_t i = 0; i < hawser_dataset_matrix(data)->rows; i++) {
        double own = weights != NULL ? weights[i] : 1.0;
        if (!(own > 0.0)) /* its error may be infinite */
            continue;
        double target = target_at(problem, data, output, i);
        *weight += own;
        *errors += own * problem->kind->row_error(target, margins[i] + (offset != NULL ? offset[i] : 0.0));
    }
}

hawser_status hw_linear_validation_errors(const hw_linear *linear, const double *values, size_t stride,
                                          const double *intercepts, double *weight, double *errors, hawser_error *error)
{
    const hw_linear_problem *problem = &linear->problem;
    const hawser_matrix *X = hawser_dataset_matrix(linear->early.data);
    size_t q = problem->outputs;
    double *w = calloc(X->cols + 1, sizeof *w), *margins = calloc(X->rows + 1, sizeof *margins);
    hawser_status status = HAWSER_OK;
    *weight = *errors = 0.0;
    if (w == NULL || margins == NULL)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the validation of %zu rows", X->rows);
    for (size_t o = 0; status == HAWSER_OK && o < q; o++) {
        for (size_t j = 0; j < X->cols; j++)
            w[j] = values[(j * q + o) * stride];
        hawser_multiply(X, w, intercepts[o], margins);
        add_errors(problem, linear->early.data, o, margins, weight, errors);
    }
    free(w);
    free(margins);
    return status;
}
