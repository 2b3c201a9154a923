#include "algorithms/multitask/descent.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/multitask/face.h"
#include "hawser/advanced.h"

enum {
    POLL_EVERY = 64,  /* members, between two questions whether to end */
    LEAST_PASSES = 2, /* between two steps on the face */
    MOST_PASSES = 32,
    LEAST_ITERATIONS = 20, /* of conjugate gradients for such a step */
    MOST_ITERATIONS = 160,
    MOST_STUCK = 20 /* steps that together lower the gap by less than LITTLE */
};

static const double LITTLE = 0.01; /* near the last digits small falls can go on for hours */

typedef struct group_descent {
    hw_multitask_subproblem problem;
    hw_multitask_face face;
    const hw_multitask_round *round;
    double *change, *pull; /* scratch, by output */
    double *shares;        /* the face's */
    size_t passes;         /* before the next step on the face */
    double tolerance;      /* of the local gap */
    double best;           /* the gap when it last fell by LITTLE */
    unsigned stuck;        /* steps since then */
    uint64_t used;
} group_descent;

/* Stores the gradient of member k in pull. */
static void current_gradient(group_descent *d, size_t k)
{
    const hw_multitask_subproblem *p = &d->problem;
    const hw_linear_columns *columns = &p->block->columns;
    const hw_multitask_image *image = &p->at.image;
    for (size_t o = 0; o < p->q; o++) {
        const double *values = image->values + o * p->length;
        d->pull[o] = p->block->use_gram ? values[p->places[k]]
                                        : hw_linear_dot(columns, p->places[k], values, image->sum[o]) / columns->total;
    }
}

/* Minimises over the coefficients of member k. Returns true if they changed. */
static bool step(group_descent *d, size_t k)
{
    hw_multitask_subproblem *p = &d->problem;
    hw_linear_term term = p->terms[k];
    size_t q = p->q;
    double curvature = p->gain * p->block->columns.norm[p->block->members[k]], *x = p->at.x + k * q;
    bool moved = false;
    current_gradient(d, k);
    for (size_t o = 0; o < q; o++)
        d->pull[o] += curvature * x[o];
    /* A column that is constant where there is an intercept has no curvature, and no coefficients. */
    double size = hw_multitask_norm(d->pull, q);
    double scale = size > term.l1 && curvature > 0.0 ? (1.0 - term.l1 / size) / (curvature + term.l2) : 0.0;
    for (size_t o = 0; o < q; o++) {
        double next = scale * d->pull[o];
        d->change[o] = next - x[o];
        moved = moved || d->change[o] != 0.0;
        x[o] = next;
    }
    if (moved)
        hw_multitask_subproblem_step(p, k, d->change, &p->at.image);
    return moved;
}

/* Makes some passes over the members, whole ones: part of one would always be of the same members. Returns false if none
 * moved, or the steps are used up. */
static bool pass(group_descent *d)
{
    hw_multitask_subproblem *p = &d->problem;
    for (size_t at = 0; at < d->passes && d->used < d->round->steps; at++) {
        size_t moved = 0;
        hawser_simulated_work(NULL, p->block->use_gram ? p->members * p->members * p->q : 0);
        for (size_t k = 0; k < p->members; k++, d->used++) {
            if (k % POLL_EVERY == 0 && hw_linear_stopping(d->round->stop))
                return false;
            moved += step(d, k);
        }
        if (moved == 0)
            return false;
    }
    return d->used < d->round->steps;
}

/* Moves by a share of the step that was found on the face, if that lowers the objective from `now`. */
static bool tries(group_descent *d, double share, double now)
{
    hw_multitask_subproblem *p = &d->problem;
    hw_multitask_face_candidate(&d->face, p, share);
    if (!(hw_multitask_subproblem_objective(p, &p->candidate) < now))
        return false;
    hw_multitask_subproblem_take(p);
    d->passes = LEAST_PASSES;
    if (share == 1.0)
        d->face.most_iterations =
            2 * d->face.most_iterations < MOST_ITERATIONS ? 2 * d->face.most_iterations : MOST_ITERATIONS;
    return true;
}

/* Moves along the step that was found on the face, as far as the objective falls. */
static void leap(group_descent *d)
{
    double now = hw_multitask_subproblem_objective(&d->problem, &d->problem.at);
    hw_multitask_face_end(&d->face, &d->problem);
    for (double share = 1.0; share > 0.1; share *= 0.5)
        if (tries(d, share, now))
            return;
    /* the members with coefficients have not settled yet: descend for longer */
    d->passes = d->passes == 0 ? LEAST_PASSES : 2 * d->passes < MOST_PASSES ? 2 * d->passes : MOST_PASSES;
    d->face.most_iterations = LEAST_ITERATIONS;
    if (d->face.pivot < d->face.count && tries(d, hw_multitask_face_first_stop(&d->face, &d->problem), now))
        d->passes = 0; /* they would undo the stop: the smaller face comes next */
}

