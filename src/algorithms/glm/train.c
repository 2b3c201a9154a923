#include "algorithms/glm/train.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algorithms/glm/best.h"
#include "algorithms/glm/finish.h"
#include "algorithms/glm/path.h"
#include "algorithms/glm/policy.h"
#include "algorithms/glm/rest.h"
#include "algorithms/glm/validation.h"

enum { VANISHING = 80 }; /* bytes of the reason why a lambda is as good as 0 */

/* A training that has ended. The rest (rest.h) is certified or collected by a program of its own. */
typedef struct ending {
    hawser_job *job;
    hw_linear_driver *driver;
    const hw_linear_units *units;
    bool failed;       /* the run has no result: the program of the rest also has the finished lambdas */
    hawser_run *run;   /* the run of the rest's program; NULL: there was none */
    const char *state; /* the state of the coefficients in its result, or if there was none, in that of the training */
} ending;

static void free_driver(hw_linear_driver *driver)
{
    hw_linear_record_free(&driver->record);
    hw_linear_free(driver->linear);
}

static hawser_status new_driver(hw_linear_driver *driver, const hw_linear_kind *kind, hawser_job *job,
                                const hawser_training_input *input, bool without_penalty, hawser_error *error)
{
    bool validated = input->validation != NULL; /* only node 0 knows, and all make the same program */
    driver->options = input->options;
    HAWSER_TRY(hawser_job_broadcast(job, &validated, sizeof validated, error));
    HAWSER_TRY(hw_linear_new(driver->linear, kind, job, input, without_penalty, error));
    HAWSER_TRY(hw_linear_validation_new(driver->linear, validated, job, input, error));
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

static void take_run(ending *rest, hawser_run *run, const char *state)
{
    hawser_run_free(rest->run);
    rest->run = run;
    rest->state = state;
}

/* Collects the coefficients on node 0, without a certificate, if time is up. */
static hawser_status collect(ending *rest, const double *alpha, hawser_error *error)
{
    hawser_run *made = NULL;
    hawser_program *program = hw_linear_collect_program(rest->driver->linear, alpha, rest->failed);
    hawser_status status = hawser_run_program(rest->job, program, &made, error);
    hawser_program_free(program);
    if (status != HAWSER_OK && status != HAWSER_STOP)
        return status;
    take_run(rest, made, hw_linear_take_collected(rest->driver, made));
    return HAWSER_OK;
}

/* Certifies coefficients at record->rest_lambda in a program of its own, whose run becomes rest->run. Collective, because only node 0 knows whether
 * there is a certificate already. Coefficients that overflow have an infinite objective and get none. */
static hawser_status certify_rest(ending *rest, const double *alpha, hawser_error *error)
{
    hawser_run *made = NULL;
    hawser_error own = {0};
    hawser_program *program = hw_linear_certificate_program(rest->driver, rest->units, alpha, rest->failed);
    hawser_observe(rest->job, NULL, NULL);
    hawser_status status = hawser_run_program(rest->job, program, &made, &own);
    hawser_program_free(program);
    if (status == HAWSER_NOT_FINITE) {
        rest->driver->record.rest = (hw_linear_row){.objective = INFINITY, .gap = INFINITY};
        return HAWSER_OK;
    }
    if (status == HAWSER_STOP) {
        hawser_run_free(made);
        return collect(rest, alpha, error);
    }
    if (status != HAWSER_OK)
        return hawser_fail(error, status, "%s", own.text);
    hw_linear_take_rest(rest->driver, made);
    take_run(rest, made, "alpha");
    return HAWSER_OK;
}

/* Returns, on all nodes, whether the coefficients of the least error on validation data have been kept. Collective. */
static hawser_status has_valid(const ending *rest, bool *kept, hawser_error *error)
{
    const hw_linear *linear = rest->driver->linear;
    double number = rest->driver->record.valid_number;
    *kept = hw_linear_keeps_valid(linear) && number > 0.0 && linear->best.valid_kept[0] == number;
    return hawser_job_broadcast(rest->job, kept, sizeof *kept, error);
}

/* Certifies the coefficients of the least error on validation data as the result of an early end. */
static hawser_status take_valid(ending *rest, hawser_error *error)
{
    hw_linear_record *record = &rest->driver->record;
    HAWSER_TRY(certify_rest(rest, rest->driver->linear->best.valid, error));
    if (!record->collected)
        record->rest.error = record->least_error;
    return HAWSER_OK;
}

/* Certifies the coefficients at an early end, which the last certificate does not cover. If they are worse than the best certified point of their
 * lambda, that point is the result. All nodes decide alike, by published metrics. */
static hawser_status take_better(ending *rest, const hawser_run *ended, hawser_error *error)
{
    hw_linear_record *record = &rest->driver->record;
    const hw_linear *linear = rest->driver->linear;
    double lambda = hawser_result_metric(ended, "lambda"), best = hawser_result_metric(ended, "best");
    record->rest_lambda = lambda >= 0.0 ? lambda : hw_linear_one_lambda(linear, 0.0);
    if (!(lambda >= 0.0) && !hw_linear_given_lambda(linear))
        return hawser_fail(error, HAWSER_STOP,
                           "the training ended before lambda was known; nothing was reached, and no model is written");
    bool valid = false;
    HAWSER_TRY(has_valid(rest, &valid, error));
    if (valid)
        return take_valid(rest, error);
    HAWSER_TRY(hawser_job_agree(rest->job, hawser_result_fetch(ended, "alpha", error), error));
    HAWSER_TRY(certify_rest(rest, hawser_result(ended, "alpha", NULL), error));
    double objective = record->rest.objective, zero = hawser_result_metric(ended, "zero_objective");
    if (record->collected || !hw_linear_is_worse(&linear->choices, objective, best, zero))
        return HAWSER_OK;
    if (hw_linear_is_far(&linear->choices, objective, best, zero)) {
        record->failure = HW_LINEAR_DIVERGED;
        record->failed_objective = objective;
        record->failed_lambda = record->rest_lambda;
    }
    return certify_rest(rest, linear->best.alpha, error);
}

/* Takes the best certified point as the result of a run that failed because numbers overflowed. */
static hawser_status take_best(ending *rest, hawser_error *error)
{
    hw_linear_record *record = &rest->driver->record;
    record->rest_lambda = record->begun ? hw_linear_current_lambda(record) : 0.0; /* node 0's value is used */
    rest->failed = true;
    HAWSER_TRY(certify_rest(rest, rest->driver->linear->best.alpha, error));
    return record->collected || isfinite(record->rest.objective)
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_NOT_FINITE, "the best model has no certificate: its objective overflows");
}

