#include "algorithms/glm/finish.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/crossed.h"
#include "algorithms/glm/path.h"
#include "algorithms/glm/policy.h"
#include "algorithms/glm/rest.h"
#include "algorithms/glm/validation.h"

static const double FAR = 0.1; /* of the objective at zero */

/* Returns advice on the options that help: shorter steps, or a larger sigma'. */
static const char *advice(const hw_linear_settings *settings, const hawser_options *options)
{
    if (settings->steps)
        return settings->rate > 0.0 ? "; lower --step" : "; set a shorter --step, or --sync bsp";
    if (settings->sigma > 0.0)
        return "; leave --sigma out, or raise it";
    if (settings->filtered)
        return "; use --filter none, no --quota and --encoding exact";
    return strcmp(hawser_options_text(options, "sync"), "bsp") != 0 ? "; use --sync bsp" : "";
}

void hw_linear_describe_failure(const hw_linear_driver *driver, hawser_error *failure)
{
    const hw_linear_record *record = &driver->record;
    const char *hint = advice(&driver->linear->choices.settings, driver->options);
    if (record->failure == HW_LINEAR_DIVERGED)
        (void)hawser_fail(failure, HAWSER_DIVERGED,
                          "the training diverged: it ends at the objective %.4g, where weights of zero have %.4g%s",
                          record->failed_objective, record->whole_zero_objective, hint);
    else if (record->failure == HW_LINEAR_STALLED)
        (void)hawser_fail(failure, HAWSER_DIVERGED,
                          "the training stopped making progress at lambda %.6g with a gap of %.3g, %.2g of the objective at "
                          "zero%s",
                          record->failed_lambda, record->failed_gap, record->failed_gap / record->whole_zero_objective,
                          hint);
    else /* only node 0 has more details */
        (void)hawser_fail(failure, HAWSER_DIVERGED, "the training diverged or stopped making progress; see node 0");
}

void hw_linear_describe_overflow(const hw_linear_driver *driver, const hawser_error *cause, hawser_error *failure)
{
    const hw_linear_choices *choices = &driver->linear->choices;
    const char *hint = advice(&choices->settings, driver->options);
    *failure = *cause;
    if (cause->status != HAWSER_NOT_FINITE || hint[0] == '\0')
        return;
    char value[80] = "";
    if (choices->settings.sigma > 0.0)
        snprintf(value, sizeof value, " under --sigma %g (%u workers in step need %g)", choices->settings.sigma,
                 choices->blocks, choices->damping * choices->blocks);
    (void)hawser_fail(failure, HAWSER_NOT_FINITE, "the training diverged at lambda %.6g: numbers overflowed%s%s",
                      driver->record.rest_lambda, value, hint);
}

/* Computes the intercepts of all lambdas from the means of the columns: by lambda, then by output. */
static hawser_status find_intercepts(const hw_linear_driver *driver, const double *alpha, const double *path,
                                     const double *means, double **out, hawser_error *error)
{
    const hw_linear_problem *problem = &driver->linear->problem;
    size_t q = problem->outputs, lambdas = driver->record.lambda_count, stride = driver->record.most;
    HAWSER_TRY(hw_linear_new_doubles(out, lambdas * q, error));
    for (size_t l = 0; driver->linear->choices.settings.intercept && l < lambdas; l++)
        for (size_t o = 0; o < q; o++) {
            double intercept = hw_linear_mean_target(problem, o);
            for (size_t j = 0; j < problem->X->cols; j++)
                intercept -= means[j] * (path != NULL ? path[(j * q + o) * stride + l] : alpha[j * q + o]);
            (*out)[l * q + o] = intercept;
        }
    return HAWSER_OK;
}

/* Computes the errors on the user's validation data of the lambdas that the run has not measured, as that of an early end. `intercepts`: those of the rows if
 * NULL. */
static hawser_status validate(hw_linear_driver *driver, const double *alpha, const double *path, const double *intercepts,
                              hawser_error *error)
{
    hw_linear_record *record = &driver->record;
    size_t q = driver->linear->problem.outputs, stride = path != NULL ? record->most : 1;
    hawser_status status = HAWSER_OK;
    for (size_t l = 0; status == HAWSER_OK && l < record->lambda_count && record->rows[l].done; l++) {
        double weight = 0.0, errors = 0.0;
        if (!isnan(record->rows[l].error))
            continue;
        status = hw_linear_validation_errors(driver->linear, path != NULL ? path + l : alpha, stride,
                                             intercepts != NULL ? intercepts + l * q : &record->rows[l].intercept, &weight,
                                             &errors, error);
        record->rows[l].error = errors / weight;
    }
    return status;
}

/* Returns what the intercept of an output lacks as long as columns and targets lack their origins. `values`: coefficients of the output, `stride`
 * numbers from one column to the next. */
