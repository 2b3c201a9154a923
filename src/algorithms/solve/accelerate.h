/*
 * accelerate.h - extrapolation over CoCoA rounds. Blocks that solve their parts at the same time converge slowly if their
 * columns are correlated. The residuals of the last few rounds, which are the same on all blocks under BSP, predict the
 * limit. A step is taken only if the combined objective falls. Pure.
 */
#ifndef HW_ALGORITHMS_SOLVE_ACCELERATE_H
#define HW_ALGORITHMS_SOLVE_ACCELERATE_H

#include "algorithms/solve/extrapolate.h"
#include "algorithms/solve/solver.h"

typedef struct hw_linear_accelerator {
    double *residuals; /* HW_LINEAR_HISTORY + 1 residuals times the example weights */
    double *alphas;    /* as many rows of members' coefficients, and the candidate's as the last row */
    size_t rows, members, capacity;
    double loss; /* of the candidate */
    bool usable;
} hw_linear_accelerator;

void hw_linear_accelerator_free(hw_linear_accelerator *accelerator);
/* Stores the point before round `at`; HW_LINEAR_HISTORY is the point after the last round. */
hawser_status hw_linear_accelerator_keep(hw_linear_accelerator *accelerator, const hw_linear_columns *columns,
                                         const uint32_t *members, size_t count, size_t at, const double *residual,
                                         const double *alpha, hawser_error *error) HAWSER_MUST_USE;
/* Makes the candidate. Returns this block's penalty there, or INFINITY if there is no candidate, and stores the penalty of
 * alpha in *now. */
double hw_linear_accelerator_propose(hw_linear_accelerator *accelerator, const hw_linear_columns *columns,
                                     const uint32_t *members, double lambda, const double *alpha, double *now);
/* Moves alpha to the candidate, and adds gain * X delta to the image. */
void hw_linear_accelerator_take(hw_linear_accelerator *accelerator, const hw_linear_columns *columns,
                                const uint32_t *members, double gain, double *alpha, double *image);

#endif
