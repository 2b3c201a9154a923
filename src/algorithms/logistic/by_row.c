/*
 * by_row.c - delayed block proximal gradient with rows on the blocks. Columns are centred if the intercept is free, and the
 * intercept is a column of ones without a penalty. With margins m = X z and pulls of loss.h, each clock sums over the rows
 *     g_j = sum_i (x_ij - m_j) pull_i / W
 * at the servers, and every block then takes the step
 *     w_j = argmin over t of  b_j / 2 (t - z_j - g_j / b_j)^2 + h_j(t),   b_j = factor * bend_j.
 * All blocks take the same steps in the same order, so each has all weights without reading them. A server's "proximal"
 * function would have one rate and one penalty for all columns, and here these differ by column.
 *
 * bend_j = sum_i c_i / 4 |x_ij - m_j| R_i / W, with R_i the sum of |x_ik - m_k| over the columns of the group that may move
 * and 1 for the intercept. With these b_j the model bounds the loss, whatever the columns of a group do together. Columns
 * that the KKT filter leaves out do not count.
 *
 * `factor` adapts that bound to the loss along the path: it falls slowly while the objective falls, and is raised where the
 * objective rises. The objective of a clock is summed with the gradients. With one group the steps are accelerated (FISTA),
 * and a rise ends the momentum first.
 *
 * Under a lag of N clocks the sums of clock t are taken in clock t + N + 1 by every block, whether they arrive before or
 * not. So N blocks of columns are in flight at most, and results repeat. Momentum then needs gradients of where the weights
 * will be when the sums are taken: with v the momentum's step, the margins are those of z = w + (N + 1) v, and the step
 * starts from w + v. That is as stable as without a lag if b_j is (N + 1)^2 times as large, because z is farther ahead.
 */
#include "algorithms/logistic/by_row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/policy.h"
#include "algorithms/logistic/block.h"
#include "algorithms/logistic/kkt.h"
#include "algorithms/model/arrays.h"
#include "algorithms/sgd/exchange.h"
#include "algorithms/solve/entries.h"
#include "algorithms/solve/memory.h"
#include "hawser/advanced.h"
#include "hawser/job_data.h"
#include "hawser/stored.h"

enum {
    CLOCKS = 100,      /* for each group between two certificates: they exchange a number per row, clocks one per column */
    LEAST_CLOCKS = 10, /* the same, where the estimate of the gap is small */
    SOON = 3           /* clocks after a rise in which another one means that steps are too long, and not the momentum */
};

static const double FALL = 0.98, RISE = 1.5;            /* of the factor, by clock */
static const double FALL_WITH = 0.998, RISE_WITH = 2.0; /* with momentum, which rises now and then */
static const double FALL_LATE = 0.9995;                 /* and a lag, from the first rise on: a longer step costs more */
static const double LEAST = 1.0 / 256.0;                /* factor: that of a loss without curvature */
static const double UNBOUNDED = 1e200;                  /* stands for an infinite bound where numbers are summed */
static const double SAME = 1e-14;                       /* rounding of an objective */
static const double ENOUGH = 0.5;                       /* of the tolerance: an estimate of the gap that ends the clocks */

/* What is the same on all blocks, and goes on from clock to clock. */
typedef struct pacing {
    double factor, objective, lambda;
    double momentum;       /* steps since it began, plus one */
    double fall;           /* of the factor */
    double passed, gap;    /* estimate of the gap by the groups of this pass, and that of the last whole pass */
    uint64_t since;        /* clocks since the last rise */
    uint64_t begun, taken; /* clocks of this loop: pushed, and taken as a step */
    uint64_t turn;         /* clocks of the loops before it: the groups go on in turn */
    uint32_t fold;         /* for which `all` was gathered, from 1; 0: none */
} pacing;

