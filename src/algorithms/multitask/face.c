#include "algorithms/multitask/face.h"

#include <string.h>

#include "algorithms/choice/fit.h"
#include "algorithms/solve/pivot.h"

/* The share of the first pull that may be left: the model holds only nearby. */
static const double EXACT = 0.01;
static const double TIGHT = 1e-8;  /* the same with a pivot, whose pull counts in the gap once more for each column */
static const double LEAST = 1e-24; /* of a curvature: what rounding leaves of a column that is a multiple of the pivot */

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

static bool leans(const hw_multitask_face *face)
{
    return face->pivot < face->count;
}

/* Finds the pivot and the shares of it. */
static void find_pivot(hw_multitask_face *face, const hw_multitask_subproblem *p)
{
    const hw_linear_columns *columns = &p->block->columns;
    double *scratch[] = {face->product.values, p->candidate.image.values};
    face->pivot = p->block->use_gram ? face->count : hw_linear_pivot_find(columns, face->places, face->count);
    if (leans(face))
        hw_linear_pivot_shares(columns, face->places, face->count, face->pivot, scratch, face->share, face->left);
}

/* Returns the curvature of a place, without its share of the pivot. */
static curvature curvature_at(const hw_multitask_face *face, const hw_multitask_subproblem *p, size_t f)
{
    curvature c = curvature_of(p, face->members[f]);
    if (!leans(face) || f == face->pivot)
        return c;
    double l2 = p->terms[face->members[face->pivot]].l2;
    c.along = fmax(p->gain * face->left[f] + c.l2 + face->share[f] * face->share[f] * l2, LEAST * c.along);
    return c;
}

/* Returns the pull on a place for an output, less its share of the pivot's. */
static double own_pull(const hw_multitask_face *face, size_t f, size_t o)
{
    const double *pull = face->search.pull + o * face->count;
    return leans(face) && f != face->pivot ? pull[f] - face->share[f] * pull[face->pivot] : pull[f];
}

