/* descent.h - a round: block coordinate descent on the coefficients of the working set, by its Gram matrix or by the
 * residuals, and Newton's steps once its support settles (face.h). */
#ifndef HW_ALGORITHMS_MULTITASK_DESCENT_H
#define HW_ALGORITHMS_MULTITASK_DESCENT_H

#include "algorithms/multitask/block.h"
#include "algorithms/solve/stop.h"

typedef struct hw_multitask_round {
    double lambda;
    double gain;      /* sigma', by which the round allows for the changes of other blocks */
    double gap;       /* of the last certificate: the round ends when its own gap is small beside it */
    double tolerance; /* a smaller gap of the round's own problem is of no use */
    uint64_t steps;   /* the most steps; a step changes the coefficients of one column */
    double *alpha;    /* the block's coefficients, by column, then by output */
    double *image;    /* v: the round adds gain X delta. NULL: the caller computes it anew */
    hw_linear_stop stop;
} hw_multitask_round;

/* Solves min over delta of -sum_j g_j delta_j + gain/2 ||X delta||^2 / W + sum_j h_j(alpha_j + delta_j) over the members,
 * from the block's residuals, which it changes. */
hawser_status hw_multitask_descend(hw_multitask_block *block, const hw_multitask_round *round,
                                   hawser_error *error) HAWSER_MUST_USE;

#endif
