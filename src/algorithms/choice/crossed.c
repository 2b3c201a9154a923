#include "algorithms/choice/crossed.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/model/facts.h"

enum { NUMBER = 40 }; /* bytes that a number takes at most */

/* Text that grows up to `size` bytes, which are allocated. */
typedef struct growing {
    char *text;
    size_t size, length;
} growing;

static void append(growing *json, const char *format, ...) HAWSER_PRINTF(2, 3);
static void append(growing *json, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int added = vsnprintf(json->text + json->length, json->size - json->length, format, arguments);
    va_end(arguments);
    json->length += added > 0 ? (size_t)added : 0;
}

/* Appends a number as JSON, which has no infinity. */
static void append_number(growing *json, double value)
{
    char text[NUMBER];
    (void)hawser_print_number(text, sizeof text, value);
    append(json, "%s", isfinite(value) ? text : "null");
}

static const char *rule_of(const hw_fit *fit)
{
    return fit->choice->one_standard_error ? "1se" : "min";
}

static void append_list(growing *json, const char *key, const hw_member_row *rows, size_t count, size_t field)
{
    append(json, ",\"%s\":[", key);
    for (size_t l = 0; l < count; l++) {
        append(json, l > 0 ? "," : "");
        append_number(json, *(const double *)((const char *)&rows[l] + field));
    }
    append(json, "]");
}

enum { LISTS = 4 };

static void append_all(growing *json, const hw_fit *fit)
{
    static const struct {
        const char *key;
        size_t field;
    } lists[LISTS] = {{NULL, offsetof(hw_member_row, lambda)},
                      {"error", offsetof(hw_member_row, error)},
                      {"standard_error", offsetof(hw_member_row, standard_error)},
                      {"nonzeros", offsetof(hw_member_row, nonzeros)}};
    append(json, "{\"folds\":%u,\"metric\":\"%s\",\"rule\":\"%s\",\"%s_min\":", (unsigned)fit->results->folds,
           fit->choice->metric, rule_of(fit), hw_fit_parameter(fit));
    append_number(json, fit->results->rows[fit->selection.least].lambda);
    append(json, ",\"%s_1se\":", hw_fit_parameter(fit));
    append_number(json, fit->results->rows[fit->selection.one_error].lambda);
    for (size_t k = 0; k < LISTS; k++)
        append_list(json, lists[k].key != NULL ? lists[k].key : hw_fit_parameter(fit), fit->results->rows,
                    hw_results_finished(fit->results), lists[k].field);
    append(json, "}");
}

