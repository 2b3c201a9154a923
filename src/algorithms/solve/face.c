#include "algorithms/solve/face.h"

#include <string.h>

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

/* Finds the largest pull again where columns differ in scale: hw_conjugate compares pulls as they are. */
static void scale_most(hw_linear_face *face)
{
    if (!face->scaled)
        return;
    face->search.most = 0.0;
    for (size_t f = 0; f < face->count; f++)
        face->search.most = fmax(face->search.most, fabs(face->search.pull[f]) / sqrt(face->curve[f]));
}

void hw_linear_face_begin(hw_linear_face *face, const hw_linear_space *space, const hw_linear_image *image,
                          const double *pulls, double tolerance)
{
    double size = 0.0;
    find(face, space, image, pulls);
    face->search.count = face->count;
    hw_conjugate_begin(&face->search);
    scale_most(face);
    for (size_t k = 0; k < space->members->count; k++)
        size += fabs(space->members->x[k]) * (face->scaled ? sqrt(curvature(space, k)) : 1.0);
    face->used = 0;
    face->target =
        fmax(0.2 * tolerance / size, face->exact * face->search.most); /* the gap is about the largest pull times ||x||_1 */
}

static bool is_over(const hw_linear_face *face, const hw_linear_space *space, uint64_t steps)
{
    return face->count == 0 || !(face->search.most > face->target) || face->used >= face->most_iterations * face->count ||
           face->used + face->count > steps || hw_linear_stopping(space->round->stop);
}

/* Divides the pull by the curvatures. Returns the product of both. */
static double scale(const hw_linear_face *face)
{
    const hw_conjugate *search = &face->search;
    double power = 0.0;
    for (size_t f = 0; f < face->count; f++) {
        search->bent[f] = search->pull[f] / face->curve[f];
        power += search->pull[f] * search->bent[f];
    }
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
        alone += direction[f] * direction[f] * face->curve[f];
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

void hw_linear_face_clip(const hw_linear_face *face, const hw_linear_space *space, double share,
                         const hw_linear_image *image, double *x, hw_linear_image *x_image)
{
    const hw_linear_members *members = space->members;
    memcpy(x, members->x, members->count * sizeof(double));
    hw_linear_space_go(space, share, &face->move, image, x_image);
    for (size_t f = 0; f < face->count; f++) {
        size_t k = face->members[f];
        double step = share * face->search.step[f], whole = members->x[k] + step;
        x[k] = hw_linear_face_stop(members->x[k], step, members->terms[k]);
        if (x[k] != whole)
            hw_linear_space_step(space, k, x[k] - whole, x_image);
    }
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
