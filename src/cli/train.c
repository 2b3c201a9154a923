/* train.c - hawser train: loads, trains with an observer, saves, and prints the results. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/option_value.h"
#include "checkpoint/log.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/plot.h"
#include "cli/plot_check.h"
#include "cli/plot_path.h"
#include "cli/rescue.h"
#include "cli/summary.h"
#include "hawser/job_data.h"
#include "program/change.h"
#include "program/program.h"
#include "runtime/job/enter.h"
#include "runtime/job/signals.h"

const hawser_option *hw_train_rows(void)
{
    static const hawser_option rows[] = {
        {"output", HAWSER_PATH, NULL, NULL, "MODEL", "file of the model; the model is not kept if unset", NULL, 'o'},
        HW_INIT_ROW,
        HW_VALIDATION_ROW(NULL),
        {"json", HAWSER_FLAG, "no", NULL, NULL, "print one JSON object on the last line", NULL, 0},
        {"quiet", HAWSER_FLAG, "no", NULL, NULL, "no progress and no closing lines", NULL, 'q'},
        {"trace", HAWSER_PATH, NULL, NULL, "FILE",
         "during the training, write a CSV line whenever the clock or a number of the progress line changes", "Logs", 0},
        {"plot", HAWSER_PATH, NULL, NULL, "FILE",
         "draw errors and coefficients of a path, else the metrics over time, as .svg or .png", NULL, 0},
        {"log-view", HAWSER_FLAG, "no", NULL, NULL,
         "print a table at the end: count, time and bytes of each event, waits, staleness", "Logs", 0},
        {"log-json", HAWSER_PATH, NULL, NULL, "FILE", "during the training, write one line of JSON per event", "Logs", 0},
        {0},
    };
    return rows;
}

typedef struct beginning {
    const hw_call *call;
    hw_monitor *monitor;
} beginning;

/* Checks the outputs first: hours of training must not end at a path that cannot be written. Only node 0 writes, so other
 * hosts need no such path. */
static hawser_status begin_outputs(void *argument, hawser_error *error)
{
    const beginning *b = argument;
    HAWSER_TRY(hw_check_outputs(b->call, error));
    HAWSER_TRY(hw_check_writable(hw_path_of(b->call, "output"), error));
    HAWSER_TRY(hw_plot_check("plot", hw_path_of(b->call, "plot"), error));
    HAWSER_TRY(hw_check_writable(hw_path_of(b->call, "plot"), error));
    return hw_monitor_begin(b->monitor, b->call, error);
}

static void log_load(hw_monitor *monitor, const hawser_dataset *data)
{
    bool ok = true;
    json_t *event = hw_monitor_event(monitor, "load", &ok);
    if (event == NULL)
        return;
    hw_json_count(event, "rows", hawser_dataset_matrix(data)->rows, &ok);
    hw_json_count(event, "columns", hawser_dataset_matrix(data)->cols, &ok);
    hw_json_count(event, "stored", hawser_dataset_matrix(data)->stored, &ok);
    hw_json_count(event, "bytes_read", hawser_dataset_figures(data)->bytes_read, &ok);
    hw_json_count(event, "rows_moved", hawser_dataset_figures(data)->rows_moved, &ok);
    hw_monitor_log(monitor, event, ok);
}

static void log_note(hw_monitor *monitor, const char *text)
{
    bool ok = true;
    json_t *note = text[0] != '\0' ? hw_monitor_event(monitor, "note", &ok) : NULL;
    if (note != NULL)
        hw_json_text(note, "text", text, &ok);
    hw_monitor_log(monitor, note, ok);
}

static void log_changes(hw_monitor *monitor, const hawser_figures *figures)
{
    for (size_t i = 0; figures != NULL && i < figures->change_count; i++) {
        const hawser_policy_change *change = &figures->changes[i];
        bool ok = true;
        json_t *event = hw_monitor_event(monitor, "policy", &ok);
        if (event == NULL)
            return;
        hw_json_text(event, "loop", change->loop, &ok);
        hw_json_count(event, "clock", change->clock, &ok);
        hw_json_count(event, "run", change->run, &ok);
        for (size_t k = 0; k < HAWSER_FIT_METRICS && change->fit[k].metric[0] != '\0'; k++)
            hw_json_number(event, change->fit[k].metric, change->fit[k].value, &ok);
        if (change->share[1] > 0)
            hw_json_count(event, "block", change->block, &ok);
        else if (change->state[0] != '\0')
            hw_json_text(event, "state", change->state, &ok);
        const hw_change_words words = hw_change_in_words(change);
        char old[40];
        (void)snprintf(old, sizeof old, "old_%s", words.what);
        hw_json_change(event, old, words.what, &words, &ok);
        hw_json_text(event, "by", change->by, &ok);
        if (change->reason[0] != '\0')
            hw_json_text(event, "reason", change->reason, &ok);
        hw_monitor_log(monitor, event, ok);
    }
    if (figures != NULL && figures->changes_left_out != 0) {
        char text[80];
        (void)snprintf(text, sizeof text, "%" PRIu64 " later changes of policies are not listed", figures->changes_left_out);
        log_note(monitor, text);
    }
}

