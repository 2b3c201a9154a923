#include "algorithms/svm/pass.h"

#include <string.h>

#include "algorithms/learner/row_tiles.h"
#include "hawser/row_kernels.h"

/* Copies the columns of these problems side by side. */
static void pack(hw_svm_block *b, const double *models, const size_t *list, size_t count)
{
    for (size_t j = 0; j < b->width; j++)
        for (size_t s = 0; s < count; s++)
            b->primal.packed[j * count + s] = models[j * b->svm->path.outputs + list[s]];
}

/* Computes products of all rows with the models of these problems. */
static void multiply_all(hw_svm_block *b, const double *models, const size_t *list, size_t count, double *out)
{
    size_t k = b->svm->path.outputs;
    const double *intercepts = b->primal.packed + b->X.cols * count;
    pack(b, models, list, count);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);) {
        hw_row_tile_multiply(&t, b->primal.packed, intercepts, count, b->primal.tile);
        for (size_t i = 0; i < t.count; i++)
            for (size_t s = 0; s < count; s++)
                out[(t.begin + i) * k + list[s]] = b->primal.tile[i * count + s];
    }
}

void hw_svm_refresh(hw_svm_block *b, const size_t *list, size_t count)
{
    multiply_all(b, b->primal.W, list, count, b->primal.margins);
    b->primal.fresh = true;
}

void hw_svm_move(hw_svm_block *b, const size_t *list, size_t count)
{
    multiply_all(b, b->primal.step, list, count, b->primal.moves);
}

/* The part of a row in a problem of the primal. */
typedef struct stake {
    hw_svm_row row;
    double h, centre, beta; /* beta: at the margin */
} stake;

static stake stake_of(const hw_svm_block *b, size_t i, size_t problem, double margin)
{
    hw_svm_row row = hw_svm_row_at(b, problem, i);
    double centre = b->svm->squared ? 0.0 : b->primal.centres[i * b->svm->path.outputs + problem];
    double h = b->memory[problem].width / row.c;
    return (stake){row, h, centre, hw_svm_beta(b->svm, &row, centre, h, margin)};
}

/* Stores the dual variables of a row, positive ones first, and adds to the scalars. */
static void take_row(const hw_svm_block *b, size_t i, const size_t *list, size_t count, double *R, double *scalars)
{
    const double *margins = b->primal.margins + i * b->svm->path.outputs;
    memset(R, 0, 2 * count * sizeof *R);
    if (!(hw_svm_weight(b, i) > 0.0))
        return;
    for (size_t s = 0; s < count; s++) {
        stake at = stake_of(b, i, list[s], margins[list[s]]);
        double *to = scalars + s * HW_SVM_SCALARS, moved = at.beta - at.centre;
        size_t side = at.beta < 0.0;
        R[side * count + s] = at.beta;
        double loss = at.row.c * hw_svm_loss(b->svm, &at.row, margins[list[s]]);
        to[HW_SVM_LOSS] += loss;
        to[HW_SVM_TARGET + side] += at.beta * at.row.y;
        to[HW_SVM_SQUARE + side] += at.row.h * at.beta * at.beta;
        to[HW_SVM_MOVED] += at.h * moved * moved;
        to[HW_SVM_SLOPES] += loss > 0.0 && !b->svm->squared ? at.row.c : fabs(at.beta);
    }
}

void hw_svm_look(hw_svm_block *b, const size_t *list, size_t count)
{
    hw_svm_primal *q = &b->primal;
    double *scalars = q->reduced + b->width * 2 * count;
    hw_svm_refresh(b, list, count);
    memset(q->reduced, 0, (b->width * 2 + HW_SVM_SCALARS) * count * sizeof *q->reduced);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);) {
        for (size_t i = 0; i < t.count; i++)
            take_row(b, t.begin + i, list, count, q->tile + i * 2 * count, scalars);
        hw_row_tile_accumulate(&t, q->tile, 2 * count, q->reduced);
    }
}

void hw_svm_recentre(hw_svm_block *b, const size_t *list, size_t count)
{
    size_t k = b->svm->path.outputs;
    for (size_t i = 0; i < b->X.rows; i++)
        for (size_t s = 0; s < count && hw_svm_weight(b, i) > 0.0; s++)
            b->primal.centres[i * k + list[s]] = stake_of(b, i, list[s], b->primal.margins[i * k + list[s]]).beta;
}

/* Returns the second derivative of a row's loss; 0 where it has none. */
static double bend_of(const hw_svm_block *b, size_t i, size_t problem, double margin)
{
    if (!(hw_svm_weight(b, i) > 0.0))
        return 0.0;
    stake at = stake_of(b, i, problem, margin);
    return hw_svm_bends_at(&at.row, at.beta) ? 1.0 / at.h : 0.0;
}

void hw_svm_bends(hw_svm_block *b, const size_t *list, size_t count)
{
    hw_svm_primal *q = &b->primal;
    size_t k = b->svm->path.outputs;
    memset(q->reduced, 0, count * sizeof *q->reduced);
    for (size_t i = 0; i < b->X.rows; i++)
        for (size_t s = 0; s < count; s++)
            q->reduced[s] += q->bends[i * k + list[s]] = bend_of(b, i, list[s], q->margins[i * k + list[s]]);
}

/* Passes over the rows with a bend alone. */
static void bend_one(hw_svm_block *b, size_t problem)
{
    hw_svm_primal *q = &b->primal;
    size_t k = b->svm->path.outputs, d = b->X.cols;
    for (size_t i = 0; i < b->X.rows; i++) {
        double bend = q->bends[i * k + problem];
        if (bend == 0.0)
            continue;
        double product = bend * (hawser_row_dot(&b->X, i, q->packed) + q->packed[d]);
        hawser_row_axpy(&b->X, i, product, q->reduced);
        q->reduced[d] += product;
    }
}

void hw_svm_bend(hw_svm_block *b, const size_t *list, size_t count)
{
    hw_svm_primal *q = &b->primal;
    size_t k = b->svm->path.outputs;
    pack(b, q->direction, list, count);
    memset(q->reduced, 0, b->width * count * sizeof *q->reduced);
    if (count == 1 && b->svm->path.centre.count == 0) {
        bend_one(b, list[0]);
        return;
    }
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);) {
        hw_row_tile_multiply(&t, q->packed, q->packed + b->X.cols * count, count, q->tile);
        for (size_t i = 0; i < t.count; i++)
            for (size_t s = 0; s < count; s++)
                q->tile[i * count + s] *= q->bends[(t.begin + i) * k + list[s]];
        hw_row_tile_accumulate(&t, q->tile, count, q->reduced);
    }
}

void hw_svm_slope(hw_svm_block *b, const size_t *list, size_t count)
{
    hw_svm_primal *q = &b->primal;
    memset(q->reduced, 0, 2 * count * sizeof *q->reduced);
    for (size_t i = 0; i < b->X.rows; i++) {
        if (!(hw_svm_weight(b, i) > 0.0))
            continue;
        for (size_t s = 0; s < count; s++) {
            size_t at = i * b->svm->path.outputs + list[s];
            double move = q->moves[at], margin = q->margins[at] + q->lines[list[s]].length * move;
            stake own = stake_of(b, i, list[s], margin);
            q->reduced[2 * s] -= own.beta * move;
            q->reduced[2 * s + 1] += hw_svm_bends_at(&own.row, own.beta) ? move * move / own.h : 0.0;
        }
    }
}
