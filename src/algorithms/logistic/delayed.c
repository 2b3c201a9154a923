/*
 * delayed.c - delayed block proximal gradient. The margins v = X w are a stored state. All blocks add to one vector of sums;
 * under dc:D each block writes a chunk of its own, the products of its columns. In a clock all blocks work on the group of
 * columns with the same number. A block reads the margins, makes a few passes over its columns of the group on a model of
 * the loss, and sends the changes of the margins.
 *
 * The model bounds the loss whatever the other blocks do meanwhile. Let m_ki be the change that block k makes to the margin
 * of row i, R_ki the sum of |x_ij| over the columns that it may move, and R_i the sum of R_ki over all blocks. Then
 *     (sum_k m_ki)^2 <= sum_k (R_i / R_ki) m_ki^2,
 * so each block can use R_i / R_ki times the row's curvature and ignore the other blocks. R_i counts the group that all
 * blocks work on, and tau further groups for a lag of tau clocks. It does not count columns that the KKT filter leaves out.
 * The curvature is at most c_i / 4. It is also at most e^r times the curvature at the margin that was read, if all blocks
 * together move the margin by at most r. The blocks agree on r at certificates, and each block moves the margins by at most
 * its share of r.
 */
#include "algorithms/logistic/delayed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/chunks.h"
#include "algorithms/glm/policy.h"
#include "algorithms/logistic/block.h"
#include "algorithms/logistic/kkt.h"
#include "algorithms/logistic/loss.h"
#include "algorithms/model/arrays.h"
#include "algorithms/sgd/problem.h"
#include "algorithms/solve/entries.h"
#include "algorithms/solve/memory.h"
#include "hawser/advanced.h"
#include "hawser/stored.h"

enum {
    CLOCKS = 40, /* clocks for each group between two certificates */
    SWEEPS = 3   /* passes over a group in a clock */
};

static const double FARTHEST = 1.0; /* largest r */

/* The state of one block. */
typedef struct hw_logistic_delayed {
    size_t rows, groups;
    bool *active;  /* by column */
    double *bend;  /* the model's curvature, by column */
    double *from;  /* weights before the clock */
    double *share; /* groups x rows: R_i / R_ki */
    double *curve; /* the model's curvature, by row */
    double *margins, *change;
    double farthest; /* r */
    double moved,
        before; /* the largest change of a margin, before it was limited, in the last clocks and in the clocks before them */
    uint64_t *keys; /* rows whose margin changes */
    double *values;
    hw_arrays arrays;
} hw_logistic_delayed;

/* Newton's part of a block is its first member. */
static hw_logistic_block *logistic_of(hw_newton_block *block)
{
    return (hw_logistic_block *)block;
}

