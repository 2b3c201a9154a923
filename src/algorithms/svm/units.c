/*
 * units.c - dual coordinate descent within a block, and between blocks CoCoA+: each block solves its part as if all the
 * others moved as it does (their number is the factor of its own move), so that the moves can be added.
 *
 * The constraint sum_i beta_i = 0 of a free intercept is reached by an augmented Lagrangian: the intercept is
 * centre + scale * sum, and `centre` follows it after each iteration. The certificate makes the sum zero by scaling the
 * heavier side of beta.
 */
#include "algorithms/svm/units.h"

#include <string.h>

#include "algorithms/model/numbers.h"
#include "algorithms/model/rounding.h"
#include "algorithms/svm/block.h"
#include "algorithms/svm/intercept.h"
#include "algorithms/svm/joint.h"
#include "algorithms/svm/sparse_rows.h"
#include "hawser/advanced.h"

enum { PASSES = 10 }; /* of a block over its rows in an iteration */
enum { TRIED = 4 };   /* those of the first one for a hinge loss, if it decides whether the primal goes on */
enum { AHEAD = 6 };   /* rows that are fetched before they are visited */
enum { LINE = 64 };   /* bytes of a cache line */
/* The dual is slow if more than one row in FEW may move after that. A squared loss leaves each row that has moved between
 * its ends, so there the first pass decides, and ends as soon as so many rows have moved. */
enum { FEW = 8, FEW_SQUARED = 10 };
enum { SPAN = 64, FALL = 4 }; /* the dual is slow if in SPAN iterations the gap does not fall to one part in FALL */

size_t hw_svm_reduces(const hw_svm *svm)
{
    size_t dual = hw_svm_dual_reduces(svm);
    size_t primal = svm->primal || svm->may_turn ? hw_svm_primal_reduces(svm) : 0;
    size_t most = svm->primal ? 0 : dual > HW_SVM_INTERCEPT_REDUCES ? dual : HW_SVM_INTERCEPT_REDUCES;
    return primal > most ? primal : most;
}

hawser_status hw_svm_dual_begin(hawser_context *context, hw_svm_block *b)
{
    double sums[2] = {0.0, 0.0};
    if (b->problems == 0)
        return HAWSER_OK;
    for (size_t i = 0; i < b->X.rows; i++)
        if (hw_svm_weight(b, i) > 0.0) {
            sums[0] += b->squares[i];
            sums[1] += 1.0;
        }
    HAWSER_TRY(hw_svm_combine(context, b, sums, 2, HAWSER_SUM));
    if (sums[1] == 0.0)
        return hawser_unit_fail(context, HAWSER_BAD_INPUT, "all example weights are 0: no row counts");
    b->scale = sums[0] > 0.0 ? sums[0] / sums[1] : 1.0;
    return HAWSER_OK;
}

/* ---- a pass over the rows ---- */

/* Draws an order of the block's rows, which depends on the seed, the iteration and the first row alone. */
static void draw_order(hw_svm_block *b)
{
    size_t n = b->X.rows;
    uint64_t state = hw_scramble(hw_scramble(hw_scramble(b->svm->seed) ^ b->own.turn.iteration) ^ b->X.first);
    for (size_t i = 0; i < n; i++)
        b->order[i] = i;
    for (size_t i = n; i > 1; i--) {
        size_t other = (size_t)(hw_scramble(state + i) % i), kept = b->order[i - 1];
        b->order[i - 1] = b->order[other];
        b->order[other] = kept;
    }
}

/* Returns the dual variable that is best for a row whose derivative, without the part of epsilon, is `slope` at beta. */
static double best_beta(const hw_svm_row *row, double epsilon, double beta, double slope, double curvature)
{
    if (!(curvature > 0.0)) { /* an empty row without an intercept */
        double side = row->y > epsilon ? row->high : row->y < -epsilon ? row->low : 0.0;
        return side;
    }
    double to = beta - slope / curvature, shift = epsilon / curvature;
    to = to > shift ? to - shift : to < -shift ? to + shift : 0.0;
    return hw_svm_within(row, to);
}

