#include "algorithms/learner/outcome.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/learner/row_result.h"
#include "algorithms/model/class_weights.h"
#include "algorithms/model/facts.h"
#include "hawser/advanced.h"
#include "hawser/kept_points.h"

static hw_classed sizes_of(const hw_row_path *path)
{
    return (hw_classed){.labels = path->labels,
                        .problems = path->outputs,
                        .columns = path->width / path->outputs - 1,
                        .classes = path->classes};
}

hawser_status hw_member_error(const hw_row_path *path, const double *numbers, double values[2], hawser_error *error)
{
    hw_classed model = sizes_of(path);
    double *memory = NULL;
    hawser_status status = hw_classed_from(&model, numbers, &memory, error);
    HAWSER_THEN(status, path->method->measure(&model, path->early.data, values, error));
    free(memory);
    return status;
}

double hw_member_shown(const hw_row_path *path, double error)
{
    return path->shows_accuracy ? 1.0 - error : error;
}

/* Returns the steps of all models. The metrics of a kept point are of the steps before it, and only a training of one model
 * keeps points. */
static double iterations_of(const hw_row_result *result)
{
    const hawser_run *run = result->training->run;
    if (run == NULL)
        return result->path->finished->iterations;
    return hawser_run_kept(run) ? (double)hawser_run_figures(run)->clocks : hawser_result_metric(run, "iterations");
}

/* ---- the model file ---- */

static hawser_status fill_model(const hw_row_result *result, const hw_member_row *row, const hawser_training_input *input,
                                hawser_model *model, hawser_error *error)
{
    const hw_row_path *path = result->path;
    const hw_classed sizes = sizes_of(path);
    HAWSER_TRY(hw_model_data_facts(model, path->method->name, input->data, error));
    HAWSER_TRY(hw_model_number_fact(model, "objective", row->objective, error));
    HAWSER_TRY(hw_model_number_fact(model, "gap", row->gap, error));
    HAWSER_TRY(hw_model_number_fact(model, "rounding", hw_row_result_rounding(result), error));
    if (path->method->penalised)
        HAWSER_TRY(hw_model_number_fact(model, "penalty", row->penalty, error));
    HAWSER_TRY(hw_model_number_fact(model, path->method->parameter, row->lambda, error));
    HAWSER_TRY(hw_model_number_fact(model, "iterations", iterations_of(result), error));
    HAWSER_TRY(hw_model_option_facts(model, input->options, error));
    HAWSER_TRY(hw_class_weights_fact(path->class_weights, path->classes, model, error));
    HAWSER_TRY(hw_classed_store(&sizes, result->model, model, error));
    return hw_row_result_store(result, model, error);
}

/* ---- facts ---- */

static double count_coefficients(const hw_row_result *result)
{
    double count = 0.0;
    for (size_t e = 0; e + result->path->outputs < result->path->width; e++)
        count += result->model[e] != 0.0;
    return count;
}

static void fill_facts(const hw_row_result *result, const hw_member_row *row, double accuracy)
{
    const hw_row_path *path = result->path;
    hawser_training *training = result->training;
    hawser_fact *facts = training->facts;
    size_t at = 0;
    facts[at++] = (hawser_fact){"objective", row->objective};
    facts[at++] = (hawser_fact){"gap", row->gap};
    if (path->method->penalised)
        facts[at++] = (hawser_fact){"nonzero", count_coefficients(result)};
    facts[at++] = (hawser_fact){path->method->parameter, row->lambda};
    facts[at++] = (hawser_fact){"iterations", iterations_of(result)};
    facts[at++] = (hawser_fact){"classes", (double)path->classes};
    if (path->method->penalised && path->choice.path_count > 0) {
        facts[at++] = (hawser_fact){"lambda_max", hawser_result_metric(training->run, "lambda_max")};
        facts[at++] = (hawser_fact){"lambdas", (double)hw_row_result_members(result)};
    }
    if (path->early.data != NULL)
        facts[at++] = (hawser_fact){path->error_name, hw_member_shown(path, row->error)};
    if (path->early.data != NULL && path->method->accuracy != NULL)
        facts[at++] = (hawser_fact){path->method->accuracy, accuracy};
    hw_row_result_describe(result, at);
}

