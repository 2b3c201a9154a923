/*
 * subproblem.h - the problem of a round, over the coefficients x of the working set's members,
 *     min over x of R / (2 gain) - g.(x - start) + gain/2 ||X (x - start)||^2 / W + sum_k h_k(x_k),
 * where R is the residuals' mean square and g their gradients at the start. It is itself a multi-task lasso, on sqrt(gain)
 * X.
 *
 * The image of coefficients gives their gradients. With a Gram matrix it has the gradients of its slots, else the weighted
 * residuals by row. Both are linear, so the image of a direction serves steps of any length.
 */
#ifndef HW_ALGORITHMS_MULTITASK_SUBPROBLEM_H
#define HW_ALGORITHMS_MULTITASK_SUBPROBLEM_H

#include "algorithms/multitask/block.h"

typedef struct hw_multitask_image {
    double *values; /* by output, then by slot or row */
    double *sum;    /* by output: the sum of the values by row */
} hw_multitask_image;

/* Coefficients with their image and gradients; x and gradient are by member, then by output. */
typedef struct hw_multitask_point {
    double *x, *gradient;
    hw_multitask_image image;
} hw_multitask_point;

typedef struct hw_multitask_subproblem {
    hw_multitask_block *block;
    double gain;
    size_t q, members, length; /* outputs, members, numbers of an image for each output */
    hw_linear_term *terms;     /* by member */
    uint32_t *places;          /* by member: its slot, or its column */
    double *start, *first;     /* coefficients and gradients at the start */
    hw_multitask_point at, candidate;
    double *scratch; /* 4 arrays of members x outputs numbers, then one of an image with its sums, then 2 of outputs */
    double *memory;
} hw_multitask_subproblem;

/* Begins at the block's coefficients `alpha` and residuals, which are scratch from then on. The block's Gram matrix covers
 * the members if block->use_gram. */
hawser_status hw_multitask_subproblem_new(hw_multitask_subproblem *problem, hw_multitask_block *block, double lambda,
                                          double gain, const double *alpha, hawser_error *error) HAWSER_MUST_USE;
void hw_multitask_subproblem_free(hw_multitask_subproblem *problem);
/* Adds to an image the step `change` (by output) of member k. */
void hw_multitask_subproblem_step(const hw_multitask_subproblem *problem, size_t k, const double *change,
                                  hw_multitask_image *image);
/* Computes the image of a direction over `count` listed places, by output, then by place. */
void hw_multitask_subproblem_product(const hw_multitask_subproblem *problem, const uint32_t *places, const double *direction,
                                     size_t count, hw_multitask_image *product);
/* Computes the gradients of `count` places from an image. Place f's for output o is stored at gradient[f * by_place + o *
 * by_output]. */
void hw_multitask_subproblem_gradients(const hw_multitask_subproblem *problem, const uint32_t *places, size_t count,
                                       const hw_multitask_image *image, double *gradient, size_t by_place, size_t by_output);
/* Returns the objective of a point from its coefficients and gradients. */
double hw_multitask_subproblem_objective(const hw_multitask_subproblem *problem, const hw_multitask_point *point);
/* Returns the duality gap of the present point from its coefficients and gradients. */
double hw_multitask_subproblem_gap(const hw_multitask_subproblem *problem);
/* Moves to the candidate. */
void hw_multitask_subproblem_take(hw_multitask_subproblem *problem);

#endif
