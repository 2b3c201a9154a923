/*
 * rows.h - columns seen by rows: what a batch of rows, or all of them, comes to. Pure functions, the same bits wherever they run: a product
 * is summed over the columns of one chunk from left to right.
 */
#ifndef HW_ALGORITHMS_SGD_ROWS_H
#define HW_ALGORITHMS_SGD_ROWS_H

#include <stdbool.h>

#include "hawser/matrix.h"

typedef struct hw_rows {
    hawser_matrix X;   /* CSC or dense */
    uint64_t *offsets; /* the same by rows; NULL: not asked for, or dense */
    uint32_t *columns;
    double *values;
} hw_rows;

/* Rows to work on: `count` of them, `list` says which; NULL: all of them, in order. */
typedef struct hw_row_batch {
    const uint32_t *list;
    size_t count;
} hw_row_batch;

/* `by_row`: batches will be asked for that are lists. */
hawser_status hw_rows_new(hw_rows *rows, const hawser_matrix *X, bool by_row, hawser_error *error) HAWSER_MUST_USE;
void hw_rows_free(hw_rows *rows);

/* out[k] = shift + the sum over columns first .. first + count - 1 of x[row k, j] theta[j - first]. */
void hw_rows_product(const hw_rows *rows, hw_row_batch batch, size_t first, size_t count, const double *theta, double shift,
                     double *out);
/* out[j] = the sum over the batch of x[row k, j] r[k]. */
void hw_rows_gradient(const hw_rows *rows, hw_row_batch batch, const double *r, double *out);

/* The rows of batch `number`: drawn by the seed, the same on every block. */
void hw_rows_draw(uint64_t seed, uint64_t number, size_t rows, size_t count, uint32_t *list);

#endif
