#include "algorithms/newton/quadratic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/solve/entries.h"

enum { EPOCHS = 40 }; /* on one model: the next one needs another Gram matrix */

static const double UNEVEN = 1e6; /* of the mean squares: from there on columns differ so much that their units matter */
static const double IDLE = 0.9;   /* of the penalty: a member pulled less stays zero until the next certificate */
static const double FIRST_LEAST = 0.2, MOST_LEAST = 0.25, LEAST_LEAST = 1e-4; /* steps along one row are below 1 / least */

/* Resets what is kept from model to model, and the random numbers. */
static void newton_quadratic_forget(hw_newton_quadratic *q, uint64_t seed)
{
    q->learned = (hw_newton_learned){.least = FIRST_LEAST,
                                     .random = UINT64_C(0x9e3779b97f4a7c15) * (2 * seed + 1)}; /* odd: never zero */
}

hawser_status hw_newton_quadratic_new(hw_newton_quadratic *q, const hawser_matrix *X, uint64_t seed, hawser_error *error)
{
    q->columns.X = *X;
    q->memory = calloc(2 * X->cols + 2 * X->rows + 1, sizeof *q->memory);
    if (q->memory == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a quadratic model of %zu columns", X->cols);
    q->columns.mean = q->memory;
    q->columns.norm = q->memory + X->cols;
    q->residual = q->memory + 2 * X->cols;
    q->curve = q->residual + X->rows;
    newton_quadratic_forget(q, seed);
    HAWSER_TRY(hw_linear_gram_new(&q->gram, X->cols, error));
    q->gram.epochs = EPOCHS;
    return HAWSER_OK;
}

void hw_newton_quadratic_free(hw_newton_quadratic *q)
{
    hw_linear_gram_free(&q->gram);
    hw_linear_members_free(&q->members);
    free(q->terms);
    free(q->origin);
    free(q->at);
    free(q->memory);
    memset(q, 0, sizeof *q);
}

hawser_status hw_newton_quadratic_take(hw_newton_quadratic *q, const uint32_t *list, size_t count, hawser_error *error)
{
    HAWSER_TRY(hw_linear_members_reserve(&q->members, count, error));
    if (count > q->terms_capacity) {
        free(q->terms);
        free(q->origin);
        free(q->at);
        q->terms_capacity = count + count / 2;
        q->terms = malloc(q->terms_capacity * sizeof *q->terms);
        q->origin = malloc(q->terms_capacity * sizeof *q->origin);
        q->at = malloc(q->terms_capacity * sizeof *q->at);
        if (q->terms == NULL || q->origin == NULL || q->at == NULL) {
            q->terms_capacity = 0;
            return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a working set of %zu columns", count);
        }
    }
    q->members.count = count;
    if (count > 0)
        memcpy(q->members.columns, list, count * sizeof *list);
    for (size_t k = 0; k < count; k++)
        q->at[k] = (uint32_t)k;
    return HAWSER_OK;
}

/* Returns whether a member is zero and its pull far below its penalty. */
static bool idle(const hw_newton_quadratic *q, size_t k)
{
    return q->members.x[k] == 0.0 && fabs(q->members.gradient[k]) < IDLE * q->members.terms[k].l1;
}

void hw_newton_quadratic_leave(hw_newton_quadratic *q)
{
    hw_linear_members *members = &q->members;
    size_t count = 0, kept = 0;
    for (size_t k = 0; k < members->count; k++)
        count += idle(q, k);
    if (count < members->count / 8 + 1)
        return;
    for (size_t k = 0; k < members->count; k++) {
        if (idle(q, k))
            continue;
        members->columns[kept] = members->columns[k];
        members->x[kept] = members->x[k];
        q->terms[kept] = q->terms[k];
        q->at[kept++] = q->at[k];
    }
    members->count = kept;
}

/* Computes mean and norm of a column, weighted by curvature. If the mean is large a second pass keeps the norm's digits.
 * Returns the mean also where columns are not centred, but 0 for a constant column then. */
static double measure(hw_linear_columns *columns, size_t j)
{
    double sum = 0.0, squares = 0.0;
    hawser_column_moments(&columns->X, j, columns->weights, columns->total, 0.0, &sum, &squares);
    double mean = columns->centred ? sum / columns->total : 0.0, raw = squares / columns->total;
    double norm = raw - mean * mean;
    if (mean != 0.0 && norm < 0.01 * raw) {
        hawser_column_moments(&columns->X, j, columns->weights, columns->total, mean, &sum, &squares);
        norm = squares / columns->total;
        norm = norm > 1e-28 * mean * mean ? norm : 0.0;
    }
    columns->mean[j] = mean;
    columns->norm[j] = norm;
    if (columns->centred)
        return mean;
    mean = sum / columns->total;
    return hw_linear_is_far(mean, raw) && hw_linear_is_constant(columns, j) ? 0.0 : mean;
}

/* Takes the moments of the members: pairs of mean and norm. */
static void take_moments(hw_newton_quadratic *q, const double *moments)
{
    hw_linear_columns *columns = &q->columns;
    double least = INFINITY, most = 0.0;
    columns->far = false;
    for (size_t k = 0; k < q->members.count; k++) {
        uint32_t j = q->members.columns[k];
        double mean = moments[2 * k], norm = moments[2 * k + 1];
        columns->mean[j] = columns->centred ? mean : 0.0;
        columns->norm[j] = norm;
        columns->far = columns->far || (!columns->centred && hw_linear_is_far(mean, norm));
        least = norm > 0.0 ? fmin(least, norm) : least;
        most = fmax(most, norm);
    }
    q->uneven = columns->far || most > UNEVEN * least;
}

/* Sets each row's curvature, and the model's scale. */
static void bend_rows(hw_newton_quadratic *q, const hw_newton_rows *rows, const hw_newton_point *point)
{
    hw_linear_columns *columns = &q->columns;
    double bend = 0.0;
    for (size_t i = 0; i < rows->count; i++) {
        double least = q->learned.least * fabs(point->pull[i]);
        q->curve[i] = point->curve[i] > least ? point->curve[i] : least;
        bend += q->curve[i];
    }
    columns->weights = q->curve;
    columns->total = bend;
    columns->centred = rows->intercept;
    q->scale = bend > 0.0 ? rows->total / bend : 0.0;
}

void hw_newton_quadratic_section(const hw_newton_quadratic *q, const hw_linear_part *part, size_t *begin, size_t *end)
{
    const hw_linear_members *members = &q->members;
    double all = 0.0, before = 0.0;
    *begin = 0;
    *end = part != NULL ? 0 : members->count;
    for (size_t k = 0; part != NULL && k < members->count; k++)
        all += hw_linear_entry_count(&q->columns.X, members->columns[k]);
    for (size_t k = 0; part != NULL && k < members->count; k++) {
        *begin += before * part->blocks < part->block * all;
        *end += before * part->blocks < (part->block + 1.0) * all;
        before += hw_linear_entry_count(&q->columns.X, members->columns[k]);
    }
}

/* Computes means and norms of the members, weighted by curvature. */
static hawser_status measure_members(hw_newton_quadratic *q, const hw_linear_part *part, hawser_error *error)
{
    hw_linear_columns *columns = &q->columns;
    const hw_linear_members *members = &q->members;
    double *moments = members->scratch;
    size_t begin, end;
    if (members->count == 0)
        return HAWSER_OK;
    hw_newton_quadratic_section(q, part, &begin, &end);
    memset(moments, 0, 2 * members->count * sizeof *moments);
    for (size_t k = begin; k < end; k++) {
        uint32_t j = members->columns[k];
        moments[2 * k] = measure(columns, j);
        moments[2 * k + 1] = columns->norm[j];
    }
    HAWSER_TRY(hw_linear_sum(part, moments, 2 * members->count, error));
    take_moments(q, moments);
    return HAWSER_OK;
}

hawser_status hw_newton_quadratic_at(hw_newton_quadratic *q, const hw_newton_rows *rows, const hw_newton_point *point,
                                     const hw_linear_part *part, hawser_error *error)
{
    hw_linear_members *members = &q->members;
    bend_rows(q, rows, point);
    HAWSER_TRY(measure_members(q, part, error));
    for (size_t k = 0; k < members->count; k++) {
        hw_linear_term term = q->terms[k];
        members->terms[k] = (hw_linear_term){q->scale * term.l1, q->scale * term.l2, term.lower, term.upper};
    }
    hw_linear_gram_clear(&q->gram);
    q->use_gram = hw_linear_gram_pays(&q->gram, &q->columns, members->columns, members->count, HW_LINEAR_LARGEST_GRAM);
    return HAWSER_OK;
}

bool hw_newton_quadratic_on_gram(const hawser_matrix *X, double entries, size_t count)
{
    hw_linear_columns columns = {.X = *X};
    return hw_linear_gram_would_pay(&columns, entries, count, EPOCHS);
}

void hw_newton_quadratic_judge(hw_newton_quadratic *q, double share)
{
    hw_newton_learned *learned = &q->learned;
    double least = share == 1.0 ? 0.5 * learned->least : 4.0 * learned->least;
    learned->least = least > MOST_LEAST ? MOST_LEAST : least < LEAST_LEAST ? LEAST_LEAST : least;
    learned->settled = learned->settled && share == 1.0;
}

void hw_newton_quadratic_residual(const hw_newton_quadratic *q, const hw_newton_point *point, const double *v,
                                  const double *from, double *residual)
{
    size_t n = q->columns.X.rows;
    const double *curve = q->curve;
    double drift = q->columns.centred ? point->sum : 0.0; /* the best intercept follows */
    for (size_t i = 0; i < n; i++) {
        residual[i] = point->pull[i] - (v != from ? curve[i] * (v[i] - from[i]) : 0.0);
        drift -= q->columns.centred && v != from ? curve[i] * (v[i] - from[i]) : 0.0;
    }
    for (size_t i = 0; drift != 0.0 && i < n; i++)
        residual[i] -= curve[i] * (drift / q->columns.total);
}

hawser_status hw_newton_quadratic_solve(hw_newton_quadratic *q, const hw_newton_effort *effort, double *residual,
                                        hawser_error *error)
{
    const hw_linear_columns *columns = &q->columns;
    hw_linear_members *members = &q->members;
    double sum = 0.0, square = 0.0, slack = 0.0;
    if (effort->slack != NULL)
        *effort->slack = 0.0;
    if (members->count == 0 || !(columns->total > 0.0))
        return HAWSER_OK;
    for (size_t i = 0; i < columns->X.rows; i++) {
        sum += residual[i];
        square += columns->weights[i] > 0.0 ? residual[i] * residual[i] / columns->weights[i] : 0.0;
    }
    for (size_t k = 0; k < members->count; k++) {
        members->gradient[k] = hw_linear_dot(columns, members->columns[k], residual, sum) / columns->total;
        members->start[k] = members->x[k];
    }
    if (q->use_gram) {
        size_t fresh = 0;
        HAWSER_TRY(hw_linear_gram_admit(&q->gram, members->columns, members->count, &fresh, error));
        HAWSER_TRY(hw_linear_gram_fill(&q->gram, columns, fresh, q->gram.count, effort->stop, error));
    }
    if (hw_linear_stopping(effort->stop)) /* the matrix may have holes */
        return HAWSER_OK;
    hw_linear_round round = {.columns = columns,
                             .gain = effort->gain,
                             .residual = residual,
                             .sum = sum,
                             .square = square / columns->total,
                             .gap = q->scale * effort->gap,
                             .tolerance = q->scale * effort->tolerance,
                             .steps = effort->steps,
                             .slack = effort->slack != NULL ? &slack : NULL,
                             .stop = effort->stop};
    HAWSER_TRY(hw_linear_descend(members, q->use_gram ? &q->gram : NULL, &round, error));
    if (effort->slack != NULL)
        *effort->slack = slack / q->scale;
    return HAWSER_OK;
}
