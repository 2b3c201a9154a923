/*
 * conjugate.h - conjugate gradients with a preconditioner, for the minimum of a quadratic function. The caller makes all
 * products between the calls, so a problem that is divided over blocks adds up its parts in an order of its own:
 *
 *     hw_conjugate_begin(&search);
 *     while (... the pull is too large ...) {
 *         ... bent = preconditioner times pull, power = pull . bent ...
 *         hw_conjugate_turn(&search, power);
 *         ... bent = second derivatives times direction, curvature = direction . bent ...
 *         hw_conjugate_go(&search, power / curvature);
 *     }
 *
 * Two searches do not use it: search.c needs a single reduction per iteration, and svm/primal.c makes the products of
 * several problems in one pass over the rows.
 */
#ifndef HW_ALGORITHMS_SOLVE_CONJUGATE_H
#define HW_ALGORITHMS_SOLVE_CONJUGATE_H

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Arrays of `count` numbers each. */
typedef struct hw_conjugate {
    size_t count;
    double *step;      /* towards the minimum */
    double *pull;      /* the negative gradient after the step */
    double *direction; /* of the search */
    double *bent;      /* the preconditioner times pull, then the second derivatives times direction */
    double power;      /* pull times the preconditioned pull of the last direction; 0: there was none */
    double most;       /* the largest pull */
} hw_conjugate;

/* Begins a search at a step and its pull. */
static inline void hw_conjugate_begin(hw_conjugate *search)
{
    search->power = search->most = 0.0;
    memset(search->direction, 0, search->count * sizeof *search->direction);
    for (size_t i = 0; i < search->count; i++)
        search->most = fmax(search->most, fabs(search->pull[i]));
}

/* Computes the next direction: the preconditioned pull plus a share of the last direction. */
static inline void hw_conjugate_turn(hw_conjugate *search, double power)
{
    double kept = search->power > 0.0 ? power / search->power : 0.0;
    search->power = power;
    for (size_t i = 0; i < search->count; i++)
        search->direction[i] = search->bent[i] + kept * search->direction[i];
}

/* Goes along the direction. */
static inline void hw_conjugate_go(hw_conjugate *search, double length)
{
    double most = 0.0;
    for (size_t i = 0; i < search->count; i++) {
        search->step[i] += length * search->direction[i];
        search->pull[i] -= length * search->bent[i];
        double size = fabs(search->pull[i]);
        most = size > most ? size : most;
    }
    search->most = most;
}

#endif
