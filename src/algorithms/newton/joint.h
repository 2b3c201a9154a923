/*
 * joint.h - solves the problem over the gathered working sets of all blocks (glm/sets.h): on one block, or if it is large on
 * all blocks together, which then run the same steps. Each of them makes all line searches and all passes, in which each
 * coordinate waits for the one before. The rest is divided: moments and pulls by members; products of conjugate gradients
 * and images of their steps by rows.
 */
#ifndef HW_ALGORITHMS_NEWTON_JOINT_H
#define HW_ALGORITHMS_NEWTON_JOINT_H

#include "algorithms/newton/block.h"

enum { HW_NEWTON_JOINT_FIELDS = 4 }; /* of a member of the gathered sets */

/* Writes the working set of this block, and stores its members and their stored entries. Returns how many numbers were
 * written, from the first on. */
size_t hw_newton_joint_post(const hw_newton_block *block, const double *alpha, double *share, double *members,
                            double *entries);
/* Returns whether blocks solve gathered sets of this many members and stored entries together. */
bool hw_newton_joint_divides(const hw_linear *linear, double entries, size_t members);
/* Returns the same for the working sets that are expected. */
bool hw_newton_joint_expected(const hw_linear *linear);
/* Returns the most numbers that blocks add up at a time; gives the plan the numbers that the unit which solves the problem
 * is expected to add. */
size_t hw_newton_joint_sums(const hw_linear *linear);
void hw_newton_joint_expect(hawser_operator *unit, const hw_linear *linear);

/* Stores the columns of all members in block->whole_list. Returns their number. */
size_t hw_newton_joint_list(hw_newton_block *block, const double *sets);
/* Solves the problem over the `count` listed members, from v and block->point. Their columns must be on this node. `part`:
 * this block's part, whose `add`, `source`, `block` and `blocks` are set; NULL if one block solves it alone. */
hawser_status hw_newton_joint_solve(hw_newton_block *block, const double *sets, size_t count, const double *v, double lambda,
                                    const hw_newton_effort *effort, hw_linear_part *part,
                                    hawser_error *error) HAWSER_MUST_USE;
/* Sets this block's coefficients among the listed ones to what it solved. Members that were left out on the way are zero. */
void hw_newton_joint_take(const hw_newton_block *block, size_t count, double *alpha);
/* Stores what it solved, one number per listed member, for the other blocks; each of them sets its coefficients to their
 * part of it. */
void hw_newton_joint_solution(const hw_newton_block *block, size_t count, double *solution);
void hw_newton_joint_move(const hw_newton_block *block, const double *sets, const double *solution, double *alpha);

#endif