typedef struct hw_logistic_by_row {
    const hw_newton_block *block;
    size_t columns, groups, first;
    uint64_t lag;
    hawser_matrix X; /* of this block's rows, and all columns */
    hw_newton_rows rows;
    hw_newton_point point;
    hw_linear_columns all; /* moments and penalties of all columns; its matrix has no entries */
    pacing pace;
    bool *active;                    /* by column */
    double *w, *z;                   /* by column, and the intercept of centred columns */
    double *bend, *steps, *gathered; /* likewise; steps: the changes of z */
    double *penalty;                 /* of the clocks in flight */
    double *margins;                 /* X z */
    uint64_t *keys;
    double *values;
    hw_arrays arrays;
} hw_logistic_by_row;

/* Newton's part of a block is its first member. */
static hw_logistic_block *logistic_of(hw_newton_block *block)
{
    return (hw_logistic_block *)block;
}

static uint64_t lag_of(const hw_linear *linear)
{
    return linear->choices.blocks > 1 ? (uint64_t)hw_linear_lag(linear->choices.sync) : 0;
}

static bool accelerates(const hw_logistic_by_row *by_row)
{
    return by_row->groups == 1;
}

/* Groups are runs of neighbouring columns, of about the same size. */
static void columns_of(const hw_logistic_by_row *by_row, size_t group, size_t *begin, size_t *end)
{
    *begin = by_row->columns * group / by_row->groups;
    *end = by_row->columns * (group + 1) / by_row->groups;
}

static size_t group_of(const hw_logistic_by_row *by_row, uint64_t clock)
{
    return (size_t)((by_row->pace.turn + clock) % by_row->groups);
}

/* ------------------------------------------------------------------------------------------------------------- rows ---- */

/* Copies the entries of rows [first, last) of sparse columns. */
static hawser_status copy_entries(hw_logistic_by_row *by_row, const hawser_matrix *whole, size_t first, size_t last,
                                  hawser_error *error)
{
    size_t size = whole->type == HAWSER_F32 ? sizeof(float) : sizeof(double), count = 0, p = whole->cols;
    uint64_t *offsets = hw_array_new(&by_row->arrays, p + 1, sizeof *offsets);
    for (size_t j = 0; offsets != NULL && j < p; j++) {
        uint64_t begin = hw_linear_first_entry(whole->indices, whole->offsets[j], whole->offsets[j + 1], first);
        offsets[j] = count;
        count += hw_linear_first_entry(whole->indices, begin, whole->offsets[j + 1], last) - begin;
    }
    uint32_t *indices = hw_array_new(&by_row->arrays, count + 1, sizeof *indices);
    char *values = hw_array_new(&by_row->arrays, count + 1, size);
    if (by_row->arrays.failed)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the %zu entries of %zu rows", count, last - first);
    offsets[p] = count;
    for (size_t j = 0; j < p; j++) {
        uint64_t begin = hw_linear_first_entry(whole->indices, whole->offsets[j], whole->offsets[j + 1], first);
        size_t own = (size_t)(offsets[j + 1] - offsets[j]);
        for (size_t k = 0; k < own; k++)
            indices[offsets[j] + k] = whole->indices[begin + k] - (uint32_t)first;
        memcpy(values + offsets[j] * size, (const char *)whole->values + begin * size, own * size);
    }
    by_row->X = (hawser_matrix){.rows = last - first,
                                .cols = p,
                                .stored = count,
                                .layout = HAWSER_CSC,
                                .type = whole->type,
                                .offsets = offsets,
                                .indices = indices,
                                .values = values};
    return HAWSER_OK;
}

/* Takes this block's rows of the whole matrix. The node has all entries now. */
static hawser_status take_rows(hw_logistic_by_row *by_row, const hawser_matrix *whole, size_t last, hawser_error *error)
{
    size_t first = by_row->first;
    if (whole->layout != HAWSER_DENSE)
        return copy_entries(by_row, whole, first, last, error);
    by_row->X = *whole;
    by_row->X.residence = NULL;
    by_row->X.rows = last - first;
    by_row->X.stored = by_row->X.rows * whole->cols;
    by_row->X.values = (const char *)whole->values + first * (whole->type == HAWSER_F32 ? sizeof(float) : sizeof(double));
    return HAWSER_OK;
}