static double origin_share(const hw_linear_problem *problem, const double *origin, const double *values, size_t stride,
                           size_t output)
{
    long double share = problem->target_origin[output]; /* large terms cancel */
    for (size_t j = 0; origin != NULL && j < problem->X->cols; j++)
        share -= (long double)origin[j] * values[j * stride];
    return (double)share;
}

/* Makes intercepts for the columns and targets of the user from those for centred ones: of the rows if `intercepts` is NULL. */
static void uncentre(hw_linear_driver *driver, const double *origin, const double *alpha, const double *path,
                     double *intercepts)
{
    hw_linear_record *record = &driver->record;
    const hw_linear_problem *problem = &driver->linear->problem;
    size_t q = problem->outputs, stride = path != NULL ? record->most : 1;
    for (size_t l = 0; l < record->lambda_count; l++)
        for (size_t o = 0; o < q && record->rows[l].done; o++) {
            const double *values = (path != NULL ? path + l : alpha) + o * stride;
            double *intercept = intercepts != NULL ? &intercepts[l * q + o] : &record->rows[l].intercept;
            *intercept += origin_share(problem, origin, values, q * stride, o);
        }
}

static void fill_facts(const hw_linear_driver *driver, const hw_linear_row *row, hawser_training *training)
{
    const hw_linear_record *record = &driver->record;
    const hw_linear_kind *kind = driver->linear->problem.kind;
    double zero = record->whole_zero_objective;
    hawser_fact all[] = {{"objective", row->objective},
                         {"gap", row->gap},
                         {"lambda", row->lambda},
                         {"nonzeros", row->nonzeros},
                         {"lambda_max", record->lambda_max},
                         {kind->fit_name, zero > 0.0 ? 1.0 - (row->objective - row->penalty) / zero : 0.0}};
    size_t at = sizeof all / sizeof *all;
    memcpy(training->facts, all, sizeof all);
    if (driver->linear->problem.outputs == 1)
        training->facts[at++] = (hawser_fact){"intercept", row->intercept};
    if (row->precision)
        training->facts[at++] = (hawser_fact){"rounding", row->rounding};
    if (record->lambda_count > 1)
        training->facts[at++] = (hawser_fact){"lambdas", (double)record->lambda_count};
    if (!isnan(row->error))
        training->facts[at++] = (hawser_fact){record->folds == 0                      ? kind->validation_name
                                              : driver->linear->problem.error != NULL ? "cv_error"
                                                                                      : kind->cv_name,
                                              row->error};
    if (record->folds > 0 && !isnan(row->error))
        training->facts[at++] = (hawser_fact){"cv_standard_error", row->standard_error};
}

/* Notes that there was no time for a certificate. */
static void note_collected(const hw_linear_driver *driver)
{
    double grace = hawser_options_number(driver->options, "grace");
    if (isnan(driver->record.rest.gap))
        hw_linear_note(
            driver->training,
            "the model of the last clock has no certificate: that would have taken longer than --grace (%g s); its "
            "objective and gap are unknown",
            grace);
    else
        hw_linear_note(
            driver->training,
            "certifying the last clock would have taken longer than --grace (%g s): the model is the best certified "
            "one",
            grace);
}

/* Notes that the epochs of batches ended far from the optimum, and the remedy. */
static void note_distance(const hw_linear_driver *driver)
{
    const hw_linear_record *record = &driver->record;
    const hw_linear_choices *choices = &driver->linear->choices;
    const hw_linear_row *worst = NULL;
    for (size_t l = 0; l < record->lambda_count; l++) {
        const hw_linear_row *row = &record->rows[l];
        if (row->done && row->spent && (worst == NULL || row->gap > worst->gap))
            worst = row;
    }
    if (worst == NULL || !(worst->gap > FAR * record->whole_zero_objective))
        return;
    char cause[100] = "where columns have a few entries far larger than the rest, steps are short";
    if (hw_linear_lag(choices->sync) > 0.0)
        snprintf(cause, sizeof cause, "under --sync %.20s steps are short", hawser_options_text(driver->options, "sync"));
    if (choices->settings.rate > 0.0)
        snprintf(cause, sizeof cause, "--step %g may be too short", choices->settings.rate);
    hw_linear_note(driver->training,
                   "after %g epochs the objective is %.4g and its optimum at least %.4g: %s; --epochs %g trains longer, "
                   "--solver newton finds it whatever the columns' scales",
                   choices->settings.epochs, worst->objective,
                   worst->gap < worst->objective ? worst->objective - worst->gap : 0.0, cause,
                   10.0 * choices->settings.epochs);
}