static void update_gradients(hw_multitask_subproblem *p)
{
    hw_multitask_subproblem_gradients(p, p->places, p->members, &p->at.image, p->at.gradient, p->q, 1);
}

static bool good_enough(group_descent *d)
{
    double gap = hw_multitask_subproblem_gap(&d->problem);
    bool fell = gap < (1.0 - LITTLE) * d->best;
    d->stuck = fell ? 0 : d->stuck + 1;
    d->best = fell ? gap : d->best;
    return gap <= d->tolerance || d->stuck == MOST_STUCK;
}

static void run(group_descent *d)
{
    hw_multitask_subproblem *p = &d->problem;
    while (d->used < d->round->steps && pass(d)) {
        update_gradients(p);
        if (hw_multitask_face_search(&d->face, p, d->tolerance, d->round->steps - d->used, d->round->stop))
            leap(d);
        else if (d->passes == 0)
            d->passes = LEAST_PASSES;
        d->used += d->face.used;
        if (good_enough(d))
            break;
    }
}

static hawser_status fill_gram(hw_multitask_block *block, hw_linear_stop stop, hawser_error *error)
{
    size_t fresh = 0;
    HAWSER_TRY(hw_linear_gram_admit(&block->gram, block->members, block->member_count, &fresh, error));
    return hw_linear_gram_fill(&block->gram, &block->columns, fresh, block->gram.count, stop, error);
}

static hawser_status begin(group_descent *d, hw_multitask_block *block, hawser_error *error)
{
    const hw_multitask_round *round = d->round;
    hw_multitask_subproblem *p = &d->problem;
    HAWSER_TRY(hw_multitask_subproblem_new(p, block, round->lambda, round->gain, round->alpha, error));
    size_t count = p->members * p->q, image = (p->length + 1) * p->q;
    uint32_t *lists = malloc((2 * p->members + 1) * sizeof *lists);
    d->shares = malloc((2 * p->members + 1) * sizeof *d->shares);
    if (lists == NULL || d->shares == NULL) {
        free(lists);
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory to descend over %zu columns", p->members);
    }
    d->face = (hw_multitask_face){.members = lists,
                                  .places = lists + p->members,
                                  .search = {.step = p->scratch,
                                             .pull = p->scratch + count,
                                             .direction = p->scratch + 2 * count,
                                             .bent = p->scratch + 3 * count},
                                  .product = {p->scratch + 4 * count, p->scratch + 4 * count + p->length * p->q},
                                  .share = d->shares,
                                  .left = d->shares + p->members,
                                  .most_iterations = LEAST_ITERATIONS};
    d->change = p->scratch + 4 * count + image;
    d->pull = d->change + p->q;
    d->passes = LEAST_PASSES;
    d->tolerance = fmax(round->tolerance, (block->use_gram ? 1e-3 : 0.3) * round->gap);
    d->best = INFINITY;
    return HAWSER_OK;
}

/* Takes over the coefficients, and adds their changes to the image. */
static void finish(group_descent *d)
{
    hw_multitask_subproblem *p = &d->problem;
    const hw_multitask_block *block = p->block;
    size_t n = block->columns.X.rows, m = p->members, q = p->q;
    double *changes = p->scratch;
    for (size_t k = 0; k < m; k++)
        memcpy(d->round->alpha + block->members[k] * q, p->at.x + k * q, q * sizeof(double));
    for (size_t o = 0; d->round->image != NULL && o < q; o++) {
        for (size_t k = 0; k < m; k++)
            changes[k] = p->gain * (p->at.x[k * q + o] - p->start[k * q + o]);
        hawser_combine(&block->columns.X, block->members, changes, m, d->round->image + o * n);
    }
}

hawser_status hw_multitask_descend(hw_multitask_block *block, const hw_multitask_round *round, hawser_error *error)
{
    group_descent d = {.round = round};
    if (block->member_count == 0)
        return HAWSER_OK;
    if (block->use_gram)
        HAWSER_TRY(fill_gram(block, round->stop, error));
    if (hw_linear_stopping(round->stop)) /* entries of the matrix may be missing */
        return HAWSER_OK;
    hawser_status status = begin(&d, block, error);
    if (status == HAWSER_OK) {
        run(&d);
        finish(&d);
    }
    free(d.face.members);
    free(d.shares);
    hw_multitask_subproblem_free(&d.problem);
    return status;
}
