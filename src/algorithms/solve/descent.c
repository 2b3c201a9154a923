#include "algorithms/solve/descent.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/solve/certificate.h"
#include "algorithms/solve/face.h"

enum {
    LEAST_EPOCHS = 2, /* epochs of coordinate descent between two steps on the face */
    MOST_EPOCHS = 32,
    LEAST_ITERATIONS = 20, /* iterations of conjugate gradients for such a step */
    MOST_ITERATIONS = 160
};

/* A descent ends when this many steps on the face have lowered the gap by less than this share together. Near the last
 * digits small falls can go on for hours, and the next certificate may choose other columns. */
enum { MOST_STUCK = 20 };
static const double LITTLE = 0.01;

typedef struct descent {
    hw_linear_members *members;
    hw_linear_round round;
    hw_linear_space space;
    hw_linear_image image, candidate;
    hw_linear_face face;
    size_t epochs;    /* before the next step on the face */
    double tolerance; /* of the local gap */
    double best;      /* the local gap when it last fell by LITTLE */
    unsigned stuck;   /* steps on the face since then */
    uint64_t used;    /* coordinate steps */
    double *memory;
    uint32_t *lists;
} descent;

void hw_linear_members_free(hw_linear_members *members)
{
    free(members->columns);
    free(members->terms);
    free(members->memory);
    hw_linear_packed_free(&members->packed);
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
    members->memory = malloc(10 * capacity * sizeof *members->memory);
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

/* Makes one pass over the members. Returns the number of coordinates that moved, or 0 if the run is asked to end. */
static size_t epoch(descent *d)
{
    hw_linear_members *members = d->members;
    size_t moved = 0;
    for (size_t k = 0; k < members->count; k++) {
        if (k % HW_LINEAR_POLL == 0 && hw_linear_stopping(d->round.stop))
            return 0;
        double curvature = d->round.gain * d->round.columns->norm[members->columns[k]];
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

/* Returns the sum of the penalties; INFINITY outside the bounds. */
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

/* Returns the local duality gap. The subproblem is itself a lasso, on sqrt(sigma') X with residual r / sqrt(sigma'). */
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

static double objective(descent *d, const double *x, const hw_linear_image *image)
{
    return penalty(d->members, x) + 0.5 * hw_linear_space_square(&d->space, x, image);
}

/* Moves to the candidate in blend, given its image, if it has a lower objective. */
static bool accept(descent *d)
{
    hw_linear_members *members = d->members;
    if (!(objective(d, members->blend, &d->candidate) < objective(d, members->x, &d->image)))
        return false;
    memcpy(members->x, members->blend, members->count * sizeof(double));
    hw_linear_image swap = d->image;
    d->image = d->candidate;
    d->candidate = swap;
    return true;
}

/* Moves along the step that was found on the face. */
static void leap(descent *d)
{
    hw_linear_members *members = d->members;
    d->used += d->face.used;
    if (!hw_linear_face_end(&d->face, &d->space)) {
        d->epochs = d->epochs == 0 ? LEAST_EPOCHS : d->epochs;
        return;
    }
    for (double share = 1.0; share > 0.1; share *= 0.5) {
        hw_linear_face_clip(&d->face, &d->space, share, &d->image, members->blend, &d->candidate);
        if (!accept(d))
            continue;
        d->epochs = LEAST_EPOCHS;
        if (share == 1.0)
            d->face.most_iterations =
                2 * d->face.most_iterations < MOST_ITERATIONS ? 2 * d->face.most_iterations : MOST_ITERATIONS;
        return;
    }
    /* signs have not settled yet: descend for longer */
    hw_linear_face_advance(&d->face, &d->space, members->x, &d->image);
    d->epochs = d->epochs == 0 ? LEAST_EPOCHS : 2 * d->epochs < MOST_EPOCHS ? 2 * d->epochs : MOST_EPOCHS;
    if (d->face.pivot < d->face.count)
        d->epochs = 0; /* passes would undo the stop: the smaller face comes next */
    d->face.most_iterations = LEAST_ITERATIONS;
}

/* Makes some passes. Returns false if no coordinate moved or the steps are used up. */
static bool pass(descent *d)
{
    for (size_t at = 0; at < d->epochs && d->used < d->round.steps; at++) {
        if (epoch(d) == 0)
            return false;
        d->used += d->members->count;
    }
    return d->used < d->round.steps;
}

static bool good_enough(descent *d)
{
    double gap = local_gap(d);
    bool fell = gap < (1.0 - LITTLE) * d->best;
    d->stuck = fell ? 0 : d->stuck + 1;
    d->best = fell ? gap : d->best;
    return gap <= d->tolerance || d->stuck == MOST_STUCK;
}

static hawser_status begin(descent *d, hw_linear_members *members, const hw_linear_gram *gram, const hw_linear_round *round,
                           hawser_error *error)
{
    const hawser_matrix *X = &round->columns->X;
    const hw_linear_part *part = round->part;
    size_t length = gram != NULL ? gram->count : X->rows, m = members->count, row = members->capacity;
    bool packed = gram == NULL && X->layout == HAWSER_CSC;
    if (packed)
        HAWSER_TRY(hw_linear_pack(&members->packed, X, members->columns, m, part != NULL ? part->begin : 0,
                                  part != NULL ? part->end : X->rows, error));
    double *memory = d->memory = calloc(3 * length + 1, sizeof *memory);
    uint32_t *lists = d->lists = calloc(3 * m + 1, sizeof *lists);
    if (memory == NULL || lists == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory to descend over %zu columns and %zu rows", m, X->rows);
    /* In Gram space a smaller gap pays, because the scan of a certificate costs much more than Gram steps. */
    double least = (gram != NULL ? 1e-3 : 0.3) * round->gap;
    d->members = members;
    d->round = *round;
    d->image.values = gram != NULL ? memory : round->residual;
    d->candidate.values = memory + length;
    d->face = (hw_linear_face){.members = lists,
                               .places = lists + m,
                               .parts = lists + 2 * m,
                               .search = {.step = members->scratch,
                                          .pull = members->scratch + row,
                                          .direction = members->scratch + 2 * row,
                                          .bent = members->scratch + 3 * row},
                               .curve = members->scratch + 4 * row,
                               .share = members->scratch + 5 * row,
                               .most_iterations = LEAST_ITERATIONS,
                               .scaled = true,
                               .exact = 0.01,
                               .move.values = memory + 2 * length};
    d->epochs = LEAST_EPOCHS;
    d->tolerance = least > round->tolerance ? least : round->tolerance;
    d->best = INFINITY;
    d->space = (hw_linear_space){.members = members,
                                 .round = &d->round,
                                 .gram = gram,
                                 .part = part,
                                 .packed = packed ? &members->packed : NULL,
                                 .length = length};
    if (round->slack != NULL)
        *round->slack = local_gap(d);
    return HAWSER_OK;
}

static hawser_status run(descent *d, hawser_error *error)
{
    while (d->used < d->round.steps && pass(d)) {
        d->face.scratch = d->candidate.values; /* they change places */
        hw_linear_face_begin(&d->face, &d->space, &d->image, NULL, d->tolerance);
        HAWSER_TRY(hw_linear_face_search(&d->face, &d->space, d->round.steps - d->used, error));
        leap(d);
        if (good_enough(d))
            break;
    }
    return HAWSER_OK;
}

hawser_status hw_linear_descend(hw_linear_members *members, const hw_linear_gram *gram, const hw_linear_round *round,
                                hawser_error *error)
{
    descent d = {0};
    hawser_status status = begin(&d, members, gram, round, error);
    HAWSER_THEN(status, run(&d, error));
    free(d.memory);
    free(d.lists);
    return status;
}
