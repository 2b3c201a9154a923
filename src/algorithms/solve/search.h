/*
 * search.h - conjugate gradients over all blocks on the current face, where signs and bounds do not change: what brings CoCoA's
 * rounds to an end on problems that they alone crawl over. One exchange an iteration (Chronopoulos and Gear 1989): of the image of
 * the scaled pull z, and three sums. Each block searches among its own columns; all learn the same numbers, so all take the
 * same lengths. Pure.
 *
 * A share is what a block adds to the exchanged state: X z by row, then sum r z, sum l2 z^2 and sum m z.
 */
#ifndef HW_ALGORITHMS_SOLVE_SEARCH_H
#define HW_ALGORITHMS_SOLVE_SEARCH_H

#include "algorithms/solve/solver.h"

enum { HW_LINEAR_SEARCH_SUMS = 3 };

typedef struct hw_linear_search {
    uint32_t *columns;
    double *curve;              /* second derivative along each coefficient */
    double *pull;               /* r: what is left of the negative gradient */
    double *scaled;             /* z = r / curve */
    double *step;               /* towards the minimum */
    double *direction;          /* p */
    double *bend;               /* H p */
    double *share;              /* what this block has in the exchanged state */
    double *image;              /* scratch, by row */
    double power, length, size; /* r z, the last step's length, p curve p */
    double first, reference;    /* r z at the begin, and at most of all begins since the caller has set it to zero */
    bool smooth; /* set by the caller, alike on all blocks: no signs, no bounds, so ends only when exact enough */
    size_t count, capacity, rows;
    bool ended;
    double *memory;
} hw_linear_search;

void hw_linear_search_free(hw_linear_search *search);
/* Starts from alpha, with its weighted residual and that one's sum, among the listed columns (NULL: the first `count`). */
hawser_status hw_linear_search_begin(hw_linear_search *search, const hw_linear_columns *columns, const uint32_t *list,
                                     size_t count, const double *alpha, double lambda, const double *residual, double sum,
                                     hawser_error *error) HAWSER_MUST_USE;
/* One iteration: hears the sum of the shares of the last one (not in the `first`), and puts this block's new share in its place. */
void hw_linear_search_advance(hw_linear_search *search, const hw_linear_columns *columns, double lambda, bool first,
                              double *shares);
/* The end of the step, cut off at zero and at the bounds: its image becomes the share (with sum m step as its third sum); the
 * penalties here and there. */
void hw_linear_search_aim(hw_linear_search *search, const hw_linear_columns *columns, double lambda, const double *alpha,
                          double *shares, double *now, double *then);
/* How far to go towards that end, in [0, 1], so that the objective surely falls most: convexity bounds the penalty on the way. */
double hw_linear_search_reach(const hw_linear_search *search, const hw_linear_columns *columns, const double *shares,
                              const double *residual, double sum, double now, double then);
/* Goes there: moves alpha, and the image of it by gain times this block's part. */
void hw_linear_search_go(const hw_linear_search *search, double reach, double gain, double *alpha, double *image);

#endif
