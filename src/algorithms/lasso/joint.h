/*
 * joint.h - the working sets of all blocks solved as one, where all blocks can see the whole data (one machine).
 *
 * What costs time then is shared: scans, column statistics, and the Gram matrix of the union, of which each block computes some
 * rows. The union's problem is solved by one block, on the residual where a Gram matrix does not pay: solved by all alike it would be
 * read by all from one memory. Each then moves its own coefficients, and v is derived from them. There is no conflict between blocks to be careful about. A set too large for its
 * block's share of the board goes through CoCoA rounds instead.
 */
#ifndef HW_ALGORITHMS_LASSO_JOINT_H
#define HW_ALGORITHMS_LASSO_JOINT_H

#include "algorithms/linear/descent.h"
#include "algorithms/linear/problem.h"

enum {
    HW_LASSO_JOINT_FIELDS = 7,
    HW_LASSO_JOINT_SOLVER = 0,        /* the block of a unit that reads no split data */
    HW_LASSO_JOINT_PRODUCTS = 1 << 19 /* new products that are shared, at least; more are computed by the solver */
};

struct hw_lasso_block;

typedef struct hw_lasso_joint {
    hw_linear_columns whole; /* of the whole data; mean and norm are known for columns that were members */
    hw_linear_gram gram;
    hw_linear_members members; /* of the union; numbers of the whole */
    size_t fresh;              /* first slot whose products are to be taken from the exchanged state */
    bool use_gram;
} hw_lasso_joint;

void hw_lasso_joint_free(hw_lasso_joint *joint);
/* Doubles of a block's share of the board, for a problem of so many columns, and those of the triangle of products. */
size_t hw_lasso_joint_share(size_t columns, uint32_t blocks);
size_t hw_lasso_joint_triangle(const hawser_matrix *whole);

/* Writes this block's members, as chosen last, to its share of the board. */
void hw_lasso_joint_post(const struct hw_lasso_block *block, const double *alpha, double *share);
/* Takes the union from the board: block->joint.members. Their columns have to be at hand for what follows. */
hawser_status hw_lasso_joint_union(struct hw_lasso_block *block, const hawser_matrix *whole, const double *board,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Computes this block's rows of the products; they lie at [*first, *first + *count). */
hawser_status hw_lasso_joint_products(struct hw_lasso_block *block, const hawser_matrix *whole, uint32_t own,
                                      double *triangle, size_t *first, size_t *count, hw_linear_stop stop,
                                      hawser_error *error) HAWSER_MUST_USE;
/* Solves the union's problem: a number a member, in their order, into `solution`. `round` is as for a solver, without alpha and image. */
hawser_status hw_lasso_joint_solve(struct hw_lasso_block *block, const double *triangle, const hw_linear_round *round,
                                   double *solution, hawser_error *error) HAWSER_MUST_USE;
/* Moves this block's coefficients to it. */
void hw_lasso_joint_move(const struct hw_lasso_block *block, const double *solution, double *alpha);

#endif