static hawser_status new_delayed(hw_newton_block *block, size_t groups, hawser_error *error)
{
    size_t n = block->columns.X.rows, p = block->columns.X.cols;
    hw_logistic_delayed *delayed = calloc(1, sizeof *delayed);
    logistic_of(block)->delayed = delayed;
    if (delayed == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a block");
    *delayed = (hw_logistic_delayed){.rows = n, .groups = groups, .farthest = FARTHEST};
    hw_arrays *arrays = &delayed->arrays;
    delayed->active = hw_array_new(arrays, p + 1, sizeof *delayed->active);
    delayed->bend = hw_array_new(arrays, p + 1, sizeof(double));
    delayed->from = hw_array_new(arrays, p + 1, sizeof(double));
    delayed->share = hw_array_new(arrays, groups * n + 1, sizeof(double));
    delayed->curve = hw_array_new(arrays, n + 1, sizeof(double));
    delayed->margins = hw_array_new(arrays, n + 1, sizeof(double));
    delayed->change = hw_array_new(arrays, n + 1, sizeof(double));
    delayed->keys = hw_array_new(arrays, n + 1, sizeof *delayed->keys);
    delayed->values = hw_array_new(arrays, n + 1, sizeof(double));
    if (arrays->failed)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a block of %zu rows and %zu columns", n, p);
    return HAWSER_OK;
}

void hw_logistic_delayed_free(hw_logistic_delayed *delayed)
{
    if (delayed != NULL)
        hw_arrays_free(&delayed->arrays);
    free(delayed);
}

void hw_logistic_delayed_visit(hawser_record *record, hw_newton_block *block)
{
    bool present = logistic_of(block)->delayed != NULL;
    hawser_error error = {0};
    HW_LINEAR_REMEMBER(record, present);
    if (!present)
        return;
    if (hawser_record_reads(record) && new_delayed(block, block->linear->choices.settings.groups, &error) != HAWSER_OK) {
        hawser_record_fail(record, error.status, error.text);
        return;
    }
    hw_logistic_delayed *delayed = logistic_of(block)->delayed;
    hawser_record_bytes(record, delayed->active, block->columns.X.cols * sizeof *delayed->active);
    hawser_record_bytes(record, delayed->share, delayed->groups * delayed->rows * sizeof *delayed->share);
    HW_LINEAR_REMEMBER(record, delayed->farthest);
    HW_LINEAR_REMEMBER(record, delayed->moved);
    HW_LINEAR_REMEMBER(record, delayed->before);
}

/* Returns whether each block writes a part of the margins of its own. */
static bool in_parts(const hw_linear *linear)
{
    return linear->choices.sync.tightness == HAWSER_CENTRIC;
}

/* Finds the columns [*begin, *end) of a group. Groups are runs of neighbouring columns, of about the same size. */
static void group_of(const hw_logistic_delayed *delayed, size_t columns, size_t group, size_t *begin, size_t *end)
{
    *begin = columns * group / delayed->groups;
    *end = columns * (group + 1) / delayed->groups;
}

/* ------------------------------------------------------------------------------------------------------------ start ---- */

/* Sends the changes of the margins and resets them. */
static hawser_status add_change(hawser_context *context, const hw_linear *linear, hw_logistic_delayed *delayed)
{
    size_t count = 0;
    double *own = NULL;
    if (in_parts(linear))
        HAWSER_TRY(hawser_write(context, "margins", &own));
    for (size_t i = 0; i < delayed->rows; i++) {
        if (delayed->change[i] == 0.0)
            continue;
        if (own != NULL)
            own[i] += delayed->change[i];
        delayed->keys[count] = i;
        delayed->values[count++] = delayed->change[i];
        delayed->change[i] = 0.0;
    }
    return own != NULL ? HAWSER_OK : hawser_inc(context, "margins", delayed->keys, delayed->values, count);
}

/* Starts from the coefficients of the last certificate, because a new fold or lambda may begin elsewhere than this solver
 * ended. */
static hawser_status start(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    HAWSER_READ(context, double, alpha);
    HAWSER_WRITE(context, double, w);
    HAWSER_WRITE(context, double, reach);
    const hw_linear *linear = block->linear;
    const hawser_matrix *X = &block->columns.X;
    if (logistic_of(block)->delayed == NULL)
        HW_UNIT_TRY(context, new_delayed(block, linear->choices.settings.groups, &error));
    hw_logistic_delayed *delayed = logistic_of(block)->delayed;
    /* r is twice the largest change that any block wanted lately. If few rows have curvature, that is far less than the
     * bound allows. */
    if (hawser_metric(context, "moved") > 0.0)
        delayed->farthest = fmin(FARTHEST, fmax(0.25 * delayed->farthest, 2.0 * hawser_metric(context, "moved")));
    /* until the next certificate */
    double left_out = (double)hw_logistic_kkt(block, alpha, hawser_metric(context, "lambda"), linear->choices.settings.kkt,
                                              delayed->active);
    for (size_t j = 0; j < X->cols; j++) {
        if (alpha[j] != w[j])
            hawser_column_axpy(X, j, alpha[j] - w[j], delayed->change);
        w[j] = alpha[j];
    }
    memset(reach, 0, delayed->groups * delayed->rows * sizeof *reach);
    for (size_t g = 0; g < delayed->groups; g++) {
        size_t begin, end;
        group_of(delayed, X->cols, g, &begin, &end);
        for (size_t j = begin; j < end; j++) {
            uint64_t first, last;
            hw_linear_entries(X, j, &first, &last);
            hawser_simulated_work(NULL, delayed->active[j] ? last - first : 0);
            for (uint64_t k = first; delayed->active[j] && k < last; k++)
                reach[g * delayed->rows + hw_linear_row_of(X, first, k)] += fabs(hw_number_at(X, k));
        }
    }
    HAWSER_TRY(hawser_report(context, "suppressed", left_out));
    return add_change(context, linear, delayed);
}

/* Computes R_i / R_ki for each row, once all blocks have published the columns that they may move. */
static hawser_status share(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    hw_logistic_delayed *delayed = logistic_of(block)->delayed;
    HAWSER_READ(context, double, reach);
    size_t n = delayed->rows, groups = delayed->groups;
    double lag = hw_linear_lag(block->linear->choices.sync);
    HAWSER_TRY(hw_linear_sum_chunks(context, "reach", groups * n, delayed->share));
    for (size_t i = 0; i < n; i++) {
        double most = 0.0; /* of the largest group: bounds each group that may still be in flight */
        for (size_t g = 0; g < groups; g++)
            most = fmax(most, delayed->share[g * n + i]);
        for (size_t g = 0; g < groups; g++) {
            double all = delayed->share[g * n + i] + lag * most, mine = reach[g * n + i];
            delayed->share[g * n + i] = mine > 0.0 ? all / mine : 0.0;
        }
    }
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------------ steps ---- */

static hawser_status read_margins(hawser_context *context, const hw_linear *linear, hw_logistic_delayed *delayed)
{
    double *margins = delayed->margins;
    if (in_parts(linear))
        return hw_linear_sum_chunks(context, "margins", delayed->rows, margins);
    for (hawser_chunk chunk;;) {
        HAWSER_TRY(hawser_next_chunk(context, "margins", &chunk));
        if (chunk.block == UINT32_MAX)
            break;
        memcpy(margins + chunk.first, chunk.values, chunk.count * sizeof *margins);
    }
    return HAWSER_OK;
}

/* Computes the curvature of the block's model, by row and by column of the group. */
static void make_model(hw_newton_block *block, size_t group, size_t begin, size_t end, double caution)
{
    hw_logistic_delayed *delayed = logistic_of(block)->delayed;
    const hawser_matrix *X = &block->columns.X;
    const double *share = delayed->share + group * delayed->rows, *weights = block->rows.weights;
    double r = delayed->farthest, grows = 1.0 + r + r * r; /* at least e^r for r <= 1, with the same bits on every machine */
    for (size_t i = 0; i < delayed->rows; i++) {
        double most = 0.25 * (weights != NULL ? weights[i] : 1.0);
        delayed->curve[i] = caution * share[i] * fmin(most, grows * block->point.curve[i]);
    }
    for (size_t j = begin; j < end; j++) {
        uint64_t first, last;
        double sum = 0.0;
        hw_linear_entries(X, j, &first, &last);
        hawser_simulated_work(NULL, delayed->active[j] ? last - first : 0);
        for (uint64_t k = first; delayed->active[j] && k < last; k++)
            sum += delayed->curve[hw_linear_row_of(X, first, k)] * hw_number_at(X, k) * hw_number_at(X, k);
        delayed->bend[j] = sum / block->rows.total;
    }
}

/* Makes one pass over the columns of a group: moves each to the model's minimum, given the moves of the columns before
 * it. */
static void sweep(hw_newton_block *block, size_t begin, size_t end, double lambda, double *w)
{
    hw_logistic_delayed *delayed = logistic_of(block)->delayed;
    const hawser_matrix *X = &block->columns.X;
    const double *pull = block->point.pull;
    for (size_t j = begin; j < end; j++) {
        uint64_t first, last;
        double bend = delayed->bend[j], sum = 0.0;
        bool flat = !(block->columns.norm[j] > 0.0); /* constant over the rows with a weight: the penalty alone decides */
        if (!delayed->active[j] || (!(bend > 0.0) && !flat))
            continue;
        hw_linear_entries(X, j, &first, &last);
        hawser_simulated_work(NULL, flat ? 0 : last - first);
        for (uint64_t k = first; !flat && k < last; k++) {
            size_t i = hw_linear_row_of(X, first, k);
            sum += hw_number_at(X, k) * (pull[i] - delayed->curve[i] * delayed->change[i]);
        }
        bend = flat ? 0.0 : bend;
        double to =
            hw_linear_prox(bend * w[j] + sum / block->rows.total, bend, hw_linear_term_at(&block->columns, j, lambda));
        if (to != w[j])
            hawser_column_axpy(X, j, to - w[j], delayed->change);
        w[j] = to;
    }
}

/* Shortens the steps of this clock until no margin moves by more than the block's share of r. */
static void keep_near(hw_newton_block *block, size_t begin, size_t end, double caution, double *w)
{
    hw_logistic_delayed *delayed = logistic_of(block)->delayed;
    const hw_linear *linear = block->linear;
    double most = 0.0, flights = (double)linear->choices.blocks * (1.0 + hw_linear_lag(linear->choices.sync)) * caution;
    if (block->rows.intercept) /* it follows the margins, by at most the same amount */
        flights *= 2.0;
    for (size_t i = 0; i < delayed->rows; i++)
        if (block->rows.weights == NULL || block->rows.weights[i] > 0.0)
            most = fmax(most, fabs(delayed->change[i]));
    delayed->moved = fmax(delayed->moved, most * flights);
    double scale = delayed->farthest / (most * flights);
    if (!(scale < 1.0))
        return;
    for (size_t i = 0; i < delayed->rows; i++)
        delayed->change[i] *= scale;
    for (size_t j = begin; j < end; j++)
        w[j] = delayed->from[j] + scale * (w[j] - delayed->from[j]);
}

static hawser_status descend(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    HAWSER_WRITE(context, double, w);
    hw_logistic_delayed *delayed = logistic_of(block)->delayed;
    double lambda = hawser_metric(context, "lambda");
    double caution = fmax(hawser_metric(context, "caution"), 1.0);
    size_t begin, end, group = hawser_clock(context) % delayed->groups;
    HAWSER_TRY(read_margins(context, block->linear, delayed));
    hw_logistic_settle(&block->rows, delayed->margins, 1e-12 * block->zero_objective, &block->point);
    group_of(delayed, block->columns.X.cols, group, &begin, &end);
    memcpy(delayed->from + begin, w + begin, (end - begin) * sizeof *w);
    make_model(block, group, begin, end, caution);
    if (hawser_clock(context) % (CLOCKS / 4 * delayed->groups) == 0) {
        delayed->before = delayed->moved;
        delayed->moved = 0.0;
    }
    for (int k = 0; k < SWEEPS; k++)
        sweep(block, begin, end, lambda, w);
    keep_near(block, begin, end, caution, w);
    return add_change(context, block->linear, delayed);
}

/* Copies the weights to the coefficients, from which v is derived. */
static hawser_status settle(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    HAWSER_WRITE(context, double, alpha);
    HAWSER_READ(context, double, w);
    HAWSER_TRY(
        hawser_report(context, "moved", fmax(logistic_of(block)->delayed->before, logistic_of(block)->delayed->moved)));
    memcpy(alpha, w, hawser_part(context, "w", NULL) * sizeof(double));
    return hawser_touch(context, "v", 0, 0);
}

void hw_logistic_delayed_declare(hawser_program *program)
{
    hawser_metric_declare(program, "suppressed", HAWSER_SUM);
    hawser_metric_declare(program, "caution", HAWSER_LAST);
    hawser_metric_declare(program, "moved", HAWSER_MAX);
    hawser_metric_declare(program, "near", HAWSER_MAX);
}

void hw_logistic_delayed_work(const hw_linear_frame *frame)
{
    const hw_linear *linear = frame->driver->linear;
    hawser_program *p = frame->program;
    hawser_state *X = frame->X;
    size_t rows = linear->problem.X->rows, groups = linear->choices.settings.groups;
    uint64_t every = linear->choices.settings.certify_every;
    /* A loop begins with the first group, so each group needs a turn in it. */
    hawser_until until = {.clocks = every == 0 ? CLOCKS * groups : every > groups ? every : groups};
    bool parts = in_parts(linear); /* parts start at zero, and therefore w does too */
    size_t blocks = linear->choices.blocks;
    hawser_state *w = HAWSER_STATE(p, "w", HAWSER_LOCAL, .along = X, .initial = parts ? NULL : linear->problem.alpha);
    hawser_state *margins =
        parts ? HAWSER_STATE(p, "margins", HAWSER_STORED, .rows = blocks * rows)
              : HAWSER_STATE(p, "margins", HAWSER_STORED, .rows = rows, .function = "add", .initial = linear->problem.image);
    hawser_state *reach = HAWSER_STATE(p, "reach", HAWSER_STORED, .rows = blocks * groups * rows);
    HAWSER_UNIT(frame->work, "start", start, .reads = {X, frame->alpha}, .updates = {w, margins, reach});
    HAWSER_UNIT(frame->work, "share", share, .reads = {X, reach});
    hawser_operator *steps = hawser_loop(frame->work, "steps", until, linear->choices.sync);
    HAWSER_UNIT(steps, "descend", descend, .reads = {X}, .updates = {w, margins});
    hw_linear_settle_work(frame, w, settle);
}
