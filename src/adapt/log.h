/*
 * log.h - the lines of a file of decisions: which runs it is of, what decisions on their loops were given, and what they
 * changed. A decider that is given the same again decides the same. Pure.
 *
 * Each line is a JSON object. Its last member is a checksum of the rest of the line. The first line has the build and the
 * number of workers, the last line the number of lines.
 */
#ifndef HW_ADAPT_LOG_H
#define HW_ADAPT_LOG_H

#include <stddef.h>

#include "adapt/decide.h"

struct json_t;

typedef enum hw_log_kind {
    HW_LOG_HEAD,    /* build, workers */
    HW_LOG_RUN,     /* a run of the job begins: number, identity */
    HW_LOG_LOOP,    /* decisions on a loop of this run begin: loop, bounds, work, shares */
    HW_LOG_WINDOW,  /* feedback for hw_decider_window */
    HW_LOG_POINT,   /* seconds, clocks and metric for hw_decider_point */
    HW_LOG_RESTART, /* hw_decider_restart */
    HW_LOG_CHANGE,  /* change, place */
    HW_LOG_END,
    HW_LOG_KINDS
} hw_log_kind;

/* Where in a run a change was asked for: after this many clocks, by a window (0) or at the n-th point at these clocks. */
typedef struct hw_log_place {
    uint64_t clocks, point;
} hw_log_place;

/* A line. What its kind does not have is 0. */
typedef struct hw_log_line {
    hw_log_kind kind;
    uint32_t number;      /* of the run, from 1; of a head the workers */
    const char *identity; /* of the run: lines (hw_session_identity); of a head the build */
    const char *loop;     /* its name, of all kinds between run and end */
    hw_bounds bounds;
    double work;
    const double *shares; /* by block */
    uint32_t blocks;
    hw_feedback feedback; /* its pace is by block, or NULL */
    double seconds, clocks, metric;
    hw_instruction change;
    hw_log_place place;
    double *numbers; /* memory of shares or pace, if the line was read */
} hw_log_line;

/* A file that was read. The texts and arrays of its lines belong to it. */
typedef struct hw_log_file {
    hw_log_line *lines; /* line i of the file is lines[i - 1]; the last one, HW_LOG_END, is left out */
    size_t count;
    struct json_t *objects; /* own the texts of the lines */
} hw_log_file;

/* Adds a line to a text of `*length` bytes, which the caller frees. */
hawser_status hw_log_add(const hw_log_line *line, char **text, size_t *length, hawser_error *error) HAWSER_MUST_USE;
/* Adds the line that ends a text of `count` lines. */
hawser_status hw_log_end(size_t count, char **text, size_t *length, hawser_error *error) HAWSER_MUST_USE;
/* Reads a text, which came from the file `path`. Returns HAWSER_BAD_INPUT if it is no file of decisions, is cut or damaged:
 * the message has the line and what was expected there. hw_log_free must be called after a success. */
hawser_status hw_log_read(const char *text, size_t length, const char *path, hw_log_file *file,
                          hawser_error *error) HAWSER_MUST_USE;
void hw_log_free(hw_log_file *file);

/* Names of knobs in files. */
const char *hw_knob_name(hw_knob knob);

#endif
