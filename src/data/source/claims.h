/* claims.h - what a few bytes may claim: a column takes memory on every node whether anything is in it or not, so that one index far off,
 * or a line of sizes, would take gigabytes. Rows and columns may be so many as the input's text makes plausible. */
#ifndef HW_DATA_CLAIMS_H
#define HW_DATA_CLAIMS_H

#include "data/source/input.h"

/* So many rows or columns without entries may be claimed by any input, and so many more for each byte of its text. */
enum { HW_CLAIMS_FREE = 1 << 24, HW_CLAIMS_SHARE = 16 };

/* Where something was met; all zero: nowhere. */
typedef struct hw_spot {
    const hw_input_file *file;
    uint64_t line;   /* its number; 0: of the line at `offset` of the mapped text */
    uint64_t offset; /* of the line's begin */
} hw_spot;

hw_spot hw_spot_of(const hw_chunk *chunk, const char *line);
/* Writes FILE:LINE. */
void hw_spot_print(const hw_spot *spot, char *out, size_t size);

/* Most rows or columns that `text` bytes may claim. */
uint64_t hw_claims_most(uint64_t text);
/* Refuses `count` columns (`what`, "columns") where they are more. `where`: FILE:LINE of the largest. `given`: the caller has said how much
 * memory may be taken, which then is the limit. */
hawser_status hw_check_claim(const char *where, uint64_t count, const char *what, uint64_t text, bool given,
                             hawser_error *error) HAWSER_MUST_USE;

#endif
