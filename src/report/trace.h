/* trace.h - the file of --trace: one line of CSV per clock, with time, metrics, bytes, staleness and changes of policies. */
#ifndef HW_REPORT_TRACE_H
#define HW_REPORT_TRACE_H

#include "hawser/hawser.h"

/* A clock, as seen by an observer; numbers that are unknown are NaN. */
typedef struct hw_trace_line {
    double clock, seconds, bytes, staleness;
} hw_trace_line;

typedef struct hw_trace {
    FILE *file; /* NULL: there is none, and nothing is written */
    const char *path;
    char *names;        /* the first line, until the run has begun */
    bool appends;       /* to the lines that the file has */
    size_t changes;     /* of policies, that it has */
    double clock;       /* of its last line */
    hawser_error error; /* the first failure: the run goes on, and fails at its end */
} hw_trace;

/* Returns whether a run under these options may go on from a checkpoint: then logs keep the lines that they have. */
bool hw_trace_goes_on(const hawser_options *options);
/* Opens the file. appends: lines are added to those that the file has; else the run replaces these when it begins. path
 * NULL: there is none. */
hawser_status hw_trace_begin(hw_trace *trace, const char *path, bool appends, const char *const *metrics, size_t count,
                             hawser_error *error) HAWSER_MUST_USE;
/* The run was not refused: the names of the columns are written. Does nothing the second time. */
void hw_trace_accept(hw_trace *trace);
/* Writes a line with the metrics' values, in the order of their names. */
void hw_trace_add(hw_trace *trace, const hawser_progress *progress, const hw_trace_line *line, const double *values,
                  size_t count);
/* Closes the file; the first failure is in trace->error. */
void hw_trace_end(hw_trace *trace);

#endif
