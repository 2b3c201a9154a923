#include "algorithms/glm/finish.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/choice/crossed.h"
#include "algorithms/choice/fit.h"
#include "algorithms/glm/coefficients.h"
#include "algorithms/glm/path.h"
#include "algorithms/glm/policy.h"
#include "algorithms/glm/validation.h"
#include "algorithms/model/facts.h"
#include "algorithms/model/given.h"
#include "hawser/advanced.h"
#include "hawser/kept_points.h"

static const double FAR = 0.1; /* of the objective at zero */

/* Returns the mean of a target over the rows that train. */
static double mean_target(const hw_linear_problem *problem, size_t output)
{
    double sum = 0.0;
    const double *target = problem->target + output * problem->X->rows;
    for (size_t i = 0; i < problem->X->rows; i++)
        if (!hw_linear_out(problem, i, 0))
            sum += (problem->weights != NULL ? problem->weights[i] : 1.0) * target[i];
    return sum / problem->total;
}

/* Returns advice on the options that help: shorter steps, or a larger sigma'. */
static const char *advice(const hw_linear_settings *settings, const hawser_options *options)
{
    if (settings->steps)
        return settings->rate > 0.0 ? "; lower --step" : "; set a shorter --step, or --sync bsp";
    if (settings->sigma > 0.0)
        return "; leave --sigma out, or raise it";
    if (settings->filtered)
        return "; use --filter none, no --quota and --encoding exact";
    bool bsp = strcmp(hawser_options_text(options, "sync"), "bsp") == 0 || hw_option_auto(options, "sync");
    return bsp ? "" : "; use --sync bsp";
}

/* Returns why rounding hides the optimum, and the remedy, if columns are far from zero without an intercept. */
static const char *far_hint(const hw_linear_driver *driver)
{
    return hawser_result_metric(driver->training->run, "far") > 0.0
               ? "; without an intercept, rounding hides what columns far from zero differ by: fit one, or subtract a "
                 "number near its mean from each column"
               : "";
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
                          "zero%s%s",
                          record->failed_lambda, record->failed_gap, record->failed_gap / record->whole_zero_objective, hint,
                          far_hint(driver));
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
                      driver->record.failed_lambda, value, hint);
}

/* Computes the intercepts of all lambdas from the means of the columns: by lambda, then by output. */
static hawser_status find_intercepts(const hw_linear_driver *driver, const double *alpha, const double *path,
                                     const double *means, double **out, hawser_error *error)
{
    const hw_linear_problem *problem = &driver->linear->problem;
    size_t q = problem->outputs, lambdas = driver->record.results.count, stride = driver->record.results.most;
    HAWSER_TRY(hw_linear_new_doubles(out, lambdas * q, error));
    for (size_t l = 0; driver->linear->choices.settings.intercept && l < lambdas; l++)
        for (size_t o = 0; o < q; o++) {
            double intercept = mean_target(problem, o);
            for (size_t j = 0; j < problem->X->cols; j++)
                intercept -= means[j] * (path != NULL ? path[(j * q + o) * stride + l] : alpha[j * q + o]);
            (*out)[l * q + o] = intercept;
        }
    return HAWSER_OK;
}

/* Computes the errors on the user's validation data of the lambdas that the run has not measured, as that of an early end.
 * `intercepts`: those of the rows if NULL. */
static hawser_status validate(hw_linear_driver *driver, const double *alpha, const double *path, const double *intercepts,
                              hawser_error *error)
{
    hw_linear_record *record = &driver->record;
    size_t q = driver->linear->problem.outputs, stride = path != NULL ? record->results.most : 1;
    hawser_status status = HAWSER_OK;
    for (size_t l = 0; status == HAWSER_OK && l < record->results.count && record->results.rows[l].done; l++) {
        double weight = 0.0, errors = 0.0;
        if (!isnan(record->results.rows[l].error))
            continue;
        status = hw_linear_validation_errors(driver->linear, path != NULL ? path + l : alpha, stride,
                                             intercepts != NULL ? intercepts + l * q : &record->results.rows[l].intercept,
                                             &weight, &errors, error);
        record->results.rows[l].error = errors / weight;
    }
    return status;
}

/* Returns what the intercept of an output lacks as long as columns and targets lack their origins. `values`: coefficients of
 * the output, `stride` numbers from one column to the next. */
static double origin_share(const hw_linear_problem *problem, const double *origin, const double *values, size_t stride,
                           size_t output)
{
    long double share = problem->target_origin[output]; /* large terms cancel */
    for (size_t j = 0; origin != NULL && j < problem->X->cols; j++)
        share -= (long double)origin[j] * values[j * stride];
    return (double)share;
}

/* Makes intercepts for the columns and targets of the user from those for centred ones: of the rows if `intercepts` is
 * NULL. */
