/*
 * The margins v = X w are a stored state to which all add. In a clock a block takes one group of its columns, the same of all blocks'
 * groups, reads the margins, takes a proximal step in each column of the group at once, and adds what that changes to the margins.
 *
 * The step is bounded as follows. The loss bends by c_i / 4 at most in row i, and all columns J that move on stale margins may meet there:
 *     (sum_J x_ij d_j)^2 <= (sum_J |x_ij|) sum_J |x_ij| d_j^2,
 * so that u_j = sum_i c_i |x_ij| R_i / (4 W) with R_i = sum_J |x_ij| bounds the loss by a separable quadratic. J is the group that all
 * blocks work on, and for a lag of tau clocks the tau groups before it besides. What the KKT filter leaves out is not in J: it makes steps
 * longer.
 */
#include "algorithms/logistic/delayed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/descent/problem.h"
#include "algorithms/logistic/block.h"

enum { CLOCKS = 40 }; /* of each group, between two certificates */

/* What a block has for it. */
typedef struct hw_logistic_delayed {
    size_t rows, groups;
    bool *active;  /* by column */
    double *bend;  /* u_j */
    double *reach; /* groups x rows: R_i of each group, all blocks together */
    double *margins, *change;
    uint64_t *keys; /* rows whose margin changes */
    double *values;
} hw_logistic_delayed;

