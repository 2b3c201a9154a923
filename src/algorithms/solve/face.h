/*
 * face.h - Newton's step on the current face: as long as signs and bounds do not change, the objective of a working set is a
 * quadratic. Conjugate gradients find its minimum in far fewer passes than coordinate descent, above all if few strong
 * factors make all columns alike.
 */
#ifndef HW_ALGORITHMS_SOLVE_FACE_H
#define HW_ALGORITHMS_SOLVE_FACE_H

#include "algorithms/solve/conjugate.h"
#include "algorithms/solve/space.h"

/* The members on the face: they are not at a bound, and not at zero if they have an L1 part. Arrays are by place on the
 * face. */
typedef struct hw_linear_face {
    uint32_t *members, *places,
        *parts;           /* members; their places in the matrix of the space, and in this block's part of it */
    hw_conjugate search;  /* for the step; its largest pull is negative if the quadratic is flat along a direction */
    double *curve;        /* second derivative along each coefficient */
    hw_linear_image move; /* image of the step */
    size_t count;
    size_t most_iterations; /* few while signs change, more once whole steps are taken */
    uint64_t used;          /* its cost in coordinate steps */
    /* With a pivot (pivot.h), conjugate gradients see curvatures and pulls of columns less their shares of it. */
    size_t pivot;    /* place; `count`: there is none */
    double *share;   /* by place */
    double *scratch; /* by row, free while a search begins */
    bool scaled;     /* pulls are compared in units in which each curvature is 1, so that no column's scale matters */
    double exact;    /* the share of the largest pull that may be left, because signs may still change */
    double target;   /* the largest pull that may be left */
} hw_linear_face;

/* Begins a search from the point members->x with its image. The search ends when the local gap is well below `tolerance`.
 * `pulls` are those of the members at that image, or NULL. */
void hw_linear_face_begin(hw_linear_face *face, const hw_linear_space *space, const hw_linear_image *image,
                          const double *pulls, double tolerance);
/* Takes steps of conjugate gradients until the search ends, or would take more coordinate steps than `steps`. Blocks that
 * solve one problem together (space->part) run the same search. */
hawser_status hw_linear_face_search(hw_linear_face *face, const hw_linear_space *space, uint64_t steps,
                                    hawser_error *error) HAWSER_MUST_USE;
/* Returns true if a member at x is on the face of its signs and bounds. */
/* Returns the sum of the pulls that are left, in units of columns if they are compared so. */
double hw_linear_face_left(const hw_linear_face *face);
bool hw_linear_on_face(double x, hw_linear_term term);
/* Returns x + step, or the zero or bound that lies between. */
double hw_linear_face_stop(double x, double step, hw_linear_term term);
/* Computes face->move, the image of the step. Returns false if the search took no step. */
bool hw_linear_face_end(hw_linear_face *face, const hw_linear_space *space);
/* Computes coefficients and image after a share of the step, which is cut off at zero and at the bounds. */
void hw_linear_face_clip(const hw_linear_face *face, const hw_linear_space *space, double share,
                         const hw_linear_image *image, double *x, hw_linear_image *x_image);
/* Moves along the step until the first sign would change or the first bound is reached, so the objective cannot rise. */
void hw_linear_face_advance(const hw_linear_face *face, const hw_linear_space *space, double *x, hw_linear_image *image);

#endif
