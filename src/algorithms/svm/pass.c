#include "algorithms/svm/pass.h"

#include <string.h>

#include "algorithms/learner/row_tiles.h"
#include "algorithms/svm/sparse_rows.h"
#include "hawser/advanced.h"

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
    const double *intercepts = b->primal.packed + b->X.cols * count;
    pack(b, models, list, count);
    if (count == 1 && b->svm->path.centre.count == 0) {
        for (size_t i = 0; i < b->X.rows; i++)
            out[list[0] * b->X.rows + i] = hw_svm_row_dot(&b->X, i, b->primal.packed) + *intercepts;
        hawser_simulated_work(NULL, b->X.layout == HAWSER_CSR ? b->X.stored : 0);
        return;
    }
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);) {
        hw_row_tile_multiply(&t, b->primal.packed, intercepts, count, b->primal.tile);
        for (size_t s = 0; s < count; s++)
            for (size_t i = 0; i < t.count; i++)
                out[list[s] * b->X.rows + t.begin + i] = b->primal.tile[i * count + s];
    }
}

void hw_svm_refresh(hw_svm_block *b, const size_t *list, size_t count)
{
    bool moved = false;
    for (size_t e = 0; e < b->width * b->svm->path.outputs && !moved; e++)
        moved = b->primal.W[e] != 0.0;
    if (moved)
        multiply_all(b, b->primal.W, list, count, b->primal.margins);
    else
        memset(b->primal.margins, 0, b->X.rows * b->svm->path.outputs * sizeof *b->primal.margins);
    b->primal.fresh = true;
}

void hw_svm_move(hw_svm_block *b, const size_t *list, size_t count)
{
    multiply_all(b, b->primal.direction, list, count, b->primal.moved);
}

void hw_svm_arrive(hw_svm_block *b, size_t problem)
{
    size_t n = b->X.rows;
    memcpy(b->primal.margins + problem * n, b->primal.moved + problem * n, n * sizeof *b->primal.margins);
}

/* ---- the part of a row ---- */

void hw_svm_price(hw_svm_block *b)
{
    for (size_t p = 0; p < b->svm->path.outputs; p++)
        for (size_t i = 0; i < b->X.rows; i++) {
            bool counts = hw_svm_weight(b, i) > 0.0;
            hw_svm_row row = counts ? hw_svm_row_at(b, p, i) : (hw_svm_row){0};
            b->primal.costs[p * b->X.rows + i] = !b->svm->regression && row.y < 0.0 ? -row.c : row.c;
        }
}

/* What the rows of a problem have in common. */
typedef struct problem {
    const hw_svm_block *b;
    const double *costs, *centres; /* centres: NULL for squared losses, where they are 0 */
    double rate;                   /* 1 / h_i is c_i times the rate */
    bool regression, squared;
} problem;

/* The part of a row in a problem: 1 / h, and the dual variable at the margin. */
typedef struct stake {
    double y, c, rate, centre, beta;
    bool bends; /* the dual variable changes with the margin: it is at none of its ends, nor at the kink in 0 */
} stake;

static problem problem_of(const hw_svm_block *b, size_t p)
{
    const hw_svm_primal *q = &b->primal;
    return (problem){.b = b,
                     .costs = q->costs + p * b->X.rows,
                     .centres = q->centres != NULL ? q->centres + p * b->X.rows : NULL,
                     .rate = 1.0 / b->memory[p].width,
                     .regression = b->svm->regression,
                     .squared = b->svm->squared};
}

/* Finds the dual variable that maximises beta (y - margin) - epsilon |beta| - h/2 (beta - centre)^2 between the row's ends.
 * A row that does not count has none but 0. */
static inline stake stake_at(const problem *of, size_t i, double margin)
{
    double cost = of->costs[i], c = fabs(cost), centre = of->centres != NULL ? of->centres[i] : 0.0, rate = c * of->rate;
    double y = !of->regression ? (cost < 0.0 ? -1.0 : 1.0) : of->b->beside.target[i] - of->b->svm->path.centre.target;
    double to = centre + (y - margin) * rate, sign = of->regression ? (to < 0.0 ? -1.0 : 1.0) : y;
    double size = sign * to - of->b->svm->epsilon * rate, most = of->squared ? HUGE_VAL : c;
    size = size > 0.0 ? size : 0.0;
    size = size < most ? size : most;
    return (stake){y, c, rate, centre, sign * size, size > 0.0 && size < most};
}

/* Returns the weighted loss of a row. */
static inline double loss_at(const problem *of, const stake *at, double margin)
{
    double over = of->regression ? fabs(at->y - margin) - of->b->svm->epsilon : 1.0 - at->y * margin;
    double loss = !(over > 0.0) ? over * 0.0 : of->squared ? over * over : over;
    return at->c > 0.0 ? at->c * loss : 0.0;
}

/* Stores the dual variables of a tile's rows, positive ones and negative ones `apart` from each other. Adds to their sums,
 * which are `count` apart, and to the scalars of the problem. */
