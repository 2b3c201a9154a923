/* tally.h - counts svmlight text without parsing its values. */
#ifndef HW_DATA_TALLY_H
#define HW_DATA_TALLY_H

#include "data/format/parse.h"

/* What hw_svmlight_parse will find: exact for text that it accepts, anything for other text. */
typedef struct hw_tally {
    uint64_t rows, entries;
    uint32_t least, most; /* index; least > most when there is none */
    uint32_t *columns;    /* entries of each index */
    uint64_t room;        /* of columns */
    uint64_t limit;       /* room that columns may take */
    bool beyond;          /* an index was: columns are not counted any more */
} hw_tally;

/* Adds a chunk's rows and entries, nothing else. Quick, and several times so where there are no comments and queries. */
void hw_svmlight_count(hw_job *job, const hw_chunk *chunk, hw_tally *tally);
/* Adds all. The columns are pages of the job's budget, also after a failure. */
hawser_status hw_svmlight_count_columns(hw_job *job, const hw_chunk *chunk, hw_tally *tally,
                                        hawser_error *error) HAWSER_MUST_USE;

#endif
