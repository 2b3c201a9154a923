#include "linalg/dense_rows.h"

#include <string.h>

#include "base/layout.h"

enum {
    LANES = 16,  /* of a dense dot */
    CHUNK = 128, /* columns that are scanned together, so few that their lanes stay in the first-level cache */
    GROUP = 8    /* rows that are combined together: each is a chain of additions */
};

static double at(const hawser_matrix *A, size_t row, size_t column)
{
    return hw_value_at(A->values, A->type, hw_dense_place(A, row, column));
}

/* Adds `count` lanes, a power of two, by the tree of the kernels. */
static double sum_lanes(double *lane, size_t count)
{
    for (size_t half = count / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++)
            lane[k] += lane[k + half];
    return lane[0];
}

double hw_dense_rows_dot(const hawser_matrix *A, size_t j, const double *x)
{
    double lane[LANES] = {0};
    for (size_t i = 0; i < A->rows; i++)
        lane[i % LANES] += at(A, i, j) * x[i];
    return sum_lanes(lane, LANES);
}

void hw_dense_rows_axpy(const hawser_matrix *A, size_t j, double step, double *x)
{
    for (size_t i = 0; i < A->rows; i++)
        x[i] += at(A, i, j) * step;
}

void hw_dense_rows_moments(const hawser_matrix *A, size_t j, const double *weights, double centre, hw_moments *out)
{
    double sum[8] = {0}, squares[8] = {0}, weight[8] = {0};
    for (size_t i = 0; i < A->rows; i++) {
        double v = at(A, i, j), w = weights != NULL ? weights[i] : 1, distance = v - centre;
        sum[i % 8] += w * v;
        squares[i % 8] += w * distance * distance;
        weight[i % 8] += w;
    }
    *out = (hw_moments){sum_lanes(sum, 8), sum_lanes(squares, 8), sum_lanes(weight, 8)};
}

void hw_dense_rows_scan(const hawser_matrix *A, const double *x, double *out)
{
    const hw_typed_kernels *kernels = &hw_kernels_best()->typed[A->type];
    double lanes[LANES][CHUNK];
    for (size_t begin = 0; begin < A->cols; begin += CHUNK) {
        size_t n = A->cols - begin < CHUNK ? A->cols - begin : CHUNK;
        memset(lanes, 0, sizeof lanes);
        for (size_t i = 0; i < A->rows; i++) {
            const char *row = (const char *)A->values + hw_dense_place(A, i, begin) * hw_type_size(A->type);
            kernels->dense_axpy(n, row, x[i], lanes[i % LANES]);
        }
        for (size_t j = 0; j < n; j++) {
            double lane[LANES];
            for (size_t k = 0; k < LANES; k++)
                lane[k] = lanes[k][j];
            out[begin + j] = sum_lanes(lane, LANES);
        }
    }
}

/* Combines `rows` rows, at most GROUP. Constants for `type` and `rows` let the compiler keep the sums in registers. */
static inline __attribute__((always_inline)) void combine_rows(const hawser_matrix *A, hawser_type type, size_t begin,
                                                               size_t rows, const uint32_t *columns,
                                                               const double *coefficients, size_t count, double *out)
{
    double sum[GROUP];
    uint64_t first = (uint64_t)begin * A->stride;
    for (size_t r = 0; r < rows; r++)
        sum[r] = out[begin + r];
    for (size_t k = 0; k < count; k++) {
        if (coefficients[k] == 0)
            continue;
        uint64_t place = first + (columns != NULL ? columns[k] : k);
        for (size_t r = 0; r < rows; r++)
            sum[r] += hw_value_at(A->values, type, place + r * A->stride) * coefficients[k];
    }
    for (size_t r = 0; r < rows; r++)
        out[begin + r] = sum[r];
}

void hw_dense_rows_combine(const hawser_matrix *A, const uint32_t *columns, const double *coefficients, size_t count,
                           double *out)
{
    size_t i = 0;
    for (; i + GROUP <= A->rows; i += GROUP)
        if (A->type == HAWSER_F32)
            combine_rows(A, HAWSER_F32, i, GROUP, columns, coefficients, count, out);
        else
            combine_rows(A, HAWSER_F64, i, GROUP, columns, coefficients, count, out);
    for (; i < A->rows; i++)
        combine_rows(A, A->type, i, 1, columns, coefficients, count, out);
}