static size_t finished_lambdas(const hw_linear_record *record)
{
    size_t done = 0;
    while (done < record->lambda_count && record->rows[done].done)
        done++;
    return done;
}

/* Fails after the loss of a node. Each node has only the coefficients of its own columns, also of finished lambdas, so no lambda has a model. Only
 * node 0 counts lambdas, so only it reports them. */
static hawser_status fail_without_model(const hw_linear_record *record, hawser_status status, const char *why,
                                        hawser_error *error)
{
    size_t done = record->lambda_count > 1 ? finished_lambdas(record) : 0;
    if (status != HAWSER_PEER_LOST || done == 0)
        return hawser_fail(error, status, "%s", why);
    return hawser_fail(error, status,
                       "%s; %zu of the path's %zu lambdas were finished, but no model is saved, because the coefficients of "
                       "that node's columns were on that node only",
                       why, done, record->lambda_count);
}

/* Notes that the model of a failed path has only the finished lambdas, or if there are none, the best certified coefficients of the first. */
static void note_lost_lambdas(const hw_linear_record *record, hawser_training *training)
{
    size_t done = finished_lambdas(record), count = record->lambda_count;
    if (count < 2 || (done == 0 && !isfinite(record->rest.objective)))
        return;
    if (done == count)
        hw_linear_note(training, "the training failed in --cv; the model has all %zu lambdas", done);
    else if (done > 0)
        hw_linear_note(
            training,
            "the training failed at lambda %.6g; the model has the %zu lambda%s finished before it, and not the other %zu",
            record->rest_lambda, done, done == 1 ? "" : "s", count - done);
    else
        hw_linear_note(
            training,
            "the training failed at lambda %.6g; the model has the coefficients of this lambda only, and not of the "
            "other %zu",
            record->rest_lambda, count - 1);
}

