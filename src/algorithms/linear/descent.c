#include "algorithms/linear/descent.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/linear/certificate.h"
#include "algorithms/linear/face.h"

enum {
    LEAST_EPOCHS = 2, /* of coordinate descent, between two steps on the face */
    MOST_EPOCHS = 32,
    LEAST_ITERATIONS = 20, /* of conjugate gradients, for such a step */
    MOST_ITERATIONS = 160
};

typedef struct descent {
    hw_linear_members *members;
    const hw_linear_round *round;
    hw_linear_space space;
    hw_linear_image image, candidate;
    hw_linear_face face;
    size_t epochs; /* before the next step on the face */
} descent;

void hw_linear_members_free(hw_linear_members *members)
{
    free(members->columns);
    free(members->terms);
    free(members->memory);
    memset(members, 0, sizeof *members);
}

hawser_status hw_linear_members_reserve(hw_linear_members *members, size_t needed, hawser_error *error)
{
    if (needed <= members->capacity)
        return HAWSER_OK;
    size_t capacity = needed + needed / 2 + 16;
    hw_linear_members_free(members);
    members->columns = malloc(capacity * sizeof *members->columns);
    members->terms = malloc(capacity * sizeof *members->terms);
    members->memory = malloc(8 * capacity * sizeof *members->memory);
    if (members->columns == NULL || members->terms == NULL || members->memory == NULL) {
        hw_linear_members_free(members);
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a working set of %zu columns", needed);
    }
    members->capacity = capacity;
    members->gradient = members->memory;
    members->start = members->memory + capacity;
    members->x = members->memory + 2 * capacity;
    members->blend = members->memory + 3 * capacity;
    members->scratch = members->memory + 4 * capacity;
    return HAWSER_OK;
}

/* One pass over the members; returns the number of coordinates that moved, none where the run is to end. */
static size_t epoch(descent *d)
{
    hw_linear_members *members = d->members;
    size_t moved = 0;
    for (size_t k = 0; k < members->count; k++) {
        if (k % HW_LINEAR_LOOK == 0 && hw_linear_stopping(d->round->stop))
            return 0;
        double curvature = d->round->gain * d->round->columns->norm[members->columns[k]];
        double pull = hw_linear_space_pull(&d->space, k, &d->image);
        double step = hw_linear_prox(curvature * members->x[k] + pull, curvature, members->terms[k]) - members->x[k];
        if (step != 0.0) {
            members->x[k] += step;
            hw_linear_space_step(&d->space, k, step, &d->image);
            moved++;
        }
    }
    return moved;
}

/* Sum of the penalties; INFINITY outside the bounds. */
static double penalty(const hw_linear_members *members, const double *x)
{
    double sum = 0.0;
    for (size_t k = 0; k < members->count; k++) {
        if (x[k] < members->terms[k].lower || x[k] > members->terms[k].upper)
            return INFINITY;
        sum += hw_linear_penalty(x[k], members->terms[k]);
    }
    return sum;
}

/* The local duality gap: the subproblem is itself a lasso, on sqrt(sigma') X with residual r / sqrt(sigma'). */
static double local_gap(descent *d)
{
    hw_linear_members *members = d->members;
    hw_linear_sums sums = {.square = hw_linear_space_square(&d->space, members->x, &d->image),
                           .penalty = penalty(members, members->x)};
    sums.loss = 0.5 * sums.square;
    sums.target = sums.square;
    for (size_t k = 0; k < members->count; k++) {
        double g = hw_linear_space_pull(&d->space, k, &d->image);
        double ratio = hw_linear_ratio(g, members->x[k], members->terms[k]);
        members->blend[k] = g;
        sums.target += members->x[k] * g;
        sums.curved += members->terms[k].l2 * members->x[k] * members->x[k];
        sums.ratio = ratio > sums.ratio ? ratio : sums.ratio;
    }
    double scale = hw_linear_scale(&sums), conjugate = 0.0, plain = 0.0;
    for (size_t k = 0; k < members->count; k++) {
        conjugate += hw_linear_conjugate(scale * members->blend[k], members->terms[k]);
        plain += hw_linear_conjugate(members->blend[k], members->terms[k]);
    }
    return hw_linear_gap(&sums, conjugate, plain, 0.0);
}

