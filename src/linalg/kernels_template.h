/* kernels_template.h - the source of the kernels for every instruction set. The including file defines
 *   HW_TARGET   attribute that chooses the instruction set, or nothing HW_WIDTH    doubles in one register: eight lanes take
 *   8 / HW_WIDTH registers HW_VARIANT  name of the resulting table, and HW_VARIANT_NAME, the same as text HW_ROWS_LINES x
 *   HW_ROWS_REGISTERS  registers of sums of a tile of a product with a block HW_COLUMNS  dense columns that are scanned
 *   together, and HW_TILE_A x HW_TILE_B, columns of a Gram tile: as many as the registers hold. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "linalg/kernels.h"

typedef double hw_register __attribute__((vector_size(8 * HW_WIDTH)));
typedef double hw_unaligned __attribute__((vector_size(8 * HW_WIDTH), aligned(8), may_alias));
typedef float hw_floats __attribute__((vector_size(4 * HW_WIDTH), aligned(4), may_alias));

enum { HW_PARTS = 8 / HW_WIDTH };

/* Loads numbers one by one, which is not slower than a gather instruction. */
#if HW_WIDTH == 8
#define HW_GATHER(x, at) ((hw_register){x[at[0]], x[at[1]], x[at[2]], x[at[3]], x[at[4]], x[at[5]], x[at[6]], x[at[7]]})
#elif HW_WIDTH == 4
#define HW_GATHER(x, at) ((hw_register){x[at[0]], x[at[1]], x[at[2]], x[at[3]]})
#else
#define HW_GATHER(x, at) ((hw_register){x[at[0]], x[at[1]]})
#endif

#define HW_INLINE __attribute__((always_inline)) HW_TARGET
#define HW_UNROLL _Pragma("GCC unroll 8")
/* Adds eight lanes, always by this tree. */
#define HW_SUM(v) (((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7])))

#define HW_T              double
#define HW_VECTOR         hw_unaligned
#define HW_NAME(function) function##_f64
#include "linalg/kernels_typed.h"
#undef HW_T
#undef HW_VECTOR
#undef HW_NAME
#define HW_T              float
#define HW_VECTOR         hw_floats
#define HW_NAME(function) function##_f32
#include "linalg/kernels_typed.h"
#undef HW_T
#undef HW_VECTOR
#undef HW_NAME

enum { HW_ROWS_TERMS = 128 }; /* of a product that are packed together: they stay in the first-level cache */
#define HW_T          double
#define HW_A          double
#define HW_ROWS(name) name##_f64_f64
#include "linalg/kernels_rows.h"
#undef HW_A
#undef HW_ROWS
#define HW_A          float
#define HW_ROWS(name) name##_f64_f32
#include "linalg/kernels_rows.h"
#undef HW_T
#undef HW_A
#undef HW_ROWS
#define HW_T          float
#define HW_A          double
#define HW_ROWS(name) name##_f32_f64
#include "linalg/kernels_rows.h"
#undef HW_A
#undef HW_ROWS
#define HW_A          float
#define HW_ROWS(name) name##_f32_f32
#include "linalg/kernels_rows.h"
#undef HW_T
#undef HW_A
#undef HW_ROWS

static HW_TARGET double weighted_dot(size_t n, const double *x, const double *y, const double *weights)
{
    hw_register sum[2 * HW_PARTS];
    memset(sum, 0, sizeof sum);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        HW_UNROLL
        for (size_t p = 0; p < 2 * HW_PARTS; p++)
            sum[p] += *(const hw_unaligned *)(weights + i + p * HW_WIDTH) * *(const hw_unaligned *)(x + i + p * HW_WIDTH) *
                      *(const hw_unaligned *)(y + i + p * HW_WIDTH);
    }
    double lane[16];
    for (size_t p = 0; p < 2 * HW_PARTS; p++)
        *(hw_unaligned *)(lane + p * HW_WIDTH) = sum[p];
    for (size_t k = i; k < n; k++)
        lane[k - i] += weights[k] * x[k] * y[k];
    for (size_t k = 0; k < 8; k++)
        lane[k] += lane[k + 8];
    return HW_SUM(lane);
}

/* Computes the dots of HW_TILE_A packed columns with HW_TILE_B others. Each loaded number is used for a whole row or column
 * of the tile. */
