/*
 * row_kernels.h - kernels over the rows of a matrix, for programs that split their data by row.
 *
 * A is CSR or dense, or a view of either. CSC is not allowed, as in hawser_matrix_rows. Kernels of one row are slow on
 * HAWSER_DENSE, where the numbers of a row are not side by side. A block is a matrix of plain numbers by rows: its row t
 * starts at block + t * ld, with ld >= k.
 *
 * Functions that end in _f32 compute in float throughout, on numbers that are stored as F32 or rounded to float. The others
 * compute in double. Results have the same bits on every instruction set and in both dense layouts. As in matrix.h nothing
 * is checked but by assertions, nothing is allocated, and every function is thread-safe. Outputs must not overlap inputs.
 */
#ifndef HAWSER_ROW_KERNELS_H
#define HAWSER_ROW_KERNELS_H

#include "hawser/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Fetches the cache line at this place, which will be read soon. Any address is allowed. */
static inline void hawser_fetch_line(const void *at)
{
    __builtin_prefetch(at);
}

/** Returns sum_j A[i,j] x[j]. x has A->cols entries. */
HAWSER_API double hawser_row_dot(const hawser_matrix *A, size_t i, const double *x);
HAWSER_API float hawser_row_dot_f32(const hawser_matrix *A, size_t i, const float *x);

/** Adds a multiple of a row: x[j] += step * A[i,j] for every stored j. */
HAWSER_API void hawser_row_axpy(const hawser_matrix *A, size_t i, double step, double *x);
HAWSER_API void hawser_row_axpy_f32(const hawser_matrix *A, size_t i, float step, float *x);

/** Returns sum_j (A[i,j] - c[j])^2 over all columns, from the differences, so that no digits cancel. Reads all of c, for CSR
 *  too. */
HAWSER_API double hawser_row_distance(const hawser_matrix *A, size_t i, const double *c);
HAWSER_API float hawser_row_distance_f32(const hawser_matrix *A, size_t i, const float *c);

/** Computes out[i] = hawser_row_distance(A, i, C + labels[i] * A->cols) for every row, with the same bits: the squared
 *  distance of each row to its own centre. C has a row for each centre. */
HAWSER_API void hawser_row_distances(const hawser_matrix *A, const double *C, const uint32_t *labels, double *out);
HAWSER_API void hawser_row_distances_f32(const hawser_matrix *A, const float *C, const uint32_t *labels, float *out);

/** Computes out[i] = sum_j A[i,j]^2 for every row. */
HAWSER_API void hawser_row_squares(const hawser_matrix *A, double *out);
HAWSER_API void hawser_row_squares_f32(const hawser_matrix *A, float *out);

/** Computes out[i * ldo + c] = sum_j A[i,j] B[j * ldb + c] for all rows and c < k: the product with k columns. B has A->cols
 *  rows. Each sum is made in the order of j. */
HAWSER_API void hawser_multiply_block(const hawser_matrix *A, const double *B, size_t ldb, size_t k, double *out,
                                      size_t ldo);
HAWSER_API void hawser_multiply_block_f32(const hawser_matrix *A, const float *B, size_t ldb, size_t k, float *out,
                                          size_t ldo);

/** Adds the transposed product: G[j * ldg + c] += sum_i A[i,j] R[i * ldr + c] for all columns and c < k. R has A->rows rows,
 *  G has A->cols. Terms are added in the order of i, each to the sum so far, so calls for consecutive ranges of rows give
 *  the bits of one call. */
HAWSER_API void hawser_accumulate_block(const hawser_matrix *A, const double *R, size_t ldr, size_t k, double *G,
                                        size_t ldg);
HAWSER_API void hawser_accumulate_block_f32(const hawser_matrix *A, const float *R, size_t ldr, size_t k, float *G,
                                            size_t ldg);

/** Computes squared distances of all rows to k centres by a product: out[i * ldo + c] = row_squares[i] - 2 sum_j A[i,j] C[j
 *  * ldc + c] + squares[c], and 0 where that is negative. C has a column per centre, `squares` the sums of their squares,
 *  row_squares those of hawser_row_squares. If row_squares is NULL, its term and the bound at 0 are left out: that suffices
 *  to find the nearest centre. Digits cancel: the error is about (2 + A->cols) roundings of row_squares[i] + squares[c],
 *  however near row and centre are. Where the two smallest distances differ by less than that, hawser_row_distance decides
 *  which is the nearest. */
HAWSER_API void hawser_distances(const hawser_matrix *A, const double *row_squares, const double *C, size_t ldc,
                                 const double *squares, size_t k, double *out, size_t ldo);
HAWSER_API void hawser_distances_f32(const hawser_matrix *A, const float *row_squares, const float *C, size_t ldc,
                                     const float *squares, size_t k, float *out, size_t ldo);

/** Finds the nearest and the second nearest of k centres for each of n rows, from a product of all centres and rows:
 *  products[c * ld + r] is that of centre c and row r. With v[c] = squares[c] - 2 products[c * ld + r], least[r] and next[r]
 *  receive the least and the second least of v (INFINITY if k is 1), and nearest[r] the number c of the least, of equal ones
 *  the lowest. The arrays do not overlap. k is at most 2^53, in floats 2^24. */
HAWSER_API void hawser_nearest(size_t k, size_t n, const double *squares, const double *products, size_t ld, double *least,
                               double *next, double *nearest);
HAWSER_API void hawser_nearest_f32(size_t k, size_t n, const float *squares, const float *products, size_t ld, float *least,
                                   float *next, float *nearest);

#ifdef __cplusplus
}
#endif
#endif
