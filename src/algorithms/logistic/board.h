/* board.h - the working sets of all blocks, put together (glm/board.h) so that one block can solve the problem over all of them. */
#ifndef HW_ALGORITHMS_LOGISTIC_BOARD_H
#define HW_ALGORITHMS_LOGISTIC_BOARD_H

#include "algorithms/logistic/block.h"

/* Doubles of a block's share of the board, for a problem of so many columns. */
size_t hw_logistic_board_share(const hw_linear *linear);
/* Writes this block's working set to its share; returns how many numbers that took, from the first on. */
size_t hw_logistic_board_post(const hw_logistic_block *block, const double *alpha, double *share);
/* Takes all of them: block->whole_list names the columns. Returns their number. */
size_t hw_logistic_board_list(hw_logistic_block *block, const double *values);
/* The stored entries of all of them, and their number. */
double hw_logistic_board_entries(const hw_logistic_block *block, const double *values, size_t *count);
/* Makes block->whole their problem from v, and `newton` what is wanted of it. */
hawser_status hw_logistic_board_take(hw_logistic_block *block, const double *values, const double *v, double lambda,
                                     const hw_logistic_effort *effort, hw_logistic_newton *newton,
                                     hawser_error *error) HAWSER_MUST_USE;
/* A number a member, in their order, into `solution`: what block->whole came to. What it has left out on the way is zero. */
void hw_logistic_board_solution(const hw_logistic_block *block, size_t count, double *solution);
/* Solves their problem from v: a number a member, in their order, into `solution`. The columns have to be at hand. */
hawser_status hw_logistic_board_solve(hw_logistic_block *block, const double *values, const double *v, double lambda,
                                      const hw_logistic_effort *effort, double *solution,
                                      hawser_error *error) HAWSER_MUST_USE;
/* Moves this block's coefficients there. */
void hw_logistic_board_move(const hw_logistic_block *block, const double *values, const double *solution, double *alpha);

#endif
