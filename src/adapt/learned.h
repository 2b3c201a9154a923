/*
 * learned.h - what earlier runs have decided on their loops (--learn): lines of a file, one per run and loop, and the choice
 * of the run that is most like another one. Pure.
 */
#ifndef HW_ADAPT_LEARNED_H
#define HW_ADAPT_LEARNED_H

#include "adapt/earlier.h"

/* A run and its loop, as far as runs are compared. */
typedef struct hw_learned_run {
    const char *program, *loop;
    uint32_t workers, hosts;
    double exchange; /* the work between two exchanges, with which the run begins */
    double bytes;    /* that the busiest node sends in a clock, as planned: exactly and without a quota */
    uint64_t places; /* digest of the hosts of the nodes, in their order */
    /* Digest of program, data and options, as checkpoints compare them: the seconds of two runs are compared only if it is
     * equal. 0: unknown */
    uint64_t identity;
} hw_learned_run;

/* A line. Its texts and shares belong to the file. */
typedef struct hw_learned_line {
    const char *text; /* without its end of line, */
    size_t length;    /* in the text of the file */
    bool known;       /* this version has written it: */
    hw_learned_run run;
    hw_decided decided;
} hw_learned_line;

typedef struct hw_learned_file {
    hw_learned_line *lines; /* those with a right checksum, also of other versions */
    size_t count;
    size_t damaged, first_damaged; /* number of the other ones, and the first one, from 1 */
    struct json_t *objects;        /* own the texts of the lines */
} hw_learned_file;

/* Returns the line of a run, which the caller frees, with its end of line; NULL without memory. */
char *hw_learned_text(const hw_learned_run *run, const hw_decided *decided);
/* Reads a text, to which the file's lines then point. Fails only without memory: lines that are damaged are counted. After a
 * failure, too, hw_learned_free must be called. */
hawser_status hw_learned_read(const char *text, size_t length, hw_learned_file *file, hawser_error *error) HAWSER_MUST_USE;
void hw_learned_free(hw_learned_file *file);
/* Returns the line of the run that is nearest to `run`: of the same program, loop, workers and exchange, with hosts and
 * bytes within a factor of two. Of equally near ones the last line with its identity, or else the last line. NULL: there is
 * none. */
const hw_learned_line *hw_learned_nearest(const hw_learned_file *file, const hw_learned_run *run);

#endif