/* Points to what belongs to this block's rows in this fold. */
static void aim(hw_logistic_by_row *by_row)
{
    const hw_newton_rows *rows = &by_row->block->rows;
    size_t first = by_row->first;
    by_row->rows = *rows;
    by_row->rows.count = by_row->X.rows;
    by_row->rows.target = rows->target + first;
    by_row->rows.weights = rows->weights != NULL ? rows->weights + first : NULL;
    by_row->rows.offset = rows->offset != NULL ? rows->offset + first : NULL;
}

static hawser_status allocate(hw_logistic_by_row *by_row, size_t rows, hawser_error *error)
{
    hw_arrays *arrays = &by_row->arrays;
    size_t p = by_row->columns, numbers = p + 2;
    by_row->active = hw_array_new(arrays, p + 1, sizeof *by_row->active);
    by_row->w = hw_array_new(arrays, numbers, sizeof(double));
    by_row->z = hw_array_new(arrays, numbers, sizeof(double));
    by_row->bend = hw_array_new(arrays, numbers, sizeof(double));
    by_row->steps = hw_array_new(arrays, numbers, sizeof(double));
    by_row->gathered = hw_array_new(arrays, 2 * numbers, sizeof(double));
    by_row->penalty = hw_array_new(arrays, (size_t)by_row->lag + 1, sizeof(double));
    by_row->margins = hw_array_new(arrays, rows + 1, sizeof(double));
    by_row->point.pull = hw_array_new(arrays, rows + 1, sizeof(double));
    by_row->point.curve = hw_array_new(arrays, rows + 1, sizeof(double));
    by_row->keys = hw_array_new(arrays, numbers, sizeof *by_row->keys);
    by_row->values = hw_array_new(arrays, numbers, sizeof(double));
    by_row->all.X = (hawser_matrix){.cols = p};
    if (arrays->failed)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a block of %zu rows and %zu columns", rows, p);
    return hw_linear_columns_new(&by_row->all, error);
}