static void uncentre(hw_linear_driver *driver, const double *origin, const double *alpha, const double *path,
                     double *intercepts)
{
    hw_linear_record *record = &driver->record;
    const hw_linear_problem *problem = &driver->linear->problem;
    size_t q = problem->outputs, stride = path != NULL ? record->results.most : 1;
    for (size_t l = 0; l < record->results.count; l++)
        for (size_t o = 0; o < q && record->results.rows[l].done; o++) {
            const double *values = (path != NULL ? path + l : alpha) + o * stride;
            double *intercept = intercepts != NULL ? &intercepts[l * q + o] : &record->results.rows[l].intercept;
            *intercept += origin_share(problem, origin, values, q * stride, o);
        }
}

/* Returns how many there are. */
static size_t fill_facts(const hw_linear_driver *driver, const hw_member_row *row, hawser_training *training)
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
    if (record->results.count > 1)
        training->facts[at++] = (hawser_fact){"lambdas", (double)record->results.count};
    if (!isnan(row->error) && record->results.folds == 0)
        training->facts[at++] = (hawser_fact){kind->validation_name, row->error};
    return at;
}

/* Notes that there was no time for a certificate of the last clock. */
static void note_unrested(const hw_linear_driver *driver)
{
    double grace = hawser_options_number(driver->options, "grace");
    if (isnan(driver->record.rest.gap))
        hw_note(driver->training,
                "the model of the last clock has no certificate: that would have taken longer than --grace (%g s); its "
                "objective and gap are unknown",
                grace);
    else
        hw_note(driver->training,
                "certifying the last clock would have taken longer than --grace (%g s): the model is the best certified "
                "one",
                grace);
}

/* Describes the result of a run that did not end by its tests. If it has no certificate of its own, it is a kept point.
 * If there is none (`kept` is false), it is the coefficients of the last clock; only their number and the intercept are
 * known. */
static void find_rest(hw_linear_driver *driver, const double *alpha, const double *means, bool kept)
{
    hw_linear_record *record = &driver->record;
    const hw_linear_problem *problem = &driver->linear->problem;
    if (record->rested)
        return;
    if (kept && record->valid_row.done) {
        record->rest = record->valid_row;
        record->rest.error = record->early.lowest;
        return;
    }
    record->rest = record->kept_row;
    if (kept)
        return;
    double intercept = record->last_intercept, lambda = hawser_result_metric(driver->training->run, "lambda");
    if (means != NULL && problem->outputs == 1) {
        intercept = mean_target(problem, 0);
        for (size_t j = 0; j < problem->X->cols; j++)
            intercept -= means[j] * alpha[j];
    }
    record->rest = (hw_member_row){.lambda = lambda >= 0.0 ? lambda : hw_linear_one_lambda(driver->linear, 0.0),
                                   .objective = NAN,
                                   .gap = NAN,
                                   .penalty = NAN,
                                   .intercept = intercept,
                                   .error = NAN,
                                   .done = true};
    for (size_t j = 0; j < problem->X->cols; j++)
        record->rest.nonzeros += hw_any(alpha + j * problem->outputs, problem->outputs);
}

