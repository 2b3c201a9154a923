#include "algorithms/solve/columns.h"

#include <stdlib.h>

#include "algorithms/solve/entries.h"
#include "hawser/advanced.h"

hawser_status hw_linear_columns_new(hw_linear_columns *columns, hawser_error *error)
{
    double **parts[] = {&columns->mean, &columns->norm, &columns->l1, &columns->l2, &columns->lower, &columns->upper};
    size_t count = columns->X.cols, fields = sizeof parts / sizeof *parts;
    double *memory = calloc(fields * count + 1, sizeof *memory);
    if (memory == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a block of %zu rows and %zu columns", columns->X.rows,
                           count);
    for (size_t k = 0; k < fields; k++)
        *parts[k] = memory + k * count;
    return HAWSER_OK;
}

void hw_linear_columns_free(hw_linear_columns *columns)
{
    free(columns->mean);
    columns->mean = NULL;
}

double hw_linear_penalties(const hw_linear_term *terms, const double *x, size_t count)
{
    double sum = 0.0;
    for (size_t k = 0; k < count; k++)
        sum += hw_linear_penalty(x[k], terms[k]);
    return sum;
}

double hw_linear_total(size_t count, const double *x)
{
    double lane[HW_LINEAR_LANES] = {0.0};
    size_t i = 0;
    for (; i + HW_LINEAR_LANES <= count; i += HW_LINEAR_LANES)
        for (size_t k = 0; k < HW_LINEAR_LANES; k++)
            lane[k] += x[i + k];
    for (size_t k = 0; i + k < count; k++)
        lane[k] += x[i + k];
    for (size_t k = 1; k < HW_LINEAR_LANES; k++)
        lane[0] += lane[k];
    return lane[0];
}

void hw_linear_axpy(const hw_linear_columns *columns, size_t j, double step, double *u)
{
    const hawser_matrix *X = &columns->X;
    if (columns->weights == NULL) {
        hawser_column_axpy(X, j, step, u);
        return;
    }
    const double *w = columns->weights;
    uint64_t begin, end;
    hw_linear_entries(X, j, &begin, &end);
    hawser_simulated_work(NULL, end - begin);
    for (uint64_t k = begin; k < end; k++) {
        size_t i = hw_linear_row_of(X, begin, k);
        u[i] += step * w[i] * hw_number_at(X, k);
    }
}

void hw_linear_combine(const hawser_matrix *X, const double *alpha, size_t stride, double *image)
{
    uint32_t
        columns[512]; /* many at a time, so that a part of the image stays in the cache for all of them if they are dense */
    double coefficients[512];
    size_t held = 0;
    for (size_t j = 0; j < X->cols; j++) {
        if (alpha[j * stride] != 0.0) {
            columns[held] = (uint32_t)j;
            coefficients[held++] = alpha[j * stride];
        }
        if (held == sizeof columns / sizeof *columns || j + 1 == X->cols) {
            hawser_combine(X, columns, coefficients, held, image);
            held = 0;
        }
    }
}

bool hw_linear_is_constant(const hw_linear_columns *columns, size_t j)
{
    const hawser_matrix *X = &columns->X;
    uint64_t begin, end;
    double first = NAN;
    hw_linear_entries(X, j, &begin, &end);
    uint64_t at = begin;
    for (size_t i = 0; i < X->rows; i++) {
        bool stored = at < end && hw_linear_row_of(X, begin, at) == i; /* else it is a zero */
        double value = stored ? hw_number_at(X, at) : 0.0;
        at += stored;
        if (columns->weights != NULL && !(columns->weights[i] > 0.0))
            continue;
        first = isnan(first) ? value : first;
        if (value != first)
            return false;
    }
    return true;
}