/* ---- the choice ---- */

static hawser_status make(hw_row_result *result, const hawser_training_input *input, hawser_error *error)
{
    const hw_row_path *path = result->path;
    hawser_training *training = result->training;
    double values[2] = {NAN, NAN};
    for (size_t l = 0; path->early.data != NULL && l < hw_row_result_members(result); l++) {
        hw_row_result_take(result, l);
        HAWSER_TRY(hw_member_error(path, result->model, values, error));
        result->results.rows[l].error = values[0];
    }
    const hw_member_row *row = hw_row_result_choose(result);
    if (path->early.data != NULL)
        HAWSER_TRY(hw_member_error(path, result->model, values, error));
    HAWSER_TRY(hawser_model_new(&training->model, error));
    hawser_status status = fill_model(result, row, input, training->model, error);
    if (status != HAWSER_OK) {
        hawser_model_free(training->model);
        training->model = NULL;
        return status;
    }
    fill_facts(result, row, values[1]);
    if (path->method->note != NULL)
        path->method->note(path, training);
    return HAWSER_OK;
}

/* Makes the result on node 0, of the run or, without one, of path->finished. `ended`: before its end. */
static hawser_status finish(const hw_row_path *path, const hawser_training_input *input, bool ended,
                            hawser_training *training, hawser_error *error)
{
    hw_row_result result;
    hawser_status status = hw_row_result_new(&result, path, training, ended, error);
    HAWSER_THEN(status, make(&result, input, error));
    hw_row_result_free(&result);
    return status;
}

/* ---- the run ---- */

static const char *reason_of(double ended)
{
    return ended == HW_END_GAP          ? "gap"
           : ended == HW_END_ITERATIONS ? "iterations"
           : ended == HW_END_PRECISION  ? "precision"
           : ended == HW_END_EARLY      ? "early-stopping"
                                        : "end";
}

/* Fails because a node was lost or too late. Node 0 makes a model of the finished members. */
static hawser_status fail_without_run(const hw_row_path *path, const hawser_training_input *input, hawser_training *training,
                                      hawser_status status, const char *why, hawser_error *error)
{
    bool lost = (status == HAWSER_PEER_LOST || status == HAWSER_TIMEOUT) && path->finished != NULL;
    hawser_error made = {0};
    size_t done = lost ? hw_row_members_done(path, path->finished->table) : 0;
    (void)hawser_fail(error, status, "%s", why);
    if (done == 0)
        return status;
    snprintf(training->stop_reason, sizeof training->stop_reason, "node-lost");
    (void)finish(path, input, true, training, &made);
    return hw_finished_describe(training, done, path->members, &made, error);
}

hawser_status hw_members_run(hawser_program *program, hw_row_path *path, hawser_job *job, const hawser_training_input *input,
                             hawser_training *training, hawser_error *error)
{
    hawser_error own = {0};
    hawser_status status = HAWSER_OK;
    if (hawser_job_nodes(job) > 1 && hawser_job_leads(job) && hw_row_keeps_path(path))
        status = hw_finished_new(&path->finished, path->members, path->width, hw_row_path_table(path), &own);
    status = hawser_job_agree(job, status, &own);
    hawser_observe(job, input->observer, input->observer_user);
    HAWSER_THEN(status, hawser_run_program(job, program, &training->run, &own));
    hawser_program_free(program);
    bool early = status == HAWSER_STOP;
    if (status != HAWSER_OK && !early)
        return fail_without_run(path, input, training, status, own.text, error);
    const char *reason = hawser_run_figures(training->run)->stop_reason;
    if (isnan(hawser_result_metric(training->run, "objective")))
        return hawser_fail(error, HAWSER_STOP, "the training ended before its first iteration; no model is kept");
    training->interrupted = early && strcmp(reason, "signal") == 0;
    snprintf(training->stop_reason, sizeof training->stop_reason, "%s",
             early ? reason : reason_of(hawser_result_metric(training->run, "ended")));
    status = hawser_job_leads(job) ? finish(path, input, early, training, error) : HAWSER_OK;
    return hawser_job_agree(job, status, error);
}
