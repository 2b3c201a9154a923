/* rows.c - the functions of hawser/row_kernels.h. */
#include "hawser/row_kernels.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/layout.h"
#include "linalg/kernels.h"
#include "linalg/presence.h"

/* Lines of a product that are computed together: their numbers of one packed part of the terms stay in the second-level
 * cache. */
enum { PANEL = 192 };

/* What is summed over a row. */
typedef enum terms { PRODUCTS, DISTANCES, SQUARES } terms;

/* A row: entry k is values[k * step], in column indices[k], or k if there are no indices. */
typedef struct line_of_row {
    size_t count, step;
    const uint32_t *indices;
    const void *values;
} line_of_row;

static const void *at(const hawser_matrix *A, uint64_t entry)
{
    return (const unsigned char *)A->values + entry * hw_type_size(A->type);
}

static line_of_row row_at(const hawser_matrix *A, size_t i)
{
    static const double wide = (double)NAN;
    static const float narrow = NAN;
    static const uint32_t first;
    assert(A->layout != HAWSER_CSC && i < A->rows);
    if (hw_touch_columns(A)) /* a row whose sums are no numbers */
        return (line_of_row){.count = A->cols > 0,
                             .step = 1,
                             .indices = A->layout == HAWSER_CSR ? &first : NULL,
                             .values = A->type == HAWSER_F32 ? (const void *)&narrow : &wide};
    if (A->layout == HAWSER_CSR)
        return (line_of_row){.count = (size_t)(A->offsets[i + 1] - A->offsets[i]),
                             .step = 1,
                             .indices = A->indices + A->offsets[i],
                             .values = at(A, A->offsets[i])};
    return (line_of_row){.count = A->cols,
                         .step = A->layout == HAWSER_DENSE ? A->stride : 1,
                         .values = A->cols > 0 ? at(A, hw_dense_place(A, i, 0)) : NULL};
}

/* Steps of a dense matrix, in numbers. */
static size_t down(const hawser_matrix *A)
{
    return A->layout == HAWSER_DENSE ? 1 : A->stride;
}

static size_t along(const hawser_matrix *A)
{
    return A->layout == HAWSER_DENSE ? A->stride : 1;
}

#define HW_A          double
#define HW_OF(name)   name
#define HW_ARITHMETIC HAWSER_F64
#include "linalg/rows_typed.h"
#undef HW_A
#undef HW_OF
#undef HW_ARITHMETIC
#define HW_A          float
#define HW_OF(name)   name##_f32
#define HW_ARITHMETIC HAWSER_F32
#include "linalg/rows_typed.h"
