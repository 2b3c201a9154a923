#include "algorithms/multitask/face.h"

#include <string.h>

#include "algorithms/choice/fit.h"

/* The share of the first pull that may be left: the model holds only nearby. */
static const double EXACT = 0.01;

/* The second derivatives of a member by itself: `along` the coefficients, where the norm is straight, and `across` them. */
typedef struct curvature {
    double l2, across; /* l1 / ||x|| */
    double along;      /* of the loss, and l2 */
    const double *x;
    double square; /* ||x||^2 */
} curvature;

static curvature curvature_of(const hw_multitask_subproblem *p, size_t k)
{
    const double *x = p->at.x + k * p->q;
    hw_linear_term term = p->terms[k];
    double size = hw_multitask_norm(x, p->q);
    return (curvature){.l2 = term.l2,
                       .across = term.l1 > 0.0 ? term.l1 / size : 0.0,
                       .along = p->gain * p->block->columns.norm[p->block->members[k]] + term.l2,
                       .x = x,
                       .square = size * size};
}

/* Returns x.values / ||x||^2 for the values of one place. */
static double share_along(const curvature *c, const double *values, size_t count, size_t q)
{
    double dot = 0.0;
    if (!(c->across > 0.0))
        return 0.0;
    for (size_t o = 0; o < q; o++)
        dot += c->x[o] * values[o * count];
    return dot / c->square;
}

/* Lists the members with coefficients, or without an L1 part. */
static void find(hw_multitask_face *face, const hw_multitask_subproblem *p)
{
    face->count = 0;
    for (size_t k = 0; k < p->members; k++) {
        double norm = p->block->columns.norm[p->block->members[k]];
        if (!(norm > 0.0) || (p->terms[k].l1 > 0.0 && !hw_any(p->at.x + k * p->q, p->q)))
            continue;
        face->members[face->count] = (uint32_t)k;
        face->places[face->count++] = p->places[k];
    }
}

/* Begins the search at the present point. */
static void begin(hw_multitask_face *face, const hw_multitask_subproblem *p)
{
    size_t count = face->count, q = p->q;
    for (size_t f = 0; f < count; f++) {
        size_t k = face->members[f];
        curvature c = curvature_of(p, k);
        for (size_t o = 0; o < q; o++)
            face->search.pull[o * count + f] = p->at.gradient[k * q + o] - (c.across + c.l2) * c.x[o];
    }
    memset(face->search.step, 0, count * q * sizeof *face->search.step);
    face->search.count = count * q;
    hw_conjugate_begin(&face->search);
}

/* Divides the pull by the members' own second derivatives. Returns the product of both. */
static double scale(const hw_multitask_face *face, const hw_multitask_subproblem *p)
{
    const hw_conjugate *search = &face->search;
    size_t count = face->count, q = p->q;
    double now = 0.0;
    for (size_t f = 0; f < count; f++) {
        curvature c = curvature_of(p, face->members[f]);
        double along = share_along(&c, search->pull + f, count, q), all = c.along + c.across;
        for (size_t o = 0; o < q; o++) {
            size_t at = o * count + f;
            /* the inverse of all I - across x x'/||x||^2 */
            search->bent[at] = (search->pull[at] + c.across / c.along * along * c.x[o]) / all;
            now += search->pull[at] * search->bent[at];
        }
    }
    return now;
}

/* Computes the second derivatives times the direction. Returns the product of both. */
static double bend(hw_multitask_face *face, const hw_multitask_subproblem *p)
{
    size_t count = face->count, q = p->q;
    double sum = 0.0;
    hw_multitask_subproblem_product(p, face->places, face->search.direction, count, &face->product);
    hw_multitask_subproblem_gradients(p, face->places, count, &face->product, face->search.bent, 1, count);
    for (size_t f = 0; f < count; f++) {
        curvature c = curvature_of(p, face->members[f]);
        double along = share_along(&c, face->search.direction + f, count, q);
        for (size_t o = 0; o < q; o++) {
            size_t at = o * count + f;
            face->search.bent[at] =
                (c.l2 + c.across) * face->search.direction[at] - c.across * along * c.x[o] - face->search.bent[at];
            sum += face->search.direction[at] * face->search.bent[at];
        }
    }
    return sum;
}

bool hw_multitask_face_search(hw_multitask_face *face, const hw_multitask_subproblem *p, double tolerance, uint64_t steps,
                              hw_linear_stop stop)
{
    hw_conjugate *search = &face->search;
    double size = 0.0;
    find(face, p);
    begin(face, p);
    for (size_t k = 0; k < p->members; k++)
        size += hw_multitask_norm(p->at.x + k * p->q, p->q);
    /* the gap is about the largest pull times sum ||x_k|| */
    double target = fmax(0.2 * tolerance / size, EXACT * search->most);
    face->used = 0;
    while (face->count > 0 && search->most > target && face->used < face->most_iterations * face->count &&
           face->used + face->count <= steps && !hw_linear_stopping(stop)) {
        hw_conjugate_turn(search, scale(face, p));
        double bent = bend(face, p);
        face->used += face->count;
        if (!(bent > 0.0))
            break;
        hw_conjugate_go(search, search->power / bent);
    }
    return face->used > 0;
}

void hw_multitask_face_end(hw_multitask_face *face, const hw_multitask_subproblem *p)
{
    hw_multitask_subproblem_product(p, face->places, face->search.step, face->count, &face->product);
}

/* Adds a share of the step to the coefficients of place f, or makes them zero. */
static void move(const hw_multitask_face *face, hw_multitask_subproblem *p, size_t f, double share)
{
    size_t k = face->members[f], q = p->q;
    const double *from = p->at.x + k * q;
    double *x = p->candidate.x + k * q, *change = p->scratch + 4 * p->members * q + (p->length + 1) * q, same = 0.0;
    for (size_t o = 0; o < q; o++) {
        x[o] = from[o] + share * face->search.step[o * face->count + f];
        same += x[o] * from[o];
    }
    if (p->terms[k].l1 > 0.0 && !(same > 0.0)) {
        for (size_t o = 0; o < q; o++) {
            change[o] = -x[o];
            x[o] = 0.0;
        }
        hw_multitask_subproblem_step(p, k, change, &p->candidate.image);
    }
}

void hw_multitask_face_candidate(const hw_multitask_face *face, hw_multitask_subproblem *p, double share)
{
    hw_multitask_point *to = &p->candidate;
    memcpy(to->x, p->at.x, p->members * p->q * sizeof *to->x);
    for (size_t i = 0; i < p->length * p->q; i++)
        to->image.values[i] = p->at.image.values[i] + share * face->product.values[i];
    for (size_t o = 0; o < p->q; o++)
        to->image.sum[o] = p->at.image.sum[o] + share * face->product.sum[o];
    for (size_t f = 0; f < face->count; f++)
        move(face, p, f, share);
    hw_multitask_subproblem_gradients(p, p->places, p->members, &to->image, to->gradient, p->q, 1);
}
