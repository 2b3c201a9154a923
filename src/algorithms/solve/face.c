#include "algorithms/solve/face.h"

#include <string.h>

#include "algorithms/solve/pivot.h"

static const double TIGHT = 1e-8;  /* of the largest pull, with a pivot */
static const double LEAST = 1e-24; /* of a curvature: what rounding leaves of a column that is a multiple of the pivot */

static double curvature(const hw_linear_space *space, size_t k)
{
    return space->round->gain * space->round->columns->norm[space->members->columns[k]] + space->members->terms[k].l2;
}

bool hw_linear_on_face(double x, hw_linear_term term)
{
    return !(x == 0.0 && term.l1 > 0.0) && x > term.lower && x < term.upper;
}

/* Fills the face and its pulls. */
static void find(hw_linear_face *face, const hw_linear_space *space, const hw_linear_image *image, const double *pulls)
{
    const hw_linear_members *members = space->members;
    face->count = 0;
    for (size_t k = 0; k < members->count; k++) {
        hw_linear_term term = members->terms[k];
        double x = members->x[k], curve = curvature(space, k);
        if (!hw_linear_on_face(x, term) || !(curve > 0.0))
            continue;
        double pull = pulls != NULL ? pulls[k] : hw_linear_space_pull(space, k, image);
        face->members[face->count] = (uint32_t)k;
        face->places[face->count] = hw_linear_space_place(space, k);
        face->parts[face->count] = hw_linear_space_part_place(space, k);
        face->curve[face->count] = curve;
        face->search.step[face->count] = 0.0;
        face->search.pull[face->count++] = pull - (copysign(term.l1, x) + term.l2 * x);
    }
}

/* Finds the pivot, and the curvature of each column without its share of it. */
static void lean(hw_linear_face *face, const hw_linear_space *space)
{
    const hw_linear_columns *columns = space->round->columns;
    const hw_linear_term *terms = space->members->terms;
    double *scratch[] = {face->move.values, face->scratch}, *left = face->search.bent;
    face->pivot = space->gram == NULL ? hw_linear_pivot_find(columns, face->places, face->count) : face->count;
    if (face->pivot == face->count)
        return;
    double l2 = terms[face->members[face->pivot]].l2;
    hw_linear_pivot_shares(columns, face->places, face->count, face->pivot, scratch, face->share, left);
    for (size_t f = 0; f < face->count; f++) {
        double own = space->round->gain * left[f] + terms[face->members[f]].l2 + face->share[f] * face->share[f] * l2;
        face->curve[f] = f == face->pivot ? face->curve[f] : fmax(own, LEAST * face->curve[f]);
    }
}

/* Returns the pull on a place, less its share of the pivot's. */
static double own_pull(const hw_linear_face *face, size_t f)
{
    const double *pull = face->search.pull;
    return f != face->pivot && face->pivot < face->count ? pull[f] - face->share[f] * pull[face->pivot] : pull[f];
}

/* Finds the largest pull again where columns differ in scale: hw_conjugate compares pulls as they are. */
static void scale_most(hw_linear_face *face)
{
    if (!face->scaled)
        return;
    face->search.most = 0.0;
    for (size_t f = 0; f < face->count; f++)
        face->search.most = fmax(face->search.most, fabs(own_pull(face, f)) / sqrt(face->curve[f]));
}

double hw_linear_face_left(const hw_linear_face *face)
{
    double sum = 0.0;
    for (size_t f = 0; f < face->count; f++)
        sum += face->scaled ? fabs(own_pull(face, f)) / sqrt(face->curve[f]) : fabs(face->search.pull[f]);
    return sum;
}

/* Returns the coefficient, or the step, of the pivot together with the shares of the others in it. */
static double whole_pivot(const hw_linear_face *face, const double *values, const uint32_t *at)
{
    double sum = 0.0;
    for (size_t f = 0; f < face->count; f++)
        sum += face->share[f] * values[at != NULL ? at[f] : f];
    return sum;
}

/* Returns the size of the coefficients, in units of their columns if pulls are. */
static double size_of(const hw_linear_face *face, const hw_linear_space *space)
{
    const double *x = space->members->x;
    double size = 0.0;
    if (face->pivot == face->count) {
        for (size_t k = 0; k < space->members->count; k++)
            size += fabs(x[k]) * (face->scaled ? sqrt(curvature(space, k)) : 1.0);
        return size;
    }
    for (size_t f = 0; f < face->count; f++)
        size += fabs(f == face->pivot ? whole_pivot(face, x, face->members) : x[face->members[f]]) * sqrt(face->curve[f]);
    return size;
}

void hw_linear_face_begin(hw_linear_face *face, const hw_linear_space *space, const hw_linear_image *image,
                          const double *pulls, double tolerance)
{
    find(face, space, image, pulls);
    face->search.count = face->count;
    hw_conjugate_begin(&face->search);
    lean(face, space);
    scale_most(face);
    double size = size_of(face, space);
    face->used = 0;
    face->target =
        fmax(0.2 * tolerance / size, face->exact * face->search.most); /* the gap is about the largest pull times ||x||_1 */
    if (face->pivot < face->count) /* the gap is larger: it has the pivot's pull once more for each column */
        face->target = TIGHT * face->search.most;
}

static bool is_over(const hw_linear_face *face, const hw_linear_space *space, uint64_t steps)
{
    return face->count == 0 || !(face->search.most > face->target) || face->used >= face->most_iterations * face->count ||
           face->used + face->count > steps || hw_linear_stopping(space->round->stop);
}

