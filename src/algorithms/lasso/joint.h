/*
 * joint.h - the working sets of all blocks solved as one: all blocks can see all of the union's columns, on one machine as they are,
 * over several nodes fetched once.
 *
 * The expensive work is divided: scans, column statistics and the union's Gram matrix, of which each block computes a part. The blocks of a
 * process have one matrix. On large sets the products of conjugate gradients are divided too: a block sums over its own rows, or computes its own slots. All blocks do
 * the rest of the descent alike. One block solves a small set for all, because a sum over all blocks would cost more than it saves. Each block then
 * moves its own coefficients, and v is derived from them. There is no conflict between blocks to be careful about. A set too large
 * for its block's share of the board goes through CoCoA rounds instead.
 */
#ifndef HW_ALGORITHMS_LASSO_JOINT_H
#define HW_ALGORITHMS_LASSO_JOINT_H

#include "algorithms/glm/linear.h"
#include "algorithms/solve/descent.h"
#include "algorithms/solve/shared.h"

enum {
    HW_LASSO_JOINT_FIELDS = 7,
    HW_LASSO_JOINT_PRODUCTS = 1 << 19 /* new products that processes divide, at least; of more each process computes all */
};

struct hw_lasso_block;

typedef struct hw_lasso_joint {
    hw_linear_columns whole;   /* of the whole data; mean and norm are known for columns that were members */
    hw_linear_shared *shared;  /* the Gram matrix, which the blocks of a process have in common */
    uint64_t step;             /* of it (shared.h) */
    hw_linear_members members; /* of the union; numbers of the whole */
    bool use_gram, divided;    /* there is a Gram matrix; the descent's products are divided */
    bool broken;               /* the run was asked to end before this block had its products */
    /* Where the matrix's new products are after the unit that computes them: all in this process, or this block's slots [begin, end) of all
     * blocks' slots; or they are summed over rows, of which this block has [begin, end). */
    enum { ALL_HERE, SLOTS, ROWS } from;
    size_t begin, end;
} hw_lasso_joint;

void hw_lasso_joint_free(hw_lasso_joint *joint);
/* Doubles of a block's share of the board. */
size_t hw_lasso_joint_share(const hw_linear *lasso);
/* The most numbers that are added up at a time. */
size_t hw_lasso_joint_sums(const hw_linear *lasso);
/* Of these, numbers that one block adds, as expected of a union of so many members. */
size_t hw_lasso_joint_expected(const hw_linear *lasso, size_t members);

/* Writes this block's members, as chosen last, to its share of the board; returns how many numbers that took, from the first on. */
size_t hw_lasso_joint_post(const struct hw_lasso_block *block, const double *alpha, double *share);
/* Points block->joint.whole to the data and to what the blocks of this process share, once the first step has allocated that. */
void hw_lasso_joint_bind(struct hw_lasso_block *block, const hawser_matrix *whole);
/* Takes the union from the board: block->joint.members. Their columns have to be at hand for what follows. */
hawser_status hw_lasso_joint_union(struct hw_lasso_block *block, const hawser_matrix *whole, const double *board,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Settles whether there is a Gram matrix and whether the descent is divided, and computes this block's part of the new products, except for
 * products that are summed over rows. */
hawser_status hw_lasso_joint_products(struct hw_lasso_block *block, uint32_t own, hw_linear_stop stop,
                                      hawser_error *error) HAWSER_MUST_USE;
/* Solves the union's problem together with all blocks, and moves this block's coefficients. `round` is as for a solver, without alpha and
 * image. Of `part`, which tells how to add up, the range and the view are set here. */
hawser_status hw_lasso_joint_solve(struct hw_lasso_block *block, const hw_linear_round *round, hw_linear_part *part,
                                   double *alpha, hawser_error *error) HAWSER_MUST_USE;

#endif
