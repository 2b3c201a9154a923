/*
 * accelerate.h - extrapolation over CoCoA rounds. Blocks that solve their parts at the same time converge slowly where their
 * columns are correlated; the limit of the last few rounds can be told from their residuals, which all blocks have alike under BSP.
 * A step is taken only when the combined objective falls. Pure.
 */
#ifndef HW_ALGORITHMS_SOLVE_ACCELERATE_H
#define HW_ALGORITHMS_SOLVE_ACCELERATE_H

#include "algorithms/solve/extrapolate.h"
#include "algorithms/solve/solver.h"

typedef struct hw_linear_accelerator {
    double *residuals; /* HW_LINEAR_HISTORY + 1, each with its weights in */
    double *alphas;    /* the same, of the members of the working set; the last row is the candidate's */
    size_t rows, members, capacity;
    double loss; /* of the candidate */
    bool usable;
} hw_linear_accelerator;

void hw_linear_accelerator_free(hw_linear_accelerator *accelerator);
/* Keeps the point before round `at` (0 .. HW_LINEAR_HISTORY, the last being after the rounds). */
hawser_status hw_linear_accelerator_keep(hw_linear_accelerator *accelerator, const hw_linear_columns *columns,
                                         const uint32_t *members, size_t count, size_t at, const double *residual,
                                         const double *alpha, hawser_error *error) HAWSER_MUST_USE;
/* Makes the candidate; returns this block's penalty there, and in *now that of alpha. INFINITY: no candidate. */
double hw_linear_accelerator_propose(hw_linear_accelerator *accelerator, const hw_linear_columns *columns,
                                     const uint32_t *members, double lambda, const double *alpha, double *now);
/* Moves alpha, and v's image by gain times X delta, to the candidate. */
void hw_linear_accelerator_take(hw_linear_accelerator *accelerator, const hw_linear_columns *columns,
                                const uint32_t *members, double gain, double *alpha, double *image);

#endif
