#include "algorithms/svm/pass.h"

#include <string.h>

#include "algorithms/learner/row_tiles.h"
#include "algorithms/svm/sparse_rows.h"
#include "hawser/advanced.h"

enum { SHORT = 24 }; /* numbers of a dense row */

/* Copies the columns of these problems side by side. */
static void pack(hw_svm_block *b, const double *models, const size_t *list, size_t count)
{
    for (size_t j = 0; j < b->width; j++)
        for (size_t s = 0; s < count; s++)
            b->primal.packed[j * count + s] = models[j * b->svm->path.outputs + list[s]];
}

/* Stores the products of a tile's rows with the models of these problems in their places in `out`. */
static void multiply_tile(hw_svm_block *b, const hw_row_tile *t, const size_t *list, size_t count, double *out)
{
    const double *model = b->primal.packed, *intercepts = model + b->X.cols * count;
    bool sparse = t->X.layout == HAWSER_CSR, few = t->X.layout == HAWSER_DENSE_ROWS && t->X.cols <= SHORT;
    if (count == 1 && t->X.layout != HAWSER_DENSE) {
        double *own = out + list[0] * b->X.rows + t->begin;
        for (size_t i = 0; few && i < t->count; i++)
            own[i] = hw_svm_row_short_dot(&t->X, i, model) + *intercepts;
        for (size_t i = 0; !few && i < t->count; i++)
            own[i] = hw_svm_row_dot(&t->X, i, model) + *intercepts;
        hawser_simulated_work(NULL, sparse || few ? t->X.stored : 0);
        return;
    }
    hw_row_tile_multiply(t, model, intercepts, count, b->primal.tile);
    for (size_t s = 0; s < count; s++)
        for (size_t i = 0; i < t->count; i++)
            out[list[s] * b->X.rows + t->begin + i] = b->primal.tile[i * count + s];
}

/* Computes products of all rows with the models of these problems. */
static void multiply_all(hw_svm_block *b, const double *models, const size_t *list, size_t count, double *out)
{
    pack(b, models, list, count);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);)
        multiply_tile(b, &t, list, count, out);
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
    hw_svm_primal *q = &b->primal;
    size_t n = b->X.rows;
    double *before = q->margins;
    if (b->svm->path.outputs > 1) {
        memcpy(q->margins + problem * n, q->moved + problem * n, n * sizeof *q->margins);
        return;
    }
    q->margins = q->moved;
    q->moved = q->bends = before;
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

/* Where a tile's part of a problem goes. */
typedef struct places {
    double *R, *sides, *scalars; /* of the dual variables, by row; their sums; the other sums */
    size_t row, side;            /* from one row of R to the next, and from positive dual variables to negative ones */
    size_t count;                /* from one of `sides` to the other */
    const double *before;        /* NULL, or the margins from which these are a step away */
    double along[2];             /* the derivatives along that step */
} places;

/* Adds a tile's rows with a squared hinge. The same as take_some, with fewer choices for each row. */
static void take_hinge(const problem *of, size_t first, size_t count, const double *margins, places *to)
{
    double sums[HW_SVM_SCALARS] = {0.0}, sides[2] = {0.0, 0.0}, *R = to->R;
    for (size_t i = 0; i < count; i++, R += to->row) {
        double cost = of->costs[first + i], c = fabs(cost), y = cost < 0.0 ? -1.0 : 1.0, over = 1.0 - y * margins[i];
        double reach = over > 0.0 ? over : over * 0.0, size = over > 0.0 ? over * (c * of->rate) : 0.0;
        size_t side = cost < 0.0;
        R[!side * to->side] = 0.0;
        R[side * to->side] = y * size;
        sides[side] += y * size;
        sums[HW_SVM_LOSS] += c > 0.0 ? c * (reach * reach) : 0.0;
        sums[HW_SVM_TARGET + side] += size;
        sums[HW_SVM_SQUARE + side] += size > 0.0 ? size * over : 0.0;
        sums[HW_SVM_SLOPES] += size;
        if (to->before != NULL) {
            double move = margins[i] - to->before[i];
            to->along[0] -= c > 0.0 ? y * size * move : 0.0;
            to->along[1] += size > 0.0 ? move * move * (c * of->rate) : 0.0;
        }
    }
    to->sides[0] += sides[0];
    to->sides[to->count] += sides[1];
    for (size_t k = 0; k < HW_SVM_SCALARS; k++)
        to->scalars[k] += sums[k];
}

