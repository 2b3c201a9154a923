#include "algorithms/glm/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/finish.h"
#include "algorithms/glm/path.h"
#include "algorithms/glm/policy.h"
#include "algorithms/glm/validation.h"
#include "algorithms/model/facts.h"

enum { VANISHING = 80 }; /* bytes of the reason why a lambda is as good as 0 */

static void free_driver(hw_linear_driver *driver)
{
    hw_linear_record_free(&driver->record);
    hw_linear_free(driver->linear);
}

static hawser_status new_driver(hw_linear_driver *driver, const hw_linear_kind *kind, hawser_job *job,
                                const hawser_training_input *input, bool without_penalty, hawser_error *error)
{
    driver->options = input->options;
    HAWSER_TRY(hw_linear_new(driver->linear, kind, job, input, without_penalty, error));
    HAWSER_TRY(hw_linear_validation_new(driver->linear, job, input, error));
    return hw_linear_record_new(&driver->record, &driver->linear->choices, error);
}

hawser_status hw_linear_plan(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                             hawser_plan_format format, FILE *out, hawser_error *error)
{
    const hw_linear_units *units = algorithm->user;
    hw_linear linear = {0};
    hw_linear_driver driver = {.linear = &linear};
    hawser_program *program = NULL;
    hawser_status status = new_driver(&driver, units->kind, job, input, false, error);
    if (status == HAWSER_OK) {
        program = hw_linear_program(&driver, units);
        char text[sizeof((hawser_training *)0)->policy];
        hw_linear_policy(&linear, input->options, text, sizeof text);
        hawser_plan_note(program, text);
        status = hawser_plan_print(job, program, format, out, error);
    }
    hawser_program_free(program);
    free_driver(&driver);
    return status;
}

/* Makes the model of `done` finished lambdas, whose coefficients node 0 has (finished.h). */
static hawser_status make_finished(hw_linear_driver *driver, const hawser_training_input *input, size_t done, size_t planned,
                                   hawser_error *error)
{
    const hw_linear *linear = driver->linear;
    size_t outputs = linear->problem.outputs, last = linear->problem.X->cols * outputs;
    const double *numbers = linear->finished->numbers;
    double *intercepts = NULL;
    hawser_status status = hw_linear_new_doubles(&intercepts, done * outputs, error);
    for (size_t e = 0; status == HAWSER_OK && e < done * outputs; e++)
        intercepts[e] = numbers[(last + e % outputs) * linear->finished->members + e / outputs];
    hw_linear_reached reached = {
        .early = true, .planned = planned, .path = numbers, .intercepts = outputs > 1 ? intercepts : NULL};
    HAWSER_THEN(status, hw_linear_finish(driver, input, &reached, error));
    free(intercepts);
    return status;
}

/* Fails because a node was lost or too late. Node 0, which alone counts lambdas, makes a model of the finished ones. */
static hawser_status fail_without_run(hw_linear_driver *driver, const hawser_training_input *input, hawser_status status,
                                      const char *why, hawser_error *error)
{
    hw_linear_record *record = &driver->record;
    size_t planned = record->results.count;
    bool lost = (status == HAWSER_PEER_LOST || status == HAWSER_TIMEOUT) && driver->linear->finished != NULL;
    hw_linear_record_cut(record);
    size_t done = lost ? hw_results_finished(&record->results) : 0;
    for (size_t k = 0; k < done; k++)
        if (driver->linear->finished->table[k] == 0.0) /* finished before the checkpoint from which the run went on */
            done = 0;
    hawser_error made = {0};
    (void)hawser_fail(error, status, "%s", why);
    if (done == 0)
        return status;
    (void)make_finished(driver, input, done, planned, &made);
    return hw_finished_describe(driver->training, done, planned, &made, error);
}

/* Notes that the model of a failed path has only the finished lambdas, or if there are none, the best certified coefficients
 * of the first. */
static void note_lost_lambdas(const hw_linear_record *record, hawser_training *training)
{
    size_t done = hw_results_finished(&record->results), count = record->results.count;
    if (count < 2 || (done == 0 && !record->kept_row.done))
        return;
    if (done == count)
        hw_note(training, "the training failed in --cv; the model has all %zu lambdas", done);
    else if (done > 0)
        hw_note(
            training,
            "the training failed at lambda %.6g; the model has the %zu lambda%s finished before it, and not the other %zu",
            record->failed_lambda, done, done == 1 ? "" : "s", count - done);
    else
        hw_note(training,
                "the training failed at lambda %.6g; the model has the coefficients of this lambda only, and not of the "
                "other %zu",
                record->failed_lambda, count - 1);
}

/* Makes the result on node 0, which alone has the record of the tests. */
static hawser_status finish(hw_linear_driver *driver, const hawser_training_input *input, bool early, hawser_error *error)
{
    const hawser_run *run = driver->training->run;
    hw_linear_reached reached = {.early = early, .planned = driver->record.results.count};
    hw_linear_record_cut(&driver->record);
    HAWSER_TRY(hawser_result(run, "alpha", &reached.alpha, NULL, error));
    if (driver->linear->problem.outputs > 1 || (early && hw_linear_has_means(driver->linear)))
        HAWSER_TRY(hawser_result(run, "means", &reached.means, NULL, error));
    if (hw_linear_keeps_path(&driver->linear->choices) && driver->record.results.rows[0].done)
        HAWSER_TRY(hawser_result(run, "path", &reached.path, NULL, error));
    return hw_linear_finish(driver, input, &reached, error);
}

