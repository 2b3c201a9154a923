/* row_squares.h - squares of a row's numbers, for sums by column. Pure. */
#ifndef HW_ALGORITHMS_NEWTON_ROW_SQUARES_H
#define HW_ALGORITHMS_NEWTON_ROW_SQUARES_H

#include "hawser/matrix.h"

/* Adds weight * X[i,j]^2 to out[j] for all columns. X is by row, or dense. */
void hw_add_row_squares(const hawser_matrix *X, size_t i, double weight, double *out);

#endif
