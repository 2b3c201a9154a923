#include "algorithms/newton/inexact.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/solve/face.h"

enum {
    PASSES = 2,       /* before conjugate gradients */
    MOST_PASSES = 30, /* on one model: the next one is better */
    ITERATIONS = 20,  /* of conjugate gradients, between two passes */
    SETTLED_ITERATIONS = 40,
    SMOOTH_ITERATIONS = 200,
    HASTY_ITERATIONS = 6
};

static const double EXACT = 0.1;        /* of the largest pull on the face may be left: signs will change yet */
static const double CLOSE = 0.002;      /* of the gap: where less may be left, one search does not get there */
static const double FEW = 0.02;         /* of the members: so many signs change while they are settled */
static const double STRAY = 0.1;        /* of the violations: more of them off the face, and signs are not settled */
static const double SMOOTH_EXACT = 0.3; /* the same where there are none: at most, less near the optimum */

/* The state of one solution. */
typedef struct run {
    hw_newton_inexact *inexact;
    hw_newton_quadratic *q;
    hw_linear_members *members;
    hw_linear_round round;
    hw_linear_space space;
    hw_linear_image image, candidate;
    hw_linear_face face;
    uint32_t *order; /* of the members in a pass */
    unsigned looks;  /* at the pulls of all members */
    bool stopped;    /* the last step on the face ended where a first sign changes */
    double *memory;
    uint32_t *lists;
} run;

bool hw_newton_smooth(const hw_newton_quadratic *q)
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
                               .search = {.step = members->scratch,
                                          .pull = members->scratch + row,
                                          .direction = members->scratch + 2 * row,
                                          .bent = members->scratch + 3 * row},
                               .curve = members->scratch + 4 * row,
                               .share = members->scratch + 5 * row,
                               .scratch = r->candidate.values,
                               .scaled = r->q->uneven,
                               .move.values = r->memory + n};
    r->order = r->lists + 3 * m;
    for (size_t k = 0; k < m; k++)
        r->order[k] = (uint32_t)k;
    r->round = (hw_linear_round){.columns = &r->q->columns, .gain = 1.0, .residual = residual, .stop = r->inexact->stop};
    for (size_t i = 0; i < n; i++)
        r->round.sum += residual[i];
    r->space = (hw_linear_space){.members = members, .round = &r->round, .part = part, .length = n};
    return HAWSER_OK;
}

/* One step of Fisher and Yates's shuffle: draws the member at place `at` from those that this pass has not drawn. */
static uint32_t draw(run *r, size_t at)
{
    uint64_t x = r->q->learned.random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    r->q->learned.random = x;
    size_t other = at + (size_t)(((x >> 32) * (r->members->count - at)) >> 32);
    uint32_t drawn = r->order[other];
    r->order[other] = r->order[at];
    return r->order[at] = drawn;
}

/* Returns the factor of a member's pull, by which pulls are compared. */
static double unit_of(const run *r, size_t k)
{
    double curvature = r->q->columns.norm[r->members->columns[k]] + r->members->terms[k].l2;
    return !r->q->uneven ? 1.0 : curvature > 0.0 ? 1.0 / sqrt(curvature) : 0.0;
}

static int sign_of(double x)
{
    return (x > 0.0) - (x < 0.0);
}

/* Makes one pass in random order; in column order several times as many passes would be needed. Returns the sum of the
 * violations it met. */
static double pass(run *r)
{
    hw_linear_members *members = r->members;
    double violation = 0.0;
    size_t changed = 0;
    for (size_t at = 0; at < members->count; at++) {
        if (at % HW_LINEAR_POLL == 0 && hw_linear_stopping(r->round.stop))
            return 0.0;
        uint32_t k = draw(r, at);
        hw_linear_term term = members->terms[k];
        double curvature = r->q->columns.norm[members->columns[k]], x = members->x[k];
        double pull = hw_linear_space_pull(&r->space, k, &r->image);
        members->gradient[k] = pull; /* approximate: enough to find columns that stay zero */
        violation += hw_linear_violation(pull, x, term) * unit_of(r, k);
        double step = hw_linear_prox(curvature * x + pull, curvature, term) - x;
        if (step == 0.0)
            continue;
        members->x[k] = x + step;
        changed += sign_of(x) != sign_of(members->x[k]);
        hw_linear_space_step(&r->space, k, step, &r->image);
    }
    r->q->learned.settled = (double)changed <= FEW * (double)members->count;
    return violation;
}

/* Returns the model's value at x, given its image. */
static double value(const run *r, const double *x, const hw_linear_image *image)
{
    return hw_linear_penalties(r->members->terms, x, r->members->count) + 0.5 * hw_linear_space_square(&r->space, x, image);
}

