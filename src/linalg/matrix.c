/* matrix.c - the functions of hawser/matrix.h except the Gram matrix. They choose a kernel by layout and type, once per
 * call. */
#include "hawser/matrix.h"

#include <assert.h>
#include <math.h>

#include "base/layout.h"
#include "linalg/dense_rows.h"
#include "linalg/kernels.h"
#include "linalg/presence.h"

/* Rows of one pass of a dense combination, so few that the part of `out` stays in the first-level cache. */
enum { COMBINE_ROWS = 2048 };

static const hw_typed_kernels *kernels_of(const hawser_matrix *A)
{
    assert(A->type == HAWSER_F64 || A->type == HAWSER_F32);
    return &hw_kernels_best()->typed[A->type];
}

static const void *at(const hawser_matrix *A, uint64_t entry)
{
    return (const unsigned char *)A->values + entry * hw_type_size(A->type);
}

static const void *dense_column(const hawser_matrix *A, size_t j)
{
    return at(A, (uint64_t)j * A->stride);
}

size_t hw_presence_column(const hawser_matrix *A, size_t j)
{
    const hw_presence *presence = (const hw_presence *)A->residence;
    if (A->layout != HAWSER_DENSE)
        return A->first + j;
    /* In a dense view, `first` may be the number of the first row. */
    size_t distance = (size_t)((const char *)A->values - (const char *)presence->values);
    return distance / hw_type_size(A->type) / A->stride + j;
}

void hw_presence_touch(const hawser_matrix *A, size_t j)
{
    hw_presence *presence = (hw_presence *)A->residence;
    size_t column = hw_presence_column(A, j);
    if (A->layout != HAWSER_DENSE && A->offsets[j] == A->offsets[j + 1])
        return; /* the column has no entries on any node */
    if (atomic_load_explicit(&presence->state[column], memory_order_relaxed) != HW_HERE)
        atomic_store_explicit(&presence->absent, column + 1, memory_order_relaxed);
}

void hw_presence_refuse(const hawser_matrix *A)
{
    hw_presence *presence = (hw_presence *)A->residence;
    if (atomic_exchange_explicit(&presence->absent, 1, memory_order_relaxed) == 0)
        hw_notify(presence->messages, HAWSER_WARNING, presence->node,
                  "the whole of a matrix is read whose rows are held by block, on several nodes; use the rows of a block by "
                  "hawser_read");
}

hawser_matrix hawser_matrix_columns(const hawser_matrix *A, size_t begin, size_t end)
{
    if (A == NULL)
        return (hawser_matrix){0};
    assert(A->layout != HAWSER_CSR && begin <= end && end <= A->cols);
    hawser_matrix view = *A;
    view.cols = end - begin;
    view.first = A->first + begin;
    if (hw_is_dense(A)) {
        view.stored = (uint64_t)A->rows * view.cols;
        if (view.cols > 0 && A->rows > 0) /* no address beyond the array for an empty view */
            view.values = at(A, hw_dense_place(A, 0, begin));
    } else {
        view.offsets = A->offsets + begin;
        view.stored = A->offsets[end] - A->offsets[begin];
    }
    return view;
}

hawser_matrix hawser_matrix_rows(const hawser_matrix *A, size_t begin, size_t end)
{
    if (A == NULL)
        return (hawser_matrix){0};
    assert(A->layout != HAWSER_CSC && begin <= end && end <= A->rows);
    hawser_matrix view = *A;
    view.rows = end - begin;
    view.first = A->first + begin;
    if (hw_touch_rows(A))
        return view; /* which kernels refuse, too */
    if (hw_is_dense(A)) {
        if (view.rows > 0 && A->cols > 0) /* no address beyond the array for an empty view */
            view.values = at(A, hw_dense_place(A, begin, 0));
        view.stored = (uint64_t)view.rows * A->cols;
        return view;
    }
    view.offsets = A->offsets + begin;
    view.stored = A->offsets[end] - A->offsets[begin];
    return view;
}