static hawser_status new_by_row(hawser_context *context, hw_newton_block *block)
{
    const hw_linear *linear = block->linear;
    const hawser_matrix *whole = NULL;
    size_t first, last;
    HAWSER_TRY(hw_descent_fetch_all(context, linear->problem.X->cols));
    HAWSER_TRY(hawser_read(context, "whole", &whole));
    hw_logistic_by_row *by_row = logistic_of(block)->by_row = calloc(1, sizeof *by_row);
    if (by_row == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for a block");
    hw_newton_block_rows(block, hawser_block(context), &first, &last);
    by_row->block = block;
    by_row->columns = whole->cols;
    by_row->groups = linear->choices.settings.groups;
    by_row->lag = lag_of(linear);
    by_row->first = first;
    HW_UNIT_TRY(context, allocate(by_row, last - first, &error));
    HW_UNIT_TRY(context, take_rows(by_row, whole, last, &error));
    return HAWSER_OK;
}

void hw_logistic_by_row_free(hw_logistic_by_row *by_row)
{
    if (by_row == NULL)
        return;
    hw_linear_columns_free(&by_row->all);
    hw_arrays_free(&by_row->arrays);
    free(by_row);
}

void hw_logistic_by_row_visit(hawser_record *record, hawser_context *context, hw_newton_block *block)
{
    enum { FIELDS = 6 }; /* of hw_linear_columns, which are adjacent */
    bool present = logistic_of(block)->by_row != NULL;
    HW_LINEAR_REMEMBER(record, present);
    if (!present || (hawser_record_reads(record) && new_by_row(context, block) != HAWSER_OK))
        return; /* the context has failed */
    hw_logistic_by_row *by_row = logistic_of(block)->by_row;
    size_t numbers = (by_row->columns + 1) * sizeof(double);
    HW_LINEAR_REMEMBER(record, by_row->pace);
    hawser_record_bytes(record, by_row->all.mean, FIELDS * by_row->columns * sizeof(double));
    hawser_record_bytes(record, by_row->active, by_row->columns * sizeof *by_row->active);
    hawser_record_bytes(record, by_row->w, numbers);
    hawser_record_bytes(record, by_row->z, numbers);
    hawser_record_bytes(record, by_row->bend, numbers);
    hawser_record_bytes(record, by_row->penalty, (size_t)(by_row->lag + 1) * sizeof(double));
    hawser_record_bytes(record, by_row->margins, by_row->X.rows * sizeof(double));
    aim(by_row);
}

/* ------------------------------------------------------------------------------------------------------------ start ---- */

/* Adds numbers of all blocks up. */
static hawser_status add_up(hawser_context *context, double *values, size_t count)
{
    hw_linear_part part = hw_linear_part_of(context);
    HW_UNIT_TRY(context, part.add(part.source, values, count, &error));
    return HAWSER_OK;
}

/* Gathers moments and penalties of all columns, once for each fold. */
static hawser_status gather_columns(hawser_context *context, hw_logistic_by_row *by_row)
{
    const hw_linear_columns *own = &by_row->block->columns;
    hw_linear_columns *all = &by_row->all;
    double *const to[] = {all->mean, all->norm, all->l1, all->l2, all->lower, all->upper};
    const double *const from[] = {own->mean, own->norm, own->l1, own->l2, own->lower, own->upper};
    size_t first = 0, count = hawser_part(context, "alpha", &first);
    for (size_t f = 0; f < sizeof to / sizeof *to; f++) {
        memset(to[f], 0, by_row->columns * sizeof(double));
        for (size_t j = 0; j < count; j++)
            to[f][first + j] = fmax(-UNBOUNDED, fmin(UNBOUNDED, from[f][j]));
        HAWSER_TRY(add_up(context, to[f], by_row->columns));
        for (size_t j = 0; j < by_row->columns; j++)
            if (fabs(to[f][j]) >= UNBOUNDED)
                to[f][j] = copysign(INFINITY, to[f][j]);
    }
    return HAWSER_OK;
}

/* Computes the bounds of the curvature of one group over the rows of all blocks. `reach`: scratch by row. */
static void bound_group(hw_logistic_by_row *by_row, size_t begin, size_t end, double *reach, double *bend)
{
    const hawser_matrix *X = &by_row->X;
    const double *mean = by_row->all.mean, total = by_row->rows.total;
    uint64_t first, last;
    double means = 0.0, weight = 0.0; /* weight: sum of c R */
    for (size_t j = begin; j < end; j++)
        means += by_row->active[j] ? fabs(mean[j]) : 0.0;
    for (size_t i = 0; i < X->rows; i++)
        reach[i] = means + by_row->rows.intercept;
    for (size_t j = begin; j < end; j++) {
        hw_linear_entries(X, j, &first, &last);
        hawser_simulated_work(NULL, by_row->active[j] ? 2 * (last - first) : 0); /* here and below */
        for (uint64_t k = first; by_row->active[j] && k < last; k++)
            reach[hw_linear_row_of(X, first, k)] += fabs(hw_number_at(X, k) - mean[j]) - fabs(mean[j]);
    }
    for (size_t i = 0; i < X->rows; i++) {
        reach[i] *= 0.25 * hw_newton_weight(&by_row->rows, i) / total;
        weight += reach[i];
    }
    for (size_t j = begin; j < end; j++) {
        double sum = weight * fabs(mean[j]);
        hw_linear_entries(X, j, &first, &last);
        for (uint64_t k = first; by_row->active[j] && k < last; k++)
            sum += reach[hw_linear_row_of(X, first, k)] * (fabs(hw_number_at(X, k) - mean[j]) - fabs(mean[j]));
        bend[j] = by_row->active[j] ? sum : 0.0;
    }
    bend[by_row->columns] = fmax(bend[by_row->columns], weight);
}

/* Gathers the weights, and which columns take part; then adds the bounds of curvature up. Returns whether the weights are
 * those with which the steps before have ended. */
static hawser_status gather(hawser_context *context, hw_logistic_by_row *by_row, bool *same)
{
    HAWSER_READ(context, double, alpha);
    size_t p = by_row->columns, first = 0, count = hawser_part(context, "alpha", &first);
    const hw_linear_settings *settings = &by_row->block->linear->choices.settings;
    double *gathered = by_row->gathered, lambda = hawser_metric(context, "lambda");
    memset(gathered, 0, 2 * p * sizeof *gathered);
    memcpy(gathered + first, alpha, count * sizeof *gathered);
    size_t left_out = hw_logistic_kkt(by_row->block, alpha, lambda, settings->kkt, by_row->active + first);
    for (size_t j = first; j < first + count; j++)
        gathered[p + j] = by_row->active[j];
    HAWSER_TRY(hawser_report(context, "suppressed", (double)left_out));
    HAWSER_TRY(add_up(context, gathered, 2 * p));
    *same = by_row->pace.lambda == lambda;
    for (size_t j = 0; j < p; j++) {
        *same = *same && by_row->w[j] == gathered[j];
        by_row->w[j] = gathered[j];
        by_row->active[j] = gathered[p + j] != 0.0;
        if (!by_row->active[j])
            by_row->z[j] = 0.0;
    }
    memset(by_row->bend, 0, (p + 1) * sizeof *by_row->bend);
    for (size_t g = 0; g < by_row->groups; g++) {
        size_t begin, end;
        columns_of(by_row, g, &begin, &end);
        bound_group(by_row, begin, end, by_row->point.curve, by_row->bend);
    }
    return add_up(context, by_row->bend, p + 1);
}

/* Sets the pace of steps that begin at other coefficients than the last ones ended at, or for another lambda or fold. The
 * factor that the steps have found is kept, with some reserve: the curvature is about the same. */
static void begin_pace(hw_logistic_by_row *by_row, double lambda, bool begun)
{
    pacing *pace = &by_row->pace;
    double safe = 1.0 + (double)by_row->lag;
    if (accelerates(by_row))
        safe *= safe;
    pace->factor = begun ? fmin(safe, RISE_WITH * pace->factor) : safe;
    if (!begun)
        pace->fall = accelerates(by_row) ? FALL_WITH : FALL;
    pace->lambda = lambda;
    pace->objective = INFINITY;
    pace->momentum = 0.0;
    pace->since = 0;
}

/* Starts from the coefficients of the last certificate, because a new fold or lambda may begin elsewhere than this solver
 * ended. If they are those of the last step, momentum and factor go on. */
static hawser_status start(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    if (logistic_of(block)->by_row == NULL)
        HAWSER_TRY(new_by_row(context, block));
    hw_logistic_by_row *by_row = logistic_of(block)->by_row;
    pacing *pace = &by_row->pace;
    size_t p = by_row->columns;
    uint32_t fold = hw_linear_fold_of(context) + 1;
    bool same = false, same_fold = pace->fold == fold, begun = pace->fold > 0;
    aim(by_row);
    if (!same_fold)
        HAWSER_TRY(gather_columns(context, by_row));
    pace->fold = fold;
    HAWSER_TRY(gather(context, by_row, &same));
    pace->turn += pace->taken;
    pace->begun = pace->taken = 0;
    pace->gap = UNBOUNDED;
    if (!same || !same_fold) {
        begin_pace(by_row, hawser_metric(context, "lambda"), begun);
        by_row->w[p] =
            block->rows.intercept ? block->point.intercept + hawser_dot(p, by_row->all.mean, by_row->w, NULL) : 0.0;
        memcpy(by_row->z, by_row->w, (p + 1) * sizeof *by_row->z);
    }
    hawser_multiply(&by_row->X, by_row->z, 0.0, by_row->margins);
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------------ steps ---- */

/* Lists the keys of a clock's numbers: the columns of its group that take part, the intercept, and the loss. */
static size_t list_keys(const hw_logistic_by_row *by_row, uint64_t clock, uint64_t *keys)
{
    uint64_t base = clock % (by_row->lag + 1) * (by_row->columns + 2);
    size_t begin, end, count = 0;
    columns_of(by_row, group_of(by_row, clock), &begin, &end);
    for (size_t j = begin; j < end; j++)
        if (by_row->active[j])
            keys[count++] = base + j;
    keys[count++] = base + by_row->columns;
    keys[count++] = base + by_row->columns + 1;
    return count;
}

/* Adapts the factor to the objective of the next clock. The first one has none before it. After a rise, objectives are not
 * heeded until steps by gradients of later margins show: those in flight, with momentum, have set out from where it led. */
static void adapt(hw_logistic_by_row *by_row, double objective)
{
    pacing *pace = &by_row->pace;
    bool rises = !(objective <= pace->objective * (1.0 + SAME)), first = isinf(pace->objective), with = accelerates(by_row);
    uint64_t unheeded = with ? 2 * by_row->lag : by_row->lag;
    pace->objective = objective;
    pace->since++;
    if (first)
        return;
    if (!rises) {
        pace->factor = fmax(LEAST, pace->factor * pace->fall);
        return;
    }
    if (pace->since <= unheeded)
        return;
    if (!with || pace->since <= unheeded + SOON)
        pace->factor *= with ? RISE_WITH : RISE;
    if (with && by_row->lag > 0)
        pace->fall = FALL_LATE;
    pace->since = 0;
    pace->momentum = 0.0;
}

/* Returns where the step of a weight starts: the weight and its momentum's step. */
static double from(const hw_logistic_by_row *by_row, size_t j)
{
    double w = by_row->w[j], z = by_row->z[j];
    return by_row->lag > 0 && accelerates(by_row) ? w + (z - w) / (double)(by_row->lag + 1) : z;
}

/* Moves one weight to `to`, and z beyond it by the momentum. Notes the change of z. */
static void move(hw_logistic_by_row *by_row, size_t j, double to, double beta)
{
    double z = to + beta * (double)(by_row->lag + 1) * (to - by_row->w[j]);
    by_row->steps[j] = z - by_row->z[j];
    by_row->w[j] = to;
    by_row->z[j] = z;
}

/* Returns the group's part of an estimate of the gap, by pulls of margins that were near the present ones: the sum of
 * h_j(w_j) - s pull_j w_j + h_j*(s pull_j), where s makes the pulls feasible. */
static double gap_of(const hw_logistic_by_row *by_row, size_t begin, size_t end, const double *pulls)
{
    double ratio = 1.0, scaled = 0.0, plain = 0.0;
    bool both = by_row->block->linear->choices.settings.l1_ratio < 1.0; /* with an L2 part any scaling is feasible */
    for (size_t j = begin; j < end; j++)
        if (by_row->active[j])
            ratio = fmax(ratio,
                         hw_linear_ratio(pulls[j], by_row->w[j], hw_linear_term_at(&by_row->all, j, by_row->pace.lambda)));
    for (size_t j = begin; j < end; j++) {
        if (!by_row->active[j])
            continue;
        hw_linear_term term = hw_linear_term_at(&by_row->all, j, by_row->pace.lambda);
        double w = by_row->w[j], pull = pulls[j], penalty = hw_linear_penalty(w, term);
        scaled += fabs(penalty - pull / ratio * w + hw_linear_conjugate(pull / ratio, term));
        plain += fabs(penalty - pull * w + hw_linear_conjugate(pull, term));
    }
    return both ? fmin(scaled, plain) : scaled;
}

/* Adds the estimate of a clock's group, and what the intercept would gain, to that of its pass over all groups. */
static void add_gap(hw_logistic_by_row *by_row, uint64_t clock, double gap, double pull, double b)
{
    pacing *pace = &by_row->pace;
    size_t group = group_of(by_row, clock);
    pace->passed = (group == 0 ? 0.0 : pace->passed) + gap;
    if (by_row->rows.intercept && b > 0.0)
        pace->passed += 0.5 * pull * pull / b;
    if (group + 1 == by_row->groups)
        pace->gap = isfinite(pace->passed) ? fmin(fabs(pace->passed), UNBOUNDED) : UNBOUNDED;
}

/* Takes the step of a clock by its sums, which are in the order of list_keys. */
static void step(hawser_context *context, hw_logistic_by_row *by_row, uint64_t clock, const double *sums, size_t count)
{
    const hw_linear_columns *all = &by_row->all;
    pacing *pace = &by_row->pace;
    size_t begin, end, at = 0, p = by_row->columns;
    double total = by_row->rows.total, pulls = sums[count - 2], caution = fmax(hawser_metric(context, "caution"), 1.0);
    adapt(by_row, sums[count - 1] + by_row->penalty[clock % (by_row->lag + 1)]);
    pace->momentum += 1.0;
    double beta = accelerates(by_row) ? (pace->momentum - 1.0) / (pace->momentum + 2.0) : 0.0;
    double factor = caution * pace->factor;
    columns_of(by_row, group_of(by_row, clock), &begin, &end);
    for (size_t j = begin; j < end; j++) {
        if (!by_row->active[j])
            continue;
        hw_linear_term term = hw_linear_term_at(all, j, pace->lambda);
        double pull = by_row->gathered[j] = (sums[at++] - all->mean[j] * pulls) / total, b = factor * by_row->bend[j];
        if (!(all->norm[j] > 0.0)) /* constant over the rows with a weight: the penalty alone decides */
            move(by_row, j, hw_linear_prox(0.0, 0.0, term), 0.0);
        else if (b > 0.0)
            move(by_row, j, hw_linear_prox(b * from(by_row, j) + pull, b, term), beta);
        if (by_row->steps[j] != 0.0)
            hawser_column_axpy(&by_row->X, j, by_row->steps[j], by_row->margins);
        by_row->steps[j] = 0.0;
    }
    if (by_row->rows.intercept && by_row->bend[p] > 0.0)
        move(by_row, p, from(by_row, p) + pulls / total / (factor * by_row->bend[p]), beta);
    add_gap(by_row, clock, gap_of(by_row, begin, end, by_row->gathered), pulls / total, factor * by_row->bend[p]);
    pace->taken = clock + 1;
}

/* Takes the oldest read, the sums of the next clock. */
static hawser_status take(hawser_context *context, hw_logistic_by_row *by_row)
{
    const double *sums;
    size_t count = list_keys(by_row, by_row->pace.taken, by_row->keys);
    HAWSER_TRY(hawser_prefetch_wait(context, "sums", &sums));
    step(context, by_row, by_row->pace.taken, sums, count);
    return HAWSER_OK;
}

/* Pushes the gradient of a clock's group, the intercept's, and the loss. Keeps the penalty. */
static hawser_status push(hawser_context *context, hw_logistic_by_row *by_row, uint64_t clock)
{
    size_t count = list_keys(by_row, clock, by_row->keys), p = by_row->columns, base = by_row->keys[count - 1] - p - 1;
    double penalty = 0.0;
    by_row->point.intercept = by_row->z[p] - hawser_dot(p, by_row->all.mean, by_row->z, NULL);
    by_row->rows.loss->look(&by_row->rows, by_row->margins, &by_row->point);
    for (size_t k = 0; k + 2 < count; k++)
        by_row->values[k] = hawser_column_dot(&by_row->X, (size_t)by_row->keys[k] - base, by_row->point.pull);
    by_row->values[count - 2] = by_row->point.sum;
    by_row->values[count - 1] = by_row->point.loss;
    for (size_t j = 0; j < p; j++)
        if (by_row->z[j] != 0.0)
            penalty += hw_linear_penalty(by_row->z[j], hw_linear_term_at(&by_row->all, j, by_row->pace.lambda));
    by_row->penalty[clock % (by_row->lag + 1)] = penalty;
    return hawser_inc(context, "sums", by_row->keys, by_row->values, count);
}

static hawser_status descend(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    hw_logistic_by_row *by_row = logistic_of(block)->by_row;
    uint64_t clock = hawser_clock(context);
    if (clock > 0) {
        size_t count = list_keys(by_row, clock - 1, by_row->keys);
        HAWSER_TRY(hawser_prefetch(context, "sums", by_row->keys, 0, count));
    }
    if (clock > by_row->lag)
        HAWSER_TRY(take(context, by_row));
    by_row->pace.begun = clock + 1;
    HAWSER_TRY(hawser_report(context, "near", by_row->pace.gap));
    return push(context, by_row, clock);
}

/* Takes the steps that are still in flight, unless the run ends at once, and copies the weights to the coefficients, from
 * which v is derived. */
static hawser_status settle(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    hw_logistic_by_row *by_row = logistic_of(block)->by_row;
    pacing *pace = &by_row->pace;
    HAWSER_WRITE(context, double, alpha);
    size_t first = 0, count = hawser_part(context, "alpha", &first);
    while (pace->taken < pace->begun && !hawser_stopping(context)) {
        size_t keys = list_keys(by_row, pace->taken, by_row->keys);
        HAWSER_TRY(hawser_prefetch(context, "sums", by_row->keys, 0, keys));
        HAWSER_TRY(take(context, by_row));
    }
    pace->begun = pace->taken;
    memcpy(alpha, by_row->w + first, count * sizeof *alpha);
    return hawser_touch(context, "v", 0, 0);
}

/* Ends the clocks before a certificate early if the steps' own estimate of the gap is small. The certificate decides. */
static bool is_near(hawser_progress *progress, void *user)
{
    const hw_linear_driver *driver = user;
    const hw_linear_settings *settings = &driver->linear->choices.settings;
    return hawser_progress_clock(progress) + 1 >= LEAST_CLOCKS * settings->groups &&
           hawser_progress_metric(progress, "near") <= ENOUGH * settings->tolerance * driver->record.zero_objective;
}

void hw_logistic_by_row_work(const hw_linear_frame *frame)
{
    const hw_linear *linear = frame->driver->linear;
    hawser_program *p = frame->program;
    size_t columns = linear->problem.X->cols, groups = linear->choices.settings.groups;
    uint64_t every = linear->choices.settings.certify_every;
    hawser_until until = {
        .clocks = every > 0 ? every : CLOCKS * groups, .test = every > 0 ? NULL : is_near, .user = frame->driver};
    hawser_state *whole = HAWSER_STATE(p, "whole", HAWSER_DATA, .matrix = linear->problem.X, .split = HAWSER_FETCHED);
    hawser_state *sums = HAWSER_STATE(p, "sums", HAWSER_STORED, .rows = (size_t)(lag_of(linear) + 1) * (columns + 2),
                                      .function = "assign", .summed = true);
    HAWSER_UNIT(frame->work, "start", start, .reads = {frame->X, frame->alpha, whole},
                .reduces = hw_linear_adds(2 * columns));
    hawser_operator *steps = hawser_loop(frame->work, "steps", until, linear->choices.sync);
    HAWSER_UNIT(steps, "descend", descend, .reads = {frame->X}, .updates = {sums});
    hw_linear_settle_work(frame, sums, settle);
}