static void log_end(hw_monitor *monitor, const hawser_training *training)
{
    hw_monitor_accept(monitor);
    log_note(monitor, training->assumed);
    for (size_t i = 0; i < HAWSER_NOTES && training->notes[i][0] != '\0'; i++)
        log_note(monitor, training->notes[i]);
    if (training->run != NULL)
        log_changes(monitor, hawser_run_figures(training->run));
    bool ok = true;
    json_t *event = hw_monitor_event(monitor, "end", &ok);
    if (event != NULL) {
        hw_json_text(event, "stop_reason", training->stop_reason, &ok);
        for (const hawser_fact *fact = training->facts; fact->name != NULL; fact++)
            hw_json_number(event, fact->name, fact->value, &ok);
    }
    hw_monitor_log(monitor, event, ok);
}

static hawser_status train(hw_call *call, hw_training_outcome *outcome, hawser_error *error)
{
    hawser_training_input input = {.options = call->options,
                                   .data = outcome->data,
                                   .validation = outcome->validation,
                                   .init = outcome->init,
                                   .observer = hawser_job_leads(outcome->job) ? hw_monitor_observe : NULL,
                                   .observer_user = &outcome->monitor,
                                   .result_on_lead = true};
    double started = hw_seconds();
    outcome->monitor.training = &outcome->training;
    hawser_job_last_run(outcome->job); /* trainings have one run with a loop */
    hawser_status status = hawser_train(call->algorithm, outcome->job, &input, &outcome->training, error);
    outcome->seconds_train = hw_seconds() - started;
    if (!hawser_job_leads(outcome->job))
        return status;
    hw_monitor_rest(&outcome->monitor);
    hw_monitor_print_notes(&outcome->monitor);
    if (status == HAWSER_OK)
        log_end(&outcome->monitor, &outcome->training);
    return status;
}

/* Saves model and plot. If the model's file could not be written, the reason is in *unsaved, and the other outputs are
 * written all the same. */
static hawser_status save(hw_call *call, hw_training_outcome *outcome, hawser_error *unsaved, hawser_error *error)
{
    const char *path = hw_path_of(call, "output"), *plot = hw_path_of(call, "plot");
    char title[120], subtitle[200];
    outcome->saved = path;
    if (path != NULL &&
        hw_rescue_model(call, outcome->job, outcome->training.model, path, &outcome->rescued, unsaved) != HAWSER_OK)
        outcome->saved = outcome->rescued;
    if (plot == NULL)
        return HAWSER_OK;
    bool members = false;
    HAWSER_TRY(hw_plot_has_path(outcome->training.model, &members, error));
    if (members)
        return hw_plot_path_write(plot, outcome->training.model, error);
    hw_outcome_titles(call, outcome, title, sizeof title, subtitle, sizeof subtitle);
    return hw_plot_write(plot, title, subtitle, &outcome->monitor.watched, outcome->monitor.samples, outcome->monitor.count,
                         error);
}

/* Saves and prints the results, on node 0 only. */
static hawser_status conclude(hw_call *call, hw_training_outcome *outcome, hawser_error *error)
{
    call->interrupted = outcome->training.interrupted;
    hawser_error unsaved = {0};
    hawser_status status = hw_outcome_reached(outcome) ? save(call, outcome, &unsaved, error) : HAWSER_OK;
    HAWSER_THEN(status, hw_monitor_end(&outcome->monitor, error));
    HAWSER_THEN(status, hw_outcome_print(call, outcome, error));
    return unsaved.status == HAWSER_OK ? status : hawser_fail(error, unsaved.status, "%s", unsaved.text);
}

/* Fails a training that diverged, after its best certified model is saved. Only node 0 fails: launchers end a job when any
 * node fails, and node 0 may still be writing. */
static hawser_status report_failure(const hw_training_outcome *outcome, hawser_error *error)
{
    const hawser_error *failure = &outcome->training.failure;
    if (failure->status == HAWSER_OK)
        return HAWSER_OK;
    return hawser_fail(error, failure->status, "%s; the best certified model %s%s", failure->text,
                       outcome->saved != NULL ? "is in " : "was not kept (-o MODEL keeps it)",
                       outcome->saved != NULL ? outcome->saved : "");
}

