/*
 * joint.h - solves the working sets of all blocks as one. All blocks read all of the union's columns; with several nodes
 * they are fetched once.
 *
 * The expensive work is divided: scans, column statistics and the union's Gram matrix, of which each block computes a part.
 * The blocks of a process have one matrix. On large sets the products of conjugate gradients are divided too: a block sums
 * over its own rows, or computes its own slots. All blocks do the rest of the descent alike. One block solves for all a
 * small set, because a sum over all blocks would cost more than it saves, and a set without a Gram matrix if there are many
 * blocks, because each would repeat the passes. Each block then moves its own coefficients, and v is derived from them.
 * Since the solution is joint, blocks need not allow for each other. With many blocks (hw_linear.apart) each process
 * computes X alpha of the solution from the columns of the union instead, and v stays zero until rounds or another point
 * need it. A set that is too large for its share of the gathered sets is solved by CoCoA rounds instead.
 */
#ifndef HW_ALGORITHMS_LASSO_JOINT_H
#define HW_ALGORITHMS_LASSO_JOINT_H

#include "algorithms/glm/sets.h"
#include "algorithms/lasso/block.h"
#include "algorithms/solve/descent.h"

enum {
    HW_LASSO_JOINT_FIELDS = 7,
    HW_LASSO_JOINT_PRODUCTS =
        1 << 19 /* processes divide at least this many new products; each computes all of a larger number */
};

/* Returns the most numbers that are added up at a time. */
size_t hw_lasso_joint_sums(const hw_linear *lasso);
/* Returns the expected numbers that are added up at a time, for a union of `members` members. */
size_t hw_lasso_joint_expected(const hw_linear *lasso, size_t members);

/* Writes this block's current members to its share of the gathered sets. Returns how many numbers it wrote, from the first
 * on. */
size_t hw_lasso_joint_post(const hw_lasso_block *block, const double *alpha, double *share);
/* Points block->joint.whole to the data and to the memory that the blocks of this process share, once the first step has
 * allocated it. */
void hw_lasso_joint_bind(hw_lasso_block *block, const hawser_matrix *whole);
/* Takes the union of the gathered sets as block->joint.members. The caller then fetches their columns. */
hawser_status hw_lasso_joint_union(hw_lasso_block *block, const hawser_matrix *whole, hw_linear_sets sets,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Decides whether there is a Gram matrix and whether the descent is divided, and computes this block's part of the new
 * products, except for products that are summed over rows. */
hawser_status hw_lasso_joint_products(hw_lasso_block *block, uint32_t own, hw_linear_stop stop,
                                      hawser_error *error) HAWSER_MUST_USE;
/* Solves the union's problem together with all blocks, and moves this block's coefficients. `round` is as for a solver,
 * without alpha and image. `part` has the function that adds up; its range and view are set here. */
hawser_status hw_lasso_joint_solve(hw_lasso_block *block, const hw_linear_round *round, hw_linear_part *part, double *alpha,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Computes X alpha of the joint solution, once per process, in the memory that its blocks share. */
hawser_status hw_lasso_joint_image(hw_lasso_block *block, hawser_error *error) HAWSER_MUST_USE;

#endif
