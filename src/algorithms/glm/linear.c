#include "algorithms/glm/linear.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/solve/shared.h"
#include "hawser/advanced.h"

enum {
    WORTH_A_WORKER = 1 << 20 /* stored entries: ten passes over them take about as long as the wakeups and waits of a run */
};

bool hw_linear_has_means(const hw_linear *linear)
{
    return linear->problem.outputs > 1 || (linear->problem.kind->centres && linear->choices.settings.intercept);
}

size_t hw_linear_most_of_share(const hw_linear *linear)
{
    const hw_linear_choices *choices = &linear->choices;
    size_t most = HW_LINEAR_JOINT_MOST / (choices->blocks < 4 ? choices->blocks : 4), columns = linear->problem.X->cols;
    if (choices->widest != 0 && choices->widest < columns)
        columns = choices->widest;
    return columns < most || choices->blocks == 1 ? columns : most;
}

size_t hw_linear_most_members(const hw_linear *linear)
{
    size_t most = linear->choices.blocks * hw_linear_most_of_share(linear);
    return linear->problem.X->cols < most ? linear->problem.X->cols : most;
}

hawser_status hw_linear_new(hw_linear *linear, const hw_linear_kind *kind, hawser_job *job,
                            const hawser_training_input *input, bool without_penalty, hawser_error *error)
{
    hw_linear_problem *problem = &linear->problem;
    hw_linear_choices *choices = &linear->choices;
    memset(linear, 0, sizeof *linear);
    HAWSER_TRY(hw_linear_settings_read(job, input->options, &choices->settings, error));
    if (without_penalty)
        choices->settings.choice.lambda = choices->settings.choice.cost = 0.0;
    HAWSER_TRY(
        hw_linear_check_sync(hawser_job_sync(job), hawser_options_text(input->options, "sync"), &choices->settings, error));
    HAWSER_TRY(hw_linear_problem_new(problem, kind, &choices->settings, job, input, error));
    hawser_job_fit(job, problem->X->stored, WORTH_A_WORKER);
    HAWSER_TRY(hw_linear_choose_route(choices, job, problem->X, error));
    if (kind->plain_rounds && (choices->route == HW_LINEAR_ACCELERATED || choices->route == HW_LINEAR_ASYNCHRONOUS))
        choices->route = HW_LINEAR_ROUNDS;
    if (hawser_job_nodes(job) > 1 && hw_linear_keeps_path(choices))
        HAWSER_TRY(hw_finished_new(&linear->finished, choices->lambda_count,
                                   hawser_job_leads(job) ? (problem->X->cols + 1) * problem->outputs : 0,
                                   hawser_job_leads(job) ? choices->lambda_count : 0, error));
    HAWSER_TRY(hw_linear_shared_new(&linear->shared, hawser_job_nodes(job) == 1, error));
    bool own = choices->route == HW_LINEAR_ASYNCHRONOUS && hawser_job_nodes(job) == 1 && kind->costs != NULL;
    return own ? kind->costs(linear, &choices->costs, error) : HAWSER_OK;
}

void hw_linear_free(hw_linear *linear)
{
    hw_linear_shared_free(linear->shared);
    free(linear->finished);
    free(linear->image);
    hw_linear_choices_free(&linear->choices);
    hw_linear_problem_free(&linear->problem);
    memset(linear, 0, sizeof *linear);
}
