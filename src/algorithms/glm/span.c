#include "algorithms/glm/span.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/solve/box.h"

hawser_status hw_linear_span_new(hw_linear_span *span, const hw_linear_problem *problem, hawser_error *error)
{
    size_t n = problem->X->rows, most = problem->free_count + problem->box_count;
    if (most == 0)
        return HAWSER_OK;
    span->basis = calloc(n * most + 1, sizeof *span->basis);
    span->members = calloc(most, sizeof *span->members);
    if (span->basis != NULL && span->members != NULL)
        return HAWSER_OK;
    hw_linear_span_free(span);
    return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu columns without a penalty", most);
}

void hw_linear_span_free(hw_linear_span *span)
{
    free(span->basis);
    free(span->members);
    memset(span, 0, sizeof *span);
}

void hw_linear_span_reset(hw_linear_span *span)
{
    span->count = span->made = 0;
}

static double weight_at(const hw_linear_columns *columns, size_t i)
{
    return columns->weights != NULL ? columns->weights[i] : 1.0;
}

/* Removes the first `count` basis vectors from the residual. */
static void project_once(const hw_linear_span *span, size_t count, const hw_linear_columns *columns, double *residual)
{
    size_t n = columns->X.rows;
    for (size_t k = 0; k < count; k++) {
        const double *q = span->basis + k * n;
        double dot = hawser_dot(n, q, residual, columns->weights);
        for (size_t i = 0; i < n; i++)
            residual[i] -= dot * q[i];
    }
}

/* Sets q to a column, centred, orthogonal to the first `count` basis vectors (Gram-Schmidt, twice, in the inner product of
 * the weights) and of length 1. Returns its former length, or 0 if the column depends on them or on the intercept, or is
 * zero. */
static double reduce(const hw_linear_span *span, size_t count, const hw_linear_columns *columns, const double *column,
                     double *q)
{
    size_t n = columns->X.rows;
    double mean = 0.0, raw = hawser_dot(n, column, column, columns->weights);
    for (size_t i = 0; columns->centred && i < n; i++)
        mean += weight_at(columns, i) * column[i] / columns->total;
    for (size_t i = 0; i < n; i++)
        q[i] = column[i] - mean;
    double before = hawser_dot(n, q, q, columns->weights);
    project_once(span, count, columns, q);
    project_once(span, count, columns, q);
    double after = hawser_dot(n, q, q, columns->weights), length = sqrt(after);
    if (!(after > 1e-20 * before) || !(after > 1e-26 * raw))
        return 0.0;
    for (size_t i = 0; i < n; i++)
        q[i] /= length;
    return length;
}

/* Adds a free column to the span. The last basis is reused as long as the order of columns is the same. */
static void take_in(hw_linear_span *span, const hw_linear_problem *problem, const hw_linear_columns *columns,
                    uint32_t member)
{
    size_t k = span->count++;
    if (k < span->made && span->members[k] == member)
        return;
    size_t n = columns->X.rows;
    double *q = span->basis + k * n;
    span->members[k] = member;
    if (!(reduce(span, k, columns, problem->free_columns + member * n, q) > 0.0))
        memset(q, 0, n * sizeof *q);
    span->made = k + 1;
}

/* Removes the span from the residual, twice: one projection leaves rounding errors of the size of the removed part. If the
 * second one removes as much again, only rounding is left, and the residual becomes 0, which is feasible. */
static void take_out(const hw_linear_span *span, const hw_linear_columns *columns, const double *target, double *residual)
{
    size_t n = columns->X.rows;
    double size = hawser_dot(n, target, target, columns->weights); /* measures the residual's own rounding */
    project_once(span, span->count, columns, residual);
    double once = hawser_dot(n, residual, residual, columns->weights);
    project_once(span, span->count, columns, residual);
    double twice = hawser_dot(n, residual, residual, columns->weights);
    if (twice < 0.5 * once || twice < 1e-24 * size)
        memset(residual, 0, n * sizeof *residual);
}

/* Adds the one-sided columns whose free side the residual points to. Returns true if there are any. Their number only grows,
 * so repeated calls end. */