/* Notes that the epochs of batches ended far from the optimum, and the remedy. */
static void note_distance(const hw_linear_driver *driver)
{
    const hw_linear_record *record = &driver->record;
    const hw_linear_choices *choices = &driver->linear->choices;
    const hw_member_row *worst = NULL;
    for (size_t l = 0; l < record->results.count; l++) {
        const hw_member_row *row = &record->results.rows[l];
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
    hw_note(driver->training,
            "after %g epochs the objective is %.4g and its optimum at least %.4g: %s; --epochs %g trains longer, "
            "--solver newton finds it whatever the columns' scales",
            choices->settings.epochs, worst->objective, worst->gap < worst->objective ? worst->objective - worst->gap : 0.0,
            cause, 10.0 * choices->settings.epochs);
}

/* Notes the largest gap that is left where no step lowers an objective, and what rounding may have changed it by. */
static void note_precision(const hw_linear_driver *driver)
{
    const hw_linear_record *record = &driver->record;
    const hw_member_row *worst = NULL;
    for (size_t l = 0; l < record->results.count; l++)
        if (record->results.rows[l].done && record->results.rows[l].precision &&
            (worst == NULL || record->results.rows[l].gap > worst->gap))
            worst = &record->results.rows[l];
    if (worst == NULL || record->failure != HW_LINEAR_SOUND)
        return;
    hw_note(driver->training,
            "no smaller objective was found within the precision of numbers; the gap that is left at lambda %.6g is "
            "%.3g, which rounding may have changed by %.3g%s",
            worst->lambda, worst->gap, worst->rounding, far_hint(driver));
}

/* Returns whether all targets are zero. */
static bool all_zero(const hw_linear_problem *problem)
{
    for (size_t i = 0; i < problem->X->rows; i++)
        if (problem->target[i] != 0.0)
            return false;
    return true;
}

/* Notes that the optimum is at infinity, by a loss that is no larger than the tolerance: columns without a penalty separate
 * the classes, or lower the means of counts that are all zero. */
static void note_infinite(const hw_linear_driver *driver, const hw_member_row *row)
{
    const hw_linear_problem *problem = &driver->linear->problem;
    double enough = driver->linear->choices.settings.tolerance * driver->record.whole_zero_objective;
    if (problem->kind->loss == NULL || problem->free_count == 0 || !(row->objective - row->penalty <= enough))
        return;
    if (problem->kind->classes || all_zero(problem))
        hw_note(
            driver->training,
            "columns without a penalty %s: the optimum is at infinity, and these coefficients grow as --tol falls; a small "
            "penalty makes it finite",
            problem->kind->classes ? "separate the classes" : "fit counts that are all zero");
}

static void fill_reason(const hw_linear_driver *driver, bool early)
{
    const hw_linear_record *record = &driver->record;
    hawser_training *training = driver->training;
    const hawser_figures *figures = hawser_run_figures(training->run);
    const char *reason = "gap";
    for (size_t l = 0; l < record->results.count; l++)
        if (record->results.rows[l].done && (record->results.rows[l].precision || record->results.rows[l].spent))
            reason = record->results.rows[l].spent ? "epochs" : "precision";
    if (record->stopped)
        reason = "early-stopping";
    note_distance(driver);
    if (strcmp(reason, "precision") == 0)
        note_precision(driver);
    if (record->failure == HW_LINEAR_STALLED)
        reason = "progress";
    if (early)
        reason = figures == NULL ? "node-lost" : figures->stop_reason != NULL ? figures->stop_reason : "limit";
    snprintf(training->stop_reason, sizeof training->stop_reason, "%s", reason);
    training->interrupted = early && strcmp(reason, "signal") == 0;
    if (training->failure.status != HAWSER_OK && record->failure != HW_LINEAR_STALLED)
        snprintf(training->stop_reason, sizeof training->stop_reason, "diverged");
}

hawser_status hw_linear_finish(hw_linear_driver *driver, const hawser_training_input *input,
                               const hw_linear_reached *reached, hawser_error *error)
{
    hw_linear_record *record = &driver->record;
    const hw_linear_problem *problem = &driver->linear->problem;
    const hw_linear_settings *settings = &driver->linear->choices.settings;
    hawser_training *training = driver->training;
    const double *alpha = reached->alpha, *path = reached->path;
    for (size_t l = 0; l < record->results.count; l++)
        if (!record->results.rows[l].done)
            record->results.rows[l].error = NAN;
    if (reached->early && path == NULL) { /* not even the first lambda is complete: the model is that of the rest */
        find_rest(driver, alpha, reached->means, hawser_run_kept(training->run));
        record->results.rows[0] = record->rest;
        if (!record->rested && !record->valid_row.done && training->failure.status == HAWSER_OK)
            note_unrested(driver);
    }
    double *found = NULL, *intercepts = reached->intercepts;
    hawser_status status = HAWSER_OK;
    if (problem->outputs > 1 && intercepts == NULL) {
        status = find_intercepts(driver, alpha, path, reached->means, &found, error);
        intercepts = found;
    }
    if (status == HAWSER_OK && input->validation != NULL)
        status = validate(driver, alpha, path, intercepts, error);
    uncentre(driver, input->origin, alpha, path, intercepts);
    hw_selection selection = hw_linear_select(record, settings->choice.one_standard_error);
    fill_reason(driver, reached->early);
    hw_fit fit = {.results = &record->results,
                  .selection = selection,
                  .outputs = problem->outputs,
                  .alpha = alpha,
                  .path = path,
                  .intercepts = intercepts,
                  .choice = &settings->choice,
                  .planned = reached->planned,
                  .ended = training->stop_reason};
    HAWSER_THEN(status, hw_fit_make(&fit, problem->kind->name, settings->l1_ratio, input, &training->model, error));
    if (status == HAWSER_OK && problem->kind->model_facts != NULL)
        status = problem->kind->model_facts(problem, training->model, error);
    HAWSER_THEN(status, hw_crossed_put(&fit, training->model, error));
    free(found);
    HAWSER_TRY(status);
    note_infinite(driver, &record->results.rows[selection.chosen]);
    size_t facts = fill_facts(driver, &record->results.rows[selection.chosen], training);
    hw_crossed_describe(&fit, problem->error != NULL ? "cv_error" : problem->kind->cv_name, training, facts);
    return HAWSER_OK;
}
