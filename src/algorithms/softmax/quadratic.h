/*
 * quadratic.h - minimises g (x - w) + 1/2 (x - w) H (x - w) + sum_e l1_e |x_e|, Newton's model of the objective on a working
 * set. Pure.
 *
 * Passes over the coordinates find signs. Between passes the model is solved exactly for these signs: columns far from zero
 * make H so badly conditioned that passes alone hardly move (Lee, Battle, Raina, Ng: Efficient sparse coding algorithms.
 * NIPS 2006).
 */
#ifndef HW_ALGORITHMS_SOFTMAX_QUADRATIC_H
#define HW_ALGORITHMS_SOFTMAX_QUADRATIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algorithms/model/arrays.h"

/* All arrays have `count` numbers. The caller fills the first group. */
typedef struct hw_softmax_quadratic {
    size_t count, capacity;
    double *matrix; /* H, count x count, symmetric; its diagonal is above 0 */
    double *l1;     /* 0: no kink */
    double *slope;  /* g, then the derivative of the smooth part at x */
    double *x;      /* w, then the solution */
    /* Scratch. */
    double *factor; /* rows of the triangle of Cholesky's factor */
    double *move, *image;
    double *breaks; /* lengths at which coefficients cross zero */
    uint32_t *face, *crossing;
    hw_arrays arrays;
} hw_softmax_quadratic;

/* Makes memory for `count` coordinates. Returns false if there is none. */
bool hw_softmax_quadratic_reserve(hw_softmax_quadratic *q, size_t count);
void hw_softmax_quadratic_free(hw_softmax_quadratic *q);
/* Moves x towards the minimum, until the derivatives of least size are `share` of those at the start. The model does not
 * rise. */
void hw_softmax_quadratic_solve(hw_softmax_quadratic *q, double share);

#endif
