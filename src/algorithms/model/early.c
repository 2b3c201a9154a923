#include "algorithms/model/early.h"
#include "algorithms/model/given.h"
#include "hawser/advanced.h"

#include <math.h>

static hawser_status check_data(const hawser_dataset *data, size_t columns, hawser_error *error)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    if (X->cols > columns)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the validation data have %zu columns, the training data %zu", X->cols,
                           columns);
    return hawser_matrix_whole(X, error);
}

hawser_status hw_early_new(hw_early *early, hawser_job *job, const hawser_training_input *input, size_t columns, bool kept,
                           hawser_error *error)
{
    const hawser_options *options = input->options;
    *early = (hw_early){.data = input->validation, .validated = input->validation != NULL};
    HAWSER_TRY(hawser_job_broadcast(job, &early->validated, sizeof early->validated, error));
    hawser_status status = early->data != NULL ? check_data(early->data, columns, error) : HAWSER_OK;
    HAWSER_TRY(hawser_job_agree(job, status, error));
    if (!hawser_options_has(options, "early-stopping"))
        return hawser_job_idle(job, "early-stopping-min-delta", "there is no --early-stopping N", error);
    if (!early->validated && !(kept && hw_option_number(options, "validation-fraction", 0.0) > 0.0))
        return hawser_job_idle(job, "early-stopping",
                               kept ? "there is no --validation or --validation-fraction to measure the error on"
                                    : "there is no --validation to measure the error on",
                               error);
    early->patience = (uint64_t)hawser_options_integer(options, "early-stopping");
    early->min_delta = hawser_options_number(options, "early-stopping-min-delta");
    return HAWSER_OK;
}

hw_early_count hw_early_begin(void)
{
    return (hw_early_count){.error = INFINITY, .lowest = INFINITY};
}

hawser_status hw_early_measure(hawser_context *context, hw_early_count *count, double error)
{
    count->error = hawser_block(context) != 0 || isnan(error) ? INFINITY : error; /* without weight there is no error */
    count->evaluations++;
    return hawser_allreduce(context, &count->error, 1, HAWSER_MIN);
}

bool hw_early_compare(const hw_early *early, hw_early_count *count)
{
    bool lower = count->error < count->lowest - early->min_delta;
    count->lowest = lower ? count->error : count->lowest;
    count->stalled = lower ? 0 : count->stalled + 1;
    return lower;
}
