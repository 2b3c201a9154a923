/* claims.h - limits for sizes that a few bytes may claim. A column takes memory on every node even if it is empty, so one
 * distant index or a line of sizes could take gigabytes. The limit of rows and columns depends on the size of the input's
 * text. */
#ifndef HW_DATA_CLAIMS_H
#define HW_DATA_CLAIMS_H

#include "data/source/input.h"

/* Rows or columns without entries that any input may claim, and how many more per byte of its text. */
enum { HW_CLAIMS_FREE = 1 << 24, HW_CLAIMS_SHARE = 16 };

/* A place in the input; all zero: none. */
typedef struct hw_spot {
    const hw_input_file *file;
    uint64_t line;   /* number of the line; 0: the line is at `offset` of the mapped text */
    uint64_t offset; /* offset of the line's begin */
} hw_spot;

hw_spot hw_spot_of(const hw_chunk *chunk, const char *line);
/* Writes FILE:LINE. */
void hw_spot_print(const hw_spot *spot, char *out, size_t size);

/* Finds the lines of many spots, which it sorts, in one pass over the text of each file. */
void hw_spots_number(hw_spot **spots, size_t count);

/* Returns the most rows or columns that `text` bytes may claim. */
uint64_t hw_claims_most(uint64_t text);
/* Refuses more `count` columns (`what`, "columns") than the text may claim. `where`: FILE:LINE of the largest. `given`: the
 * caller has set a memory limit, which applies instead. */
hawser_status hw_check_claim(const char *where, uint64_t count, const char *what, uint64_t text, bool given,
                             hawser_error *error) HAWSER_MUST_USE;

#endif
