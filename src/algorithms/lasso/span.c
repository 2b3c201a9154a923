#include "algorithms/lasso/span.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/solve/conjugate.h"

hawser_status hw_lasso_span_new(hw_lasso_span *span, const hw_linear_problem *problem, hawser_error *error)
{
    size_t n = problem->X->rows, most = problem->free_count + problem->box_count;
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

/* Removes the first `count` basis vectors from the residual. */
static void project_once(const hw_lasso_span *span, size_t count, const hw_linear_columns *columns, double *residual)
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
static double reduce(const hw_lasso_span *span, size_t count, const hw_linear_columns *columns, const double *column,
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
static void take_in(hw_lasso_span *span, const hw_linear_problem *problem, const hw_linear_columns *columns, uint32_t member)
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
static void take_out(const hw_lasso_span *span, const hw_linear_problem *problem, const hw_linear_columns *columns,
                     double *residual)
{
    size_t n = columns->X.rows;
    double size =
        hawser_dot(n, problem->target, problem->target, columns->weights); /* measures the residual's own rounding */
    project_once(span, span->count, columns, residual);
    double once = hawser_dot(n, residual, residual, columns->weights);
    project_once(span, span->count, columns, residual);
    double twice = hawser_dot(n, residual, residual, columns->weights);
    if (twice < 0.5 * once || twice < 1e-24 * size)
        memset(residual, 0, n * sizeof *residual);
}

/* Adds the one-sided columns whose free side the residual points to. Returns true if there are any. Their number only grows,
 * so repeated calls end. */
static bool take_in_violated(hw_lasso_span *span, const hw_linear_problem *problem, const hw_linear_columns *columns,
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

void hw_lasso_span_project(hw_lasso_span *span, const hw_linear_problem *problem, const hw_linear_columns *columns,
                           double *residual)
{
    span->count = 0;
    for (size_t f = 0; f < problem->free_count; f++)
        if (problem->free_side[f] == 0)
            take_in(span, problem, columns, (uint32_t)f);
    if (span->count > 0)
        take_out(span, problem, columns, residual);
    while (take_in_violated(span, problem, columns, residual))
        take_out(span, problem, columns, residual);
}

/* ------------------------------------------------------------------------------------------------------------- fit ---- */

/* Least squares over columns of length 1 within bounds, by their Gram matrix. */
typedef struct box {
    hw_conjugate search; /* its step is the coefficients, its count the number of columns */
    double size;         /* the residual's square at the start, the scale of rounding errors */
    double *gram;        /* count x count */
    double *lower, *upper;
} box;

static void box_move(box *b, size_t a, double step)
{
    size_t count = b->search.count;
    b->search.step[a] += step;
    for (size_t k = 0; k < count; k++)
        b->search.pull[k] -= step * b->gram[a * count + k];
}

static double within(const box *b, size_t a, double t)
{
    return fmin(fmax(t, b->lower[a]), b->upper[a]);
}

/* Makes a pass of coordinate descent. Returns the sum of the squared steps. */
static double box_pass(box *b)
{
    double moved = 0.0;
    for (size_t a = 0; a < b->search.count; a++) {
        double t = b->search.step[a], step = within(b, a, t + b->search.pull[a]) - t;
        if (step != 0.0)
            box_move(b, a, step);
        moved += step * step;
    }
    return moved;
}

/* Returns the length of a step along the direction, at most `length`, at which the first bound is reached. */
static double box_reach(const box *b, double length)
{
    const double *t = b->search.step, *direction = b->search.direction;
    for (size_t a = 0; a < b->search.count; a++) {
        double end = t[a] + length * direction[a];
        if (direction[a] != 0.0 && (end < b->lower[a] || end > b->upper[a]))
            length = ((end < b->lower[a] ? b->lower[a] : b->upper[a]) - t[a]) / direction[a];
    }
    return length;
}

/* Takes the pull on the coefficients that are not at a bound. Returns its square. */
static double box_scale(const box *b)
{
    const hw_conjugate *search = &b->search;
    double power = 0.0;
    for (size_t a = 0; a < search->count; a++) {
        double t = search->step[a], pull = t > b->lower[a] && t < b->upper[a] ? search->pull[a] : 0.0;
        search->bent[a] = pull;
        power += pull * pull;
    }
    return power;
}

/* Multiplies the direction by the Gram matrix. Returns the product of both. */
static double box_bend(const box *b)
{
    const hw_conjugate *search = &b->search;
    double curvature = 0.0;
    for (size_t a = 0; a < search->count; a++) {
        search->bent[a] = hawser_dot(search->count, b->gram + a * search->count, search->direction, NULL);
        curvature += search->direction[a] * search->bent[a];
    }
    return curvature;
}

/* Runs conjugate gradients over the coefficients that are not at a bound, up to the first bound. If columns are dependent,
 * directions whose pull and curvature are only rounding would allow steps of any length, so it ends there. Columns have
 * length 1, so that rounding errors of the Gram matrix are relative to 1 at any scale of the data. */
static void box_face(box *b)
{
    hw_conjugate *search = &b->search;
    hw_conjugate_begin(search);
    for (size_t turn = 0; turn < search->count + 2; turn++) {
        hw_conjugate_turn(search, box_scale(b));
        double curvature = box_bend(b), square = hawser_dot(search->count, search->direction, search->direction, NULL);
        if (!(search->power > 1e-28 * b->size) || !(curvature > 1e-13 * square))
            return;
        double length = box_reach(b, search->power / curvature);
        hw_conjugate_go(search, length);
        for (size_t a = 0; a < search->count; a++)
            search->step[a] = within(b, a, search->step[a]);
        if (length < search->power / curvature)
            return;
    }
}

/* Adds a bounded column to the box, orthogonal to the span (whose columns can replace that part) and of length 1, with its
 * bounds in that scale. */
static void box_take_in(box *b, hw_lasso_span *span, const hw_linear_problem *problem, const hw_linear_columns *columns,
                        size_t f, const double *residual)
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
static void box_fill(box *b, hw_lasso_span *span, const hw_linear_problem *problem, const hw_linear_columns *columns,
                     double *residual)
{
    size_t n = columns->X.rows, all = problem->free_count + problem->box_count;
    const double *factor = problem->factor;
    span->count = 0;
    for (size_t f = 0; f < problem->free_count; f++)
        if (factor != NULL && factor[problem->free_list[f]] == 0.0 && problem->free_side[f] == 0)
            take_in(span, problem, columns, (uint32_t)f);
    if (span->count > 0)
        take_out(span, problem, columns, residual);
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

hawser_status hw_lasso_span_fit(hw_lasso_span *span, const hw_linear_problem *problem, const hw_linear_columns *columns,
                                double *residual, hawser_error *error)
{
    enum { PASSES = 1000 };
    size_t n = columns->X.rows, most = problem->free_count + problem->box_count;
    double *memory = calloc(most * (most + 6) + 1, sizeof *memory);
    if (memory == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu columns without a penalty", most);
    box b = {.gram = memory, .size = hawser_dot(n, residual, residual, columns->weights)};
    hw_conjugate *search = &b.search;
    double **parts[] = {&b.lower, &b.upper, &search->step, &search->pull, &search->direction, &search->bent};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        *parts[k] = memory + most * (most + k);
    box_fill(&b, span, problem, columns, residual);
    for (size_t k = 0; k < PASSES && box_pass(&b) > 1e-26 * b.size; k++)
        box_face(&b);
    for (size_t a = 0; a < search->count; a++)
        for (size_t i = 0; i < n; i++)
            residual[i] -= search->step[a] * span->basis[(span->count + a) * n + i];
    hw_lasso_span_reset(span);
    free(memory);
    return HAWSER_OK;
}
