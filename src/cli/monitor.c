#include "cli/monitor.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "checkpoint/log.h"
#include "cli/input.h"
#include "program/program.h"
#include "runtime/job/enter.h"

enum { MOST_SAMPLES = 20000 };

static hw_sample sample_of_nothing(void)
{
    hw_sample sample = {.clock = NAN, .seconds = NAN, .bytes = NAN, .staleness = NAN, .ends = SIZE_MAX, .target = NAN};
    for (size_t k = 0; k < HAWSER_TRACED; k++)
        sample.value[k] = NAN;
    return sample;
}

hawser_status hw_watched_of(const hawser_metric_row *rows, hw_watched *watched, hawser_error *error)
{
    *watched = (hw_watched){0};
    for (; rows != NULL && rows->name != NULL; rows++) {
        if (!rows->traced && !rows->progress && rows->axis == NULL && rows->target == NULL)
            continue;
        if (watched->count == HAWSER_TRACED)
            return hawser_fail(error, HAWSER_INTERNAL, "metric '%s' is one more than the %d that can be traced", rows->name,
                               HAWSER_TRACED);
        watched->row[watched->count++] = rows;
    }
    return HAWSER_OK;
}

int hw_metric_text(const hawser_metric_row *row, double value, char *text, size_t size)
{
    return snprintf(text, size, row->exponent ? "%s %.2e" : "%s %.6g", row->name, value);
}

static void keep_failure(hw_monitor *monitor, const char *path)
{
    if (monitor->error.status == HAWSER_OK)
        (void)hawser_fail(&monitor->error, HAWSER_IO, "cannot write '%s': %s", path, strerror(errno));
}

static double limit_of(const hawser_options *options, const char *key)
{
    if (!hawser_options_has(options, key))
        return NAN;
    double number = hawser_options_number(options, key);
    return number > 0 ? number : (double)hawser_options_integer(options, key);
}

static hawser_status begin_trace(hw_monitor *monitor, const char *path, bool appends, hawser_error *error)
{
    const char *names[HAWSER_TRACED];
    size_t count = 0;
    for (size_t k = 0; k < monitor->watched.count; k++)
        if (monitor->watched.row[k]->traced)
            names[count++] = monitor->watched.row[k]->name;
    return hw_trace_begin(&monitor->trace, path, appends, names, count, error);
}

hawser_status hw_monitor_begin(hw_monitor *monitor, const hw_call *call, hawser_error *error)
{
    const hawser_options *options = call->options;
    bool quiet = hawser_options_flag(options, "quiet"), terminal = isatty(fileno(call->err)) == 1;
    *monitor = (hw_monitor){.last = sample_of_nothing(),
                            .options = options,
                            .started = hw_seconds(),
                            .keep = hawser_options_has(options, "plot")};
    monitor->progress = (hw_progress_line){.err = call->err,
                                           .bar = terminal && !quiet,
                                           .lines = !terminal && !quiet,
                                           .watched = &monitor->watched,
                                           .clocks = limit_of(options, "max-clocks"),
                                           .limit = limit_of(options, "time-limit")};
    HAWSER_TRY(hw_watched_of(call->algorithm->metrics, &monitor->watched, error));
    monitor->events_path = hw_path_of(call, "log-json");
    bool appends = hw_trace_goes_on(options);
    HAWSER_TRY(begin_trace(monitor, hw_path_of(call, "trace"), appends, error));
    if (monitor->events_path != NULL) {
        HAWSER_TRY(hw_log_open(monitor->events_path, &monitor->events, error));
        HAWSER_TRY(hw_text_open(&monitor->early, error));
    }
    bool ok = true;
    json_t *event = hw_monitor_event(monitor, "start", &ok);
    if (event != NULL) {
        hw_json_text(event, "version", hawser_version(), &ok);
        hw_json_text(event, "algorithm", call->algorithm->name, &ok);
        hw_json_take(event, "options", hw_json_options(options, &ok), &ok);
    }
    hw_monitor_log(monitor, event, ok);
    return HAWSER_OK;
}

/* Returns the seconds of a run until the checkpoint from which it went on. */
static double before(const hw_monitor *monitor)
{
    hw_resumed from;
    return monitor->job != NULL && hw_job_resumed(monitor->job, &from) ? from.seconds : 0;
}

