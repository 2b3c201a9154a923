#include "algorithms/solve/pivot.h"

#include <string.h>

size_t hw_linear_pivot_find(const hw_linear_columns *columns, const uint32_t *list, size_t count)
{
    size_t pivot = count;
    double most = 0.0;
    if (!columns->far || count < 2)
        return pivot;
    for (size_t f = 0; f < count; f++) {
        double sum = 0.0, squares = 0.0;
        hawser_column_moments(&columns->X, list[f], columns->weights, columns->total, 0.0, &sum, &squares);
        double mean = sum / columns->total, raw = squares / columns->total;
        if (!hw_linear_is_far(mean, raw) || mean * mean / raw <= most)
            continue;
        most = mean * mean / raw;
        pivot = f;
    }
    return pivot;
}

/* Fills a column's values by row. */
static void fill(const hw_linear_columns *columns, uint32_t column, double *values)
{
    memset(values, 0, columns->X.rows * sizeof *values);
    hawser_column_axpy(&columns->X, column, 1.0, values);
}

void hw_linear_pivot_shares(const hw_linear_columns *columns, const uint32_t *list, size_t count, size_t pivot,
                            double *scratch[2], double *share, double *left)
{
    size_t n = columns->X.rows;
    double *own = scratch[0], *rest = scratch[1];
    fill(columns, list[pivot], own);
    double square = hawser_dot(n, own, own, columns->weights);
    share[pivot] = 1.0;
    left[pivot] = square / columns->total;
    for (size_t f = 0; f < count; f++) {
        if (f == pivot)
            continue;
        fill(columns, list[f], rest);
        share[f] = hawser_dot(n, rest, own, columns->weights) / square;
        for (size_t i = 0; i < n; i++)
            rest[i] -= share[f] * own[i];
        left[f] = hawser_dot(n, rest, rest, columns->weights) / columns->total;
    }
}