/* The run went on after a failure: makes all nodes describe it. Collective after an early end, because metrics may then be
 * older. */
static hawser_status share_failure(hw_linear_driver *driver, hawser_job *job, bool early, hawser_error *error)
{
    hawser_training *training = driver->training;
    bool failed = driver->record.failure != HW_LINEAR_SOUND || hawser_result_metric(training->run, "failure") > 0.0;
    if (early)
        HAWSER_TRY(hawser_job_broadcast(job, &failed, sizeof failed, error));
    if (failed)
        hw_linear_describe_failure(driver, &training->failure);
    return HAWSER_OK;
}

static hawser_status run_and_finish(hw_linear_driver *driver, const hw_linear_units *units, hawser_job *job,
                                    const hawser_training_input *input, hawser_error *error)
{
    hawser_training *training = driver->training;
    hawser_program *program = hw_linear_program(driver, units);
    hawser_error own = {0};
    hawser_observe(job, input->observer, input->observer_user);
    hawser_status status = hawser_run_program(job, program, &training->run, &own);
    hawser_program_free(program);
    bool early = status == HAWSER_STOP, failed = status < HAWSER_OK && training->run != NULL;
    if (status != HAWSER_OK && !early && !failed)
        return fail_without_run(driver, input, status, own.text, error);
    if (early && !hw_linear_given_lambda(driver->linear) && !(hawser_result_metric(training->run, "lambda") >= 0.0))
        return hawser_fail(error, HAWSER_STOP,
                           "the training ended before lambda was known; nothing was reached, and no model is written");
    if (failed) {
        hw_linear_record *record = &driver->record;
        record->failed_lambda = record->begun ? hw_linear_current_lambda(record) : 0.0;
        hw_linear_describe_overflow(driver, &own, &training->failure);
        hw_linear_record_cut(record);
        note_lost_lambdas(&driver->record, training);
    } else
        HAWSER_TRY(share_failure(driver, job, early, error));
    status = hawser_job_leads(job) ? finish(driver, input, early || failed, &own) : HAWSER_OK;
    status = hawser_job_agree(job, status, &own);
    if (status == HAWSER_OK || training->model != NULL)
        return status == HAWSER_OK ? status : hawser_fail(error, status, "%s", own.text);
    return fail_without_run(driver, input, status, own.text, error); /* results of other nodes may be missing */
}

/* Writes why a lambda is too small. */
static void describe_vanishing(const hw_linear *linear, double most, char *text, size_t size)
{
    if (linear->choices.settings.l1_ratio > 0.0)
        (void)snprintf(text, size, "below 1e-12 of lambda_max, %.4g", most);
    else
        (void)snprintf(text, size, "below 1e-20 of the mean squares of the columns");
}

/* Trains once. Sets *vanishing, on all nodes, to why the given lambda is too small; "": it is not. */
static hawser_status train(const hw_linear_units *units, hawser_job *job, const hawser_training_input *input,
                           bool without_penalty, hawser_training *training, char vanishing[VANISHING], hawser_error *error)
{
    hw_linear linear = {0};
    hw_linear_driver driver = {.linear = &linear, .training = training};
    hawser_status status = new_driver(&driver, units->kind, job, input, without_penalty, error);
    vanishing[0] = '\0';
    if (status == HAWSER_OK) {
        hw_linear_policy(&linear, input->options, training->policy, sizeof training->policy);
        status = run_and_finish(&driver, units, job, input, error);
    }
    double most = status == HAWSER_OK ? hawser_result_metric(training->run, "lambda_max") : NAN;
    double weakest = status == HAWSER_OK ? hawser_result_metric(training->run, "weakest") : 0.0;
    if (isfinite(most) && hw_linear_vanishes(&linear, most, weakest))
        describe_vanishing(&linear, most, vanishing, VANISHING);
    if (vanishing[0] != '\0' && linear.choices.settings.choice.path_list != NULL)
        status = hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--path: %g is %s, which is as good as no penalty; leave it out, and train with --lambda 0 in its place",
            linear.choices.settings.choice.path_list[linear.choices.settings.choice.path_count - 1], vanishing);
    free_driver(&driver);
    return status;
}

hawser_status hw_linear_train(const hawser_algorithm *algorithm, hawser_job *job, const hawser_training_input *input,
                              hawser_training *training, hawser_error *error)
{
    char vanishing[VANISHING], none[VANISHING];
    memset(training, 0, sizeof *training);
    HAWSER_TRY(train(algorithm->user, job, input, false, training, vanishing, error));
    if (vanishing[0] == '\0')
        return HAWSER_OK;
    hawser_model_free(training->model);
    hawser_run_free(training->run);
    memset(training, 0, sizeof *training);
    hw_note(training, "lambda is %s: the training is that of --lambda 0", vanishing);
    return train(algorithm->user, job, input, true, training, none, error);
}

bool hw_linear_centres(const hawser_options *options)
{
    return hawser_options_flag(options, "intercept");
}

hawser_status hw_linear_path(const hawser_algorithm *algorithm, const hawser_model *model, hawser_path *path,
                             hawser_error *error)
{
    const hw_linear_units *units = algorithm->user;
    return hw_choice_path(model, units->kind->error_name, path, error);
}