/* Divides the pull by the curvatures, each without its share of the pivot. Returns the product of both. */
static double scale(const hw_linear_face *face)
{
    const hw_conjugate *search = &face->search;
    double power = 0.0, shares = 0.0;
    for (size_t f = 0; f < face->count; f++) {
        double pull = own_pull(face, f);
        search->bent[f] = pull / face->curve[f];
        power += pull * search->bent[f];
        shares += face->pivot < face->count && f != face->pivot ? face->share[f] * search->bent[f] : 0.0;
    }
    if (face->pivot < face->count)
        search->bent[face->pivot] -= shares;
    return power;
}

/* Adds the L2 part to sigma' G direction, and goes along the direction. */
static void go(hw_linear_face *face, const hw_linear_space *space)
{
    const hw_linear_term *terms = space->members->terms;
    const double *direction = face->search.direction;
    double *bent = face->search.bent, curvature = 0.0, alone = 0.0;
    face->used += face->count;
    for (size_t f = 0; f < face->count; f++) {
        bent[f] += terms[face->members[f]].l2 * direction[f];
        curvature += direction[f] * bent[f];
        alone += f != face->pivot ? direction[f] * direction[f] * face->curve[f] : 0.0;
    }
    if (face->pivot < face->count) {
        double whole = whole_pivot(face, direction, NULL);
        alone += whole * whole * face->curve[face->pivot];
    }
    if (curvature > 1e-13 * alone) {
        hw_conjugate_go(&face->search, face->search.power / curvature);
        scale_most(face);
    } else {
        face->search.most = -1.0; /* the quadratic is flat along the direction */
    }
}

hawser_status hw_linear_face_search(hw_linear_face *face, const hw_linear_space *space, uint64_t steps, hawser_error *error)
{
    hw_conjugate *search = &face->search;
    while (!is_over(face, space, steps)) {
        hw_conjugate_turn(search, scale(face));
        HAWSER_TRY(hw_linear_space_bend(space, face->parts, face->places, search->direction, face->count, &face->move,
                                        search->bent, error));
        go(face, space);
    }
    return HAWSER_OK;
}

bool hw_linear_face_end(hw_linear_face *face, const hw_linear_space *space)
{
    if (face->used == 0)
        return false;
    hw_linear_space_product(space, face->places, face->search.step, face->count, &face->move);
    return true;
}

double hw_linear_face_stop(double x, double step, hw_linear_term term)
{
    double end = x + step;
    if (term.l1 > 0.0 && (x > 0.0) != (end > 0.0))
        end = 0.0;
    return end < term.lower ? term.lower : end > term.upper ? term.upper : end;
}

/* Takes back what the pivot has `over` its whole step, because it was stopped, by the column that has the largest multiple
 * of the pivot. So the image hardly changes. */
static void hand_on(const hw_linear_face *face, const hw_linear_space *space, double over, double *x, hw_linear_image *image)
{
    const hw_linear_members *members = space->members;
    size_t best = face->count;
    double most = 0.0;
    for (size_t f = 0; f < face->count; f++) {
        double size = f != face->pivot ? fabs(x[face->members[f]] * face->share[f]) : 0.0;
        best = size > most ? f : best;
        most = fmax(most, size);
    }
    if (best == face->count)
        return;
    size_t k = face->members[best];
    double from = x[k];
    x[k] = hw_linear_face_stop(from, -over / face->share[best], members->terms[k]);
    hw_linear_space_step(space, k, x[k] - from, image);
}

void hw_linear_face_clip(const hw_linear_face *face, const hw_linear_space *space, double share,
                         const hw_linear_image *image, double *x, hw_linear_image *x_image)
{
    const hw_linear_members *members = space->members;
    memcpy(x, members->x, members->count * sizeof(double));
    hw_linear_space_go(space, share, &face->move, image, x_image);
    double shares = 0.0;
    for (size_t f = 0; f < face->count; f++) {
        size_t k = face->members[f];
        double step = share * face->search.step[f], whole = members->x[k] + step;
        if (f == face->pivot)
            continue;
        x[k] = hw_linear_face_stop(members->x[k], step, members->terms[k]);
        if (x[k] == whole)
            continue;
        hw_linear_space_step(space, k, x[k] - whole, x_image);
        shares += face->pivot < face->count ? face->share[f] * (x[k] - whole) : 0.0;
    }
    if (face->pivot == face->count)
        return;
    size_t k = face->members[face->pivot]; /* follows what was cut off */
    double step = share * face->search.step[face->pivot], whole = members->x[k] + step;
    x[k] = hw_linear_face_stop(members->x[k], step - shares, members->terms[k]);
    if (x[k] != whole)
        hw_linear_space_step(space, k, x[k] - whole, x_image);
    if (x[k] != members->x[k] + (step - shares))
        hand_on(face, space, x[k] - (whole - shares), x, x_image);
}

void hw_linear_face_advance(const hw_linear_face *face, const hw_linear_space *space, double *x, hw_linear_image *image)
{
    const hw_linear_members *members = space->members;
    double share = 1.0;
    size_t first = face->count;
    for (size_t f = 0; f < face->count; f++) {
        size_t k = face->members[f];
        double end = hw_linear_face_stop(x[k], face->search.step[f], members->terms[k]);
        if (end == x[k] + face->search.step[f])
            continue;
        double here = (end - x[k]) / face->search.step[f];
        if (here < share) {
            share = here;
            first = f;
        }
    }
    for (size_t f = 0; f < face->count; f++) {
        size_t k = face->members[f];
        x[k] = f == first ? hw_linear_face_stop(x[k], face->search.step[f], members->terms[k])
                          : x[k] + share * face->search.step[f];
    }
    hw_linear_space_go(space, share, &face->move, image, image);
}