/* Fills the result of a kernel that was refused. */
static void fill_nan(double *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (double)NAN;
}

double hawser_column_dot(const hawser_matrix *A, size_t j, const double *x)
{
    assert(A->layout != HAWSER_CSR && j < A->cols);
    const hw_typed_kernels *kernels = kernels_of(A);
    if (hw_touch_column(A, j))
        return (double)NAN;
    if (A->layout == HAWSER_DENSE_ROWS)
        return hw_dense_rows_dot(A, j, x);
    if (A->layout == HAWSER_DENSE)
        return kernels->dense_dot(A->rows, dense_column(A, j), x);
    uint64_t begin = A->offsets[j];
    return kernels->sparse_dot((size_t)(A->offsets[j + 1] - begin), A->indices + begin, at(A, begin), x);
}

void hawser_column_axpy(const hawser_matrix *A, size_t j, double step, double *x)
{
    assert(A->layout != HAWSER_CSR && j < A->cols);
    const hw_typed_kernels *kernels = kernels_of(A);
    if (step != 0 && hw_touch_column(A, j)) {
        fill_nan(x, A->rows);
        return;
    }
    if (A->layout == HAWSER_DENSE_ROWS) {
        hw_dense_rows_axpy(A, j, step, x);
        return;
    }
    if (A->layout == HAWSER_DENSE) {
        kernels->dense_axpy(A->rows, dense_column(A, j), step, x);
        return;
    }
    uint64_t begin = A->offsets[j];
    kernels->sparse_axpy((size_t)(A->offsets[j + 1] - begin), A->indices + begin, at(A, begin), step, x);
}

void hawser_column_moments(const hawser_matrix *A, size_t j, const double *weights, double total_weight, double centre,
                           double *sum, double *squares)
{
    assert(A->layout != HAWSER_CSR && j < A->cols);
    const hw_typed_kernels *kernels = kernels_of(A);
    hw_moments moments = {.sum = (double)NAN, .squares = (double)NAN};
    if (hw_touch_column(A, j)) {
        *sum = moments.sum;
        *squares = moments.squares;
        return;
    }
    if (A->layout == HAWSER_DENSE_ROWS) {
        hw_dense_rows_moments(A, j, weights, centre, &moments);
    } else if (A->layout == HAWSER_DENSE) {
        kernels->dense_moments(A->rows, dense_column(A, j), weights, centre, &moments);
    } else {
        uint64_t begin = A->offsets[j];
        size_t n = (size_t)(A->offsets[j + 1] - begin);
        kernels->sparse_moments(n, A->indices + begin, at(A, begin), weights, centre, &moments);
        double rest = weights != NULL ? total_weight - moments.weight : (double)(A->rows - n);
        if (n < A->rows)
            moments.squares += rest * centre * centre;
    }
    *sum = moments.sum;
    *squares = moments.squares;
}

void hawser_scan(const hawser_matrix *A, const double *x, double *out)
{
    assert(A->layout != HAWSER_CSR);
    const hw_typed_kernels *kernels = kernels_of(A);
    if (hw_touch_columns(A))
        fill_nan(out, A->cols);
    else if (A->layout == HAWSER_DENSE_ROWS)
        hw_dense_rows_scan(A, x, out);
    else if (A->layout == HAWSER_DENSE)
        kernels->dense_scan(A->rows, A->cols, A->values, A->stride, x, out);
    else
        kernels->sparse_scan(A->cols, A->offsets, A->indices, A->values, x, out);
}

