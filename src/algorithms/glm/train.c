#include "algorithms/glm/train.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algorithms/glm/best.h"
#include "algorithms/glm/finish.h"
#include "algorithms/glm/policy.h"

hawser_status hw_linear_plan(const hw_linear_kind *kind, hw_linear_build *build, hawser_job *job,
                             const hawser_training_input *input, bool physical, bool dot, FILE *out, hawser_error *error)
{
    hw_linear linear;
    hawser_program *program = NULL;
    hawser_status status = hw_linear_new(&linear, kind, job, input, error);
    if (status == HAWSER_OK) {
        program = build(&linear);
        status = hawser_plan_print(job, program, physical, dot, out, error);
        char text[sizeof((hawser_training *)0)->policy];
        hw_linear_policy(&linear, input->options, text, sizeof text);
        if (status == HAWSER_OK && physical && !dot && text[0] != '\0')
            fprintf(out, "\n%s\n", text);
    }
    hawser_program_free(program);
    hw_linear_free(&linear);
    return status;
}

/* Where time is up, coefficients are only brought to node 0. */
static hawser_status hand_in(hawser_job *job, hw_linear *linear, const double *alpha, hawser_run **run, hawser_error *error)
{
    hawser_run *made = NULL;
    hawser_program *program = hw_linear_hand_in_program(linear, alpha);
    hawser_status status = hawser_run_program(job, program, &made, error);
    hawser_program_free(program);
    if (status != HAWSER_OK && status != HAWSER_STOP)
        return status;
    hawser_run_free(*run);
    *run = made;
    hw_linear_take_handed(linear, made);
    return HAWSER_OK;
}

/* Certifies coefficients at linear->rest_lambda in a program of its own, which becomes *run (what it was before is freed). Collective:
 * only node 0 knows whether it has a certificate already. Coefficients that overflow get none: their objective is infinite. */
static hawser_status certify_rest(hawser_job *job, hw_linear *linear, const hw_linear_units *units, const double *alpha,
                                  hawser_run **run, hawser_error *error)
{
    hawser_run *made = NULL;
    hawser_error own = {0};
    hawser_program *program = hw_linear_certificate_program(linear, units, alpha);
    hawser_observe(job, NULL, NULL);
    hawser_status status = hawser_run_program(job, program, &made, &own);
    hawser_program_free(program);
    if (status == HAWSER_NOT_FINITE) {
        linear->rest = (hw_linear_row){.objective = INFINITY, .gap = INFINITY};
        return HAWSER_OK;
    }
    if (status == HAWSER_STOP) {
        hawser_run_free(made);
        return hand_in(job, linear, alpha, run, error);
    }
    if (status != HAWSER_OK)
        return hawser_fail(error, status, "%s", own.text);
    hawser_run_free(*run);
    *run = made;
    hw_linear_take_rest(linear, made);
    linear->rest_alpha = hawser_result(made, "alpha", NULL);
    return HAWSER_OK;
}

/* After an early end: what was measured last is not what the run left behind. Where that is worse than the best certified point of its
 * lambda, that point is the result. All nodes decide alike, by published metrics. */
static hawser_status take_better(hawser_job *job, hw_linear *linear, const hw_linear_units *units, const hawser_run *ended,
                                 hawser_run **rest, hawser_error *error)
{
    double lambda = hawser_result_metric(ended, "lambda"), best = hawser_result_metric(ended, "best");
    linear->rest_lambda = lambda >= 0.0 ? lambda : hw_linear_one_lambda(linear, 0.0);
    HAWSER_TRY(certify_rest(job, linear, units, hawser_result(ended, "alpha", NULL), rest, error));
    double objective = linear->rest.objective, zero = hawser_result_metric(ended, "zero_objective");
    if (linear->handed_in || !hw_linear_is_worse(linear, objective, best, zero))
        return HAWSER_OK;
    if (hw_linear_is_far(linear, objective, best, zero)) {
        linear->failure = HW_LINEAR_DIVERGED;
        linear->failed_objective = objective;
        linear->failed_lambda = linear->rest_lambda;
    }
    return certify_rest(job, linear, units, linear->best, rest, error);
}

/* A run that failed because numbers overflowed has no result but the best certified point. */
static hawser_status take_best(hawser_job *job, hw_linear *linear, const hw_linear_units *units, hawser_run **rest,
                               hawser_error *error)
{
    linear->rest_lambda = linear->begun ? hw_linear_current_lambda(linear) : 0.0; /* node 0's counts */
    linear->brings_path = true;
    HAWSER_TRY(certify_rest(job, linear, units, linear->best, rest, error));
    return linear->handed_in || isfinite(linear->rest.objective)
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_NOT_FINITE, "the best model has no certificate: its objective overflows");
}

