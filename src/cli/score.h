/* score.h - predictions of rows that are read in pieces, written in the order of the input. */
#ifndef HW_CLI_SCORE_H
#define HW_CLI_SCORE_H

#include "base/file.h"
#include "cli/input.h"

/* What is written for a row: the algorithm's prediction, its linear predictor, or the label. */
typedef enum hw_score_of { HW_PREDICTION = 0, HW_LINK, HW_LABEL } hw_score_of;

typedef struct hw_scoring {
    const hw_call *call;
    const hw_fitted *fitted;
    hawser_rows *rows;
    hw_score_of what;
    bool binary;              /* numbers of eight bytes, instead of text */
    const char *const *words; /* of labels, which are numbers from 0; NULL: values are printed */
    hw_file *file;
    uint64_t count;   /* rows that were written */
    bool lacks_first; /* no row had column 0 */
} hw_scoring;

/* Writes the line of names above rows with an id, if the input has names. */
hawser_status hw_score_names(const hw_scoring *scoring, hawser_error *error) HAWSER_MUST_USE;
/* Reads, predicts and writes all rows, on several threads. After a failure the rows before the bad one have been written. */
hawser_status hw_score(hw_scoring *scoring, uint32_t threads, hawser_error *error) HAWSER_MUST_USE;

#endif
