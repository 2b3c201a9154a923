#include "algorithms/glm/finish.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/model.h"
#include "algorithms/glm/policy.h"

static const double FAR = 0.1; /* of the objective at zero */

static double metric(const void *run, const char *name)
{
    return hawser_result_metric(run, name);
}

/* What a user can change: steps, or how careful blocks are. */
static const char *advice(const hw_linear *linear, const hawser_options *options)
{
    if (linear->settings.steps)
        return linear->settings.rate > 0.0 ? "; lower --step" : "; set a shorter --step, or --sync bsp";
    if (linear->settings.sigma > 0.0)
        return "; leave --sigma out, or raise it";
    if (linear->settings.filtered)
        return "; use --filter none, no --quota and --encoding exact";
    return strcmp(hawser_options_text(options, "sync"), "bsp") != 0 ? "; use --sync bsp" : "";
}

void hw_linear_say_failure(const hw_linear *linear, const hawser_training_input *input, hawser_error *failure)
{
    const char *hint = advice(linear, input->options);
    if (linear->failure == HW_LINEAR_DIVERGED)
        (void)hawser_fail(failure, HAWSER_DIVERGED,
                          "the training diverged: it ends at the objective %.4g, where weights of zero have %.4g%s",
                          linear->failed_objective, linear->whole_zero_objective, hint);
    else if (linear->failure == HW_LINEAR_STALLED)
        (void)hawser_fail(failure, HAWSER_DIVERGED,
                          "the training stopped making progress at lambda %.6g with a gap of %.3g, %.2g of the objective at "
                          "zero%s",
                          linear->failed_lambda, linear->failed_gap, linear->failed_gap / linear->whole_zero_objective,
                          hint);
    else /* only node 0 knows more */
        (void)hawser_fail(failure, HAWSER_DIVERGED, "the training diverged or stopped making progress; see node 0");
}

void hw_linear_take_rest(hw_linear *linear, const hawser_run *run)
{
    double zero = hawser_result_metric(run, "zero_objective");
    linear->whole_zero_objective = zero;
    linear->rest = (hw_linear_row){.lambda = linear->rest_lambda,
                                   .nonzeros = hawser_result_metric(run, "nonzeros"),
                                   .penalty = hawser_result_metric(run, "penalty"),
                                   .intercept = hawser_result_metric(run, "intercept"),
                                   .error = NAN,
                                   .done = true};
    linear->kind->certificate(metric, run, zero, &linear->rest.objective, &linear->rest.gap);
}

/* Errors of all lambdas on a data set of the user's. */
static hawser_status validate(hw_linear *linear, const hawser_dataset *data, const double *alpha, const double *path,
                              hawser_error *error)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    const double *y = hawser_dataset_target(data), *weights = hawser_dataset_weights(data),
                 *offset = hawser_dataset_offset(data);
    if (y == NULL || X->cols > linear->X->cols)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the validation data have %zu columns%s, the training data %zu", X->cols,
                           y == NULL ? " and no target" : "", linear->X->cols);
    HAWSER_TRY(hawser_matrix_whole(X, error));
    double *w = calloc(linear->X->cols + 1, sizeof *w), *predictions = calloc(X->rows + 1, sizeof *predictions);
    hawser_status status = HAWSER_OK;
    if (w == NULL || predictions == NULL)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the validation of %zu rows", X->rows);
    for (size_t l = 0; status == HAWSER_OK && l < linear->lambda_count && linear->rows[l].done; l++) {
        double total = 0.0, errors = 0.0;
        for (size_t j = 0; j < X->cols; j++)
            w[j] = path != NULL ? path[j * linear->lambda_count + l] : alpha[j];
        hawser_multiply(X, w, linear->rows[l].intercept, predictions);
        for (size_t i = 0; i < X->rows; i++) {
            double weight = weights != NULL ? weights[i] : 1.0;
            double target = linear->kind->target_of != NULL ? linear->kind->target_of(linear, y[i]) : y[i];
            if (isnan(target)) {
                status = hawser_fail(error, HAWSER_BAD_INPUT,
                                     "row %zu of the validation data: the label %g is not one of the training data's", i + 1,
                                     y[i]);
                break;
            }
            total += weight;
            errors += weight * linear->kind->row_error(target, predictions[i] + (offset != NULL ? offset[i] : 0.0));
        }
        linear->rows[l].error = errors / total;
    }
    free(w);
    free(predictions);
    return status;
}

static void tell(const hw_linear *linear, const hw_linear_row *row, hawser_training *training)
{
    hawser_fact all[] = {{"objective", row->objective},
                         {"gap", row->gap},
                         {"lambda", row->lambda},
                         {"nonzeros", row->nonzeros},
                         {"intercept", row->intercept},
                         {"lambda_max", linear->lambda_max},
                         {linear->kind->fit_name, linear->whole_zero_objective > 0.0
                                                      ? 1.0 - (row->objective - row->penalty) / linear->whole_zero_objective
                                                      : 0.0}};
    size_t at = sizeof all / sizeof *all;
    memcpy(training->facts, all, sizeof all);
    if (linear->lambda_count > 1)
        training->facts[at++] = (hawser_fact){"lambdas", (double)linear->lambda_count};
    if (!isnan(row->error))
        training->facts[at++] =
            (hawser_fact){linear->settings.folds > 0 ? linear->kind->cv_name : linear->kind->validation_name, row->error};
    if (linear->settings.folds > 0 && !isnan(row->error))
        training->facts[at++] = (hawser_fact){"cv_standard_error", row->standard_error};
}