/* Stores the dual variables of a tile's rows, and adds to the sums over rows. */
static void take_some(const problem *of, size_t first, size_t count, const double *margins, places *to)
{
    double sums[HW_SVM_SCALARS] = {0.0}, *R = to->R;
    for (size_t i = 0; i < count; i++, R += to->row) {
        stake at = stake_at(of, first + i, margins[i]);
        double moved = at.beta - at.centre, strain = moved != 0.0 ? moved * moved / at.rate : 0.0;
        double loss = loss_at(of, &at, margins[i]);
        size_t side = at.beta < 0.0;
        R[!side * to->side] = 0.0;
        R[side * to->side] = at.beta;
        to->sides[side * to->count] += at.beta;
        sums[HW_SVM_LOSS] += loss;
        sums[HW_SVM_TARGET + side] += at.beta * at.y;
        sums[HW_SVM_SQUARE + side] += of->squared ? strain : 0.0;
        sums[HW_SVM_MOVED] += strain;
        sums[HW_SVM_SLOPES] += loss > 0.0 && !of->squared ? at.c : fabs(at.beta);
        if (to->before != NULL) {
            double move = margins[i] - to->before[i];
            to->along[0] -= at.c > 0.0 ? at.beta * move : 0.0;
            to->along[1] += at.bends ? move * move * at.rate : 0.0;
        }
    }
    for (size_t k = 0; k < HW_SVM_SCALARS; k++)
        to->scalars[k] += sums[k];
}

/* Adds the rows of a sparse tile times the dual variables of one problem, of which most may be 0. */
static void add_sparse_rows(hw_svm_block *b, const hw_row_tile *t)
{
    const double *R = b->primal.tile;
    uint64_t entries = 0;
    for (size_t i = 0; i < t->count; i++) {
        size_t side = R[2 * i + 1] != 0.0;
        double beta = R[2 * i + side];
        if (beta == 0.0)
            continue;
        entries += hw_svm_row_entries(&t->X, i);
        hw_svm_row_add_side(&t->X, i, beta, b->primal.reduced + side);
    }
    hawser_simulated_work(NULL, entries);
}

/* Adds a tile to the sums of hw_svm_look, at these margins of all rows. If `along` is not NULL, adds to the derivatives
 * along the step from the block's margins, too. */
static void look_at_tile(hw_svm_block *b, const hw_row_tile *t, const double *margins, const size_t *list, size_t count,
                         double *along)
{
    hw_svm_primal *q = &b->primal;
    bool sides = b->svm->squared || b->svm->path.intercept; /* else one sum of both sides suffices */
    size_t apart = sides ? count : 0;
    for (size_t s = 0; s < count; s++) {
        problem of = problem_of(b, list[s]);
        size_t own = list[s] * b->X.rows + t->begin;
        places to = {.R = q->tile + s,
                     .row = count + apart,
                     .side = apart,
                     .count = count,
                     .sides = q->reduced + b->X.cols * 2 * count + s,
                     .scalars = q->reduced + b->width * 2 * count + s * HW_SVM_SCALARS,
                     .before = along != NULL ? q->margins + own : NULL};
        if (of.squared && !of.regression)
            take_hinge(&of, t->begin, t->count, margins + own, &to);
        else
            take_some(&of, t->begin, t->count, margins + own, &to);
        for (size_t k = 0; k < 2 && along != NULL; k++)
            along[HW_SVM_ALONG * s + k] += to.along[k];
    }
    if (t->X.layout == HAWSER_CSR && count == 1 && sides)
        add_sparse_rows(b, t);
    else
        hawser_accumulate_block(&t->X, q->tile, count + apart, count + apart, q->reduced, 2 * count);
}

void hw_svm_look(hw_svm_block *b, const size_t *list, size_t count)
{
    memset(b->primal.reduced, 0, (b->width * 2 + HW_SVM_SCALARS) * count * sizeof *b->primal.reduced);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);)
        look_at_tile(b, &t, b->primal.margins, list, count, NULL);
}

