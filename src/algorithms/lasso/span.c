#include "algorithms/lasso/span.h"

#include <stdlib.h>
#include <string.h>

hawser_status hw_lasso_span_new(hw_lasso_span *span, const hw_linear *lasso, hawser_error *error)
{
    size_t n = lasso->X->rows, most = lasso->free_count;
    if (most == 0)
        return HAWSER_OK;
    span->basis = calloc(n * most + 1, sizeof *span->basis);
    span->members = calloc(most, sizeof *span->members);
    if (span->basis != NULL && span->members != NULL)
        return HAWSER_OK;
    hw_lasso_span_free(span);
    return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu columns without a penalty", most);
}

void hw_lasso_span_free(hw_lasso_span *span)
{
    free(span->basis);
    free(span->members);
    memset(span, 0, sizeof *span);
}

void hw_lasso_span_reset(hw_lasso_span *span)
{
    span->count = span->made = 0;
}

static double weight_at(const hw_linear_columns *columns, size_t i)
{
    return columns->weights != NULL ? columns->weights[i] : 1.0;
}

/* Gram-Schmidt, twice, in the inner product of the weights; a column that depends on earlier ones becomes zero. */
static void orthonormalise(hw_lasso_span *span, const hw_linear *lasso, const hw_linear_columns *columns, size_t k)
{
    size_t n = columns->X.rows;
    double *q = span->basis + k * n, mean = 0.0, before = 0.0;
    memcpy(q, lasso->free_columns + span->members[k] * n, n * sizeof *q);
    for (size_t i = 0; columns->centred && i < n; i++)
        mean += weight_at(columns, i) * q[i] / columns->total;
    for (size_t i = 0; i < n; i++) {
        q[i] -= mean;
        before += weight_at(columns, i) * q[i] * q[i];
    }
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t h = 0; h < k; h++) {
            const double *other = span->basis + h * n;
            double dot = hawser_dot(n, q, other, columns->weights);
            for (size_t i = 0; i < n; i++)
                q[i] -= dot * other[i];
        }
    double after = hawser_dot(n, q, q, columns->weights);
    double scale = after > 1e-20 * before && after > 0.0 ? 1.0 / sqrt(after) : 0.0;
    for (size_t i = 0; i < n; i++)
        q[i] *= scale;
}

/* Adds a free column to the span; the basis of the last time is used as far as the order is the same. */
static void take_in(hw_lasso_span *span, const hw_linear *lasso, const hw_linear_columns *columns, uint32_t member)
{
    size_t k = span->count++;
    if (k < span->made && span->members[k] == member)
        return;
    span->members[k] = member;
    orthonormalise(span, lasso, columns, k);
    span->made = k + 1;
}

static void project_once(const hw_lasso_span *span, const hw_linear_columns *columns, double *residual)
{
    size_t n = columns->X.rows;
    for (size_t k = 0; k < span->count; k++) {
        const double *q = span->basis + k * n;
        double dot = hawser_dot(n, q, residual, columns->weights);
        for (size_t i = 0; i < n; i++)
            residual[i] -= dot * q[i];
    }
}

/* Once leaves rounding of the size of what was there; when a second time takes out as much again, nothing but rounding was left,
 * and 0 is feasible. */
static void take_out(const hw_lasso_span *span, const hw_linear *lasso, const hw_linear_columns *columns, double *residual)
{
    size_t n = columns->X.rows;
    double size = hawser_dot(n, lasso->target, lasso->target, columns->weights); /* measures the residual's own rounding */
    project_once(span, columns, residual);
    double once = hawser_dot(n, residual, residual, columns->weights);
    project_once(span, columns, residual);
    double twice = hawser_dot(n, residual, residual, columns->weights);
    if (twice < 0.5 * once || twice < 1e-24 * size)
        memset(residual, 0, n * sizeof *residual);
}

/* Takes in the one-sided columns whose free side the residual points to; returns whether there are any. They only become more, so
 * that this comes to an end. */
static bool take_in_violated(hw_lasso_span *span, const hw_linear *lasso, const hw_linear_columns *columns,
                             const double *residual)
{
    size_t n = columns->X.rows, before = span->count;
    double sum = 0.0;
    for (size_t i = 0; columns->centred && i < n; i++)
        sum += weight_at(columns, i) * residual[i];
    for (size_t f = 0; f < lasso->free_count; f++) {
        const double *x = lasso->free_columns + f * n;
        bool in = lasso->free_side[f] == 0;
        for (size_t k = 0; k < before && !in; k++)
            in = span->members[k] == f;
        if (in)
            continue;
        double mean = 0.0;
        for (size_t i = 0; columns->centred && i < n; i++)
            mean += weight_at(columns, i) * x[i] / columns->total;
        if ((hawser_dot(n, x, residual, columns->weights) - mean * sum) * lasso->free_side[f] > 0.0)
            take_in(span, lasso, columns, (uint32_t)f);
    }
    return span->count > before;
}

void hw_lasso_span_project(hw_lasso_span *span, const hw_linear *lasso, const hw_linear_columns *columns, double *residual)
{
    span->count = 0;
    for (size_t f = 0; f < lasso->free_count; f++)
        if (lasso->free_side[f] == 0)
            take_in(span, lasso, columns, (uint32_t)f);
    if (span->count > 0)
        take_out(span, lasso, columns, residual);
    while (take_in_violated(span, lasso, columns, residual))
        take_out(span, lasso, columns, residual);
}