static bool take_in_violated(hw_linear_span *span, const hw_linear_problem *problem, const hw_linear_columns *columns,
                             const double *residual)
{
    size_t n = columns->X.rows, before = span->count;
    double sum = 0.0;
    for (size_t i = 0; columns->centred && i < n; i++)
        sum += weight_at(columns, i) * residual[i];
    for (size_t f = 0; f < problem->free_count; f++) {
        const double *x = problem->free_columns + f * n;
        bool in = problem->free_side[f] == 0;
        for (size_t k = 0; k < before && !in; k++)
            in = span->members[k] == f;
        if (in)
            continue;
        double mean = 0.0;
        for (size_t i = 0; columns->centred && i < n; i++)
            mean += weight_at(columns, i) * x[i] / columns->total;
        if ((hawser_dot(n, x, residual, columns->weights) - mean * sum) * problem->free_side[f] > 0.0)
            take_in(span, problem, columns, (uint32_t)f);
    }
    return span->count > before;
}

void hw_linear_span_project(hw_linear_span *span, const hw_linear_problem *problem, const hw_linear_columns *columns,
                            const double *target, double *residual)
{
    span->count = 0;
    for (size_t f = 0; f < problem->free_count; f++)
        if (problem->free_side[f] == 0)
            take_in(span, problem, columns, (uint32_t)f);
    if (span->count > 0)
        take_out(span, columns, target, residual);
    while (take_in_violated(span, problem, columns, residual))
        take_out(span, columns, target, residual);
}

/* ------------------------------------------------------------------------------------------------------------- fit ---- */

/* Adds a bounded column to the box, orthogonal to the span (whose columns can replace that part) and of length 1, with its
 * bounds in that scale. */
static void box_take_in(hw_linear_box *b, hw_linear_span *span, const hw_linear_problem *problem,
                        const hw_linear_columns *columns, size_t f, const double *residual)
{
    size_t n = columns->X.rows;
    uint32_t j = problem->free_list[f];
    double *q = span->basis + (span->count + b->search.count) * n;
    double length = reduce(span, span->count, columns, problem->free_columns + f * n, q);
    if (!(length > 0.0))
        return;
    size_t a = b->search.count++;
    b->lower[a] = problem->lower != NULL ? problem->lower[j] * length : -INFINITY;
    b->upper[a] = problem->upper != NULL ? problem->upper[j] * length : INFINITY;
    b->search.pull[a] = hawser_dot(n, q, residual, columns->weights);
}

/* Removes the span of the unbounded columns of penalty factor 0 from the residual, and puts the bounded ones into the
 * box. */
static void box_fill(hw_linear_box *b, hw_linear_span *span, const hw_linear_problem *problem,
                     const hw_linear_columns *columns, const double *target, double *residual)
{
    size_t n = columns->X.rows, all = problem->free_count + problem->box_count;
    const double *factor = problem->factor;
    span->count = 0;
    for (size_t f = 0; f < problem->free_count; f++)
        if (factor != NULL && factor[problem->free_list[f]] == 0.0 && problem->free_side[f] == 0)
            take_in(span, problem, columns, (uint32_t)f);
    if (span->count > 0)
        take_out(span, columns, target, residual);
    for (size_t f = 0; f < all; f++)
        if (factor != NULL && factor[problem->free_list[f]] == 0.0 &&
            (f >= problem->free_count || problem->free_side[f] != 0))
            box_take_in(b, span, problem, columns, f, residual);
    const double *q = span->basis + span->count * n;
    size_t count = b->search.count;
    for (size_t a = 0; a < count; a++)
        for (size_t c = 0; c <= a; c++)
            b->gram[a * count + c] = b->gram[c * count + a] = hawser_dot(n, q + a * n, q + c * n, columns->weights);
}

hawser_status hw_linear_span_fit(hw_linear_span *span, const hw_linear_problem *problem, const hw_linear_columns *columns,
                                 const double *target, double *residual, hawser_error *error)
{
    size_t n = columns->X.rows, most = problem->free_count + problem->box_count;
    double *memory = malloc((hw_linear_box_numbers(most) + 1) * sizeof *memory);
    if (memory == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu columns without a penalty", most);
    hw_linear_box b;
    hw_linear_box_begin(&b, memory, most);
    b.size = hawser_dot(n, residual, residual, columns->weights);
    box_fill(&b, span, problem, columns, target, residual);
    hw_linear_box_solve(&b);
    for (size_t a = 0; a < b.search.count; a++)
        for (size_t i = 0; i < n; i++)
            residual[i] -= b.search.step[a] * span->basis[(span->count + a) * n + i];
    hw_linear_span_reset(span);
    free(memory);
    return HAWSER_OK;
}
