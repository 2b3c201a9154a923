/*
 * packed.h - the entries of a few sparse columns once more, row by row: a product X'W X p is then one pass that reads each of them
 * once and needs no image as long as the rows. Rows with equally many entries stand together, since loops whose length changes
 * from row to row are what such products otherwise wait for.
 */
#ifndef HW_ALGORITHMS_SOLVE_PACKED_H
#define HW_ALGORITHMS_SOLVE_PACKED_H

#include <stdbool.h>

#include "hawser/matrix.h"

/* `rows` rows of `length` entries each. */
typedef struct hw_linear_run {
    uint32_t length, rows;
} hw_linear_run;

typedef struct hw_linear_packed {
    hw_linear_run *runs;
    size_t run_count;
    uint32_t *row;    /* number of each packed row */
    uint32_t *index;  /* by entry: place in the list of columns */
    void *values;     /* by entry, of type `type`; NULL where all are 1 */
    double *in, *out; /* by place in the list: a direction, and X'W X times it */
    hawser_type type;
    /* what it was made of */
    const void *source;
    uint32_t *columns;
    size_t count, begin, end;
    /* memory that stays for the next packing: asking the system for it anew takes as long as filling it */
    void *memory[3];
    size_t room[3];
} hw_linear_packed;

/* Packs rows [begin, end) of the listed columns of a CSC matrix; nothing where that has been done. */
hawser_status hw_linear_pack(hw_linear_packed *packed, const hawser_matrix *X, const uint32_t *columns, size_t count,
                             size_t begin, size_t end, hawser_error *error) HAWSER_MUST_USE;
void hw_linear_packed_free(hw_linear_packed *packed);
/* out = X' W X in over the packed rows; `weights` by row number, NULL for ones. */
void hw_linear_packed_product(hw_linear_packed *packed, const double *weights);
/* image[i] = (X in)_i at the number i of each packed row; rows without entries are not touched. */
void hw_linear_packed_rows(const hw_linear_packed *packed, double *image);

#endif