json_t *hw_monitor_event(const hw_monitor *monitor, const char *name, bool *ok)
{
    if (monitor->events == NULL)
        return NULL;
    json_t *event = json_object();
    hw_json_text(event, "event", name, ok);
    hw_json_number(event, "seconds", hw_seconds() - monitor->started + before(monitor), ok);
    return event;
}

/* Ends the early events and writes them, unless the log has those of the process before. */
static void write_early(hw_monitor *monitor, bool wanted)
{
    char *text = NULL;
    hawser_error error = {0};
    if (monitor->early.file == NULL)
        return;
    hawser_status status = hw_text_close(&monitor->early, HAWSER_OK, &text, &error);
    monitor->early.file = NULL;
    if (status == HAWSER_OK && wanted && (fputs(text, monitor->events) == EOF || fflush(monitor->events) != 0))
        keep_failure(monitor, monitor->events_path);
    if (status != HAWSER_OK && wanted && monitor->error.status == HAWSER_OK)
        monitor->error = error;
    free(text);
}

void hw_monitor_accept(hw_monitor *monitor)
{
    hw_resumed from;
    if (monitor->accepted)
        return;
    monitor->accepted = true;
    hw_trace_accept(&monitor->trace);
    if (monitor->events != NULL && !monitor->trace.appends)
        hw_log_clear(monitor->events);
    write_early(monitor, monitor->job == NULL || !hw_job_resumed(monitor->job, &from));
}

void hw_monitor_log(hw_monitor *monitor, json_t *event, bool ok)
{
    hawser_error error = {0};
    if (event == NULL)
        return;
    if (hw_json_line(monitor->accepted ? monitor->events : monitor->early.file, event, ok, &error) == HAWSER_OK ||
        monitor->error.status != HAWSER_OK)
        return;
    (void)hawser_fail(&monitor->error, error.status, "%s: %.600s", monitor->events_path, error.text);
}

static void trace_sample(hw_monitor *monitor, const hawser_progress *progress, const hw_sample *sample)
{
    const hw_trace_line line = {sample->clock, sample->seconds, sample->bytes, sample->staleness};
    double values[HAWSER_TRACED];
    size_t count = 0;
    for (size_t k = 0; k < monitor->watched.count; k++)
        if (monitor->watched.row[k]->traced)
            values[count++] = sample->value[k];
    hw_trace_add(&monitor->trace, progress, &line, values, count);
}

static bool differs(double a, double b)
{
    return isfinite(a) && !(a == b);
}

/* Returns whether a number of the progress line has changed. */
static bool is_news(const hw_monitor *monitor, const hw_sample *sample)
{
    for (size_t k = 0; k < monitor->watched.count; k++)
        if (monitor->watched.row[k]->progress && differs(sample->value[k], monitor->last.value[k]))
            return true;
    return false;
}

/* Keeps a sample; drops every second one if there are more than any plot can show. */
static void keep_sample(hw_monitor *monitor, const hw_sample *sample)
{
    if (!monitor->keep || !is_news(monitor, sample))
        return;
    if (monitor->count >= MOST_SAMPLES) {
        for (size_t i = 0; i < monitor->count / 2; i++)
            monitor->samples[i] = monitor->samples[2 * i];
        monitor->count /= 2;
    }
    hawser_error error = {0};
    if (HW_GROW(&monitor->samples, &monitor->capacity, monitor->count + 1, "the plot's samples", &error) == HAWSER_OK)
        monitor->samples[monitor->count++] = *sample;
    else if (monitor->error.status == HAWSER_OK)
        monitor->error = error;
}

static void log_clock(hw_monitor *monitor, const hawser_progress *progress, const hw_sample *sample)
{
    static const char *const waits[] = {"wait_input", "wait_credit", "wait_reduction"};
    bool ok = true;
    json_t *event = hw_monitor_event(monitor, "clock", &ok);
    if (event == NULL)
        return;
    hw_json_text(event, "loop", hawser_progress_loop(progress), &ok);
    hw_json_number(event, "clock", sample->clock, &ok);
    for (size_t k = 0; k < monitor->watched.count; k++)
        if (monitor->watched.row[k]->traced)
            hw_json_number(event, monitor->watched.row[k]->name, sample->value[k], &ok);
    hw_json_number(event, "bytes", sample->bytes, &ok);
    hw_json_number(event, "staleness", sample->staleness, &ok);
    for (size_t k = 0; k < sizeof waits / sizeof *waits; k++)
        hw_json_number(event, waits[k], hawser_progress_metric(progress, waits[k]), &ok);
    hw_monitor_log(monitor, event, ok);
}

