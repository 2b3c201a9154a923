/*
 * rounds.h - one block's part in CoCoA rounds on Newton's model. The model is made at a quiescent clock and kept during the rounds. Then all
 * blocks go back along their step as far as a line search on the objective requires.
 */
#ifndef HW_ALGORITHMS_LOGISTIC_ROUNDS_H
#define HW_ALGORITHMS_LOGISTIC_ROUNDS_H

#include "algorithms/logistic/block.h"

/* Makes the model of this block's working set at v, and stores v and alpha. */
hawser_status hw_logistic_rounds_begin(hw_logistic_block *block, const double *v, const double *alpha, double lambda,
                                       double tolerance, hawser_error *error) HAWSER_MUST_USE;
/* Runs one round: moves alpha towards the minimum of the block's subproblem, and v by effort->gain times the image of that step. */
hawser_status hw_logistic_rounds_sweep(hw_logistic_block *block, const hw_logistic_effort *effort, double *alpha, double *v,
                                       hawser_error *error) HAWSER_MUST_USE;
/* Stores the penalties of this block's coefficients at the model's point and now. */
void hw_logistic_rounds_penalties(const hw_logistic_block *block, const double *alpha, double lambda, double *before,
                                  double *after);
/* Returns the share of the step to v that the line search accepts, the same on every block. Stores the fall of the objective in *fall. */
double hw_logistic_rounds_share(hw_logistic_block *block, const double *v, double before, double after, double tolerance,
                                double *fall);
/* Moves alpha back, and v by gain times the image of that. What is exchanged is multiplied by `damping` when it is merged. */
void hw_logistic_rounds_back(hw_logistic_block *block, double share, double gain, double damping, double *alpha, double *v);

#endif
