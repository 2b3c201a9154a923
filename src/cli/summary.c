#include "cli/summary.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "program/program.h"
#include "runtime/job/enter.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static double fact_of(const hawser_training *training, const char *name)
{
    for (const hawser_fact *fact = training->facts; fact->name != NULL; fact++)
        if (strcmp(fact->name, name) == 0)
            return fact->value;
    return NAN;
}

void hw_outcome_titles(const hw_call *call, const hw_training_outcome *outcome, char *title, size_t title_size,
                       char *subtitle, size_t subtitle_size)
{
    char sync[HW_SYNC_TEXT];
    uint32_t workers = hawser_job_workers(outcome->job);
    const hawser_matrix *matrix = hawser_dataset_matrix(outcome->data);
    hw_sync_text(hawser_job_sync(outcome->job), sync);
    snprintf(title, title_size, "%s, %s, %u %s", call->algorithm->name, sync, workers, workers == 1 ? "worker" : "workers");
    int n = snprintf(subtitle, subtitle_size, "%zu rows, %zu columns", matrix->rows, matrix->cols);
    for (const hawser_metric_row *row = call->algorithm->metrics; row != NULL && row->name != NULL; row++) {
        double value = fact_of(&outcome->training, row->name);
        char text[100];
        if (!row->traced || !isfinite(value) || n < 0 || (size_t)n >= subtitle_size)
            continue;
        (void)hw_metric_text(row, value, text, sizeof text);
        n += snprintf(subtitle + n, subtitle_size - (size_t)n, "; %s", text);
    }
}

/* Returns the clocks of a training. A failed run has none, and neither has the run that certified the saved model, so the
 * job keeps them. */
static uint64_t clocks_of(const hw_training_outcome *outcome)
{
    uint64_t clocks = hawser_run_figures(outcome->training.run)->clocks;
    return clocks > 0 ? clocks : hw_job_failed_clocks(outcome->job);
}

static json_t *notes_json(const hawser_training *training, bool *ok)
{
    json_t *list = json_array();
    if (training->assumed[0] != '\0')
        hw_json_append(list, json_string(training->assumed), ok);
    for (size_t i = 0; i < HAWSER_NOTES && training->notes[i][0] != '\0'; i++)
        hw_json_append(list, json_string(training->notes[i]), ok);
    return list;
}

/* Appends `count` numbers to a list. */
static void append_numbers(json_t *list, const double *numbers, size_t count, bool *ok)
{
    for (size_t k = 0; k < count; k++)
        hw_json_append(list, hw_json_value(numbers[k]), ok);
}

/* Makes the object cv: the model's fact and the errors of the folds. */
static json_t *crossed(const hawser_model *model, const char *fact, bool *ok)
{
    json_t *object = json_loads(fact, 0, NULL), *errors = json_array(), *weights = json_array();
    size_t dims[2] = {0};
    const double *values = hawser_model_get(model, "cv.fold_errors", NULL, dims);
    for (size_t l = 0; values != NULL && l < dims[0]; l++) {
        json_t *line = json_array();
        append_numbers(line, values + l * dims[1], dims[1], ok);
        hw_json_append(errors, line, ok);
    }
    append_numbers(weights, hawser_model_get(model, "cv.fold_weights", NULL, NULL), dims[1], ok);
    hw_json_take(object, "fold_errors", errors, ok);
    hw_json_take(object, "fold_weights", weights, ok);
    return object;
}

static hawser_status print_json(const hw_call *call, const hw_training_outcome *outcome, hawser_error *error)
{
    const hawser_training *training = &outcome->training;
    bool ok = true;
    json_t *object = json_object();
    hw_json_text(object, "algorithm", call->algorithm->name, &ok);
    for (const hawser_metric_row *row = call->algorithm->metrics; row != NULL && row->name != NULL; row++)
        if (row->always)
            hw_json_number(object, row->name, NAN, &ok);
    for (const hawser_fact *fact = training->facts; fact->name != NULL; fact++)
        hw_json_number(object, fact->name, fact->value, &ok);
    const char *cv = hawser_model_text(training->model, "cv");
    if (cv != NULL)
        hw_json_take(object, "cv", crossed(training->model, cv, &ok), &ok);
    hw_json_count(object, "clocks", clocks_of(outcome), &ok);
    hw_json_number(object, "seconds_load", outcome->seconds_load, &ok);
    hw_json_number(object, "seconds_train", outcome->seconds_train, &ok);
    hw_json_run(object, outcome->job, training->run, training->stop_reason, outcome->data, &ok);
    hw_json_text(object, "model", outcome->saved, &ok);
    hw_json_text(object, "policy", training->policy[0] != '\0' ? training->policy : NULL, &ok);
    hw_json_take(object, "notes", notes_json(training, &ok), &ok);
    hw_json_take(object, "options", hw_json_options(call->options, &ok), &ok);
    return hw_json_line(call->out, object, ok, error);
}

