#include "algorithms/newton/dual.h"

#include <string.h>

enum { MOST_STEPS = 50 };

static const double TIGHT = 1e-18; /* of the objective, for the intercept of a point that others are measured by */

hawser_status hw_newton_dual_new(hw_newton_dual *dual, const hw_linear_problem *problem, hawser_error *error)
{
    size_t n = problem->X->rows, f = problem->free_count + 1;
    dual->theta = hw_array_new(&dual->arrays, 2 * n + 2, sizeof *dual->theta);
    if (problem->free_count > 0) {
        dual->matrix = hw_array_new(&dual->arrays, f * f, sizeof *dual->matrix);
        dual->step = hw_array_new(&dual->arrays, 2 * f, sizeof *dual->step);
        dual->image = hw_array_new(&dual->arrays, n + 1, sizeof *dual->image);
        dual->used = hw_array_new(&dual->arrays, f, sizeof *dual->used);
    }
    if (dual->arrays.failed)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the dual point of %zu rows and %zu free columns", n,
                           f - 1);
    dual->pull = dual->theta + n + 1;
    return HAWSER_OK;
}

void hw_newton_dual_free(hw_newton_dual *dual)
{
    hw_arrays_free(&dual->arrays);
    memset(dual, 0, sizeof *dual);
}

/* Entry i of the k-th column that is kept orthogonal; the intercept's comes first. */
static double entry(const hw_newton_dual *dual, const hw_linear_problem *problem, bool intercept, size_t k, size_t i)
{
    if (intercept && k == 0)
        return 1.0;
    return problem->free_columns[dual->used[k - intercept] * problem->X->rows + i];
}

/* Cholesky in place, lower triangle; a column that depends on those before it is left out (a zero pivot). */
static void factor(size_t m, double *matrix)
{
    for (size_t a = 0; a < m; a++) {
        double before = matrix[a * m + a], pivot = before;
        for (size_t k = 0; k < a; k++)
            pivot -= matrix[a * m + k] * matrix[a * m + k];
        pivot = pivot > 1e-12 * before && pivot > 0.0 ? sqrt(pivot) : 0.0;
        matrix[a * m + a] = pivot;
        for (size_t b = a + 1; b < m; b++) {
            double sum = matrix[b * m + a];
            for (size_t k = 0; k < a; k++)
                sum -= matrix[b * m + k] * matrix[a * m + k];
            matrix[b * m + a] = pivot > 0.0 ? sum / pivot : 0.0;
        }
    }
}

static void solve(size_t m, const double *matrix, double *x)
{
    for (size_t a = 0; a < m; a++) {
        for (size_t k = 0; k < a; k++)
            x[a] -= matrix[a * m + k] * x[k];
        x[a] = matrix[a * m + a] > 0.0 ? x[a] / matrix[a * m + a] : 0.0;
    }
    for (size_t a = m; a-- > 0;) {
        for (size_t k = a + 1; k < m; k++)
            x[a] -= matrix[k * m + a] * x[k];
        x[a] = matrix[a * m + a] > 0.0 ? x[a] / matrix[a * m + a] : 0.0;
    }
}

/* Newton's step for the columns in use: dual->step, and its image. */
static void newton(hw_newton_dual *dual, const hw_linear_problem *problem, bool intercept, const double *pull,
                   const double *curve)
{
    size_t n = problem->X->rows, m = dual->used_count + intercept;
    for (size_t a = 0; a < m; a++) {
        double gradient = 0.0;
        for (size_t i = 0; i < n; i++) {
            dual->image[i] = entry(dual, problem, intercept, a, i);
            gradient += dual->image[i] * pull[i];
        }
        dual->step[a] = gradient;
        for (size_t b = 0; b <= a; b++) {
            double sum = 0.0;
            for (size_t i = 0; i < n; i++)
                sum += dual->image[i] * curve[i] * entry(dual, problem, intercept, b, i);
            dual->matrix[a * m + b] = sum;
        }
    }
    factor(m, dual->matrix);
    solve(m, dual->matrix, dual->step);
    for (size_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (size_t a = 0; a < m; a++)
            sum += dual->step[a] * entry(dual, problem, intercept, a, i);
        dual->image[i] = sum;
    }
}

/* pull less what the columns in use have in it; rounding needs the second time. */
static void take_out(hw_newton_dual *dual, const hw_linear_problem *problem, const hw_newton_rows *rows,
                     const hw_newton_point *point)
{
    memcpy(dual->pull, point->pull, rows->count * sizeof *dual->pull);
    for (int pass = 0; pass < 2; pass++) {
        newton(dual, problem, rows->intercept, dual->pull, point->curve);
        for (size_t i = 0; i < rows->count; i++)
            dual->pull[i] -= point->curve[i] * dual->image[i];
    }
}

static void use_two_sided(hw_newton_dual *dual, const hw_linear_problem *problem)
{
    dual->used_count = 0;
    for (size_t f = 0; f < problem->free_count; f++)
        if (problem->free_side[f] == 0)
            dual->used[dual->used_count++] = (uint32_t)f;
}

/* Takes in the one-sided columns that are pulled to their free side; returns whether there are any. */
static bool use_violated(hw_newton_dual *dual, const hw_linear_problem *problem)
{
    size_t n = problem->X->rows, before = dual->used_count;
    for (size_t f = 0; f < problem->free_count; f++) {
        bool in = problem->free_side[f] == 0;
        double pull = 0.0;
        for (size_t k = 0; k < before && !in; k++)
            in = dual->used[k] == f;
        for (size_t i = 0; i < n && !in; i++)
            pull += problem->free_columns[f * n + i] * dual->pull[i];
        if (!in && pull * problem->free_side[f] > 0.0)
            dual->used[dual->used_count++] = (uint32_t)f;
    }
    return dual->used_count > before;
}

void hw_newton_dual_make(hw_newton_dual *dual, const hw_linear_problem *problem, const hw_newton_rows *rows,
                         const hw_newton_point *point)
{
    if (problem->free_count > 0) {
        use_two_sided(dual, problem);
        do
            take_out(dual, problem, rows, point);
        while (use_violated(dual, problem));
        if (!rows->loss->theta(rows, dual->pull, dual->theta)) /* zero is always feasible */
            memset(dual->theta, 0, rows->count * sizeof *dual->theta);
    } else {
        (void)rows->loss->theta(rows, point->pull, dual->theta);
        if (rows->intercept)
            rows->loss->balance(rows, dual->theta);
    }
    dual->sum = rows->loss->pull(rows, dual->theta, dual->pull);
}

void hw_newton_dual_start(hw_newton_dual *dual, const hw_linear_problem *problem, const hw_newton_rows *rows, double *v,
                          hw_newton_point *point, double *zero)
{
    size_t n = rows->count;
    memset(v, 0, n * sizeof *v);
    point->intercept = 0.0;
    rows->loss->settle(rows, v, TIGHT, point);
    *zero = point->loss;
    if (problem->free_count == 0)
        return;
    use_two_sided(dual, problem);
    for (int step = 0; step < MOST_STEPS && dual->used_count > 0; step++) {
        double before = point->loss, share = 1.0, gone = 0.0;
        newton(dual, problem, rows->intercept, point->pull, point->curve);
        do { /* v is always that of the share gone so far */
            for (size_t i = 0; i < n; i++)
                v[i] += (share - gone) * dual->image[i];
            gone = share;
            rows->loss->settle(rows, v, TIGHT, point);
            share *= 0.5;
        } while (point->loss > before && share > 1e-6);
        if (!(point->loss < before * (1.0 - 1e-15)))
            return;
    }
}
