#include "algorithms/logistic/inexact.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/linear/face.h"

enum {
    PASSES = 2,       /* before conjugate gradients */
    MOST_PASSES = 30, /* on one model: the next one is better */
    ITERATIONS = 20,  /* of conjugate gradients, between two passes */
    SMOOTH_ITERATIONS = 200,
    HASTY_ITERATIONS = 6
};

static const double EXACT = 0.1;        /* of the largest pull on the face may be left: signs will change yet */
static const double SMOOTH_EXACT = 0.3; /* the same where there are none: at most, less near the optimum */

typedef struct hw_logistic_inexact_state {
    hw_logistic_inexact *inexact;
    hw_logistic_quadratic *q;
    hw_linear_members *members;
    hw_linear_round round;
    hw_linear_space space;
    hw_linear_image image, candidate;
    hw_linear_face face;
    uint32_t *order; /* of the members in a pass */
    bool smooth, begun;
    bool searching; /* on a face, and a product is asked for */
    double *memory;
    uint32_t *lists;
} run;

bool hw_logistic_smooth(const hw_logistic_quadratic *q)
{
    bool smooth = true;
    for (size_t k = 0; k < q->members.count && smooth; k++)
        smooth = q->terms[k].l1 == 0.0 && isinf(q->terms[k].lower) && isinf(q->terms[k].upper);
    return smooth;
}