static HW_TARGET void gram_tile(const double *const left[HW_TILE_A], const double *const right[HW_TILE_B],
                                double sums[HW_TILE_A][HW_TILE_B])
{
    hw_register sum[HW_TILE_A][HW_TILE_B][HW_PARTS];
    memset(sum, 0, sizeof sum);
    for (size_t i = 0; i < HW_GRAM_ROWS; i += 8) {
        HW_UNROLL
        for (size_t p = 0; p < HW_PARTS; p++) {
            hw_register b[HW_TILE_B];
            HW_UNROLL
            for (size_t c = 0; c < HW_TILE_B; c++)
                b[c] = *(const hw_unaligned *)(right[c] + i + p * HW_WIDTH);
            HW_UNROLL
            for (size_t r = 0; r < HW_TILE_A; r++) {
                hw_register a = *(const hw_unaligned *)(left[r] + i + p * HW_WIDTH);
                HW_UNROLL
                for (size_t c = 0; c < HW_TILE_B; c++)
                    sum[r][c][p] += a * b[c];
            }
        }
    }
    HW_UNROLL
    for (size_t r = 0; r < HW_TILE_A; r++) {
        HW_UNROLL
        for (size_t c = 0; c < HW_TILE_B; c++) {
            double lane[8];
            HW_UNROLL
            for (size_t p = 0; p < HW_PARTS; p++)
                *(hw_unaligned *)(lane + p * HW_WIDTH) = sum[r][c][p];
            sums[r][c] = HW_SUM(lane);
        }
    }
}

/* A tile that exceeds an edge repeats the last column and drops the surplus sums. */
static HW_TARGET void gram_panel(const double *const *left, const double *const *right, size_t from, size_t count,
                                 size_t right_from, size_t right_to, double *G, size_t ld, size_t top)
{
    for (size_t a = from; a < count; a += HW_TILE_A) {
        const double *rows[HW_TILE_A];
        for (size_t r = 0; r < HW_TILE_A; r++)
            rows[r] = left[a + r < count ? a + r : count - 1];
        size_t last = a + HW_TILE_A < count ? a + HW_TILE_A : count; /* b <= a + r < last */
        size_t end = right_to < last ? right_to : last;
        for (size_t b = right_from; b < end; b += HW_TILE_B) {
            const double *columns[HW_TILE_B];
            for (size_t c = 0; c < HW_TILE_B; c++)
                columns[c] = right[b + c < end ? b + c : end - 1];
            double sums[HW_TILE_A][HW_TILE_B];
            gram_tile(rows, columns, sums);
            for (size_t r = 0; r < HW_TILE_A && a + r < count; r++)
                for (size_t c = 0; c < HW_TILE_B && b + c < end && b + c <= a + r; c++)
                    G[(a + r - top) * ld + b + c] += sums[r][c];
        }
    }
}

#define HW_TYPED(suffix)                                                                                                    \
    {                                                                                                                       \
        dense_dot_##suffix, dense_scan_##suffix, dense_axpy_##suffix, dense_axpy4_##suffix, dense_moments_##suffix,         \
            dense_pack_##suffix, sparse_dot_##suffix, sparse_scan_##suffix, sparse_scan_some_##suffix,                      \
            sparse_axpy_##suffix, sparse_moments_##suffix                                                                   \
    }

#define HW_OF_ROWS(suffix)                                                                                                  \
    {                                                                                                                       \
        dense_block_##suffix, sparse_multiply_##suffix, sparse_accumulate_##suffix, finish_##suffix, nearest_##suffix,      \
            dot_##suffix, axpy_##suffix, distances_##suffix                                                                 \
    }

const hw_kernels HW_VARIANT = {HW_VARIANT_NAME,
                               weighted_dot,
                               gram_panel,
                               {[HAWSER_F64] = HW_TYPED(f64), [HAWSER_F32] = HW_TYPED(f32)},
                               {[HAWSER_F64] = {[HAWSER_F64] = HW_OF_ROWS(f64_f64), [HAWSER_F32] = HW_OF_ROWS(f64_f32)},
                                [HAWSER_F32] = {[HAWSER_F64] = HW_OF_ROWS(f32_f64), [HAWSER_F32] = HW_OF_ROWS(f32_f32)}}};
