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

/* Fills the face and its pulls. Returns the largest pull. */
static double find(hw_linear_face *face, const hw_linear_space *space, const hw_linear_image *image, const double *pulls)
{
    const hw_linear_members *members = space->members;
    double most = 0.0;
    face->count = 0;
    face->ridge = false;
    for (size_t k = 0; k < members->count; k++) {
        hw_linear_term term = members->terms[k];
        double x = members->x[k], curve = curvature(space, k);
        if (!hw_linear_on_face(x, term) || !(curve > 0.0))
            continue;
        double pull = pulls != NULL ? pulls[k] : hw_linear_space_pull(space, k, image);
        pull -= copysign(term.l1, x) + term.l2 * x;
        face->members[face->count] = (uint32_t)k;
        face->places[face->count] = hw_linear_space_place(space, k);
        face->parts[face->count] = hw_linear_space_part_place(space, k);
        face->step[face->count] = face->direction[face->count] = 0.0;
        face->curve[face->count] = curve;
        face->ridge = face->ridge || term.l2 > 0.0;
        face->pull[face->count++] = pull;
        most = fmax(most, fabs(pull));
    }
    return most;
}

/* Computes the next direction: the pull divided by the curvatures, plus beta times the last direction. Returns pull times
 * this quotient. */
static double turn(hw_linear_face *face, double before)
{
    double now = 0.0;
    for (size_t f = 0; f < face->count; f++) {
        face->bend[f] = face->pull[f] / face->curve[f];
        now += face->pull[f] * face->bend[f];
    }
    double kept = before > 0.0 ? now / before : 0.0;
    for (size_t f = 0; f < face->count; f++)
        face->direction[f] = face->bend[f] + kept * face->direction[f];
    return now;
}

void hw_linear_face_begin(hw_linear_face *face, const hw_linear_space *space, const hw_linear_image *image,
                          const double *pulls, double tolerance)
{
    double size = 0.0;
    face->most = find(face, space, image, pulls);
    for (size_t k = 0; k < space->members->count; k++)
        size += fabs(space->members->x[k]);
    face->used = 0;
    face->power = 0.0;
    face->target =
        fmax(0.2 * tolerance / size, face->exact * face->most); /* the gap is about the largest pull times ||x||_1 */
}

static bool is_over(const hw_linear_face *face, const hw_linear_space *space, uint64_t steps)
{
    return face->count == 0 || !(face->most > face->target) || face->used >= face->most_iterations * face->count ||
           face->used + face->count > steps || hw_linear_stopping(space->round->stop);
}

/* Takes the step along the direction. face->bend is sigma' G direction. */
static void go(hw_linear_face *face, const hw_linear_space *space)
{
    const hw_linear_members *members = space->members;
    double bend = 0.0, scale = 0.0, most = 0.0;
    face->used += face->count;
    for (size_t f = 0; face->ridge && f < face->count; f++)
        face->bend[f] += members->terms[face->members[f]].l2 * face->direction[f];
    for (size_t f = 0; f < face->count; f++) {
        double p = face->direction[f];
        bend += p * face->bend[f];
        scale += p * p * face->curve[f];
    }
    if (!(bend > 1e-13 * scale)) {
        face->most = -1.0;
        return;
    }
    double length = face->power / bend;
    for (size_t f = 0; f < face->count; f++) {
        face->step[f] += length * face->direction[f];
        face->pull[f] -= length * face->bend[f];
        double size = fabs(face->pull[f]);
        most = size > most ? size : most;
    }
    face->most = most;
}

hawser_status hw_linear_face_search(hw_linear_face *face, const hw_linear_space *space, uint64_t steps, hawser_error *error)
{
    while (!is_over(face, space, steps)) {
        face->power = turn(face, face->power);
        HAWSER_TRY(hw_linear_space_bend(space, face->parts, face->places, face->direction, face->count, &face->move,
                                        face->bend, error));
        go(face, space);
    }
    return HAWSER_OK;
}

bool hw_linear_face_end(hw_linear_face *face, const hw_linear_space *space)
{
    if (face->used == 0)
        return false;
    hw_linear_space_product(space, face->places, face->step, face->count, &face->move);
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
        double step = share * face->step[f], whole = members->x[k] + step;
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
        double end = hw_linear_face_stop(x[k], face->step[f], members->terms[k]);
        if (end == x[k] + face->step[f])
            continue;
        double here = (end - x[k]) / face->step[f];
        if (here < share) {
            share = here;
            first = f;
        }
    }
    for (size_t f = 0; f < face->count; f++) {
        size_t k = face->members[f];
        x[k] = f == first ? hw_linear_face_stop(x[k], face->step[f], members->terms[k]) : x[k] + share * face->step[f];
    }
    hw_linear_space_go(space, share, &face->move, image, image);
}
