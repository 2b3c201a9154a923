#include "algorithms/glm/crossed.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER = 40 }; /* bytes that a number takes at most */

static size_t finished(const hw_linear_fit *fit)
{
    size_t done = 0;
    while (done < fit->lambda_count && fit->rows[done].done)
        done++;
    return done;
}

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

static void append_list(growing *json, const char *key, const hw_linear_row *rows, size_t count, size_t field)
{
    append(json, ",\"%s\":[", key);
    for (size_t l = 0; l < count; l++) {
        append(json, l > 0 ? "," : "");
        append_number(json, *(const double *)((const char *)&rows[l] + field));
    }
    append(json, "]");
}

enum { LISTS = 4 };

static void append_all(growing *json, const hw_linear_fit *fit)
{
    static const struct {
        const char *key;
        size_t field;
    } lists[LISTS] = {{NULL, offsetof(hw_linear_row, lambda)},
                      {"error", offsetof(hw_linear_row, error)},
                      {"standard_error", offsetof(hw_linear_row, standard_error)},
                      {"nonzeros", offsetof(hw_linear_row, nonzeros)}};
    append(json, "{\"folds\":%u,\"metric\":\"%s\",\"rule\":\"%s\",\"%s_min\":", (unsigned)fit->folds, fit->metric, fit->rule,
           hw_linear_parameter(fit));
    append_number(json, fit->rows[fit->selection.least].lambda);
    append(json, ",\"%s_1se\":", hw_linear_parameter(fit));
    append_number(json, fit->rows[fit->selection.one_error].lambda);
    for (size_t k = 0; k < LISTS; k++)
        append_list(json, lists[k].key != NULL ? lists[k].key : hw_linear_parameter(fit), fit->rows, finished(fit),
                    lists[k].field);
    append(json, "}");
}

/* Adds the errors of the folds, which stand by fold in the record, by lambda. */
static hawser_status put_fold_errors(const hw_linear_fit *fit, hawser_model *model, hawser_error *error)
{
    size_t folds = fit->folds, lambdas = finished(fit);
    double *errors = malloc((lambdas * folds + 1) * sizeof *errors);
    if (errors == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the errors of %zu lambdas in %zu folds", lambdas, folds);
    for (size_t l = 0; l < lambdas; l++)
        for (size_t f = 0; f < folds; f++)
            errors[l * folds + f] = fit->fold_errors[f * fit->stride + l];
    hawser_status status =
        hawser_model_tensor(model, "cv.fold_errors", HAWSER_F64, (const size_t[2]){lambdas, folds}, errors, error);
    free(errors);
    if (status != HAWSER_OK)
        return status;
    return hawser_model_tensor(model, "cv.fold_weights", HAWSER_F64, (const size_t[2]){folds, 0}, fit->fold_weights, error);
}

hawser_status hw_linear_crossed_put(const hw_linear_fit *fit, hawser_model *model, hawser_error *error)
{
    growing json = {.size = 400 + LISTS * fit->lambda_count * NUMBER};
    if (!fit->selection.crossed)
        return HAWSER_OK;
    HAWSER_TRY(put_fold_errors(fit, model, error));
    json.text = malloc(json.size);
    if (json.text == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the errors of %zu lambdas", fit->lambda_count);
    append_all(&json, fit);
    hawser_status status = hawser_model_fact(model, "cv", json.text, error);
    free(json.text);
    return status;
}

static void closing_line(const hw_linear_fit *fit, const char *rule, size_t lambda, char *text, size_t size)
{
    const hw_linear_row *row = &fit->rows[lambda];
    snprintf(text, size, "  %-14s %-12.6g %-12.6g %-14.6g %.10g%s", rule, row->lambda, row->error, row->standard_error,
             row->nonzeros, strcmp(rule, fit->rule) == 0 ? " (the model)" : "");
}

void hw_linear_crossed_lines(const hw_linear_fit *fit, hawser_training *training)
{
    const hw_linear_selection *selection = &fit->selection;
    enum { SIZE = sizeof training->closing[0] };
    char title[40], errors[24];
    bool shares =
        strcmp(fit->metric, "auc") == 0 || strcmp(fit->metric, "accuracy") == 0; /* the error is 1 minus the share */
    if (!selection->crossed)
        return;
    snprintf(title, sizeof title, "cv, %u folds", (unsigned)fit->folds);
    snprintf(errors, sizeof errors, "%s%s", shares ? "1 - " : "", fit->metric);
    snprintf(training->closing[0], SIZE, "%-16s %-12s %-12s %-14s %s", title, hw_linear_parameter(fit), errors,
             "standard error", "columns");
    closing_line(fit, "min", selection->least, training->closing[1], SIZE);
    closing_line(fit, "1se", selection->one_error, training->closing[2], SIZE);
}

/* Notes that the least error is at the end of the path. An early end has its own note. */
static void note_end(const hw_linear_fit *fit, const hw_linear_settings *settings, hawser_training *training)
{
    size_t last = fit->lambda_count - 1;
    const hw_linear_row *rows = fit->rows;
    bool falls = fit->parameter == NULL || strcmp(fit->parameter, "C") != 0;
    char remedy[80] = "add smaller lambdas to --path";
    if (last == 0 || fit->selection.least != last)
        return;
    if (!falls)
        snprintf(remedy, sizeof remedy, "add larger ones to --path");
    else if (settings->path_list == NULL)
        snprintf(remedy, sizeof remedy, "--lambda-min-ratio %.1g goes on to smaller ones",
                 0.01 * rows[last].lambda / rows[0].lambda);
    hw_linear_note(training, "the least error on %s is that of the last %s of the path, %.4g: a %s one may have less; %s",
                   fit->selection.crossed ? "the held-out rows of --cv" : "the validation data", hw_linear_parameter(fit),
                   rows[last].lambda, falls ? "smaller" : "larger", remedy);
}

/* Notes that the chosen lambda leaves all coefficients at zero. */
static void note_empty(const hw_linear_fit *fit, hawser_training *training)
{
    const hw_linear_selection *selection = &fit->selection;
    const hw_linear_row *least = &fit->rows[selection->least];
    if (fit->rows[selection->chosen].nonzeros > 0.0)
        return;
    if (!(least->nonzeros > 0.0))
        hw_linear_note(training,
                       "the chosen lambda %.4g leaves no column in the model: on held-out rows no lambda of the path has a "
                       "lower error than the intercept alone",
                       fit->rows[selection->chosen].lambda);
    else
        hw_linear_note(training,
                       "the 1-se choice leaves no column in the model: its error is within one standard error of the least; "
                       "--cv-rule min takes lambda %.4g with %g column%s",
                       least->lambda, least->nonzeros, least->nonzeros == 1.0 ? "" : "s");
}

void hw_linear_note_choice(const hw_linear_fit *fit, const hw_linear_settings *settings, hawser_training *training)
{
    if (!fit->selection.measured || (fit->lambda_count == 1 && !fit->selection.crossed))
        return;
    note_end(fit, settings, training);
    note_empty(fit, training);
}