/* Adds the errors of the folds, which stand by fold in the record, by lambda. */
static hawser_status put_fold_errors(const hw_fit *fit, hawser_model *model, hawser_error *error)
{
    size_t folds = fit->results->folds, lambdas = hw_results_finished(fit->results);
    double *errors = malloc((lambdas * folds + 1) * sizeof *errors);
    if (errors == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the errors of %zu lambdas in %zu folds", lambdas, folds);
    for (size_t l = 0; l < lambdas; l++)
        for (size_t f = 0; f < folds; f++)
            errors[l * folds + f] = fit->results->errors[f * fit->results->most + l];
    hawser_status status =
        hawser_model_tensor(model, "cv.fold_errors", HAWSER_F64, (const size_t[2]){lambdas, folds}, errors, error);
    free(errors);
    HAWSER_TRY(status);
    return hawser_model_tensor(model, "cv.fold_weights", HAWSER_F64, (const size_t[2]){folds, 0}, fit->results->fold_weights,
                               error);
}

hawser_status hw_crossed_put(const hw_fit *fit, hawser_model *model, hawser_error *error)
{
    growing json = {.size = 400 + LISTS * fit->results->count * NUMBER};
    if (fit->results->folds == 0)
        return HAWSER_OK;
    if (!fit->selection.crossed) {
        HAWSER_TRY(hw_model_number_fact(model, "cv.planned", fit->results->folds, error));
        return hawser_model_fact(model, "cv.ended", fit->ended, error);
    }
    HAWSER_TRY(put_fold_errors(fit, model, error));
    json.text = malloc(json.size);
    if (json.text == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the errors of %zu lambdas", fit->results->count);
    append_all(&json, fit);
    hawser_status status = hawser_model_fact(model, "cv", json.text, error);
    free(json.text);
    return status;
}

static void closing_line(const hw_fit *fit, const char *rule, size_t lambda, char *text, size_t size)
{
    const hw_member_row *row = &fit->results->rows[lambda];
    snprintf(text, size, "  %-14s %-12.6g %-12.6g %-14.6g %.10g%s", rule, row->lambda, row->error, row->standard_error,
             row->nonzeros, strcmp(rule, rule_of(fit)) == 0 ? " (the model)" : "");
}

/* Makes the closing lines: both choices with their errors. */
static void close_with_errors(const hw_fit *fit, hawser_training *training)
{
    const hw_selection *selection = &fit->selection;
    enum { SIZE = sizeof training->closing[0] };
    char title[40], errors[24];
    const char *metric = fit->choice->metric;
    bool shares = strcmp(metric, "auc") == 0 || strcmp(metric, "accuracy") == 0; /* the error is 1 minus the share */
    snprintf(title, sizeof title, "cv, %u folds", (unsigned)fit->results->folds);
    snprintf(errors, sizeof errors, "%s%s", shares ? "1 - " : "", metric);
    snprintf(training->closing[0], SIZE, "%-16s %-12s %-12s %-14s %s", title, hw_fit_parameter(fit), errors,
             "standard error", "columns");
    closing_line(fit, "min", selection->least, training->closing[1], SIZE);
    closing_line(fit, "1se", selection->one_error, training->closing[2], SIZE);
}

/* Returns the name, in notes, of the rows whose errors choose the member of the path. */
static const char *held_out(const hw_fit *fit)
{
    return fit->selection.crossed ? "the held-out rows of --cv" : "the validation data";
}

/* Notes that the least error is at the end of the path. An early end has its own note. */
static void note_end(const hw_fit *fit, hawser_training *training)
{
    size_t last = fit->results->count - 1;
    const hw_member_row *rows = fit->results->rows;
    bool falls = fit->parameter == NULL || strcmp(fit->parameter, "C") != 0;
    char remedy[80] = "add smaller lambdas to --path";
    if (last == 0 || fit->selection.least != last)
        return;
    if (!falls)
        snprintf(remedy, sizeof remedy, "add larger ones to --path");
    else if (fit->choice->path_list == NULL)
        snprintf(remedy, sizeof remedy, "--lambda-min-ratio %.1g goes on to smaller ones",
                 0.01 * rows[last].lambda / rows[0].lambda);
    hw_note(training, "the least error on %s is that of the last %s of the path, %.4g: a %s one may have less; %s",
            held_out(fit), hw_fit_parameter(fit), rows[last].lambda, falls ? "smaller" : "larger", remedy);
}

/* Notes that the chosen member of the path leaves all coefficients at zero. */
static void note_empty(const hw_fit *fit, hawser_training *training)
{
    const hw_selection *selection = &fit->selection;
    const hw_member_row *least = &fit->results->rows[selection->least];
    const char *parameter = hw_fit_parameter(fit);
    if (fit->results->rows[selection->chosen].nonzeros > 0.0)
        return;
    if (!(least->nonzeros > 0.0))
        hw_note(training,
                "the chosen %s %.4g leaves no column in the model: on %s no %s of the path has a lower error than the "
                "intercept alone",
                parameter, fit->results->rows[selection->chosen].lambda, held_out(fit), parameter);
    else
        hw_note(training,
                "the 1-se choice leaves no column in the model: its error is within one standard error of the least; "
                "--cv-rule min takes %s %.4g with %g column%s",
                parameter, least->lambda, least->nonzeros, least->nonzeros == 1.0 ? "" : "s");
}

static void fill_facts(const hw_fit *fit, const char *name, hawser_fact *facts)
{
    const hw_member_row *chosen = &fit->results->rows[fit->selection.chosen];
    if (fit->selection.crossed) {
        facts[0] = (hawser_fact){name, chosen->error};
        facts[1] = (hawser_fact){"cv_standard_error", chosen->standard_error};
    } else if (fit->results->folds > 0)
        facts[0] = (hawser_fact){"cv_folds_finished", (double)fit->results->folds_done};
}

void hw_crossed_describe(const hw_fit *fit, const char *name, hawser_training *training, size_t at)
{
    unsigned folds = fit->results->folds;
    const char *parameter = hw_fit_parameter(fit);
    double chosen = fit->results->rows[fit->selection.chosen].lambda;
    size_t done = hw_results_finished(fit->results);
    fill_facts(fit, name, training->facts + at);
    if (fit->path != NULL && done < fit->planned && training->failure.status == HAWSER_OK && training->run != NULL)
        hw_note(training, "the training was ended (%s): the model has %zu of the path's %zu members", fit->ended, done,
                fit->planned); /* failures say it themselves */
    if (fit->selection.crossed)
        close_with_errors(fit, training);
    if (fit->selection.measured && (fit->results->count > 1 || fit->selection.crossed)) {
        note_end(fit, training);
        note_empty(fit, training);
    }
    if (folds > 0 && fit->path == NULL)
        hw_note(training, "--cv %u did not finish, nor did the first %s of the path, %.6g, which the model is for", folds,
                parameter, chosen);
    else if (folds > 0 && !fit->selection.crossed) /* the folds have not chosen the member */
        hw_note(training,
                "--cv %u did not finish: %s %.6g is the last finished one of the path, not chosen by cross-validation",
                folds, parameter, chosen);
}
