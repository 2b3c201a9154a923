/* score.h - predictions of rows that are read in pieces, written or taken in the order of the input. */
#ifndef HW_CLI_SCORE_H
#define HW_CLI_SCORE_H

#include "base/file.h"
#include "cli/input.h"

typedef struct hw_scoring hw_scoring;
struct hw_scoring {
    const hw_call *call;
    const hw_fitted *fitted;
    hawser_rows *rows;
    uint32_t threads;
    const hawser_head *head;  /* what is written for a row */
    bool shown;               /* on a terminal, which control characters must not reach */
    bool binary;              /* numbers of eight bytes, instead of text */
    const char *const *words; /* of labels, which are numbers from 0; NULL: values are printed */
    hw_file *file;            /* NULL: `take` is called */
    /* Takes the numbers of a piece, `outputs` per row. Called in the order of the input, for one piece at a time. */
    hawser_status (*take)(hw_scoring *scoring, const hawser_dataset *data, const double *values, hawser_error *error);
    void *user;       /* of `take` */
    uint64_t count;   /* rows that were written or taken */
    bool lacks_first; /* no row had column 0 */
};

/* Returns how many numbers are written for a row. */
size_t hw_score_width(const hw_scoring *scoring);
/* Opens the data of the call's words, and prints what a user must know before the rows. */
hawser_status hw_score_open(hw_scoring *scoring, const hawser_load *how, hawser_error *error) HAWSER_MUST_USE;
/* Prints what a user must know after the rows. */
void hw_score_end(const hw_scoring *scoring);

/* Writes the line of names above rows with an id, if the input has names. */
hawser_status hw_score_names(const hw_scoring *scoring, hawser_error *error) HAWSER_MUST_USE;
/* Reads, predicts, and writes or takes all rows, on several threads. After a failure that is so for the rows before the bad
 * one. Fails if there are no rows. */
hawser_status hw_score(hw_scoring *scoring, hawser_error *error) HAWSER_MUST_USE;

#endif