static size_t finished_lambdas(const hw_linear *linear)
{
    size_t done = 0;
    while (done < linear->lambda_count && linear->rows[done].done)
        done++;
    return done;
}

/* Each node has the coefficients of its own columns only, also of finished lambdas: without a lost node's columns no lambda has a model. Node 0
 * alone counts lambdas, so it alone reports them. */
static hawser_status fail_without_model(const hw_linear *linear, hawser_status status, const char *why, hawser_error *error)
{
    size_t done = linear->lambda_count > 1 ? finished_lambdas(linear) : 0;
    if (status != HAWSER_PEER_LOST || done == 0)
        return hawser_fail(error, status, "%s", why);
    return hawser_fail(error, status,
                       "%s; %zu of the path's %zu lambdas were finished, but no model is saved, because the coefficients of "
                       "that node's columns were on that node only",
                       why, done, linear->lambda_count);
}

/* The model of a failed path has the lambdas that were finished; if none was, the best certified coefficients of the first. */
static void note_lost_lambdas(const hw_linear *linear, hawser_training *training)
{
    size_t done = finished_lambdas(linear), k = 0;
    while (k < HAWSER_NOTES && training->notes[k][0] != '\0')
        k++;
    if (linear->lambda_count < 2 || k == HAWSER_NOTES || (done == 0 && !isfinite(linear->rest.objective)))
        return;
    if (done == linear->lambda_count)
        snprintf(training->notes[k], sizeof training->notes[k], "the training failed in --cv; the model has all %zu lambdas",
                 done);
    else if (done > 0)
        snprintf(
            training->notes[k], sizeof training->notes[k],
            "the training failed at lambda %.6g; the model has the %zu lambda%s finished before it, and not the other %zu",
            linear->rest_lambda, done, done == 1 ? "" : "s", linear->lambda_count - done);
    else
        snprintf(training->notes[k], sizeof training->notes[k],
                 "the training failed at lambda %.6g; the model has the coefficients of this lambda only, and not of the "
                 "other %zu",
                 linear->rest_lambda, linear->lambda_count - 1);
}

static bool overflowed(hawser_status status)
{
    return status == HAWSER_NOT_FINITE || status == HAWSER_DIVERGED;
}

static hawser_status run_and_finish(hawser_job *job, hw_linear *linear, const hw_linear_units *units, hw_linear_build *build,
                                    const hawser_training_input *input, hawser_training *training, hawser_run **rest,
                                    hawser_error *error)
{
    hawser_program *program = build(linear);
    hawser_error own = {0};
    hawser_observe(job, input->observer, input->observer_user);
    hawser_status status = hawser_run_program(job, program, &training->run, &own);
    hawser_program_free(program);
    bool early = status == HAWSER_STOP, failed = overflowed(status) && hw_linear_has_best(linear);
    if (status != HAWSER_OK && !early && !failed)
        return fail_without_model(linear, status, own.text, error);
    if (early)
        HAWSER_TRY(take_better(job, linear, units, training->run, rest, error));
    if (failed) {
        HAWSER_TRY(take_best(job, linear, units, rest, error));
        training->run = *rest;
        *rest = NULL;
        training->failure = own;
        note_lost_lambdas(linear, training);
    } else if (linear->failure != HW_LINEAR_SOUND || hawser_result_metric(training->run, "failure") > 0.0) {
        hw_linear_say_failure(linear, input, &training->failure);
    }
    if (!hawser_job_leads(job)) /* what the stop tests saw, only node 0 knows */
        return HAWSER_OK;
    return hw_linear_finish(linear, input, early || failed, training, error);
}

hawser_status hw_linear_train(const hw_linear_kind *kind, const hw_linear_units *units, hw_linear_build *build,
                              hawser_job *job, const hawser_training_input *input, hawser_training *training,
                              hawser_error *error)
{
    hw_linear linear;
    memset(training, 0, sizeof *training);
    hawser_status status = hw_linear_new(&linear, kind, job, input, error);
    hawser_run *rest = NULL;
    if (status == HAWSER_OK) {
        linear.training = training;
        linear.options = input->options;
        hw_linear_policy(&linear, input->options, training->policy, sizeof training->policy);
        status = run_and_finish(job, &linear, units, build, input, training, &rest, error);
    }
    hawser_run_free(rest);
    hw_linear_free(&linear);
    return status;
}
