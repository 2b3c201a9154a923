/* layout.h - questions about the layout of a matrix that are the same for several layouts. */
#ifndef HW_BASE_LAYOUT_H
#define HW_BASE_LAYOUT_H

#include <stdbool.h>

#include "base/type.h"

static inline bool hw_is_dense(const hawser_matrix *A)
{
    return A->layout == HAWSER_DENSE || A->layout == HAWSER_DENSE_ROWS;
}

/* Returns true if the numbers of a row are side by side. */
static inline bool hw_is_by_row(const hawser_matrix *A)
{
    return A->layout == HAWSER_CSR || A->layout == HAWSER_DENSE_ROWS;
}

/* Returns the number of lines: rows if the matrix is stored by row, else columns. */
static inline size_t hw_lines(const hawser_matrix *A)
{
    return hw_is_by_row(A) ? A->rows : A->cols;
}

/* Returns the length of a line of a dense matrix, and the most entries of a line of a sparse one. */
static inline size_t hw_line_width(const hawser_matrix *A)
{
    return hw_is_by_row(A) ? A->cols : A->rows;
}

/* Returns the place of an entry of a dense matrix in its values. */
static inline uint64_t hw_dense_place(const hawser_matrix *A, size_t row, size_t column)
{
    return A->layout == HAWSER_DENSE ? (uint64_t)column * A->stride + row : (uint64_t)row * A->stride + column;
}

#endif
