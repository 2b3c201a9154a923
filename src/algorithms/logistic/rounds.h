/*
 * rounds.h - Newton's model solved by all blocks at the same time (CoCoA), and what each block does about it. The model is made at a
 * quiescent clock and stands while the rounds go on; afterwards all go back along their step as far as the true objective asks.
 */
#ifndef HW_ALGORITHMS_LOGISTIC_ROUNDS_H
#define HW_ALGORITHMS_LOGISTIC_ROUNDS_H

#include "algorithms/logistic/block.h"

/* Makes the model at v, of this block's working set, and remembers where that was. */
hawser_status hw_logistic_rounds_begin(hw_logistic_block *block, const double *v, const double *alpha, double lambda,
                                       double tolerance, hawser_error *error) HAWSER_MUST_USE;
/* One round: moves alpha towards the minimum of the block's subproblem, and v by effort->gain times the image of that. */
hawser_status hw_logistic_rounds_sweep(hw_logistic_block *block, const hw_logistic_effort *effort, double *alpha, double *v,
                                       hawser_error *error) HAWSER_MUST_USE;
/* This block's penalties at the model's point and now. */
void hw_logistic_rounds_penalties(const hw_logistic_block *block, const double *alpha, double lambda, double *before,
                                  double *after);
/* How far of the way to v to go, the same on every block; *fall is that of the objective, at least. */
double hw_logistic_rounds_share(hw_logistic_block *block, const double *v, double before, double after, double tolerance,
                                double *fall);
/* Goes back: alpha, and v by gain times the image; what is exchanged counts `damping` times. */
void hw_logistic_rounds_back(hw_logistic_block *block, double share, double gain, double damping, double *alpha, double *v);

#endif