/* Finds the largest pull again with a pivot, in units of columns. */
static void scale_most(hw_multitask_face *face, const hw_multitask_subproblem *p)
{
    if (!leans(face))
        return;
    face->search.most = 0.0;
    for (size_t f = 0; f < face->count; f++) {
        double unit = sqrt(curvature_at(face, p, f).along);
        for (size_t o = 0; o < p->q; o++)
            face->search.most = fmax(face->search.most, fabs(own_pull(face, f, o)) / unit);
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
    find_pivot(face, p);
    scale_most(face, p);
}

/* Divides the pull by the members' own second derivatives. Returns the product of both. */
static double scale(const hw_multitask_face *face, const hw_multitask_subproblem *p)
{
    const hw_conjugate *search = &face->search;
    size_t count = face->count, q = p->q;
    double now = 0.0;
    for (size_t f = 0; f < count; f++) {
        curvature c = curvature_at(face, p, f);
        double along = 0.0, all = c.along + c.across;
        for (size_t o = 0; o < q; o++)
            along += c.x[o] * own_pull(face, f, o);
        along = c.across > 0.0 ? along / c.square : 0.0;
        for (size_t o = 0; o < q; o++) {
            size_t at = o * count + f;
            double pull = own_pull(face, f, o);
            /* the inverse of all I - across x x'/||x||^2 */
            search->bent[at] = (pull + c.across / c.along * along * c.x[o]) / all;
            now += pull * search->bent[at];
        }
    }
    for (size_t o = 0; leans(face) && o < q; o++) { /* the pivot follows the others */
        double *bent = search->bent + o * count, sum = 0.0;
        for (size_t f = 0; f < count; f++)
            sum += f != face->pivot ? face->share[f] * bent[f] : 0.0;
        bent[face->pivot] -= sum;
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
    double target = leans(face) ? TIGHT * search->most : fmax(0.2 * tolerance / size, EXACT * search->most);
    face->used = 0;
    while (face->count > 0 && search->most > target && face->used < face->most_iterations * face->count &&
           face->used + face->count <= steps && !hw_linear_stopping(stop)) {
        hw_conjugate_turn(search, scale(face, p));
        double bent = bend(face, p);
        face->used += face->count;
        if (!(bent > 0.0))
            break;
        hw_conjugate_go(search, search->power / bent);
        scale_most(face, p);
    }
    return face->used > 0;
}

void hw_multitask_face_end(hw_multitask_face *face, const hw_multitask_subproblem *p)
{
    hw_multitask_subproblem_product(p, face->places, face->search.step, face->count, &face->product);
}

/* Makes the candidate's coefficients of place f zero if they would turn to the other side. Returns whether it did, with the
 * change in scratch. */
static bool stop(const hw_multitask_face *face, hw_multitask_subproblem *p, size_t f)
{
    size_t k = face->members[f], q = p->q;
    const double *from = p->at.x + k * q;
    double *x = p->candidate.x + k * q, *change = p->scratch + 4 * p->members * q + (p->length + 1) * q, same = 0.0;
    for (size_t o = 0; o < q; o++)
        same += x[o] * from[o];
    if (!(p->terms[k].l1 > 0.0) || same > 0.0)
        return false;
    for (size_t o = 0; o < q; o++) {
        change[o] = -x[o];
        x[o] = 0.0;
    }
    hw_multitask_subproblem_step(p, k, change, &p->candidate.image);
    return true;
}

/* Lets place f take over what `from` has lost by the change in scratch, so that the image hardly changes. */
static void take_over(const hw_multitask_face *face, hw_multitask_subproblem *p, size_t from, size_t f)
{
    size_t k = face->members[f], q = p->q;
    double *x = p->candidate.x + k * q, *change = p->scratch + 4 * p->members * q + (p->length + 1) * q;
    for (size_t o = 0; o < q; o++) {
        change[o] *= -face->share[from] / face->share[f];
        x[o] += change[o];
    }
    hw_multitask_subproblem_step(p, k, change, &p->candidate.image);
}

/* Returns the place, other than the pivot, whose coefficients move the largest multiple of it; the pivot if none does. */
static size_t find_next(const hw_multitask_face *face, const hw_multitask_subproblem *p)
{
    size_t best = face->pivot;
    double most = 0.0;
    for (size_t f = 0; f < face->count; f++) {
        double size = hw_multitask_norm(p->candidate.x + face->members[f] * p->q, p->q) * fabs(face->share[f]);
        if (f == face->pivot || size <= most)
            continue;
        best = f;
        most = size;
    }
    return best;
}

double hw_multitask_face_first_stop(const hw_multitask_face *face, const hw_multitask_subproblem *p)
{
    double share = 1.0;
    for (size_t f = 0; f < face->count; f++) {
        size_t k = face->members[f];
        const double *x = p->at.x + k * p->q;
        double square = 0.0, turns = 0.0;
        for (size_t o = 0; o < p->q; o++) {
            square += x[o] * x[o];
            turns -= x[o] * face->search.step[o * face->count + f];
        }
        if (p->terms[k].l1 > 0.0 && square < share * turns)
            share = square / turns;
    }
    return fmin(1.0, share * (1.0 + 1e-9));
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
        for (size_t o = 0; o < p->q; o++)
            to->x[face->members[f] * p->q + o] += share * face->search.step[o * face->count + f];
    for (size_t f = 0; f < face->count; f++)
        if (f != face->pivot && stop(face, p, f) && leans(face))
            take_over(face, p, f, face->pivot);
    if (leans(face) && stop(face, p, face->pivot)) {
        size_t next = find_next(face, p);
        if (next != face->pivot)
            take_over(face, p, face->pivot, next);
    }
    hw_multitask_subproblem_gradients(p, p->places, p->members, &to->image, to->gradient, p->q, 1);
}