static void take_rows(const hw_svm_block *b, const hw_row_tile *t, size_t p, size_t s, size_t count, size_t apart)
{
    problem of = problem_of(b, p);
    const double *margins = b->primal.margins + p * b->X.rows + t->begin;
    double sums[HW_SVM_SCALARS] = {0.0}, *R = b->primal.tile + s;
    double *sides = b->primal.reduced + b->X.cols * 2 * count + s;
    double *scalars = b->primal.reduced + b->width * 2 * count + s * HW_SVM_SCALARS;
    for (size_t i = 0; i < t->count; i++, R += count + apart) {
        stake at = stake_at(&of, t->begin + i, margins[i]);
        double moved = at.beta - at.centre, strain = moved != 0.0 ? moved * moved / at.rate : 0.0;
        double loss = loss_at(&of, &at, margins[i]);
        size_t side = at.beta < 0.0;
        R[!side * apart] = 0.0;
        R[side * apart] = at.beta;
        sides[side * count] += at.beta;
        sums[HW_SVM_LOSS] += loss;
        sums[HW_SVM_TARGET + side] += at.beta * at.y;
        sums[HW_SVM_SQUARE + side] += of.squared ? strain : 0.0;
        sums[HW_SVM_MOVED] += strain;
        sums[HW_SVM_SLOPES] += loss > 0.0 && !of.squared ? at.c : fabs(at.beta);
    }
    for (size_t k = 0; k < HW_SVM_SCALARS; k++)
        scalars[k] += sums[k];
}

void hw_svm_look(hw_svm_block *b, const size_t *list, size_t count)
{
    hw_svm_primal *q = &b->primal;
    size_t apart = b->svm->path.intercept ? count : 0; /* without an intercept one sum of both sides suffices */
    memset(q->reduced, 0, (b->width * 2 + HW_SVM_SCALARS) * count * sizeof *q->reduced);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);) {
        for (size_t s = 0; s < count; s++)
            take_rows(b, &t, list[s], s, count, apart);
        hawser_accumulate_block(&t.X, q->tile, count + apart, count + apart, q->reduced, 2 * count);
    }
}

void hw_svm_recentre(hw_svm_block *b, const size_t *list, size_t count)
{
    for (size_t s = 0; s < count; s++) {
        problem of = problem_of(b, list[s]);
        for (size_t i = 0, at = list[s] * b->X.rows; i < b->X.rows; i++, at++)
            b->primal.centres[at] = stake_at(&of, i, b->primal.margins[at]).beta;
    }
}

void hw_svm_bends(hw_svm_block *b, const size_t *list, size_t count)
{
    for (size_t s = 0; s < count; s++) {
        problem of = problem_of(b, list[s]);
        double sum = 0.0, *bends = b->primal.bends + list[s] * b->X.rows;
        const double *margins = b->primal.margins + list[s] * b->X.rows;
        for (size_t i = 0; i < b->X.rows; i++) {
            stake at = stake_at(&of, i, margins[i]);
            sum += bends[i] = at.bends ? at.rate : 0.0;
        }
        b->primal.reduced[s] = sum;
    }
}

/* ---- along a direction ---- */

/* Passes over the rows with a bend alone. */
static void bend_one(hw_svm_block *b, const double *bends)
{
    hw_svm_primal *q = &b->primal;
    size_t d = b->X.cols;
    uint64_t entries = 0;
    for (size_t i = 0; i < b->X.rows; i++) {
        if (bends[i] == 0.0)
            continue;
        entries += hw_svm_row_entries(&b->X, i);
        double product = bends[i] * (hw_svm_row_dot(&b->X, i, q->packed) + q->packed[d]);
        hw_svm_row_add(&b->X, i, product, q->reduced);
        q->reduced[d] += product;
    }
    hawser_simulated_work(NULL, 2 * entries);
}

void hw_svm_bend(hw_svm_block *b, const size_t *list, size_t count)
{
    hw_svm_primal *q = &b->primal;
    pack(b, q->direction, list, count);
    memset(q->reduced, 0, b->width * count * sizeof *q->reduced);
    if (count == 1 && b->svm->path.centre.count == 0) {
        bend_one(b, q->bends + list[0] * b->X.rows);
        return;
    }
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);) {
        hw_row_tile_multiply(&t, q->packed, q->packed + b->X.cols * count, count, q->tile);
        for (size_t s = 0; s < count; s++)
            for (size_t i = 0; i < t.count; i++)
                q->tile[i * count + s] *= q->bends[list[s] * b->X.rows + t.begin + i];
        hw_row_tile_accumulate(&t, q->tile, count, q->reduced);
    }
}

void hw_svm_slope(hw_svm_block *b, const size_t *list, size_t count)
{
    for (size_t s = 0; s < count; s++) {
        problem of = problem_of(b, list[s]);
        const double *moved = b->primal.moved + list[s] * b->X.rows, *margins = b->primal.margins + list[s] * b->X.rows;
        double length = b->primal.lines[list[s]].length, slope = 0.0, bend = 0.0;
        for (size_t i = 0; i < b->X.rows; i++) {
            double move = of.squared ? moved[i] - margins[i] : moved[i];
            stake at = stake_at(&of, i, margins[i] + length * move);
            slope -= at.c > 0.0 ? at.beta * move : 0.0;
            bend += at.bends ? move * move * at.rate : 0.0;
        }
        b->primal.reduced[2 * s] = slope;
        b->primal.reduced[2 * s + 1] = bend;
    }
}
