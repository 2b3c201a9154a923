/*
 * face.h - Newton's step on the current face: where signs and bounds do not change, the objective of a working set is a
 * quadratic, and conjugate gradients find its minimum in far fewer passes than coordinate descent, above all where few strong
 * factors make all columns alike.
 */
#ifndef HW_ALGORITHMS_LINEAR_FACE_H
#define HW_ALGORITHMS_LINEAR_FACE_H

#include "algorithms/linear/space.h"

/* The members that are neither zero nor at a bound; arrays by place on the face unless said otherwise. */
typedef struct hw_linear_face {
    uint32_t *members, *places;
    double *step;         /* towards the minimum */
    double *pull;         /* what is left of the negative gradient there */
    double *direction;    /* of the search */
    double *bend;         /* sigma' G direction, and the L2 part's */
    hw_linear_image move; /* image of step */
    size_t count;
    size_t patience; /* iterations at most: few while signs change, more once whole steps are taken */
    uint64_t used;   /* coordinate steps that it cost */
} hw_linear_face;

/* Makes face->step and face->move from the point members->x with its image, for at most so many coordinate steps. Ends where the
 * local gap would be well below `tolerance`. False: there is nothing to go for. */
bool hw_linear_face_solve(hw_linear_face *face, const hw_linear_space *space, const hw_linear_image *image, double tolerance,
                          uint64_t steps);
/* Where a share of the step leads, cut off at zero and at the bounds: coefficients and image. */
void hw_linear_face_clip(const hw_linear_face *face, const hw_linear_space *space, double share,
                         const hw_linear_image *image, double *x, hw_linear_image *x_image);
/* Goes along the step as far as no sign changes and no bound is passed: the objective cannot rise. */
void hw_linear_face_advance(const hw_linear_face *face, const hw_linear_space *space, double *x, hw_linear_image *image);

#endif
