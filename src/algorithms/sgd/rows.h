/*
 * rows.h - products and gradients of columns over a batch of rows, or over all rows. Pure functions with the same bits
 * everywhere: a product is summed over the columns of one chunk from left to right.
 */
#ifndef HW_ALGORITHMS_SGD_ROWS_H
#define HW_ALGORITHMS_SGD_ROWS_H

#include <stdbool.h>

#include "algorithms/model/arrays.h"
#include "hawser/matrix.h"

typedef struct hw_rows {
    hawser_matrix X;   /* CSC or dense */
    uint64_t *offsets; /* the same matrix by rows; NULL if it was not requested or X is dense */
    uint32_t *columns;
    double *values;
    hw_arrays arrays;
} hw_rows;

/* A batch of `count` rows, which `list` names; NULL: all rows in order. */
typedef struct hw_row_batch {
    const uint32_t *list;
    size_t count;
} hw_row_batch;

/* Makes the rows of a matrix. `by_row` is required for batches with a list. */
hawser_status hw_rows_new(hw_rows *rows, const hawser_matrix *X, bool by_row, hawser_error *error) HAWSER_MUST_USE;
void hw_rows_free(hw_rows *rows);

/* Computes out[k] = shift + the sum over columns first .. first + count - 1 of x[row k, j] theta[j - first]. */
void hw_rows_product(const hw_rows *rows, hw_row_batch batch, size_t first, size_t count, const double *theta, double shift,
                     double *out);
/* Computes out[j] = the sum over the batch of x[row k, j] r[k]. */
void hw_rows_gradient(const hw_rows *rows, hw_row_batch batch, const double *r, double *out);

/* Draws the rows of batch `number` by the seed, the same on every block. */
void hw_rows_draw(uint64_t seed, uint64_t number, size_t rows, size_t count, uint32_t *list);

#endif
