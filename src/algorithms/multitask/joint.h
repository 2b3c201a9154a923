/* joint.h - the working sets of all blocks solved as one: every block receives the members of all, and computes the same
 * solution. */
#ifndef HW_ALGORITHMS_MULTITASK_JOINT_H
#define HW_ALGORITHMS_MULTITASK_JOINT_H

#include "algorithms/multitask/descent.h"

/* Returns the numbers of a member. */
size_t hw_multitask_joint_fields(const hw_linear *linear);
/* Makes the arrays of the union over all columns of the whole matrix, of which only those of members are ever written. */
hawser_status hw_multitask_joint_new(hw_multitask_block *block, const hawser_matrix *whole,
                                     hawser_error *error) HAWSER_MUST_USE;
/* Writes the block's members with their moments, penalties, coefficients and gradients. Returns the count of written
 * numbers. The residuals must be those of the last scan. */
size_t hw_multitask_joint_post(const hw_multitask_block *block, const double *alpha, double *share);
/* Takes the union of the working sets, whose columns are listed in block->joint->members afterwards. */
hawser_status hw_multitask_joint_union(hw_multitask_block *block, const hawser_matrix *whole, const double *sets,
                                       hawser_error *error) HAWSER_MUST_USE;
/* Solves the union's problem, all of whose columns must be on this node. `round` is the block's; its coefficients and image
 * are not used. The coefficients of the block's own members become block->solution. */
hawser_status hw_multitask_joint_solve(hw_multitask_block *block, const hw_multitask_round *round,
                                       hawser_error *error) HAWSER_MUST_USE;

#endif