/* Counts members that the last step left at zero or at a bound. */
static size_t cut_off(const run *r, const double *x)
{
    const hw_linear_face *face = &r->face;
    size_t count = 0;
    for (size_t f = 0; f < face->count; f++)
        count += !hw_linear_on_face(x[face->members[f]], r->members->terms[face->members[f]]);
    return count;
}

/* Along the step that was found on the face, cut off where signs change, as far as makes the model fall. Returns whether
 * that was all the way, and hardly a sign changed. */
static bool leap(run *r)
{
    hw_linear_members *members = r->members;
    double now = value(r, members->x, &r->image);
    r->stopped = false;
    for (double share = 1.0; share > 0.1; share *= 0.5) {
        hw_linear_face_clip(&r->face, &r->space, share, &r->image, members->blend, &r->candidate);
        if (!(value(r, members->blend, &r->candidate) < now))
            continue;
        bool whole = share == 1.0 && (double)cut_off(r, members->blend) <= FEW * (double)members->count;
        memcpy(members->x, members->blend, members->count * sizeof *members->x);
        memcpy(r->image.values, r->candidate.values, r->space.length * sizeof(double));
        r->image.drift = r->candidate.drift;
        return whole;
    }
    hw_linear_face_advance(&r->face, &r->space, members->x, &r->image);
    r->stopped = true;
    return false;
}

/* Packs the entries by row for many products. */
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

/* Computes the pulls on all members. */
static hawser_status look(run *r, hawser_error *error)
{
    double *pulls = r->members->gradient;
    size_t begin, end;
    hw_newton_quadratic_section(r->q, r->space.part, &begin, &end);
    memset(pulls, 0, r->members->count * sizeof *pulls);
    for (size_t k = begin; k < end; k++)
        pulls[k] = hw_linear_space_pull(&r->space, k, &r->image);
    r->looks++;
    return hw_linear_sum(r->space.part, pulls, r->members->count, error);
}

/* Returns whether the pulls that a look found are so small that the model is solved. Also decides whether signs are still
 * settled. */
static bool near_enough(run *r)
{
    hw_newton_inexact *inexact = r->inexact;
    const hw_linear_members *members = r->members;
    double violation = 0.0, stray = 0.0;
    for (size_t k = 0; k < members->count; k++) {
        double one =
            hw_linear_violation(members->gradient[k], members->x[k], members->terms[k]) * unit_of(r, k) / r->q->scale;
        violation += one;
        stray += hw_linear_on_face(members->x[k], members->terms[k]) ? 0.0 : one;
    }
    bool first = inexact->passes == 0 && r->looks == 1;
    inexact->first = first ? violation : inexact->first;
    r->q->learned.settled = stray <= STRAY * violation;
    return violation <= (first ? inexact->idle : inexact->target) || hw_linear_stopping(r->round.stop);
}

/* Returns the violations that are left on the face after a whole step. */
static double remaining(const run *r)
{
    return hw_linear_face_left(&r->face) / r->q->scale;
}

/* Returns the share of the largest pull that a search may leave. The gap falls about as pulls do. If one search can reach
 * the tolerance, the next certificate may be the last. */
static double exactness(const run *r)
{
    const hw_newton_inexact *inexact = r->inexact;
    bool first = r->q->learned.settled && inexact->passes == 0 && r->looks == 1;
    return first && inexact->missing >= CLOSE ? fmin(inexact->missing, EXACT) : EXACT;
}

/* Runs conjugate gradients on the face and takes the step that they find. Sets *enough if little is left to do. */
static hawser_status search(run *r, bool *enough, hawser_error *error)
{
    hw_linear_face *face = &r->face;
    bool *settled = &r->q->learned.settled;
    HAWSER_TRY(pack(r, error));
    face->exact = exactness(r);
    hw_linear_face_begin(face, &r->space, &r->image, r->members->gradient, 0.0);
    face->most_iterations = *settled ? SETTLED_ITERATIONS : ITERATIONS;
    HAWSER_TRY(hw_linear_face_search(face, &r->space, UINT64_MAX, error));
    *settled = *settled && face->used > 0;
    if (face->used == 0)
        return HAWSER_OK;
    HAWSER_TRY(
        hw_linear_space_image(&r->space, face->parts, face->places, face->search.step, face->count, &face->move, error));
    *settled = leap(r) && *settled;
    *enough = *settled && remaining(r) <= r->inexact->target;
    return HAWSER_OK;
}