void hawser_scan_some(const hawser_matrix *A, const uint32_t *columns, size_t count, const double *x, double *out)
{
    assert(A->layout != HAWSER_CSR);
    const hw_typed_kernels *kernels = kernels_of(A);
    if (hw_touch_rows(A)) {
        for (size_t k = 0; k < count; k++)
            out[columns[k]] = (double)NAN;
        return;
    }
    for (size_t k = 0; A->residence != NULL && k < count; k++)
        hw_presence_touch(A, columns[k]);
    if (!hw_is_dense(A))
        kernels->sparse_scan_some(columns, count, A->offsets, A->indices, A->values, x, out);
    else if (A->layout == HAWSER_DENSE_ROWS)
        for (size_t k = 0; k < count; k++)
            out[columns[k]] = hw_dense_rows_dot(A, columns[k], x);
    else
        for (size_t k = 0; k < count; k++)
            out[columns[k]] = kernels->dense_dot(A->rows, dense_column(A, columns[k]), x);
}

/* Combines the listed columns, or all if `columns` is NULL. Rows are processed in parts so that `out` stays in the cache.
 * Each entry still adds the columns in the order of the list, so the bits depend neither on the parts nor on the grouping by
 * four. */
static void combine_dense(const hawser_matrix *A, const uint32_t *columns, const double *coefficients, size_t count,
                          double *out)
{
    const hw_typed_kernels *kernels = kernels_of(A);
    for (size_t k = 0; A->residence != NULL && k < count; k++)
        if (coefficients[k] != 0)
            hw_presence_touch(A, columns != NULL ? columns[k] : k);
    for (size_t begin = 0; begin < A->rows; begin += COMBINE_ROWS) {
        size_t n = A->rows - begin < COMBINE_ROWS ? A->rows - begin : COMBINE_ROWS;
        const void *four[4];
        double steps[4];
        size_t held = 0;
        for (size_t k = 0; k < count; k++) {
            if (coefficients[k] == 0)
                continue;
            four[held] = at(A, (columns != NULL ? columns[k] : k) * (uint64_t)A->stride + begin);
            steps[held++] = coefficients[k];
            if (held == 4) {
                kernels->dense_axpy4(n, four, steps, out + begin);
                held = 0;
            }
        }
        for (size_t c = 0; c < held; c++)
            kernels->dense_axpy(n, four[c], steps[c], out + begin);
    }
}

void hawser_combine(const hawser_matrix *A, const uint32_t *columns, const double *coefficients, size_t count, double *out)
{
    assert(A->layout != HAWSER_CSR);
    if (hw_touch_rows(A))
        fill_nan(out, A->rows);
    else if (A->layout == HAWSER_DENSE_ROWS)
        hw_dense_rows_combine(A, columns, coefficients, count, out);
    else if (A->layout == HAWSER_DENSE)
        combine_dense(A, columns, coefficients, count, out);
    else
        for (size_t k = 0; k < count; k++)
            hawser_column_axpy(A, columns[k], coefficients[k], out);
}

void hawser_multiply(const hawser_matrix *A, const double *w, double constant, double *out)
{
    if (hw_touch_rows(A)) {
        fill_nan(out, A->rows);
        return;
    }
    if (A->layout == HAWSER_CSR) {
        kernels_of(A)->sparse_scan(A->rows, A->offsets, A->indices, A->values, w, out);
        for (size_t i = 0; i < A->rows; i++)
            out[i] += constant;
        return;
    }
    for (size_t i = 0; i < A->rows; i++)
        out[i] = constant;
    if (A->layout == HAWSER_DENSE_ROWS) {
        hw_dense_rows_combine(A, NULL, w, A->cols, out);
        return;
    }
    if (A->layout == HAWSER_DENSE) {
        combine_dense(A, NULL, w, A->cols, out);
        return;
    }
    for (size_t j = 0; j < A->cols; j++)
        if (w[j] != 0)
            hawser_column_axpy(A, j, w[j], out);
}

double hawser_dot(size_t n, const double *x, const double *y, const double *weights)
{
    const hw_kernels *kernels = hw_kernels_best();
    return weights != NULL ? kernels->weighted_dot(n, x, y, weights) : kernels->typed[HAWSER_F64].dense_dot(n, x, y);
}