void hw_svm_look_ahead(hw_svm_block *b, const size_t *list, size_t count, double *along)
{
    hw_svm_primal *q = &b->primal;
    memset(q->reduced, 0, (b->width * 2 + HW_SVM_SCALARS) * count * sizeof *q->reduced);
    memset(along, 0, HW_SVM_ALONG * count * sizeof *along);
    pack(b, q->direction, list, count);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);) {
        multiply_tile(b, &t, list, count, q->moved);
        look_at_tile(b, &t, q->moved, list, count, along);
    }
    for (size_t s = 0; s < count; s++)
        along[HW_SVM_ALONG * s + 2] = q->reduced[b->width * 2 * count + s * HW_SVM_SCALARS + HW_SVM_LOSS];
}

void hw_svm_recentre(hw_svm_block *b, const size_t *list, size_t count)
{
    for (size_t s = 0; s < count; s++) {
        problem of = problem_of(b, list[s]);
        for (size_t i = 0, at = list[s] * b->X.rows; i < b->X.rows; i++, at++)
            b->primal.centres[at] = stake_at(&of, i, b->primal.margins[at]).beta;
    }
}

/* Stores the second derivatives of a tile's rows. Returns their sum. */
static double bends_of_tile(const problem *of, const hw_row_tile *t, const double *margins, double *bends)
{
    double sum = 0.0;
    if (of->squared && !of->regression)
        for (size_t i = 0; i < t->count; i++) {
            double cost = of->costs[t->begin + i], rate = fabs(cost) * of->rate;
            bool on = (1.0 - (cost < 0.0 ? -1.0 : 1.0) * margins[i]) * rate > 0.0;
            sum += bends[i] = on ? rate : 0.0;
        }
    else
        for (size_t i = 0; i < t->count; i++) {
            stake at = stake_at(of, t->begin + i, margins[i]);
            sum += bends[i] = at.bends ? at.rate : 0.0;
        }
    return sum;
}

void hw_svm_bends(hw_svm_block *b, const size_t *list, size_t count)
{
    memset(b->primal.reduced, 0, count * sizeof *b->primal.reduced);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);)
        for (size_t s = 0; s < count; s++) {
            problem of = problem_of(b, list[s]);
            size_t own = list[s] * b->X.rows + t.begin;
            b->primal.reduced[s] += bends_of_tile(&of, &t, b->primal.margins + own, b->primal.bends + own);
        }
}

/* ---- along a direction ---- */

/* Passes over a tile's rows with a bend alone. */
static void bend_one(hw_svm_block *b, const hw_row_tile *t, const double *bends)
{
    hw_svm_primal *q = &b->primal;
    size_t d = b->X.cols;
    uint64_t entries = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (bends[i] == 0.0)
            continue;
        entries += hw_svm_row_entries(&t->X, i);
        double product = bends[i] * (hw_svm_row_dot(&t->X, i, q->packed) + q->packed[d]);
        hw_svm_row_add(&t->X, i, product, q->reduced);
        q->reduced[d] += product;
    }
    hawser_simulated_work(NULL, 2 * entries);
}

void hw_svm_bend(hw_svm_block *b, const size_t *list, size_t count)
{
    hw_svm_primal *q = &b->primal;
    pack(b, q->direction, list, count);
    memset(q->reduced, 0, b->width * count * sizeof *q->reduced);
    for (hw_row_tile t = {0}; hw_row_next_tile(&b->tiles, &t);) {
        if (count == 1 && b->svm->path.centre.count == 0) {
            bend_one(b, &t, q->bends + list[0] * b->X.rows + t.begin);
            continue;
        }
        hw_row_tile_multiply(&t, q->packed, q->packed + b->X.cols * count, count, q->tile);
        for (size_t s = 0; s < count; s++)
            for (size_t i = 0; i < t.count; i++)
                q->tile[i * count + s] *= q->bends[list[s] * b->X.rows + t.begin + i];
        hw_row_tile_accumulate(&t, q->tile, count, q->reduced);
    }
}

void hw_svm_slope(hw_svm_block *b, const size_t *list, size_t count, double *along)
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
        along[HW_SVM_ALONG * s] = slope;
        along[HW_SVM_ALONG * s + 1] = bend;
        along[HW_SVM_ALONG * s + 2] = 0.0;
    }
}
