/* kernels.h - the inner loops, compiled from one source for each instruction set.
 *
 * All variants give the same bits: the source uses vectors of eight lanes, entry i is always in the same lane, lanes are
 * added by one fixed tree, and no multiply and add are contracted. Instruction sets differ only in how many registers eight
 * lanes take. */
#ifndef HW_LINALG_KERNELS_H
#define HW_LINALG_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "hawser/matrix.h"

/* Rows that a dense Gram tile adds up before its sum is added to the total; results depend on this number. */
enum { HW_GRAM_ROWS = 512 };

typedef struct hw_moments {
    double sum;     /* sum of w a */
    double squares; /* sum of w (a - centre)^2 */
    double weight;  /* sum of w */
} hw_moments;

/* The kernels for one type of stored numbers. `weights` may be NULL. */
typedef struct hw_typed_kernels {
    double (*dense_dot)(size_t n, const void *a, const double *x);
    void (*dense_scan)(size_t n, size_t columns, const void *values, size_t stride, const double *x, double *out);
    void (*dense_axpy)(size_t n, const void *a, double step, double *x);
    void (*dense_axpy4)(size_t n, const void *const a[4], const double step[4], double *x);
    void (*dense_moments)(size_t n, const void *a, const double *weights, double centre, hw_moments *out);
    /* Copies rows [begin, begin + n) of a column, times weights, to to[HW_GRAM_ROWS], and sets the rest to zero. */
    void (*dense_pack)(size_t begin, size_t n, const void *a, const double *weights, double *to);
    double (*sparse_dot)(size_t n, const uint32_t *indices, const void *values, const double *x);
    void (*sparse_scan)(size_t columns, const uint64_t *offsets, const uint32_t *indices, const void *values,
                        const double *x, double *out);
    /* Like sparse_scan for `count` listed columns; `out` has an entry for each column of the matrix. */
    void (*sparse_scan_some)(const uint32_t *columns, size_t count, const uint64_t *offsets, const uint32_t *indices,
                             const void *values, const double *x, double *out);
    void (*sparse_axpy)(size_t n, const uint32_t *indices, const void *values, double step, double *x);
    void (*sparse_moments)(size_t n, const uint32_t *indices, const void *values, const double *weights, double centre,
                           hw_moments *out);
} hw_typed_kernels;

/* The kernels over rows for a type of stored numbers and a type of arithmetic; both sides of a product and the result are of
 * the latter. Each entry of a result is summed in the order of its terms. */
typedef struct hw_row_kernels {
    /* Adds sum_t a[r * across + t * along] B[t * ldb + c] to out[r * ldo + c] for r < lines, t < terms, c < k. */
    void (*dense_block)(size_t lines, size_t terms, const void *a, size_t across, size_t along, const void *B, size_t ldb,
                        size_t k, void *out, size_t ldo);
    void (*sparse_multiply)(size_t rows, const uint64_t *offsets, const uint32_t *indices, const void *values, const void *B,
                            size_t ldb, size_t k, void *out, size_t ldo);
    void (*sparse_accumulate)(size_t rows, const uint64_t *offsets, const uint32_t *indices, const void *values,
                              const void *R, size_t ldr, size_t k, void *G, size_t ldg);
    /* From the products of a row with k centres to its squared distances; row_square NULL leaves its term and the bound at 0
     * out. */
    void (*finish)(size_t k, const void *row_square, const void *squares, void *products);
    /* Finds the least and the second least of squares[c] - 2 products[c * ld + r] over c < k, for rows r < n. */
    void (*nearest)(size_t k, size_t n, const void *squares, const void *products, size_t ld, void *least, void *next,
                    void *nearest);
    /* Stores the product of n numbers with x in *out, entry j in lane j mod 16. */
    void (*dot)(size_t n, const void *a, const void *x, void *out);
    /* Adds step * a to x, n numbers. The step has been rounded to the arithmetic. */
    void (*axpy)(size_t n, const void *a, double step, void *x);
    /* Computes the squared distance of each of n rows of d numbers to the centre labels[r], from differences. Entry j is in
     * lane j mod 16. */
    void (*distances)(size_t n, size_t d, const void *a, size_t stride, const void *centres, const uint32_t *labels,
                      void *out);
} hw_row_kernels;

typedef struct hw_kernels {
    const char *name;
    double (*weighted_dot)(size_t n, const double *x, const double *y, const double *weights);
    /* Adds to G[(a - top) ld + b] the dot of left[a] and right[b], HW_GRAM_ROWS numbers each, for a in [from, count) and b
     * in [right_from, min(right_to, a + 1)). */
    void (*gram_panel)(const double *const *left, const double *const *right, size_t from, size_t count, size_t right_from,
                       size_t right_to, double *G, size_t ld, size_t top);
    hw_typed_kernels typed[2]; /* by hawser_type: HAWSER_F64, HAWSER_F32 */
    hw_row_kernels rows[2][2]; /* by hawser_type of the stored numbers, then of the arithmetic */
} hw_kernels;

/* Returns the fastest variant that this processor runs. */
const hw_kernels *hw_kernels_best(void);
/* Returns the index-th variant that this processor runs, portable first; NULL past the last. For tests and benchmarks. */
const hw_kernels *hw_kernels_variant(size_t index);

#endif
