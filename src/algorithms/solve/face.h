/*
 * face.h - Newton's step on the current face: where signs and bounds do not change, the objective of a working set is a
 * quadratic, and conjugate gradients find its minimum in far fewer passes than coordinate descent, above all where few strong
 * factors make all columns alike.
 */
#ifndef HW_ALGORITHMS_SOLVE_FACE_H
#define HW_ALGORITHMS_SOLVE_FACE_H

#include "algorithms/solve/space.h"

/* The members that are not at a bound, nor at zero where an L1 part keeps them; arrays by place on the face unless said otherwise. */
typedef struct hw_linear_face {
    uint32_t *members, *places, *parts; /* the last two in the matrix of the space, and in this block's part of it */
    double *step;                       /* towards the minimum */
    double *pull;                       /* what is left of the negative gradient there */
    double *direction;                  /* of the search */
    double *curve;                      /* second derivative along each coefficient */
    double *bend;                       /* sigma' G direction, and the L2 part's */
    hw_linear_image move;               /* image of step */
    size_t count;
    bool ridge;             /* some have an L2 part */
    size_t most_iterations; /* iterations at most: few while signs change, more once whole steps are taken */
    uint64_t used;          /* coordinate steps that it cost */
    double most;            /* the largest pull; negative where the quadratic turned out flat */
    double exact;           /* the share of the largest pull that may be left: signs will change yet */
    double target;          /* the largest pull that may be left */
    double power;           /* of the last direction */
} hw_linear_face;

/* Begins a search from the point members->x with its image. It is over where the local gap would be well below `tolerance`. `pulls`: of the
 * members at that image, where they are known; or NULL. */
void hw_linear_face_begin(hw_linear_face *face, const hw_linear_space *space, const hw_linear_image *image,
                          const double *pulls, double tolerance);
/* Takes steps of conjugate gradients until the search is over, for this or another reason, or would take more coordinate steps than that.
 * Several blocks search alike (space->part). */
hawser_status hw_linear_face_search(hw_linear_face *face, const hw_linear_space *space, uint64_t steps,
                                    hawser_error *error) HAWSER_MUST_USE;
/* Is a member at x on the face of its signs and bounds? */
bool hw_linear_on_face(double x, hw_linear_term term);
/* Returns where a coordinate stops on its way from x by `step`: at zero, at a bound, or at the end. */
double hw_linear_face_stop(double x, double step, hw_linear_term term);
/* Makes face->move of face->step. False: there was nothing to go for. */
bool hw_linear_face_end(hw_linear_face *face, const hw_linear_space *space);
/* Where a share of the step leads, cut off at zero and at the bounds: coefficients and image. */
void hw_linear_face_clip(const hw_linear_face *face, const hw_linear_space *space, double share,
                         const hw_linear_image *image, double *x, hw_linear_image *x_image);
/* Goes along the step as far as no sign changes and no bound is passed: the objective cannot rise. */
void hw_linear_face_advance(const hw_linear_face *face, const hw_linear_space *space, double *x, hw_linear_image *image);

#endif