static hawser_status begin(run *r, const hw_linear_part *part, double *residual, hawser_error *error)
{
    const hawser_matrix *X = &r->q->columns.X;
    hw_linear_members *members = r->members;
    size_t n = X->rows, m = members->count, row = members->capacity;
    r->memory = malloc((2 * n + 1) * sizeof *r->memory);
    r->lists = malloc((4 * m + 1) * sizeof *r->lists);
    if (r->memory == NULL || r->lists == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory to descend over %zu columns and %zu rows", m, n);
    r->image.values = residual;
    r->candidate.values = r->memory;
    r->face = (hw_linear_face){.members = r->lists,
                               .places = r->lists + m,
                               .parts = r->lists + 2 * m,
                               .step = members->scratch,
                               .pull = members->scratch + row,
                               .direction = members->scratch + 2 * row,
                               .bend = members->scratch + 3 * row,
                               .curve = members->scratch + 4 * row,
                               .patience = ITERATIONS,
                               .exact = EXACT,
                               .move.values = r->memory + n};
    r->order = r->lists + 3 * m;
    for (size_t k = 0; k < m; k++)
        r->order[k] = (uint32_t)k;
    r->round = (hw_linear_round){.columns = &r->q->columns, .gain = 1.0, .residual = residual, .stop = r->inexact->stop};
    for (size_t i = 0; i < n; i++)
        r->round.sum += residual[i];
    r->space = (hw_linear_space){.members = members, .round = &r->round, .part = part, .length = n};
    r->smooth = hw_logistic_smooth(r->q);
    return HAWSER_OK;
}

/* A step of Fisher and Yates's shuffle: what stands at `at` is drawn from what has not been drawn in this pass. */
static uint32_t draw(run *r, size_t at)
{
    uint64_t x = r->q->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    r->q->random = x;
    size_t other = at + (size_t)(((x >> 32) * (r->members->count - at)) >> 32);
    uint32_t drawn = r->order[other];
    r->order[other] = r->order[at];
    return r->order[at] = drawn;
}

/* Returns the sum of the violations that the pass met. In the order of the columns it would take several times as many. */
static double pass(run *r)
{
    hw_linear_members *members = r->members;
    double violation = 0.0;
    for (size_t at = 0; at < members->count; at++) {
        if (at % HW_LINEAR_LOOK == 0 && hw_linear_stopping(r->round.stop))
            return 0.0;
        uint32_t k = draw(r, at);
        hw_linear_term term = members->terms[k];
        double curvature = r->q->columns.norm[members->columns[k]], x = members->x[k];
        double pull = hw_linear_space_pull(&r->space, k, &r->image);
        members->gradient[k] = pull; /* about: for who wants to know which columns stay zero */
        violation += hw_linear_violation(pull, x, term);
        double step = hw_linear_prox(curvature * x + pull, curvature, term) - x;
        if (step == 0.0)
            continue;
        members->x[k] = x + step;
        hw_linear_space_step(&r->space, k, step, &r->image);
    }
    return violation;
}

/* The model's value at x, whose image there is. */
static double value(const run *r, const double *x, const hw_linear_image *image)
{
    return hw_linear_penalties(r->members->terms, x, r->members->count) + 0.5 * hw_linear_space_square(&r->space, x, image);
}

/* Along the step that was found on the face, cut off where signs change, as far as makes the model fall. */
static void leap(run *r)
{
    hw_linear_members *members = r->members;
    if (!hw_linear_face_end(&r->face, &r->space))
        return;
    double now = value(r, members->x, &r->image);
    for (double share = 1.0; share > 0.1; share *= 0.5) {
        hw_linear_face_clip(&r->face, &r->space, share, &r->image, members->blend, &r->candidate);
        if (!(value(r, members->blend, &r->candidate) < now))
            continue;
        memcpy(members->x, members->blend, members->count * sizeof *members->x);
        memcpy(r->image.values, r->candidate.values, r->space.length * sizeof(double));
        r->image.drift = r->candidate.drift;
        return;
    }
    hw_linear_face_advance(&r->face, &r->space, members->x, &r->image);
}

/* The entries by row, if products are to be many. */
static hawser_status pack(run *r, hawser_error *error)
{
    const hawser_matrix *X = &r->q->columns.X;
    const hw_linear_part *part = r->space.part;
    if (X->layout != HAWSER_CSC || r->space.packed != NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_linear_pack(&r->members->packed, X, r->members->columns, r->members->count, part != NULL ? part->begin : 0,
                              part != NULL ? part->end : X->rows, error));
    r->space.packed = &r->members->packed;
    return HAWSER_OK;
}

/* One search is all there is to it. */
static hawser_status begin_smooth(run *r, hawser_error *error)
{
    hw_logistic_inexact *inexact = r->inexact;
    hw_linear_face *face = &r->face;
    if (!inexact->hasty || r->space.part != NULL) /* a part of sparse rows has no other view */
        HAWSER_TRY(pack(r, error));
    hw_linear_face_begin(face, &r->space, &r->image, 0.0);
    inexact->first = face->most / r->q->scale;
    double near = inexact->reference > 0.0 ? sqrt(inexact->first / inexact->reference) : 1.0;
    face->target = fmin(SMOOTH_EXACT, near) * face->most;
    face->patience = inexact->hasty ? HASTY_ITERATIONS : SMOOTH_ITERATIONS;
    r->searching = true;
    return HAWSER_OK;
}

static void end_smooth(run *r)
{
    const hw_linear_face *face = &r->face;
    r->inexact->solved = !r->inexact->hasty || !(face->most > face->target);
    for (size_t f = 0; r->inexact->solved && f < face->count; f++)
        r->members->x[face->members[f]] += face->step[f];
}

/* Passes, until a search is to follow; else it is done. */
static hawser_status descend(run *r, hawser_error *error)
{
    hw_logistic_inexact *inexact = r->inexact;
    while (inexact->passes < MOST_PASSES) {
        double violation = pass(r) / r->q->scale;
        inexact->first = inexact->passes++ == 0 ? violation : inexact->first;
        if (violation <= inexact->target || hw_linear_stopping(r->round.stop))
            return HAWSER_OK;
        if (inexact->passes < PASSES)
            continue;
        inexact->solved = !inexact->hasty;
        if (inexact->hasty)
            return HAWSER_OK;
        HAWSER_TRY(pack(r, error));
        hw_linear_face_begin(&r->face, &r->space, &r->image, 0.0);
        r->searching = true;
        return HAWSER_OK;
    }
    return HAWSER_OK;
}

hawser_status hw_logistic_inexact_go(run *r, bool *wanted, hawser_error *error)
{
    bool bends = r->q->columns.total > 0.0; /* or all rows are further on the right side than doubles can tell */
    while (r->members->count > 0 && bends) {
        if (!r->searching && r->smooth && r->begun)
            break;
        if (!r->searching)
            HAWSER_TRY(r->smooth ? begin_smooth(r, error) : descend(r, error));
        r->begun = true;
        *wanted = r->searching && hw_linear_face_turn(&r->face, &r->space, UINT64_MAX);
        if (*wanted)
            return HAWSER_OK;
        if (!r->searching)
            break;
        r->searching = false;
        if (r->smooth)
            end_smooth(r);
        else
            leap(r);
    }
    *wanted = false;
    for (size_t i = 0; r->image.drift != 0.0 && i < r->space.length; i++)
        r->image.values[i] += r->image.drift * r->q->curve[i];
    r->image.drift = 0.0;
    return HAWSER_OK;
}

hw_linear_share hw_logistic_inexact_share(run *r)
{
    hw_linear_face *face = &r->face;
    return hw_linear_space_share(&r->space, face->parts, face->direction, face->count, &face->move, face->bend);
}

void hw_logistic_inexact_hear(run *r, const double *sums)
{
    hw_linear_face *face = &r->face;
    hw_linear_space_hear(&r->space, face->places, face->direction, face->count, sums, face->bend);
    hw_linear_face_go(face, &r->space);
}

void hw_logistic_inexact_free(run *r)
{
    if (r == NULL)
        return;
    free(r->memory);
    free(r->lists);
    free(r);
}

hawser_status hw_logistic_inexact_new(hw_logistic_inexact *inexact, hw_logistic_quadratic *q, double *residual,
                                      const hw_linear_part *part, run **state, hawser_error *error)
{
    inexact->first = 0.0;
    inexact->passes = 0;
    inexact->solved = true;
    *state = calloc(1, sizeof **state);
    if (*state == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory to descend over %zu columns", q->members.count);
    (*state)->inexact = inexact;
    (*state)->q = q;
    (*state)->members = &q->members;
    hawser_status status = begin(*state, part, residual, error);
    if (status != HAWSER_OK) {
        hw_logistic_inexact_free(*state);
        *state = NULL;
    }
    return status;
}

hawser_status hw_logistic_inexact_run(hw_logistic_inexact *inexact, hw_logistic_quadratic *q, double *residual,
                                      hawser_error *error)
{
    run *r = NULL;
    bool wanted = true;
    HAWSER_TRY(hw_logistic_inexact_new(inexact, q, residual, NULL, &r, error));
    hawser_status status;
    while ((status = hw_logistic_inexact_go(r, &wanted, error)) == HAWSER_OK && wanted)
        hw_logistic_inexact_hear(r, hw_logistic_inexact_share(r).values);
    hw_logistic_inexact_free(r);
    return status;
}