/* Jumps to the candidate in blend, given its image, when that has a lower objective. */
static bool accept(descent *d)
{
    hw_linear_members *members = d->members;
    double then = penalty(members, members->blend) + 0.5 * hw_linear_space_square(&d->space, members->blend, &d->candidate);
    double now = penalty(members, members->x) + 0.5 * hw_linear_space_square(&d->space, members->x, &d->image);
    if (!(then < now))
        return false;
    memcpy(members->x, members->blend, members->count * sizeof(double));
    hw_linear_image swap = d->image;
    d->image = d->candidate;
    d->candidate = swap;
    return true;
}

/* Towards the minimum on the face; returns the coordinate steps that it took. */
static uint64_t leap(descent *d, double tolerance, uint64_t steps)
{
    hw_linear_members *members = d->members;
    if (!hw_linear_face_solve(&d->face, &d->space, &d->image, tolerance, steps))
        return 0;
    for (double share = 1.0; share > 0.1; share *= 0.5) {
        hw_linear_face_clip(&d->face, &d->space, share, &d->image, members->blend, &d->candidate);
        if (!accept(d))
            continue;
        d->epochs = LEAST_EPOCHS;
        if (share == 1.0)
            d->face.patience = 2 * d->face.patience < MOST_ITERATIONS ? 2 * d->face.patience : MOST_ITERATIONS;
        return d->face.used;
    }
    /* signs are not known yet: descend for longer */
    hw_linear_face_advance(&d->face, &d->space, members->x, &d->image);
    d->epochs = 2 * d->epochs < MOST_EPOCHS ? 2 * d->epochs : MOST_EPOCHS;
    d->face.patience = LEAST_ITERATIONS;
    return d->face.used;
}

static void run(descent *d)
{
    const hw_linear_round *round = d->round;
    uint64_t used = 0;
    double best = INFINITY;
    unsigned stuck = 0;
    double fraction =
        d->space.gram != NULL ? 1e-3 : 0.1; /* how exact pays: a certificate's scan costs much more than Gram steps */
    double tolerance = fraction * round->gap > round->tolerance ? fraction * round->gap : round->tolerance;
    d->epochs = LEAST_EPOCHS;
    d->face.patience = LEAST_ITERATIONS;
    if (round->slack != NULL)
        *round->slack = local_gap(d);
    while (used < round->steps) {
        for (size_t at = 0; at < d->epochs && used < round->steps; at++) {
            if (epoch(d) == 0)
                return;
            used += d->members->count;
        }
        if (used >= round->steps)
            return;
        used += leap(d, tolerance, round->steps - used);
        double gap = local_gap(d);
        stuck = gap < best ? 0 : stuck + 1;
        best = gap < best ? gap : best;
        if (gap <= tolerance || stuck == 20)
            return;
    }
}

hawser_status hw_linear_descend(hw_linear_members *members, const hw_linear_gram *gram, const hw_linear_round *round,
                                hawser_error *error)
{
    size_t length = gram != NULL ? gram->count : round->columns->X.rows, m = members->count, row = members->capacity;
    double *memory = calloc(3 * length + 1, sizeof *memory);
    uint32_t *lists = calloc(2 * m + 1, sizeof *lists);
    if (memory == NULL || lists == NULL) {
        free(memory);
        free(lists);
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory to descend over %zu columns and %zu rows", m,
                           round->columns->X.rows);
    }
    descent d = {.members = members,
                 .round = round,
                 .space = {.members = members, .round = round, .gram = gram, .length = length},
                 .image.values = gram != NULL ? memory : round->residual,
                 .candidate.values = memory + length,
                 .face = {.members = lists,
                          .places = lists + m,
                          .step = members->scratch,
                          .pull = members->scratch + row,
                          .direction = members->scratch + 2 * row,
                          .bend = members->scratch + 3 * row,
                          .move.values = memory + 2 * length}};
    run(&d);
    free(memory);
    free(lists);
    return HAWSER_OK;
}
