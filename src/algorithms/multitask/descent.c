#include "algorithms/multitask/descent.h"

#include <stdlib.h>
#include <string.h>

#include "hawser/advanced.h"

enum { POLL_EVERY = 16, MOST_PASSES = 100000 };

/* The members' numbers of one round, by member, then by output. */
typedef struct work {
    hw_multitask_block *block;
    const hw_multitask_round *round;
    size_t q;
    double *x, *start; /* coefficients now and at the start */
    double *gradient;  /* of the members now, with a Gram matrix */
    double *change;    /* scratch, by output */
    double *pull;      /* scratch, by output */
} work;

static double gram_at(const hw_linear_gram *gram, uint32_t a, uint32_t b)
{
    return gram->values[(size_t)gram->slot[a] * gram->capacity + gram->slot[b]];
}

/* Stores the gradient of member k in pull. */
static void current_gradient(work *w, size_t k)
{
    const hw_multitask_block *block = w->block;
    const hw_linear_columns *columns = &block->columns;
    size_t n = columns->X.rows, j = block->members[k];
    if (block->use_gram)
        memcpy(w->pull, w->gradient + k * w->q, w->q * sizeof *w->pull);
    else
        for (size_t o = 0; o < w->q; o++)
            w->pull[o] = hw_linear_dot(columns, j, block->residual + o * n, block->sum[o]) / columns->total;
}

/* Adds a change of member k's coefficients to the gradients of all members, or to the residuals. */
static void apply_change(work *w, size_t k)
{
    hw_multitask_block *block = w->block;
    const hw_linear_columns *columns = &block->columns;
    size_t n = columns->X.rows, j = block->members[k], m = block->member_count, q = w->q;
    double gain = w->round->gain;
    hawser_simulated_work(NULL, block->use_gram ? m * q : 0);
    for (size_t t = 0; block->use_gram && t < m; t++) {
        double product = gain * gram_at(&block->gram, block->members[t], block->members[k]);
        for (size_t o = 0; o < q; o++)
            w->gradient[t * q + o] -= product * w->change[o];
    }
    for (size_t o = 0; !block->use_gram && o < q; o++) {
        if (w->change[o] == 0.0)
            continue;
        hw_linear_axpy(columns, j, -gain * w->change[o], block->residual + o * n);
        block->sum[o] -= gain * w->change[o] * columns->mean[j] * columns->total;
    }
}

/* Minimises over the coefficients of member k. Returns a lower bound of the decrease. */
static double step(work *w, size_t k)
{
    const hw_linear_columns *columns = &w->block->columns;
    size_t j = w->block->members[k], q = w->q;
    hw_linear_term term = hw_linear_term_at(columns, j, w->round->lambda);
    double curvature = w->round->gain * columns->norm[j], square = 0.0, moved = 0.0, *x = w->x + k * q;
    current_gradient(w, k);
    for (size_t o = 0; o < q; o++) {
        w->pull[o] += curvature * x[o];
        square += w->pull[o] * w->pull[o];
    }
    /* A column that is constant where there is an intercept has no curvature, and no coefficients. */
    double size = sqrt(square);
    double scale = size > term.l1 && curvature > 0.0 ? (1.0 - term.l1 / size) / (curvature + term.l2) : 0.0;
    for (size_t o = 0; o < q; o++) {
        double next = scale * w->pull[o];
        w->change[o] = next - x[o];
        moved += w->change[o] * w->change[o];
        x[o] = next;
    }
    if (moved > 0.0)
        apply_change(w, k);
    return 0.5 * (curvature + term.l2) * moved;
}

static void pass_until_done(work *w)
{
    uint64_t steps = 0;
    size_t m = w->block->member_count;
    for (size_t pass = 0; pass < MOST_PASSES && steps < w->round->steps; pass++) {
        double decrease = 0.0;
        for (size_t k = 0; k < m && steps < w->round->steps; k++, steps++)
            decrease += step(w, k);
        bool poll = pass % POLL_EVERY == 0 || !w->block->use_gram;
        if (!(decrease > w->round->tolerance) || (poll && hw_linear_stopping(w->round->stop)))
            return;
    }
}

static hawser_status allocate(work *w, hawser_error *error)
{
    size_t count = w->block->member_count * w->q;
    HAWSER_TRY(hw_linear_new_doubles(&w->x, 3 * count + 2 * w->q, error));
    w->start = w->x + count;
    w->gradient = w->start + count;
    w->change = w->gradient + count;
    w->pull = w->change + w->q;
    return HAWSER_OK;
}

static hawser_status fill_gram(hw_multitask_block *block, hw_linear_stop stop, hawser_error *error)
{
    size_t fresh = 0;
    HAWSER_TRY(hw_linear_gram_admit(&block->gram, block->members, block->member_count, &fresh, error));
    return hw_linear_gram_fill(&block->gram, &block->columns, fresh, block->gram.count, stop, error);
}

/* Takes the members' gradients of the last scan, or computes them anew with the bits of a scan. */
static void take_gradients(work *w)
{
    hw_multitask_block *block = w->block;
    const hw_linear_columns *columns = &block->columns;
    size_t n = columns->X.rows, q = w->q, m = block->member_count;
    for (size_t k = 0; block->fresh && k < m; k++)
        memcpy(w->gradient + k * q, block->gradient + block->members[k] * q, q * sizeof *w->gradient);
    for (size_t o = 0; !block->fresh && o < q; o++) {
        hawser_scan_some(&columns->X, block->members, m, block->residual + o * n, block->scan);
        for (size_t k = 0; k < m; k++) {
            size_t j = block->members[k];
            w->gradient[k * q + o] = (block->scan[j] - columns->mean[j] * block->sum[o]) / columns->total;
        }
    }
}

/* Takes coefficients and gradients at the start of the round. */
static void begin(work *w)
{
    const hw_multitask_block *block = w->block;
    for (size_t k = 0; k < block->member_count; k++)
        memcpy(w->x + k * w->q, w->round->alpha + block->members[k] * w->q, w->q * sizeof *w->x);
    memcpy(w->start, w->x, block->member_count * w->q * sizeof *w->x);
    if (block->use_gram)
        take_gradients(w);
}

/* Takes over the coefficients, and adds their changes to the image. */
static void finish(work *w)
{
    hw_multitask_block *block = w->block;
    const hw_linear_columns *columns = &block->columns;
    size_t n = columns->X.rows, m = block->member_count, q = w->q;
    for (size_t k = 0; k < m; k++)
        memcpy(w->round->alpha + block->members[k] * q, w->x + k * q, q * sizeof *w->x);
    double *changes = w->gradient; /* no longer needed, and as large */
    for (size_t o = 0; w->round->image != NULL && o < q; o++) {
        for (size_t k = 0; k < m; k++)
            changes[k] = w->round->gain * (w->x[k * q + o] - w->start[k * q + o]);
        hawser_combine(&columns->X, block->members, changes, m, w->round->image + o * n);
    }
}

hawser_status hw_multitask_descend(hw_multitask_block *block, const hw_multitask_round *round, hawser_error *error)
{
    work w = {.block = block, .round = round, .q = block->outputs};
    if (block->member_count == 0)
        return HAWSER_OK;
    if (block->use_gram)
        HAWSER_TRY(fill_gram(block, round->stop, error));
    if (hw_linear_stopping(round->stop)) /* entries of the matrix may be missing */
        return HAWSER_OK;
    HAWSER_TRY(allocate(&w, error));
    begin(&w);
    pass_until_done(&w);
    finish(&w);
    free(w.x);
    return HAWSER_OK;
}
