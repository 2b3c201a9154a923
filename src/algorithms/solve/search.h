/*
 * search.h - conjugate gradients over all blocks on the current face, where signs and bounds do not change. They follow
 * CoCoA's rounds on problems where rounds alone make little progress. An iteration takes one reduction (Chronopoulos and
 * Gear 1989) of the image of the scaled pull z and three sums. Each block searches among its own columns. All blocks get the
 * same sums, so they take steps of the same length.
 */
#ifndef HW_ALGORITHMS_SOLVE_SEARCH_H
#define HW_ALGORITHMS_SOLVE_SEARCH_H

#include "algorithms/solve/solver.h"

enum {
    HW_LINEAR_SEARCH_SUMS = 3,
    HW_LINEAR_SEARCH_STEPS = 40 /* iterations that suffice while signs still change */
};

typedef struct hw_linear_search {
    uint32_t *columns;
    double *curve;     /* second derivative along each coefficient */
    double *pull;      /* r: the negative gradient after the step */
    double *scaled;    /* z = r / curve */
    double *step;      /* towards the minimum */
    double *direction; /* p */
    double *bend;      /* H p */
    double *share;     /* by row: this block's part of the last image; after advance, the centred image of all blocks */
    double *sum;       /* by row: the last image of all blocks, and behind it the sums */
    double power, length, size; /* r z, the last step's length, p curve p */
    double first, reference;    /* r z at the start, and its largest value since the caller set `reference` to zero */
    double reach;               /* the share of the step that was taken */
    /* set by the caller, alike on all blocks: no signs and no bounds, so a search ends only when it is exact enough */
    bool smooth;
    size_t count, capacity, rows;
    double *memory;
} hw_linear_search;

void hw_linear_search_free(hw_linear_search *search);
/* Searches from round->alpha among the listed columns (NULL: the first `count`), cuts the step off at zero and at the
 * bounds, and moves alpha by the share of it with the largest guaranteed decrease of the objective. The image of that move
 * is search->reach * search->share for this block and search->reach * search->sum for all blocks. It uses columns, lambda,
 * residual, sum, alpha, stop and part of the round. After a request to stop it takes the step of the last iteration.
 * Collective over the blocks of round->part. */
hawser_status hw_linear_search_run(hw_linear_search *search, const hw_linear_round *round, const uint32_t *list,
                                   size_t count, size_t iterations, hawser_error *error) HAWSER_MUST_USE;
/* Adds `gain` times this block's part of the move to an image. */
void hw_linear_search_move(const hw_linear_search *search, double gain, double *image);

#endif
