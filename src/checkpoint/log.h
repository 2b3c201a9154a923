/* log.h - log files that a run which goes on continues: where they ended when a checkpoint was taken. */
#ifndef HW_CHECKPOINT_LOG_H
#define HW_CHECKPOINT_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "hawser/status.h"

/* The logs of a job, in the order of their options (hw_log_options). */
enum { HW_LOG_TRACE, HW_LOG_EVENTS, HW_LOGS };
extern const char *const hw_log_options[HW_LOGS];

/* The end of a log at a checkpoint: its length, and a checksum of its path and of the bytes before that end. */
typedef struct hw_log_mark {
    uint64_t bytes, checksum; /* bytes 0: there was no log, or it is no regular file */
} hw_log_mark;

/* Opens a log for appending, and leaves what it has: it may be the log of a job that runs, and this one may be refused. */
hawser_status hw_log_open(const char *path, FILE **file, hawser_error *error) HAWSER_MUST_USE;
/* Begins a log anew, if it is a regular file. */
void hw_log_clear(FILE *file);
/* Describes the end of a log. path NULL: there is none. */
hw_log_mark hw_log_mark_of(const char *path);
/* Cuts a log to the length that it had at the mark. Returns false, and changes nothing, if it is shorter, is another file,
 * or cannot be cut. */
bool hw_log_cut(const char *path, const hw_log_mark *mark);

#endif
