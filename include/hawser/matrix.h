/*
 * matrix.h - the matrices that a program reads, and the kernels over them.
 *
 * A hawser_matrix is a read-only view with plain fields, so an inner loop can walk a column without a call. Kernels give
 * the same bits on every instruction set (fixed lane counts, no contraction), so threads, processes and
 * machines agree. Every function here is thread-safe, allocates nothing and cannot fail, unless its comment says otherwise.
 */
#ifndef HAWSER_MATRIX_H
#define HAWSER_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Type of stored numbers. A matrix has HAWSER_F64 or HAWSER_F32, and arithmetic on it is in double unless a kernel says
 *  otherwise. */
typedef enum hawser_type { HAWSER_F64 = 0, HAWSER_F32 = 1, HAWSER_I64 = 2, HAWSER_I32 = 3 } hawser_type;

/** The memory layout of a matrix. */
typedef enum hawser_layout {
    HAWSER_DENSE = 0,     /**< column-major; column j starts at values + j * stride (in elements) */
    HAWSER_CSC = 1,       /**< offsets has cols + 1 entries, indices are row numbers, ascending in a column */
    HAWSER_CSR = 2,       /**< offsets has rows + 1 entries, indices are column numbers, ascending in a row */
    HAWSER_DENSE_ROWS = 3 /**< row-major; row i starts at values + i * stride (in elements) */
} hawser_layout;

/** A read-only view of a matrix or of a range of its columns (all layouts except CSR) or rows (all except CSC). The view
 *  does not own the arrays; their owner, usually a hawser_dataset, must outlive it. `offsets` need not start at zero: entry
 *  k of column j is indices[offsets[j] + k], so a view of a column range shares the arrays of the whole. */
typedef struct hawser_matrix {
    size_t rows;
    size_t cols;
    uint64_t stored; /**< stored entries in this view; rows * cols when dense */
    hawser_layout layout;
    hawser_type type; /**< HAWSER_F64 or HAWSER_F32 */
    const uint64_t *offsets;
    const uint32_t *indices;
    const void *values;
    /** HAWSER_DENSE: elements from one column to the next, >= rows; HAWSER_DENSE_ROWS: from one row to the next, >= cols */
    size_t stride;
    size_t first; /**< index in the whole matrix of this view's first column, or of its first row in a view of rows */
    /** NULL: all entries are on this node. Else some columns are on other nodes until they are fetched (hawser_job_load,
     *  hawser_data_fetch) */
    struct hawser_residence *residence;
    /** The entries are pages of a file that the kernel may drop and read again (of a cache): they count for no limit of
     *  memory */
    bool mapped;
} hawser_matrix;

/** "Dense" below means both dense layouts. They give the same bits; functions of columns are slow on HAWSER_DENSE_ROWS,
 *  except hawser_scan. */

/** Returns a view of columns [begin, end) of a CSC or dense matrix, without a copy. begin <= end <= A->cols. */
HAWSER_API hawser_matrix hawser_matrix_columns(const hawser_matrix *A, size_t begin, size_t end);

/** Returns a view of rows [begin, end) of a CSR or dense matrix, without a copy. */
HAWSER_API hawser_matrix hawser_matrix_rows(const hawser_matrix *A, size_t begin, size_t end);

/** Returns sum_i A[i,j] x[i]. A is CSC or dense, x has A->rows entries. */
HAWSER_API double hawser_column_dot(const hawser_matrix *A, size_t j, const double *x);

/** Adds a multiple of a column: x[i] += step * A[i,j] for every stored i. A is CSC or dense. */
HAWSER_API void hawser_column_axpy(const hawser_matrix *A, size_t j, double step, double *x);

/** Computes the weighted sum and square sum of a column: *sum = sum_i w_i A[i,j]; *squares = sum_i w_i (A[i,j] - centre)^2
 *  over all rows, including unstored zeros (their weight is total_weight less that of the stored rows). weights NULL means
 *  ones. */
HAWSER_API void hawser_column_moments(const hawser_matrix *A, size_t j, const double *weights, double total_weight,
                                      double centre, double *sum, double *squares);

/** Computes out[j] = sum_i A[i,j] x[i] for all columns of a CSC or dense view: the full scan. out has A->cols entries. */
HAWSER_API void hawser_scan(const hawser_matrix *A, const double *x, double *out);

/** Computes hawser_scan for `count` columns only, each < A->cols: stores the same bits in out[columns[k]] and leaves the
 *  rest of out unchanged. */
HAWSER_API void hawser_scan_some(const hawser_matrix *A, const uint32_t *columns, size_t count, const double *x,
                                 double *out);

/** Adds a combination of listed columns: out[i] += sum_k coefficients[k] * A[i, columns[k]]. A is CSC or dense, out has
 *  A->rows entries. */
HAWSER_API void hawser_combine(const hawser_matrix *A, const uint32_t *columns, const double *coefficients, size_t count,
                               double *out);

/** Computes out[i] = sum_j A[i,j] w[j] + constant for every row, in any layout. out has A->rows entries, w has A->cols. */
HAWSER_API void hawser_multiply(const hawser_matrix *A, const double *w, double constant, double *out);

/** Computes Gram entries of listed columns of a CSC or HAWSER_DENSE view: for a in [fresh, count) and b in [0, a], G[a * ld
 *  + b] = G[b * ld + a] = sum_i w_i A[i, columns[a]] A[i, columns[b]]. Rows below `fresh` are unchanged, so a growing set
 *  computes only its new entries. weights NULL means ones. Returns HAWSER_NO_MEMORY if there is no scratch memory, and
 *  HAWSER_BAD_ARGUMENT for HAWSER_DENSE_ROWS and CSR. */
HAWSER_API hawser_status hawser_gram(const hawser_matrix *A, const uint32_t *columns, size_t fresh, size_t count,
                                     const double *weights, double *G, size_t ld, hawser_error *error) HAWSER_MUST_USE;

/** Computes what rows [begin, end) contribute to the new entries of hawser_gram, begin <= end <= A->rows: for a in [fresh,
 *  count) and b in [0, a], part[(a - fresh) * ld + b]. The parts of disjoint rows add up to hawser_gram's entries, except
 *  for rounding. */
HAWSER_API hawser_status hawser_gram_rows(const hawser_matrix *A, size_t begin, size_t end, const uint32_t *columns,
                                          size_t fresh, size_t count, const double *weights, double *part, size_t ld,
                                          hawser_error *error) HAWSER_MUST_USE;

/** Returns sum_i x[i] * y[i], or sum_i w_i x_i y_i if weights is not NULL. Fixed lanes: same bits everywhere. */
HAWSER_API double hawser_dot(size_t n, const double *x, const double *y, const double *weights);

/** Returns the name of the kernels chosen on this machine: "portable", "avx2", "avx512". */
HAWSER_API const char *hawser_kernels_name(void);

#ifdef __cplusplus
}
#endif
#endif
