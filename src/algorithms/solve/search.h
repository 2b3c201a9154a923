/*
 * search.h - conjugate gradients of all blocks together, on the current face, where signs and bounds do not change. They end CoCoA's rounds on
 * problems where rounds alone crawl. An iteration takes one reduction (Chronopoulos and Gear 1989): of the image of the scaled pull z, and
 * three sums. Each block searches among its own columns. All blocks get the same sums, so they take steps of the same length.
 */
#ifndef HW_ALGORITHMS_SOLVE_SEARCH_H
#define HW_ALGORITHMS_SOLVE_SEARCH_H

#include "algorithms/solve/solver.h"

enum {
    HW_LINEAR_SEARCH_SUMS = 3,
    HW_LINEAR_SEARCH_STEPS = 40 /* iterations that suffice where signs will change yet */
};

typedef struct hw_linear_search {
    uint32_t *columns;
    double *curve;              /* second derivative along each coefficient */
    double *pull;               /* r: what is left of the negative gradient */
    double *scaled;             /* z = r / curve */
    double *step;               /* towards the minimum */
    double *direction;          /* p */
    double *bend;               /* H p */
    double *share;              /* this block's part of the image that was added last, by row */
    double *sum;                /* that image of all blocks, and behind it the sums */
    double power, length, size; /* r z, the last step's length, p curve p */
    double first, reference;    /* r z at the start, and its largest value since the caller set `reference` to zero */
    double reach;               /* the share of the step that was taken */
    bool
        smooth; /* the caller sets it on all blocks: no signs and no bounds, so a search ends only when it is exact enough */
    size_t count, capacity, rows;
    double *memory;
} hw_linear_search;

void hw_linear_search_free(hw_linear_search *search);
/* Searches from round->alpha among the listed columns (NULL: the first `count`), cuts the step off at zero and at the bounds, and moves alpha
 * by the share of it that surely lowers the objective most. The image of that move is search->reach times search->share of this block, and
 * times search->sum of all blocks. Of the round it takes columns, lambda, residual, sum, alpha, stop and part. After a request to stop it goes
 * where the last iteration led. Collective over the blocks of round->part. */
hawser_status hw_linear_search_run(hw_linear_search *search, const hw_linear_round *round, const uint32_t *list,
                                   size_t count, size_t iterations, hawser_error *error) HAWSER_MUST_USE;
/* Moves an image by `gain` times this block's part of the move. */
void hw_linear_search_move(const hw_linear_search *search, double gain, double *image);

#endif
