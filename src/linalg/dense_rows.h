/* dense_rows.h - the functions of columns for HAWSER_DENSE_ROWS. Each gives the bits that it gives for HAWSER_DENSE: entry i
 * is in the same lane, and lanes are added by the same tree. */
#ifndef HW_LINALG_DENSE_ROWS_H
#define HW_LINALG_DENSE_ROWS_H

#include "linalg/kernels.h"

double hw_dense_rows_dot(const hawser_matrix *A, size_t j, const double *x);
void hw_dense_rows_axpy(const hawser_matrix *A, size_t j, double step, double *x);
void hw_dense_rows_moments(const hawser_matrix *A, size_t j, const double *weights, double centre, hw_moments *out);
void hw_dense_rows_scan(const hawser_matrix *A, const double *x, double *out);
/* Combines the listed columns, or all if `columns` is NULL. */
void hw_dense_rows_combine(const hawser_matrix *A, const uint32_t *columns, const double *coefficients, size_t count,
                           double *out);

#endif