/* An end before all folds were done: the lambda is no choice of theirs. */
static void say_unchosen(const hw_linear *linear, double lambda, hawser_training *training)
{
    for (size_t k = 0; k < sizeof training->notes / sizeof *training->notes; k++)
        if (training->notes[k][0] == '\0') {
            snprintf(training->notes[k], sizeof training->notes[k],
                     "--cv %u was not over: lambda %.6g is the last of the path that was done, and nothing has chosen it",
                     (unsigned)linear->settings.folds, lambda);
            return;
        }
}

/* An end that had no time for a certificate. */
static void say_handed_in(const hw_linear *linear, const hawser_options *options, hawser_training *training)
{
    double grace = hawser_options_number(options, "grace");
    for (size_t k = 0; k < sizeof training->notes / sizeof *training->notes; k++) {
        char *text = training->notes[k];
        if (text[0] != '\0')
            continue;
        if (isnan(linear->rest.gap))
            snprintf(text, sizeof training->notes[k],
                     "the model of the last clock has no certificate: that would have taken longer than --grace (%g s); its "
                     "objective and gap are unknown",
                     grace);
        else
            snprintf(
                text, sizeof training->notes[k],
                "certifying the last clock would have taken longer than --grace (%g s): the model is the best certified "
                "one",
                grace);
        return;
    }
}

/* Batches whose epochs were over long before the optimum was near: what to do about it. */
static void say_how_far(const hw_linear *linear, const hawser_options *options, hawser_training *training)
{
    const hw_linear_row *worst = NULL;
    size_t at = 0, most = sizeof training->notes / sizeof *training->notes;
    for (size_t l = 0; l < linear->lambda_count; l++) {
        const hw_linear_row *row = &linear->rows[l];
        if (row->done && row->spent && (worst == NULL || row->gap > worst->gap))
            worst = row;
    }
    while (at < most && training->notes[at][0] != '\0')
        at++;
    if (worst == NULL || at == most || !(worst->gap > FAR * linear->whole_zero_objective))
        return;
    char cause[100] = "where columns have a few entries far larger than the rest, steps are short";
    if (hw_linear_lag(linear->sync) > 0.0)
        snprintf(cause, sizeof cause, "under --sync %.20s steps are short", hawser_options_text(options, "sync"));
    if (linear->settings.rate > 0.0)
        snprintf(cause, sizeof cause, "--step %g may be too short", linear->settings.rate);
    snprintf(training->notes[at], sizeof training->notes[at],
             "after %g epochs the objective is %.4g and its optimum at least %.4g: %s; --epochs %g goes on for longer, "
             "--solver newton finds it whatever the columns' scales",
             linear->settings.epochs, worst->objective, worst->gap < worst->objective ? worst->objective - worst->gap : 0.0,
             cause, 10.0 * linear->settings.epochs);
}

static void say_why(const hw_linear *linear, const hawser_options *options, bool early, hawser_training *training)
{
    const hawser_figures *figures = hawser_run_figures(training->run);
    const char *reason = "gap";
    for (size_t l = 0; l < linear->lambda_count; l++)
        if (linear->rows[l].done && (linear->rows[l].precision || linear->rows[l].spent))
            reason = linear->rows[l].spent ? "epochs" : "precision";
    say_how_far(linear, options, training);
    if (linear->failure == HW_LINEAR_STALLED)
        reason = "progress";
    if (early)
        reason = figures != NULL && figures->stop_reason != NULL ? figures->stop_reason : "limit";
    snprintf(training->stop_reason, sizeof training->stop_reason, "%s", reason);
    training->interrupted = early && strcmp(reason, "signal") == 0;
    if (training->failure.status != HAWSER_OK && linear->failure != HW_LINEAR_STALLED)
        snprintf(training->stop_reason, sizeof training->stop_reason, "diverged");
}

hawser_status hw_linear_finish(hw_linear *linear, const hawser_training_input *input, bool early, hawser_training *training,
                               hawser_error *error)
{
    size_t count = 0;
    const double *alpha = early ? linear->rest_alpha : hawser_result(training->run, "alpha", &count);
    const double *path =
        linear->lambda_count > 1 && linear->rows[0].done ? hawser_result(training->run, "path", &count) : NULL;
    for (size_t l = 0; l < linear->lambda_count; l++)
        if (!linear->rows[l].done)
            linear->rows[l].error = NAN;
    if (early && path == NULL) { /* not even the first lambda is complete: the model is what there is */
        linear->rows[0] = linear->rest;
        if (linear->handed_in)
            say_handed_in(linear, input->options, training);
    }
    if (input->validation != NULL)
        HAWSER_TRY(validate(linear, input->validation, alpha, path, error));
    size_t chosen = path != NULL ? hw_linear_select(linear) : 0;
    HAWSER_TRY(hw_linear_model_make(linear, input, chosen, alpha, path, &training->model, error));
    if (linear->settings.folds > 0 && !hw_linear_folds_done(linear))
        say_unchosen(linear, linear->rows[chosen].lambda, training);
    tell(linear, &linear->rows[chosen], training);
    say_why(linear, input->options, early, training);
    return HAWSER_OK;
}