static hawser_status new_delayed(hw_logistic_block *block, size_t groups, hawser_error *error)
{
    size_t n = block->columns.X.rows, p = block->columns.X.cols;
    hw_logistic_delayed *delayed = calloc(1, sizeof *delayed);
    block->delayed = delayed;
    if (delayed == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a block");
    *delayed = (hw_logistic_delayed){.rows = n,
                                     .groups = groups,
                                     .active = calloc(p + 1, sizeof *delayed->active),
                                     .bend = calloc(p + 1, sizeof(double)),
                                     .reach = calloc(groups * n + 1, sizeof(double)),
                                     .margins = calloc(n + 1, sizeof(double)),
                                     .change = calloc(n + 1, sizeof(double)),
                                     .keys = calloc(n + 1, sizeof *delayed->keys),
                                     .values = calloc(n + 1, sizeof(double))};
    if (delayed->active == NULL || delayed->bend == NULL || delayed->reach == NULL || delayed->margins == NULL ||
        delayed->change == NULL || delayed->keys == NULL || delayed->values == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a block of %zu rows and %zu columns", n, p);
    return HAWSER_OK;
}

void hw_logistic_delayed_free(hw_logistic_delayed *delayed)
{
    if (delayed == NULL)
        return;
    void *all[] = {delayed->active, delayed->bend, delayed->reach, delayed->margins,
                   delayed->change, delayed->keys, delayed->values};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
    free(delayed);
}

/* Neighbouring columns of a block, cut into groups of like size. */
static void group_of(const hw_logistic_delayed *delayed, size_t columns, size_t group, size_t *begin, size_t *end)
{
    *begin = columns * group / delayed->groups;
    *end = columns * (group + 1) / delayed->groups;
}

static double entry(const hawser_matrix *X, uint64_t at)
{
    return X->type == HAWSER_F32 ? (double)((const float *)X->values)[at] : ((const double *)X->values)[at];
}

/* Entries of a column: rows by `row`, from `begin` to `end`. */
static void column_of(const hawser_matrix *X, size_t j, uint64_t *begin, uint64_t *end)
{
    bool dense = X->layout == HAWSER_DENSE;
    *begin = dense ? j * X->stride : X->offsets[j];
    *end = dense ? *begin + X->rows : X->offsets[j + 1];
}

static size_t row_of(const hawser_matrix *X, uint64_t begin, uint64_t at)
{
    return X->layout == HAWSER_DENSE ? at - begin : X->indices[at];
}

/* ------------------------------------------------------------------------------------------------------------- start ---- */

/* The KKT filter: a column that is zero, and whose gradient is further within the penalty's dead zone than any column is from where it
 * should be, is left out until the next certificate has looked at it. */
static size_t choose(hw_logistic_block *block, const double *alpha, double lambda, bool filter)
{
    hw_logistic_delayed *delayed = block->delayed;
    const hw_linear_columns *columns = &block->columns;
    double worst = 0.0;
    size_t left_out = 0;
    for (size_t j = 0; j < columns->X.cols; j++)
        worst = fmax(worst, hw_linear_violation(block->scan.gradient[j], alpha[j], hw_linear_term_at(columns, j, lambda)));
    for (size_t j = 0; j < columns->X.cols; j++) {
        double l1 = hw_linear_term_at(columns, j, lambda).l1;
        delayed->active[j] = !filter || alpha[j] != 0.0 || fabs(block->scan.gradient[j]) >= l1 - worst;
        left_out += !delayed->active[j];
    }
    return left_out;
}

static hawser_status add_change(hawser_context *context, hw_logistic_delayed *delayed)
{
    size_t count = 0;
    for (size_t i = 0; i < delayed->rows; i++) {
        if (delayed->change[i] == 0.0)
            continue;
        delayed->keys[count] = i;
        delayed->values[count++] = delayed->change[i];
        delayed->change[i] = 0.0;
    }
    return hawser_inc(context, "margins", delayed->keys, delayed->values, count);
}

/* From where the last certificate was; a new fold or lambda may have begun elsewhere than this solver has ended. */
static hawser_status start(hawser_context *context)
{
    hw_logistic_block *block = hawser_scratch(context);
    const hw_linear *linear = block->linear;
    const hawser_matrix *X = &block->columns.X;
    const double *alpha = hawser_local(context, "alpha");
    double *w = hawser_local(context, "w"), *board = hawser_local(context, "reach");
    hawser_error error = {0};
    if (block->delayed == NULL && new_delayed(block, linear->settings.groups, &error) != HAWSER_OK)
        return hw_linear_fail(context, &error);
    hw_logistic_delayed *delayed = block->delayed;
    double left_out = (double)choose(block, alpha, hawser_metric(context, "lambda"), linear->settings.kkt);
    for (size_t j = 0; j < X->cols; j++) {
        if (alpha[j] != w[j])
            hawser_column_axpy(X, j, alpha[j] - w[j], delayed->change);
        w[j] = alpha[j];
    }
    memset(board, 0, delayed->groups * delayed->rows * sizeof *board);
    for (size_t g = 0; g < delayed->groups; g++) {
        size_t begin, end;
        group_of(delayed, X->cols, g, &begin, &end);
        for (size_t j = begin; j < end; j++) {
            uint64_t first, last;
            column_of(X, j, &first, &last);
            for (uint64_t k = first; delayed->active[j] && k < last; k++)
                board[g * delayed->rows + row_of(X, first, k)] += fabs(entry(X, k));
        }
    }
    HAWSER_TRY(hawser_report(context, "suppressed", left_out));
    return add_change(context, delayed);
}

/* Bounds of the own columns, now that it is known what all blocks work on. */
static hawser_status bounds(hawser_context *context)
{
    hw_logistic_block *block = hawser_scratch(context);
    hw_logistic_delayed *delayed = block->delayed;
    const hawser_matrix *X = &block->columns.X;
    size_t n = delayed->rows, groups = delayed->groups;
    double lag = hw_descent_lag(block->linear->sync);
    memset(delayed->reach, 0, groups * n * sizeof *delayed->reach);
    for (hawser_chunk chunk;;) {
        HAWSER_TRY(hawser_next_chunk(context, "reach", &chunk));
        if (chunk.block == UINT32_MAX)
            break;
        for (size_t i = 0; i < chunk.count; i++)
            delayed->reach[i] += chunk.values[i];
    }
    for (size_t i = 0; i < n; i++) { /* margins: of the largest group, for those that came before */
        delayed->margins[i] = 0.0;
        for (size_t g = 0; g < groups; g++)
            delayed->margins[i] = fmax(delayed->margins[i], delayed->reach[g * n + i]);
    }
    for (size_t g = 0; g < groups; g++) {
        size_t begin, end;
        group_of(delayed, X->cols, g, &begin, &end);
        for (size_t j = begin; j < end; j++) {
            uint64_t first, last;
            double sum = 0.0;
            column_of(X, j, &first, &last);
            for (uint64_t k = first; k < last; k++) {
                size_t i = row_of(X, first, k);
                double weight = block->rows.weights != NULL ? block->rows.weights[i] : 1.0;
                sum += weight * fabs(entry(X, k)) * (delayed->reach[g * n + i] + lag * delayed->margins[i]);
            }
            delayed->bend[j] = sum / (4.0 * block->rows.total);
        }
    }
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------------- steps ---- */

static hawser_status read_margins(hawser_context *context, double *margins)
{
    for (hawser_chunk chunk;;) {
        HAWSER_TRY(hawser_next_chunk(context, "margins", &chunk));
        if (chunk.block == UINT32_MAX)
            return HAWSER_OK;
        memcpy(margins + chunk.first, chunk.values, chunk.count * sizeof *margins);
    }
}

static hawser_status descend(hawser_context *context)
{
    hw_logistic_block *block = hawser_scratch(context);
    hw_logistic_delayed *delayed = block->delayed;
    const hw_linear_columns *columns = &block->columns;
    double *w = hawser_local(context, "w"), lambda = hawser_metric(context, "lambda");
    double caution = hawser_metric(context, "caution");
    size_t begin, end;
    HAWSER_TRY(read_margins(context, delayed->margins));
    hw_logistic_settle(&block->rows, delayed->margins, 1e-12 * block->zero_objective, &block->point);
    group_of(delayed, columns->X.cols, hawser_clock(context) % delayed->groups, &begin, &end);
    for (size_t j = begin; j < end; j++) {
        if (!delayed->active[j] || !(delayed->bend[j] > 0.0))
            continue;
        double bend = delayed->bend[j] * (caution > 1.0 ? caution : 1.0);
        double pull = hw_linear_dot(columns, j, block->point.pull, block->point.sum) / block->rows.total;
        double to = hw_linear_prox(bend * w[j] + pull, bend, hw_linear_term_at(columns, j, lambda));
        if (to != w[j])
            hawser_column_axpy(&columns->X, j, to - w[j], delayed->change);
        w[j] = to;
    }
    return add_change(context, delayed);
}

/* What comes of it becomes the coefficients; v is made anew of them. */
static hawser_status settle(hawser_context *context)
{
    memcpy(hawser_local(context, "alpha"), hawser_local(context, "w"), hawser_part(context, "w", NULL) * sizeof(double));
    return hawser_touch(context, "v", 0, 0);
}

void hw_logistic_delayed_declare(hawser_program *program)
{
    hawser_metric_declare(program, "suppressed", HAWSER_SUM);
    hawser_metric_declare(program, "caution", HAWSER_LAST);
}

void hw_logistic_delayed_work(const hw_linear_frame *frame, hw_linear *linear)
{
    hawser_program *p = frame->program;
    hawser_state *X = frame->X;
    size_t rows = linear->X->rows, groups = linear->settings.groups;
    uint64_t every = linear->settings.certify_every;
    hawser_until until = {.clocks = every > 0 ? every : CLOCKS * groups};
    hawser_state *w = hawser_local_state(p, "w", X, 1, linear->alpha);
    hawser_state *margins = hawser_stored_state(p, "margins", rows, NULL, linear->image, "add", NULL);
    hawser_state *reach = hawser_stored_state(p, "reach", linear->blocks * groups * rows, NULL, NULL, NULL, NULL);
    hawser_unit(frame->work, "start", start, HAWSER_READS(X, frame->alpha), HAWSER_UPDATES(w, margins, reach));
    hawser_unit(frame->work, "bounds", bounds, HAWSER_READS(X, reach), NULL);
    hawser_operator *steps = hawser_loop(frame->work, "steps", until, linear->sync);
    hawser_unit(steps, "descend", descend, HAWSER_READS(X), HAWSER_UPDATES(w, margins));
    hawser_operator *once = hawser_loop(frame->work, "arrive", (hawser_until){.clocks = 1}, hawser_bsp());
    hawser_unit(once, "settle", settle, HAWSER_READS(w), HAWSER_UPDATES(frame->v, frame->alpha));
}