/* Saves the finished members of a path, after the loss of a node. */
static hawser_status save_finished(hw_call *call, hw_training_outcome *outcome, hawser_error *error)
{
    hawser_error why = *error, unsaved = {0}, other = {0};
    if (save(call, outcome, &unsaved, &other) != HAWSER_OK || unsaved.status != HAWSER_OK)
        return hawser_fail(error, why.status, "%.700s; %.200s", why.text,
                           unsaved.text[0] != '\0' ? unsaved.text : other.text);
    return hawser_fail(error, why.status, "%.700s; it %s%s", why.text,
                       outcome->saved != NULL ? "is in " : "was not kept (-o MODEL keeps it)",
                       outcome->saved != NULL ? outcome->saved : "");
}

/* The node that got the signal itself has printed a line at that time. */
static void report_interrupted_node(const hw_call *call, const hw_training_outcome *outcome)
{
    char name[20];
    const hawser_figures *figures = outcome->training.run != NULL ? hawser_run_figures(outcome->training.run) : NULL;
    if (figures == NULL || figures->interrupted_by == NULL || hw_interrupt_came(call->interrupt))
        return;
    const char *by = hw_signal_name(figures->interrupted_signal, name, sizeof name);
    hw_say(call->err, "%s was asked to end%s%s, and ended the training on all nodes", figures->interrupted_by,
           by != NULL ? " by " : "", by != NULL ? by : "");
}

/* A signal ends the training but not the saving of its result. */
static hawser_status train_and_conclude(hw_call *call, hw_training_outcome *outcome, hawser_error *error)
{
    hw_interrupt_begin(call->interrupt, outcome->job, "ending at the next agreed clock");
    hawser_status status = train(call, outcome, error);
    report_interrupted_node(call, outcome);
    if ((status == HAWSER_PEER_LOST || status == HAWSER_TIMEOUT) && outcome->training.model != NULL)
        status = save_finished(call, outcome, error);
    if (status == HAWSER_OK && hawser_job_leads(outcome->job))
        status = conclude(call, outcome, error);
    if (status == HAWSER_OK && hawser_job_leads(outcome->job))
        status = report_failure(outcome, error);
    (void)fflush(call->out); /* write errors show when the stream is closed */
    hw_interrupt_end(call->interrupt);
    return status;
}

static hawser_status run(hw_call *call, hw_training_outcome *outcome, hawser_error *error)
{
    beginning b = {call, &outcome->monitor};
    HAWSER_TRY(hw_open_job(call, begin_outputs, &b, &outcome->job, error));
    hw_interrupt_set_job(call->interrupt, outcome->job);
    bool leads = hawser_job_leads(outcome->job);
    outcome->monitor.job = outcome->job;
    for (size_t i = 0; leads && i < HW_LOGS; i++)
        HAWSER_TRY(hw_job_keep_log(outcome->job, i, hw_path_of(call, hw_log_options[i]), error));
    double started = hw_seconds();
    HAWSER_TRY(hw_load_init(call, outcome->job, &outcome->init, error));
    HAWSER_TRY(hw_load_shares(call, outcome->job, &outcome->data, error));
    HAWSER_TRY(hw_load_validation(call, outcome->job, outcome->data, &outcome->validation, error));
    outcome->seconds_load = hw_seconds() - started;
    if (leads)
        log_load(&outcome->monitor, outcome->data);
    return train_and_conclude(call, outcome, error);
}

/* Reports a lost node, which ended the job, to readers of --log-json and --json. A failure to write matters less than the
 * loss. */
static void report_loss(const hw_call *call, hw_training_outcome *outcome, const char *why)
{
    hawser_error ignored;
    bool ok = true;
    hw_monitor_accept(&outcome->monitor);
    json_t *event = hw_monitor_event(&outcome->monitor, "end", &ok);
    if (event != NULL) {
        hw_json_text(event, "stop_reason", "node-lost", &ok);
        hw_json_text(event, "error", why, &ok);
    }
    hw_monitor_log(&outcome->monitor, event, ok);
    (void)!hw_outcome_print_lost(call, outcome, why, &ignored);
}

hawser_status hw_train(hw_call *call, hawser_error *error)
{
    hw_training_outcome outcome = {0};
    hw_interrupt_words(call->interrupt, "before the training began; no model is written");
    hawser_status status = run(call, &outcome, error);
    if (status == HAWSER_PEER_LOST && outcome.job != NULL && hawser_job_leads(outcome.job))
        report_loss(call, &outcome, error->text);
    hawser_model_free(outcome.training.model);
    hawser_run_free(outcome.training.run);
    hawser_model_free(outcome.init);
    hawser_dataset_free(outcome.validation);
    hawser_dataset_free(outcome.data);
    hw_interrupt_set_job(call->interrupt, NULL);
    if (outcome.job != NULL && status != HAWSER_OK)
        hw_job_keep_checkpoints(outcome.job); /* the model may not be saved */
    hawser_close(outcome.job);
    hw_monitor_free(&outcome.monitor);
    free(outcome.rescued);
    return status;
}