/* Returns how many blocks move the same model together. */
static double together_of(const hw_svm *svm)
{
    return svm->joint ? 1.0 : svm->path.blocks;
}

/* The move of a block in one problem. */
typedef struct turn {
    hw_svm_block *b;
    size_t problem;
    double *beta, sum; /* sum: of the changes of beta */
    uint64_t entries;  /* that loops of this file went over */
} turn;

/* Adds a multiple of a row to block->view. Columns of equal values count for nothing; the dual has no others with a
 * shift. */
static void add_row(hw_svm_block *b, size_t i, double step)
{
    const hw_centre *centre = &b->svm->path.centre;
    hw_svm_row_add(&b->X, i, step, b->view);
    for (size_t k = 0; k < centre->count; k++)
        b->view[centre->places[k]] = 0.0;
}

/* Gives a row its best dual variable, as the rest stands. Returns whether it may move soon: it is between its ends, or has
 * moved. */
static bool visit(turn *t, size_t i)
{
    hw_svm_block *b = t->b;
    const hw_svm *svm = b->svm;
    const hw_svm_memory *m = &b->memory[t->problem];
    double together = together_of(svm), bias = svm->path.intercept ? b->scale : 0.0;
    if (!(hw_svm_weight(b, i) > 0.0))
        return false;
    hw_svm_row row = hw_svm_row_at(b, t->problem, i);
    double before = t->beta[i], curvature = together * (b->squares[i] + bias) + row.h;
    t->entries += 2 * hw_svm_row_entries(&b->X, i);
    double margin = hw_svm_row_dot(&b->X, i, b->view) + m->centre + bias * (m->sum + together * t->sum);
    double to = best_beta(&row, svm->epsilon, before, margin - row.y + row.h * before, curvature);
    if (to == before)
        return to != row.low && to != row.high && to != 0.0;
    t->beta[i] = to;
    t->sum += to - before;
    add_row(b, i, together * (to - before));
    return true;
}

/* Fetches what a visit of a row reads first: rows in a drawn order are in no cache. */
static void fetch_row(const hw_svm_block *b, const double *beta, size_t i)
{
    const hawser_matrix *X = &b->X;
    size_t size = X->type == HAWSER_F32 ? sizeof(float) : sizeof(double);
    uint64_t first = X->layout == HAWSER_CSR ? X->offsets[i] : X->layout == HAWSER_DENSE_ROWS ? (uint64_t)i * X->stride : i;
    const char *values = (const char *)X->values + first * size;
    hawser_fetch_line(values);
    hawser_fetch_line(values + LINE);
    if (X->layout == HAWSER_CSR)
        hawser_fetch_line(X->indices + first);
    hawser_fetch_line(b->beside.target + i);
    hawser_fetch_line(b->squares + i);
    hawser_fetch_line(beta + i);
}

/* Returns the most rows that may move after a trial that goes on with the dual. */
static size_t few_of(const hw_svm_block *b)
{
    return b->X.rows / (b->svm->squared ? FEW_SQUARED : FEW);
}

bool hw_svm_keeps_moving(const hw_svm_block *b)
{
    return b->svm->tries && b->own.turn.iteration == 1 && b->moving > few_of(b);
}

/* Passes over the block's rows, then again over those that may move, and stores the change of w, then of the sum of beta, in
 * `delta`. */
