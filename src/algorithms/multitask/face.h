/*
 * face.h - Newton's step on the members that have coefficients, where the objective is smooth. Conjugate gradients find it
 * in far fewer passes than coordinate descent, above all if few strong factors make all columns alike.
 */
#ifndef HW_ALGORITHMS_MULTITASK_FACE_H
#define HW_ALGORITHMS_MULTITASK_FACE_H

#include "algorithms/multitask/subproblem.h"
#include "algorithms/solve/conjugate.h"
#include "algorithms/solve/stop.h"

/* Arrays are by output, then by place on the face, unless they say otherwise. */
typedef struct hw_multitask_face {
    uint32_t *members, *places; /* by place: members; their slots or columns */
    size_t count;
    hw_conjugate search; /* for the step to the minimum of the quadratic model */
    hw_multitask_image product;
    size_t most_iterations;
    size_t pivot;  /* place (solve/pivot.h); `count`: there is none. Pulls and curvatures are then less its shares */
    double *share; /* by place */
    double *left;  /* by place: the mean square of the column without its share */
    uint64_t used; /* its cost in coordinate steps */
} hw_multitask_face;

/* Finds the step from the present point; its gradients must be known. The search ends when the largest pull is far below the
 * first one, or when the local gap is well below `tolerance`. Returns false if there is no step. */
bool hw_multitask_face_search(hw_multitask_face *face, const hw_multitask_subproblem *problem, double tolerance,
                              uint64_t steps, hw_linear_stop stop);
/* Computes the candidate after a share of the step. Coefficients of members that would turn to the other side become zero.
 * face->product is the image of the step. */
void hw_multitask_face_candidate(const hw_multitask_face *face, hw_multitask_subproblem *problem, double share);
/* Returns the share of the step, at most 1, just beyond which the coefficients of a first member would turn. */
double hw_multitask_face_first_stop(const hw_multitask_face *face, const hw_multitask_subproblem *problem);
/* Computes the image of the step in face->product. */
void hw_multitask_face_end(hw_multitask_face *face, const hw_multitask_subproblem *problem);

#endif