static bool overflowed(hawser_status status)
{
    return status == HAWSER_NOT_FINITE || status == HAWSER_DIVERGED;
}

/* Makes the result on node 0, which alone has the record of the tests. */
static hawser_status finish(ending *rest, const hawser_training_input *input, bool early, hawser_error *error)
{
    hw_linear_driver *driver = rest->driver;
    const hawser_run *run = driver->training->run;
    hw_linear_record_cut(&driver->record);
    const hawser_run *reached = rest->run != NULL ? rest->run : run;
    HAWSER_TRY(hawser_result_fetch(reached, rest->state, error));
    const double *alpha = hawser_result(reached, rest->state, NULL);
    if (early)
        hw_linear_count_rest(driver, alpha);
    const hawser_run *prepared = driver->record.begun || rest->run == NULL ? run : rest->run;
    if (driver->linear->problem.outputs > 1)
        HAWSER_TRY(hawser_result_fetch(prepared, "means", error));
    const double *means = hawser_result(prepared, "means", NULL); /* as soon as a fold has been prepared */
    return hw_linear_finish(driver, input, alpha, means, early, error);
}

static hawser_status run_and_finish(ending *rest, const hawser_training_input *input, hawser_error *error)
{
    hw_linear_driver *driver = rest->driver;
    hawser_training *training = driver->training;
    hawser_program *program = hw_linear_program(driver, rest->units);
    hawser_error own = {0};
    hawser_observe(rest->job, input->observer, input->observer_user);
    hawser_status status = hawser_run_program(rest->job, program, &training->run, &own);
    hawser_program_free(program);
    bool early = status == HAWSER_STOP, failed = overflowed(status) && hw_linear_has_best(driver->linear);
    if (status != HAWSER_OK && !early && !failed)
        return fail_without_model(&driver->record, status, own.text, error);
    if (early)
        HAWSER_TRY(take_better(rest, training->run, error));
    if (failed) {
        HAWSER_TRY(take_best(rest, error));
        training->run = rest->run;
        rest->run = NULL;
        hw_linear_describe_overflow(driver, &own, &training->failure);
        hw_linear_record_cut(&driver->record);
        note_lost_lambdas(&driver->record, training);
    } else if (driver->record.failure != HW_LINEAR_SOUND || hawser_result_metric(training->run, "failure") > 0.0) {
        hw_linear_describe_failure(driver, &training->failure);
    }
    status = hawser_job_leads(rest->job) ? finish(rest, input, early || failed, error) : HAWSER_OK;
    return hawser_job_agree(rest->job, status, error);
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
    ending rest = {.job = job, .driver = &driver, .units = units, .state = "alpha"};
    vanishing[0] = '\0';
    if (status == HAWSER_OK) {
        hw_linear_policy(&linear, input->options, training->policy, sizeof training->policy);
        status = run_and_finish(&rest, input, error);
    }
    double most = status == HAWSER_OK ? hawser_result_metric(training->run, "lambda_max") : NAN;
    double weakest = status == HAWSER_OK ? hawser_result_metric(training->run, "weakest") : 0.0;
    if (isfinite(most) && hw_linear_vanishes(&linear, most, weakest))
        describe_vanishing(&linear, most, vanishing, VANISHING);
    if (vanishing[0] != '\0' && linear.choices.settings.path_list != NULL)
        status = hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--path: %g is %s, which is as good as no penalty; leave it out, and train with --lambda 0 in its place",
            linear.choices.settings.path_list[linear.choices.settings.path_count - 1], vanishing);
    hawser_run_free(rest.run);
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
    hw_linear_note(training, "lambda is %s: the training is that of --lambda 0", vanishing);
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
    return hw_linear_path_of(model, units->kind->error_name, path, error);
}
