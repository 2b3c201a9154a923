#include "algorithms/solve/box.h"

#include "hawser/matrix.h"

enum { PASSES = 1000 };

size_t hw_linear_box_numbers(size_t most)
{
    return most * (most + 6);
}

void hw_linear_box_begin(hw_linear_box *box, double *memory, size_t most)
{
    hw_conjugate *search = &box->search;
    double **parts[] = {&box->lower, &box->upper, &search->step, &search->pull, &search->direction, &search->bent};
    *box = (hw_linear_box){.gram = memory};
    memset(memory, 0, hw_linear_box_numbers(most) * sizeof *memory);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        *parts[k] = memory + most * (most + k);
}

static void move(hw_linear_box *box, size_t a, double step)
{
    size_t count = box->search.count;
    box->search.step[a] += step;
    for (size_t k = 0; k < count; k++)
        box->search.pull[k] -= step * box->gram[a * count + k];
}

static double within(const hw_linear_box *box, size_t a, double t)
{
    return fmin(fmax(t, box->lower[a]), box->upper[a]);
}

/* Makes a pass of coordinate descent. Returns the sum of the squared steps. */
static double pass(hw_linear_box *box)
{
    double moved = 0.0;
    for (size_t a = 0; a < box->search.count; a++) {
        double t = box->search.step[a], step = within(box, a, t + box->search.pull[a]) - t;
        if (step != 0.0)
            move(box, a, step);
        moved += step * step;
    }
    return moved;
}

/* Returns the length of a step along the direction, at most `length`, at which the first bound is reached. */
static double reach(const hw_linear_box *box, double length)
{
    const double *t = box->search.step, *direction = box->search.direction;
    for (size_t a = 0; a < box->search.count; a++) {
        double end = t[a] + length * direction[a];
        if (direction[a] != 0.0 && (end < box->lower[a] || end > box->upper[a]))
            length = ((end < box->lower[a] ? box->lower[a] : box->upper[a]) - t[a]) / direction[a];
    }
    return length;
}

/* Takes the pull on the coefficients that are not at a bound. Returns its square. */
static double scale(const hw_linear_box *box)
{
    const hw_conjugate *search = &box->search;
    double power = 0.0;
    for (size_t a = 0; a < search->count; a++) {
        double t = search->step[a], pull = t > box->lower[a] && t < box->upper[a] ? search->pull[a] : 0.0;
        search->bent[a] = pull;
        power += pull * pull;
    }
    return power;
}

/* Multiplies the direction by the Gram matrix. Returns the product of both. */
static double bend(const hw_linear_box *box)
{
    const hw_conjugate *search = &box->search;
    double curvature = 0.0;
    for (size_t a = 0; a < search->count; a++) {
        search->bent[a] = hawser_dot(search->count, box->gram + a * search->count, search->direction, NULL);
        curvature += search->direction[a] * search->bent[a];
    }
    return curvature;
}

/* Runs conjugate gradients over the coefficients that are not at a bound, up to the first bound. If columns are dependent,
 * a direction's pull and curvature may be only rounding. A step along it could have any length, so the search ends there. */
static void face(hw_linear_box *box)
{
    hw_conjugate *search = &box->search;
    hw_conjugate_begin(search);
    for (size_t turn = 0; turn < search->count + 2; turn++) {
        hw_conjugate_turn(search, scale(box));
        double curvature = bend(box), square = hawser_dot(search->count, search->direction, search->direction, NULL);
        if (!(search->power > 1e-28 * box->size) || !(curvature > 1e-13 * square))
            return;
        double length = reach(box, search->power / curvature);
        hw_conjugate_go(search, length);
        for (size_t a = 0; a < search->count; a++)
            search->step[a] = within(box, a, search->step[a]);
        if (length < search->power / curvature)
            return;
    }
}

void hw_linear_box_solve(hw_linear_box *box)
{
    for (size_t k = 0; k < PASSES && pass(box) > 1e-26 * box->size; k++)
        face(box);
}
