/* tally.h - counts svmlight text without parsing its values. */
#ifndef HW_DATA_TALLY_H
#define HW_DATA_TALLY_H

#include "data/source/parse.h"

/* What hw_svmlight_parse will find: exact for text that it accepts, undefined for other text. */
typedef struct hw_tally {
    uint64_t rows, entries;
} hw_tally;

/* Adds the counts of a chunk. Several times faster without comments and queries. */
void hw_svmlight_count(const hw_reading *reading, const hw_chunk *chunk, hw_tally *tally);

#endif
