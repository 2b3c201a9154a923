/* monitor.h - the views of a running training: progress on standard error, the trace, the samples of the plot, events. */
#ifndef HW_CLI_MONITOR_H
#define HW_CLI_MONITOR_H

#include "base/text.h"
#include "cli/cli.h"
#include "report/json.h"
#include "report/trace.h"

/* The metric rows of an algorithm that are traced, plotted, or shown while it trains. */
typedef struct hw_watched {
    const hawser_metric_row *row[HAWSER_TRACED];
    size_t count;
} hw_watched;

/* The state of a training after a clock; numbers that are unknown are NaN. */
typedef struct hw_sample {
    double clock, seconds, bytes, staleness;
    double value[HAWSER_TRACED]; /* of the watched metrics */
    size_t ends;   /* index of the metric whose target ends the run; the count of watched metrics, or more: none */
    double target; /* the value of that metric at which the run ends */
    bool may_rise; /* it may rise before it reaches the target */
} hw_sample;

enum { HW_FORECASTS = 4 };

typedef struct hw_mark {
    double seconds, height;
} hw_mark;

/* A forecast of the time at which a quantity reaches its goal, by the line through its last heights: a metric or its
 * logarithm, or the clocks. */
typedef struct hw_forecast {
    hw_mark mark[2]; /* heights to draw the line from: at about a quarter and a half of the time so far */
    size_t marks, count;
    double height, at;        /* the last height and its time */
    double made;              /* time of the last forecast */
    double end[HW_FORECASTS]; /* seconds since the beginning */
} hw_forecast;

/* Progress on standard error: a bar on a terminal, lines elsewhere, nothing when quiet. */
typedef struct hw_progress_line {
    FILE *err;
    bool bar, lines;
    const hw_watched *watched;
    double drawn;                          /* seconds of the last drawing */
    double clocks, limit;                  /* --max-clocks, --time-limit; NaN: unset */
    hw_forecast forecast, clocks_forecast; /* of the metric that ends the run, and of --max-clocks */
    size_t forecasts;                      /* the metric of `forecast` */
    hw_sample last;
} hw_progress_line;

typedef struct hw_monitor {
    hw_watched watched;
    const hawser_options *options;
    hw_progress_line progress;
    hw_trace trace;
    const hawser_job *job; /* NULL before it is open */
    FILE *events;
    const char *events_path;
    hw_memory_text early; /* the first events, until the training has begun or is refused */
    bool accepted;        /* it has begun */
    bool keep;            /* samples are wanted */
    hw_sample *samples;
    size_t count, capacity;
    hw_sample last;
    double started;                  /* hw_seconds() when the call began */
    const hawser_training *training; /* its policy and notes are printed as they come; NULL: none yet */
    size_t printed;                  /* notes that have been printed */
    bool printed_policy, printed_assumed;
    hawser_error error; /* the first failure; the training goes on, the call fails at its end */
} hw_monitor;

/* Collects the watched rows; `rows` may be NULL. HAWSER_INTERNAL if there are more than HAWSER_TRACED. */
hawser_status hw_watched_of(const hawser_metric_row *rows, hw_watched *watched, hawser_error *error) HAWSER_MUST_USE;
/* Writes a metric's value as the progress line and the plot's subtitle have it; returns the length, as snprintf. */
int hw_metric_text(const hawser_metric_row *row, double value, char *text, size_t size);

/* Opens the trace and the event file. Both stay as they are until hw_monitor_accept. */
hawser_status hw_monitor_begin(hw_monitor *monitor, const hw_call *call, hawser_error *error) HAWSER_MUST_USE;
/* Stores the first watched metric whose target is not NaN, and that target. */
void hw_monitor_find_target(const hw_monitor *monitor, const hawser_progress *progress, hw_sample *sample);
/* The hawser_observer; user is the hw_monitor. */
void hw_monitor_observe(const hawser_progress *progress, void *user);
/* Prints the lines of the policy and of what was assumed (unless quiet), and new notes, while the training runs, so that a
 * user learns early why it takes long. */
void hw_monitor_print_notes(hw_monitor *monitor);
/* Draws for the last time. */
void hw_monitor_rest(hw_monitor *monitor);
/* Closes the files and returns the first failure, if any. What the plot needs stays. */
hawser_status hw_monitor_end(hw_monitor *monitor, hawser_error *error) HAWSER_MUST_USE;
void hw_monitor_free(hw_monitor *monitor);

/* Begins an event object with "event" and "seconds"; NULL if no events are wanted. */
json_t *hw_monitor_event(const hw_monitor *monitor, const char *name, bool *ok);
/* The training was not refused: its logs replace those before, or go on, and the events so far are written. */
void hw_monitor_accept(hw_monitor *monitor);
/* Writes and releases it; a failure is kept in the monitor. Takes NULL. */
void hw_monitor_log(hw_monitor *monitor, json_t *event, bool ok);

void hw_progress_show(hw_progress_line *progress, const hw_sample *sample, bool last);

#endif