/* Passes until signs are about right, then searches on the face. Passes again if a search changes signs. */
static hawser_status descend(run *r, hawser_error *error)
{
    hw_newton_inexact *inexact = r->inexact;
    const bool *settled = &r->q->learned.settled;
    bool enough = false;
    while (!enough && inexact->passes + r->looks < MOST_PASSES) {
        if (!*settled || inexact->hasty) {
            double violation = pass(r) / r->q->scale;
            inexact->first = inexact->passes++ == 0 ? violation : inexact->first;
            if (violation <= inexact->target || hw_linear_stopping(r->round.stop))
                return HAWSER_OK;
            if (inexact->passes < PASSES)
                continue;
            inexact->solved = !inexact->hasty;
            if (inexact->hasty)
                return HAWSER_OK;
        }
        HAWSER_TRY(look(r, error));
        bool seemed = *settled;
        enough = seemed && near_enough(r);
        if (!enough && *settled == seemed)
            HAWSER_TRY(search(r, &enough, error));
    }
    return HAWSER_OK;
}

/* Pulls on columns far from zero show little besides what these have in common. So a search on the face follows each pass,
 * until one is a whole step that leaves little of the first search's pulls. */
static hawser_status descend_far(run *r, hawser_error *error)
{
    hw_newton_inexact *inexact = r->inexact;
    hw_linear_face *face = &r->face;
    bool whole = false;
    for (double left = INFINITY; r->looks < MOST_PASSES && !(whole && left <= EXACT * inexact->first);) {
        if (!r->stopped) { /* else a pass would undo the stop: the smaller face comes next */
            (void)pass(r);
            inexact->passes++;
        }
        HAWSER_TRY(look(r, error));
        if (hw_linear_stopping(r->round.stop))
            return HAWSER_OK;
        HAWSER_TRY(pack(r, error));
        face->exact = 0.1 * EXACT;
        hw_linear_face_begin(face, &r->space, &r->image, r->members->gradient, 0.0);
        left = remaining(r);
        inexact->first = r->looks == 1 ? left : inexact->first;
        face->most_iterations = SETTLED_ITERATIONS;
        HAWSER_TRY(hw_linear_face_search(face, &r->space, UINT64_MAX, error));
        if (face->used == 0 && !r->stopped)
            return HAWSER_OK;
        whole = r->stopped = false;
        if (face->used == 0)
            continue;
        HAWSER_TRY(
            hw_linear_space_image(&r->space, face->parts, face->places, face->search.step, face->count, &face->move, error));
        whole = leap(r);
    }
    return HAWSER_OK;
}

/* Runs conjugate gradients once, on the only face. */
static hawser_status descend_smooth(run *r, hawser_error *error)
{
    hw_newton_inexact *inexact = r->inexact;
    hw_linear_face *face = &r->face;
    HAWSER_TRY(look(r, error));
    if (!inexact->hasty || r->space.part != NULL) /* a part of sparse rows has no other view */
        HAWSER_TRY(pack(r, error));
    hw_linear_face_begin(face, &r->space, &r->image, r->members->gradient, 0.0);
    inexact->first = face->search.most / r->q->scale;
    double near = inexact->reference > 0.0 ? sqrt(inexact->first / inexact->reference) : 1.0;
    if (face->pivot == face->count)
        face->target = fmin(SMOOTH_EXACT, near) * face->search.most;
    face->most_iterations = inexact->hasty ? HASTY_ITERATIONS : SMOOTH_ITERATIONS;
    HAWSER_TRY(hw_linear_face_search(face, &r->space, UINT64_MAX, error));
    inexact->solved = !inexact->hasty || !(face->search.most > face->target);
    for (size_t f = 0; inexact->solved && f < face->count; f++)
        r->members->x[face->members[f]] += face->search.step[f];
    return HAWSER_OK;
}

/* Adds the image's common drift to its values. */
static void end(run *r)
{
    for (size_t i = 0; r->image.drift != 0.0 && i < r->space.length; i++)
        r->image.values[i] += r->image.drift * r->q->curve[i];
}

hawser_status hw_newton_inexact_run(hw_newton_inexact *inexact, hw_newton_quadratic *q, const hw_linear_part *part,
                                    double *residual, hawser_error *error)
{
    run r = {.inexact = inexact, .q = q, .members = &q->members};
    inexact->first = 0.0;
    inexact->passes = 0;
    inexact->solved = true;
    /* The total is 0 if all rows are so far on the right side that no curvature is left. */
    if (q->members.count == 0 || !(q->columns.total > 0.0))
        return HAWSER_OK;
    hawser_status status = begin(&r, part, residual, error);
    HAWSER_THEN(status, hw_newton_smooth(q) ? descend_smooth(&r, error)
                        : q->columns.far    ? descend_far(&r, error)
                                            : descend(&r, error));
    if (status == HAWSER_OK)
        end(&r);
    free(r.memory);
    free(r.lists);
    return status;
}
