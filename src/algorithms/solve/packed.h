/*
 * packed.h - a copy of the entries of a few sparse columns, row by row. A product X'W X p is then one pass that reads each
 * entry once and needs no image by row. Rows with equally many entries are stored together, because loops whose length
 * changes from row to row are slow.
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
    void *values;     /* by entry, of type `type`; NULL if all are 1 */
    double *in, *out; /* by place in the list: a direction, and X'W X times it */
    hawser_type type;
    /* the source of the copy */
    const void *source;
    uint32_t *columns;
    size_t count, begin, end;
    /* memory that is kept for the next packing, because new pages from the system take as long as filling them */
    void *memory[3];
    size_t capacity[3];
} hw_linear_packed;

/* Packs rows [begin, end) of the listed columns of a CSC matrix, unless it has packed the same before. */
hawser_status hw_linear_pack(hw_linear_packed *packed, const hawser_matrix *X, const uint32_t *columns, size_t count,
                             size_t begin, size_t end, hawser_error *error) HAWSER_MUST_USE;
void hw_linear_packed_free(hw_linear_packed *packed);
/* Computes out = X' W X in over the packed rows. `weights` are by row number; NULL for ones. */
void hw_linear_packed_product(hw_linear_packed *packed, const double *weights);
/* Computes image[i] = (X in)_i at the number i of each packed row; rows without entries are not written. */
void hw_linear_packed_rows(const hw_linear_packed *packed, double *image);

#endif
