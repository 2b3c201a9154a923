/*
 * rounds.h - one block's part in CoCoA rounds on Newton's model. The model is made at a quiescent clock and kept during the
 * rounds. Then all blocks go back along their step as far as a line search on the objective requires.
 */
#ifndef HW_ALGORITHMS_NEWTON_ROUNDS_H
#define HW_ALGORITHMS_NEWTON_ROUNDS_H

#include "algorithms/newton/block.h"

enum {
    HW_NEWTON_SMOOTH_PRODUCTS = 100
}; /* reductions of a number per row that one solution without an L1 part is expected to take */

/* Makes the model of this block's working set at v, and stores v and alpha. */
hawser_status hw_newton_rounds_begin(hw_newton_block *block, const double *v, const double *alpha, double lambda,
                                     double tolerance, hawser_error *error) HAWSER_MUST_USE;
/* Runs one round: moves alpha towards the minimum of the block's subproblem, and v by effort->gain times the image of that
 * step. */
hawser_status hw_newton_rounds_sweep(hw_newton_block *block, const hw_newton_effort *effort, double *alpha, double *v,
                                     hawser_error *error) HAWSER_MUST_USE;
/* Searches on the objective along block->move, the move of v since the model was made. Stores the share of it that is
 * accepted, and the fall of the objective; both are the same on every block. Collective over the blocks of `part`. */
hawser_status hw_newton_rounds_line(hw_newton_block *block, const hw_linear_part *part, const double *alpha, double lambda,
                                    double tolerance, double *share, double *fall, hawser_error *error) HAWSER_MUST_USE;
/* Moves alpha back, and v by gain times the image of that. What is exchanged is multiplied by `damping` when it is
 * merged. */
void hw_newton_rounds_back(hw_newton_block *block, double share, double gain, double damping, double *alpha, double *v);
/* Runs a search over all blocks on the model, from v (search.h), and moves alpha. */
hawser_status hw_newton_rounds_search(hw_newton_block *block, const hw_linear_part *part, const double *v, double *alpha,
                                      double lambda, size_t iterations, hw_linear_stop stop,
                                      hawser_error *error) HAWSER_MUST_USE;

/* Solves a problem without an L1 part and without bounds by Newton's method, all blocks together: a search over all blocks
 * solves each model. Moves alpha; the caller derives v. Collective over the blocks of `part`. */
hawser_status hw_newton_rounds_smooth(hw_newton_block *block, const hw_linear_part *part, const double *v, double *alpha,
                                      double lambda, const hw_newton_effort *effort, hawser_error *error) HAWSER_MUST_USE;

#endif