static void pass(hw_svm_block *b, size_t problem, double *delta)
{
    const double *w = b->w + (problem - b->first) * b->width;
    turn t = {.b = b, .problem = problem, .beta = hw_svm_dual(b, problem)};
    bool trial = b->svm->tries && b->own.turn.iteration == 0;
    size_t count = b->X.rows, rounds = trial && !b->svm->squared ? TRIED : PASSES;
    size_t most = trial && b->svm->squared ? few_of(b) : count; /* rows that move before the pass ends */
    memcpy(b->view, w, b->width * sizeof *b->view);
    memcpy(b->active, b->order, count * sizeof *b->active);
    for (size_t round = 0; round < rounds && (round == 0 || count <= most); round++) {
        size_t kept = 0;
        for (size_t e = 0; e < count && kept <= most; e++) {
            if (e + AHEAD < count)
                fetch_row(b, t.beta, b->active[e + AHEAD]);
            if (visit(&t, b->active[e]))
                b->active[kept++] = b->active[e];
        }
        count = kept;
    }
    b->moving = count;
    hawser_simulated_work(NULL, t.entries);
    for (size_t j = 0; j + 1 < b->width; j++)
        delta[j] = (b->view[j] - w[j]) / together_of(b->svm);
    delta[b->width - 1] = t.sum;
}

static hawser_status pass_all(hawser_context *context, hw_svm_block *b)
{
    size_t width = b->width;
    draw_order(b);
    memset(b->reduced, 0, b->problems * width * sizeof *b->reduced);
    for (size_t s = 0; s < b->problems; s++)
        if (!b->memory[b->first + s].done)
            pass(b, b->first + s, b->reduced + s * width);
    HAWSER_TRY(hw_svm_combine(context, b, b->reduced, b->problems * width, HAWSER_SUM));
    for (size_t s = 0; s < b->problems; s++) {
        hw_svm_memory *m = &b->memory[b->first + s];
        for (size_t j = 0; j + 1 < width; j++)
            b->w[s * width + j] += b->reduced[s * width + j];
        m->sum += b->reduced[s * width + width - 1];
        if (b->svm->path.intercept && !m->done)
            m->centre += b->scale * m->sum;
    }
    b->own.turn.iteration++;
    return HAWSER_OK;
}

/* ---- the certificate ---- */

/* Finds the factors of the negative and of the positive beta that make their sum zero. */
static hawser_status balance(hawser_context *context, const hw_svm_block *b, size_t problem, double factor[2])
{
    const double *beta = hw_svm_dual(b, problem);
    double sides[2] = {0.0, 0.0};
    factor[0] = factor[1] = 1.0;
    if (!b->svm->path.intercept)
        return HAWSER_OK;
    for (size_t i = 0; i < b->X.rows; i++)
        sides[beta[i] > 0.0] += fabs(beta[i]);
    HAWSER_TRY(hw_svm_combine(context, b, sides, 2, HAWSER_SUM));
    size_t heavier = sides[1] > sides[0];
    if (sides[heavier] > 0.0)
        factor[heavier] = sides[!heavier] / sides[heavier];
    return HAWSER_OK;
}

enum { PRIMAL, DUAL, SLOPES, SIZES, VALUES }; /* slopes: of the losses, a_i; sizes: a_i |x_i| */

/* Adds a row with this dual variable. */
static void add_values(const hw_svm_block *b, size_t problem, size_t i, double own, double margin, double values[VALUES])
{
    hw_svm_row row = hw_svm_row_at(b, problem, i);
    double loss = row.c * hw_svm_loss(b->svm, &row, margin), slope = loss > 0.0 && !b->svm->squared ? row.c : fabs(own);
    values[PRIMAL] += loss;
    values[DUAL] += own * row.y - b->svm->epsilon * fabs(own) - 0.5 * row.h * own * own;
    values[SLOPES] += slope * (1.0 + fabs(row.y) + b->svm->epsilon);
    values[SIZES] += slope * sqrt(b->squares[i]);
}

/* Stores the primal and the dual objective, for the model of the balanced beta, which is stored in block->view, and a bound
 * of the rounding error of each in values[SLOPES]. */