/* ------------------------------------------------------------------------------------------------------ lines ---- */

static void print_lines(const hw_call *call, const hw_training_outcome *outcome)
{
    const hawser_training *training = &outcome->training;
    const hawser_figures *figures = hawser_run_figures(training->run);
    FILE *out = call->out;
    for (const hawser_fact *fact = training->facts; fact->name != NULL; fact++)
        if (isnan(fact->value))
            fprintf(out, "%-16s unknown\n", fact->name);
        else
            fprintf(out, "%-16s %.10g\n", fact->name, fact->value);
    for (size_t i = 0; i < HAWSER_CLOSING && training->closing[i][0] != '\0'; i++)
        fprintf(out, "%s\n", training->closing[i]);
    fprintf(out, "%-16s %" PRIu64 " in %.3g s (loading took %.3g s)\n", "clocks", clocks_of(outcome), outcome->seconds_train,
            outcome->seconds_load);
    fprintf(out, "%-16s %" PRIu64 "\n", "bytes exchanged", figures->bytes_exchanged);
    fprintf(out, "%-16s %s\n", "stopped by", training->stop_reason);
    if (outcome->saved != NULL)
        fprintf(out, "%-16s %s\n", "model", outcome->saved);
    else
        fprintf(out, "%-16s %s\n", "model",
                !hw_outcome_reached(outcome)         ? "none"
                : hw_path_of(call, "output") != NULL ? "lost"
                                                     : "not kept (-o MODEL keeps it)");
    hw_say_understood(call, outcome->data);
}

hawser_status hw_outcome_print_lost(const hw_call *call, const hw_training_outcome *outcome, const char *why,
                                    hawser_error *error)
{
    if (!hawser_options_flag(call->options, "json"))
        return HAWSER_OK;
    bool ok = true;
    json_t *object = json_object();
    hw_json_text(object, "algorithm", call->algorithm->name, &ok);
    hw_json_count(object, "nodes", hawser_job_nodes(outcome->job), &ok);
    hw_json_text(object, "stop_reason", "node-lost", &ok);
    hw_json_text(object, "error", why, &ok);
    hw_json_text(object, "model", outcome->saved, &ok);
    return hw_json_line(call->out, object, ok, error);
}

bool hw_outcome_reached(const hw_training_outcome *outcome)
{
    return !outcome->training.interrupted || hawser_run_figures(outcome->training.run)->clocks > 0;
}

static void print_load(const hawser_dataset *data, FILE *out)
{
    const hawser_load_figures *figures = hawser_dataset_figures(data);
    fprintf(out, "load: %zu rows, %" PRIu64 " bytes read, %" PRIu64 " rows moved to the node of their block\n",
            hawser_dataset_matrix(data)->rows, figures->bytes_read, figures->rows_moved);
}

hawser_status hw_outcome_print(const hw_call *call, const hw_training_outcome *outcome, hawser_error *error)
{
    if (!hw_outcome_reached(outcome))
        hw_say(call->err, "interrupted before the first clock was over; nothing was reached, and no model is written");
    else if (outcome->training.interrupted)
        hw_say(call->err, "interrupted; what was reached %s %s", outcome->saved != NULL ? "is saved in" : "is not saved:",
               outcome->saved != NULL               ? outcome->saved
               : hw_path_of(call, "output") != NULL ? "no file could be written"
                                                    : "no -o MODEL");
    if (!hawser_options_flag(call->options, "quiet"))
        print_lines(call, outcome);
    if (hawser_options_flag(call->options, "log-view")) {
        print_load(outcome->data, call->out);
        hawser_run_log_view(outcome->training.run, call->out);
    }
    return hawser_options_flag(call->options, "json") ? print_json(call, outcome, error) : HAWSER_OK;
}