/* Prints a line in place of the bar, which is drawn again. */
static void say(const hw_progress_line *progress, const char *text)
{
    if (progress->bar)
        (void)fputs("\r\033[K", progress->err);
    hw_say(progress->err, "%s", text);
}

void hw_monitor_print_notes(hw_monitor *monitor)
{
    const hawser_training *training = monitor->training;
    const hw_progress_line *progress = &monitor->progress;
    if (training == NULL)
        return;
    if (!monitor->printed_policy && training->policy[0] != '\0' && (progress->bar || progress->lines))
        say(progress, training->policy);
    monitor->printed_policy = true;
    if (!monitor->printed_assumed && training->assumed[0] != '\0') {
        if (progress->bar || progress->lines)
            say(progress, training->assumed);
        monitor->printed_assumed = true;
    }
    for (; monitor->printed < HAWSER_NOTES && training->notes[monitor->printed][0] != '\0'; monitor->printed++)
        say(progress, training->notes[monitor->printed]);
}

void hw_monitor_find_target(const hw_monitor *monitor, const hawser_progress *progress, hw_sample *sample)
{
    const hw_watched *watched = &monitor->watched;
    sample->target = NAN;
    sample->may_rise = false;
    for (sample->ends = 0; sample->ends < watched->count; sample->ends++) {
        const hawser_metric_row *row = watched->row[sample->ends];
        if (row->target != NULL)
            sample->target = row->target(monitor->options, progress);
        if (isnan(sample->target))
            continue;
        sample->may_rise = row->may_rise != NULL && row->may_rise(monitor->options, progress);
        return;
    }
}

void hw_monitor_observe(const hawser_progress *progress, void *user)
{
    hw_monitor *monitor = user;
    hw_sample sample = {.clock = (double)hawser_progress_clocks(progress),
                        .seconds = hawser_progress_seconds(progress),
                        .bytes = hawser_progress_metric(progress, "bytes"),
                        .staleness = hawser_progress_metric(progress, "staleness")};
    const hw_watched *watched = &monitor->watched;
    for (size_t k = 0; k < watched->count; k++)
        sample.value[k] = hawser_progress_metric(progress, watched->row[k]->name);
    hw_monitor_accept(monitor);
    hw_monitor_find_target(monitor, progress, &sample);
    hw_monitor_print_notes(monitor);
    hw_progress_show(&monitor->progress, &sample, false);
    if (!differs(sample.clock, monitor->last.clock) && !is_news(monitor, &sample))
        return;
    trace_sample(monitor, progress, &sample);
    keep_sample(monitor, &sample);
    log_clock(monitor, progress, &sample);
    monitor->last = sample;
}

void hw_monitor_rest(hw_monitor *monitor)
{
    if (isfinite(monitor->last.clock))
        hw_progress_show(&monitor->progress, &monitor->last, true);
}

static void close_file(hw_monitor *monitor, FILE **file, const char *path)
{
    if (*file != NULL && fclose(*file) != 0)
        keep_failure(monitor, path);
    *file = NULL;
}

hawser_status hw_monitor_end(hw_monitor *monitor, hawser_error *error)
{
    hw_trace_end(&monitor->trace);
    if (monitor->error.status == HAWSER_OK)
        monitor->error = monitor->trace.error;
    close_file(monitor, &monitor->events, monitor->events_path);
    if (monitor->error.status != HAWSER_OK && error != NULL)
        *error = monitor->error;
    return monitor->error.status;
}

void hw_monitor_free(hw_monitor *monitor)
{
    write_early(monitor, false);
    hawser_status ignored = hw_monitor_end(monitor, NULL);
    (void)ignored;
    free(monitor->samples);
    monitor->samples = NULL;
}