/* Notes the largest gap that is left where no step lowers an objective, and what rounding may have changed it by. */
static void note_precision(const hw_linear_driver *driver)
{
    const hw_linear_record *record = &driver->record;
    const hw_linear_row *worst = NULL;
    for (size_t l = 0; l < record->lambda_count; l++)
        if (record->rows[l].done && record->rows[l].precision && (worst == NULL || record->rows[l].gap > worst->gap))
            worst = &record->rows[l];
    if (worst == NULL || record->failure != HW_LINEAR_SOUND)
        return;
    hw_linear_note(driver->training,
                   "no smaller objective was found within the precision of numbers; the gap that is left at lambda %.6g is "
                   "%.3g, which rounding may have changed by %.3g",
                   worst->lambda, worst->gap, worst->rounding);
}

static void fill_reason(const hw_linear_driver *driver, bool early)
{
    const hw_linear_record *record = &driver->record;
    hawser_training *training = driver->training;
    const hawser_figures *figures = hawser_run_figures(training->run);
    const char *reason = "gap";
    for (size_t l = 0; l < record->lambda_count; l++)
        if (record->rows[l].done && (record->rows[l].precision || record->rows[l].spent))
            reason = record->rows[l].spent ? "epochs" : "precision";
    if (record->stopped)
        reason = "early-stopping";
    note_distance(driver);
    if (strcmp(reason, "precision") == 0)
        note_precision(driver);
    if (record->failure == HW_LINEAR_STALLED)
        reason = "progress";
    if (early)
        reason = figures != NULL && figures->stop_reason != NULL ? figures->stop_reason : "limit";
    snprintf(training->stop_reason, sizeof training->stop_reason, "%s", reason);
    training->interrupted = early && strcmp(reason, "signal") == 0;
    if (training->failure.status != HAWSER_OK && record->failure != HW_LINEAR_STALLED)
        snprintf(training->stop_reason, sizeof training->stop_reason, "diverged");
}

hawser_status hw_linear_finish(hw_linear_driver *driver, const hawser_training_input *input, const double *alpha,
                               const double *means, bool early, hawser_error *error)
{
    hw_linear_record *record = &driver->record;
    const hw_linear_problem *problem = &driver->linear->problem;
    const hw_linear_settings *settings = &driver->linear->choices.settings;
    hawser_training *training = driver->training;
    const double *path = NULL;
    if (hw_linear_keeps_path(&driver->linear->choices) && record->rows[0].done) {
        HAWSER_TRY(hawser_result_fetch(training->run, "path", error));
        path = hawser_result(training->run, "path", NULL);
    }
    for (size_t l = 0; l < record->lambda_count; l++)
        if (!record->rows[l].done)
            record->rows[l].error = NAN;
    if (early && path == NULL) { /* not even the first lambda is complete: the model is that of the rest */
        record->rows[0] = record->rest;
        if (record->collected)
            note_collected(driver);
    }
    double *intercepts = NULL;
    hawser_status status = HAWSER_OK;
    if (problem->outputs > 1)
        status = find_intercepts(driver, alpha, path, means, &intercepts, error);
    if (status == HAWSER_OK && input->validation != NULL)
        status = validate(driver, alpha, path, intercepts, error);
    uncentre(driver, input->origin, alpha, path, intercepts);
    hw_linear_selection selection = hw_linear_select(record, settings->one_standard_error);
    hw_linear_fit fit = {.algorithm = problem->kind->name,
                         .l1_ratio = settings->l1_ratio,
                         .rows = record->rows,
                         .lambda_count = record->lambda_count,
                         .selection = selection,
                         .outputs = problem->outputs,
                         .alpha = alpha,
                         .path = path,
                         .stride = record->most,
                         .intercepts = intercepts,
                         .folds = record->folds,
                         .fold_errors = record->errors,
                         .fold_weights = record->fold_weights,
                         .metric = settings->metric,
                         .rule = settings->one_standard_error ? "1se" : "min",
                         .problem = problem};
    if (status == HAWSER_OK)
        status = hw_linear_model_make(&fit, input, &training->model, error);
    free(intercepts);
    if (status != HAWSER_OK)
        return status;
    fit.intercepts = NULL;
    HAWSER_TRY(hw_linear_crossed_put(&fit, training->model, error));
    hw_linear_crossed_lines(&fit, training);
    hw_linear_note_choice(&fit, settings, training);
    if (record->folds > 0 && !selection.crossed) /* the folds have not chosen the lambda */
        hw_linear_note(
            training,
            "--cv %u did not finish: lambda %.6g is the last finished one of the path, not chosen by cross-validation",
            (unsigned)record->folds, record->rows[selection.chosen].lambda);
    fill_facts(driver, &record->rows[selection.chosen], training);
    fill_reason(driver, early);
    return HAWSER_OK;
}
