#include "algorithms/newton/dual.h"

#include <math.h>
#include <string.h>

#include "algorithms/solve/box.h"

enum { MOST_STEPS = 50 };

static const double TIGHT = 1e-18; /* of the objective, for the intercept of a point that others are measured by */

hawser_status hw_newton_dual_new(hw_newton_dual *dual, const hw_linear_problem *problem, hawser_error *error)
{
    size_t n = problem->X->rows, f = problem->free_count + 1, all = problem->free_count + problem->box_count;
    dual->theta = hw_array_new(&dual->arrays, 2 * n + 2, sizeof *dual->theta);
    if (all > 0) {
        dual->matrix = hw_array_new(&dual->arrays, f * f, sizeof *dual->matrix);
        dual->step = hw_array_new(&dual->arrays, 2 * f, sizeof *dual->step);
        dual->image = hw_array_new(&dual->arrays, n + 1, sizeof *dual->image);
        dual->used = hw_array_new(&dual->arrays, f, sizeof *dual->used);
        dual->at = hw_array_new(&dual->arrays, all, sizeof *dual->at);
        dual->variables = hw_array_new(&dual->arrays, all, sizeof *dual->variables);
        dual->box = hw_array_new(&dual->arrays, hw_linear_box_numbers(all), sizeof *dual->box);
    }
    if (dual->arrays.failed)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the dual point of %zu rows and %zu free columns", n, all);
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
                         const hw_newton_point *point, bool certain)
{
    if (problem->free_count > 0) {
        use_two_sided(dual, problem);
        do
            take_out(dual, problem, rows, point);
        while (use_violated(dual, problem));
        if (!rows->loss->theta(rows, dual->pull, dual->theta) && certain) /* zero is always feasible */
            memset(dual->theta, 0, rows->count * sizeof *dual->theta);
    } else {
        (void)rows->loss->theta(rows, point->pull, dual->theta);
        if (rows->intercept)
            rows->loss->balance(rows, dual->theta);
    }
    dual->sum = rows->loss->pull(rows, dual->theta, dual->pull);
}

/* Prepares the variables of a start: the columns of factor 0, less their means by the curves if there is an intercept, and
 * scaled to length 1 by the curves. Returns their number. */
static size_t find_variables(hw_newton_dual *dual, const hw_linear_problem *problem, const hw_newton_rows *rows,
                             const hw_newton_point *point)
{
    size_t n = rows->count, count = 0;
    for (size_t f = 0; f < problem->free_count + problem->box_count; f++) {
        const double *x = problem->free_columns + f * n;
        double sum = 0.0, raw = 0.0, square = 0.0;
        if (problem->factor == NULL || problem->factor[problem->free_list[f]] > 0.0)
            continue;
        for (size_t i = 0; i < n; i++) {
            sum += point->curve[i] * x[i];
            raw += point->curve[i] * x[i] * x[i];
        }
        double mean = rows->intercept ? sum / point->bend : 0.0;
        for (size_t i = 0; i < n; i++)
            square += point->curve[i] * (x[i] - mean) * (x[i] - mean);
        if (square > 1e-26 * raw) /* else it depends on the intercept */
            dual->variables[count++] = (hw_newton_variable){f, mean, sqrt(square)};
    }
    return count;
}

/* Returns entry i of a variable, not yet scaled. */
static double variable_at(const hw_newton_dual *dual, const hw_linear_problem *problem, size_t a, size_t i)
{
    const hw_newton_variable *own = &dual->variables[a];
    return problem->free_columns[own->column * problem->X->rows + i] - own->mean;
}

/* Makes the quadratic model of the loss in the variables, within the bounds that are left. */
static void make_model(hw_newton_dual *dual, const hw_linear_problem *problem, const hw_newton_rows *rows,
                       const hw_newton_point *point, hw_linear_box *box)
{
    size_t n = rows->count;
    hw_linear_box_begin(box, dual->box, problem->free_count + problem->box_count);
    size_t count = box->search.count = find_variables(dual, problem, rows, point);
    for (size_t i = 0; i < n; i++)
        box->size += point->curve[i] > 0.0 ? point->pull[i] * point->pull[i] / point->curve[i] : 0.0;
    for (size_t a = 0; a < count; a++) {
        const hw_newton_variable *own = &dual->variables[a];
        uint32_t j = problem->free_list[own->column];
        double at = dual->at[own->column];
        box->lower[a] = ((problem->lower != NULL ? problem->lower[j] : -INFINITY) - at) * own->length;
        box->upper[a] = ((problem->upper != NULL ? problem->upper[j] : INFINITY) - at) * own->length;
        for (size_t i = 0; i < n; i++) {
            double x = variable_at(dual, problem, a, i);
            box->search.pull[a] += x * point->pull[i];
            dual->image[i] = x * point->curve[i];
        }
        box->search.pull[a] /= own->length;
        for (size_t b = 0; b <= a; b++) {
            double sum = 0.0;
            for (size_t i = 0; i < n; i++)
                sum += dual->image[i] * variable_at(dual, problem, b, i);
            box->gram[a * count + b] = box->gram[b * count + a] = sum / own->length / dual->variables[b].length;
        }
    }
}

/* Makes the image of the model's step. */
static void make_image(hw_newton_dual *dual, const hw_linear_problem *problem, const hw_linear_box *box)
{
    for (size_t i = 0; i < problem->X->rows; i++) {
        double sum = 0.0;
        for (size_t a = 0; a < box->search.count; a++)
            sum += box->search.step[a] / dual->variables[a].length * variable_at(dual, problem, a, i);
        dual->image[i] = sum;
    }
}

/* Moves the coefficients by a share of the model's step. */
static void move(hw_newton_dual *dual, const hw_linear_problem *problem, const hw_linear_box *box, double share)
{
    for (size_t a = 0; a < box->search.count; a++) {
        size_t f = dual->variables[a].column;
        uint32_t j = problem->free_list[f];
        double to = dual->at[f] + share * box->search.step[a] / dual->variables[a].length;
        to = problem->lower != NULL ? fmax(to, problem->lower[j]) : to;
        dual->at[f] = problem->upper != NULL ? fmin(to, problem->upper[j]) : to;
    }
}

void hw_newton_dual_start(hw_newton_dual *dual, const hw_linear_problem *problem, const hw_newton_rows *rows, double *v,
                          hw_newton_point *point, double *zero)
{
    size_t n = rows->count, count = problem->free_count + problem->box_count;
    memset(v, 0, n * sizeof *v);
    point->intercept = 0.0;
    rows->loss->settle(rows, v, TIGHT, point);
    *zero = point->loss;
    if (count == 0)
        return;
    memset(dual->at, 0, count * sizeof *dual->at);
    for (int step = 0; step < MOST_STEPS; step++) {
        double before = point->loss, share = 1.0, gone = 0.0;
        hw_linear_box box;
        make_model(dual, problem, rows, point, &box);
        hw_linear_box_solve(&box);
        make_image(dual, problem, &box);
        do { /* v is always that of the share gone so far */
            for (size_t i = 0; i < n; i++)
                v[i] += (share - gone) * dual->image[i];
            gone = share;
            rows->loss->settle(rows, v, TIGHT, point);
            share *= 0.5;
        } while (point->loss > before && share > 1e-6);
        move(dual, problem, &box, gone);
        if (!(point->loss < before * (1.0 - 1e-15)))
            return;
    }
}