static hawser_status objectives(hawser_context *context, hw_svm_block *b, size_t problem, double values[VALUES])
{
    const double *beta = hw_svm_dual(b, problem);
    double factor[2], *view = b->view, *intercept = &view[b->width - 1];
    HAWSER_TRY(balance(context, b, problem, factor));
    memset(view, 0, b->width * sizeof *view);
    for (size_t i = 0; i < b->X.rows; i++)
        if (beta[i] != 0.0)
            add_row(b, i, beta[i] * factor[beta[i] > 0.0]);
    HAWSER_TRY(hw_svm_combine(context, b, view, b->width, HAWSER_SUM));
    for (size_t i = 0; i < b->X.rows; i++)
        b->margins[i] = hw_svm_row_dot(&b->X, i, view);
    hawser_simulated_work(NULL, b->X.layout == HAWSER_CSR ? 2 * b->X.stored : 0);
    if (b->svm->path.intercept)
        HAWSER_TRY(hw_svm_intercept(context, b, problem, intercept));
    memset(values, 0, VALUES * sizeof *values);
    for (size_t i = 0; i < b->X.rows; i++)
        if (hw_svm_weight(b, i) > 0.0)
            add_values(b, problem, i, beta[i] * factor[beta[i] > 0.0], b->margins[i] + *intercept, values);
    HAWSER_TRY(hw_svm_combine(context, b, values, VALUES, HAWSER_SUM));
    double half = 0.5 * hawser_dot(b->width - 1, view, view, NULL);
    double all = sqrt(2.0 * half) * values[SIZES] + (1.0 + fabs(*intercept)) * values[SLOPES] + half;
    values[PRIMAL] += half;
    values[DUAL] -= half;
    values[SLOPES] = (hw_rounding((double)b->width + 4.0) + hw_rounding((double)b->svm->path.X->rows + 8.0)) * all;
    return HAWSER_OK;
}

static hawser_status certify(hawser_context *context, hw_svm_block *b, size_t problem)
{
    hw_svm_memory *m = &b->memory[problem];
    double values[VALUES];
    HAWSER_TRY(objectives(context, b, problem, values));
    hw_svm_raise(m, values[DUAL], values[SLOPES]);
    if (hw_svm_lower(m, values[PRIMAL], values[SLOPES]))
        memcpy(b->best + problem * b->width, b->view, b->width * sizeof *b->view);
    return HAWSER_OK;
}

static hawser_status certify_all(hawser_context *context, hw_svm_block *b)
{
    for (size_t p = b->first; p < b->first + b->problems; p++)
        if (!b->memory[p].done)
            HAWSER_TRY(certify(context, b, p));
    if (b->svm->joint)
        HAWSER_TRY(hw_svm_exchange(context, b));
    for (size_t p = 0; p < b->svm->path.outputs; p++) {
        hw_svm_memory *m = &b->memory[p];
        m->done = m->done || hw_svm_is_done(m, b->svm->path.tolerance);
        m->stuck = !m->done && m->high - m->low <= hw_svm_rounding(m);
    }
    return HAWSER_OK;
}

/* Returns whether an iteration of the dual ended with certificates, which may have found better models. */
static bool is_certified(const hw_svm_block *b)
{
    uint64_t iteration = b->own.turn.iteration;
    return iteration <= 2 || iteration % 4 == 0 || iteration >= b->svm->path.iterations;
}

hawser_status hw_svm_dual_step(hawser_context *context, hw_svm_block *b, bool *changed)
{
    HAWSER_TRY(pass_all(context, b));
    *changed = is_certified(b) && !(b->svm->squared && hw_svm_keeps_moving(b)); /* the primal begins from 0 then */
    return *changed ? certify_all(context, b) : HAWSER_OK;
}

bool hw_svm_is_slow(hw_svm_block *b)
{
    bool slow = false;
    for (size_t p = 0; b->own.turn.iteration % SPAN == 0 && p < b->svm->path.outputs; p++) {
        hw_svm_memory *m = &b->memory[p];
        double gap = m->high - m->low;
        slow = slow || (!m->done && gap > m->gap / FALL);
        m->gap = gap;
    }
    return slow;
}
