/*
 * joint.h - the working sets of all blocks solved as one: all blocks can see all of the union's columns, on one machine as they are,
 * over several nodes fetched once.
 *
 * What costs time is shared: scans, column statistics, the Gram matrix of the union, of which each block computes a share, and on
 * large sets the products of conjugate gradients, an exchange each: a block sums over its own rows (or makes its own slots), the
 * rest of the descent all do alike. Small sets one block solves alone: an exchange would cost more than it saves. Each block then
 * moves its own coefficients, and v is derived from them. There is no conflict between blocks to be careful about. A set too large
 * for its block's share of the board goes through CoCoA rounds instead.
 */
#ifndef HW_ALGORITHMS_LASSO_JOINT_H
#define HW_ALGORITHMS_LASSO_JOINT_H

#include "algorithms/glm/problem.h"
#include "algorithms/solve/descent.h"
#include "algorithms/solve/reduction.h"

enum {
    HW_LASSO_JOINT_FIELDS = 7,
    HW_LASSO_JOINT_PRODUCTS = 1 << 19, /* new products that are shared, at least; more are computed by who needs them */
    HW_LASSO_JOINT_CLOCKS = 16         /* products between two looks of the driver whether the descent is done */
};

struct hw_lasso_block;

typedef struct hw_lasso_joint {
    hw_linear_columns whole; /* of the whole data; mean and norm are known for columns that were members */
    hw_linear_gram gram;
    hw_linear_members members; /* of the union; numbers of the whole */
    size_t fresh;              /* first slot whose products are to be taken from the exchanged state */
    size_t held;               /* numbers of that state that are in use, from its beginning */
    bool use_gram;

    /* the descent that blocks share */
    hw_linear_part part;
    hw_linear_descent *descent;    /* NULL: not begun, or done */
    hw_linear_reduction reduction; /* as old as the exchanged state */
    bool shared, solved;
    bool stopping; /* all blocks have been told so at the same clock */
} hw_lasso_joint;

void hw_lasso_joint_free(hw_lasso_joint *joint);
/* Doubles of a block's share of the board, for a problem of so many columns, and those of the triangle of products. */
size_t hw_lasso_joint_share(const hw_linear *lasso);
size_t hw_lasso_joint_triangle(const hawser_matrix *whole);
/* Of the state through which a descent is shared. */
size_t hw_lasso_joint_sums(const hw_linear *lasso);

/* Writes this block's members, as chosen last, to its share of the board; returns how many numbers that took, from the first on. */
size_t hw_lasso_joint_post(const struct hw_lasso_block *block, const double *alpha, double *share);
/* Takes the union from the board: block->joint.members. Their columns have to be at hand for what follows. */
hawser_status hw_lasso_joint_union(struct hw_lasso_block *block, const hawser_matrix *whole, const double *board,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Makes the exchanged products zero again, exactly, so that sums do not carry rounding of what lay there before: one block does. Returns
 * how many numbers it has changed, from the first on. */
size_t hw_lasso_joint_clear(hw_lasso_joint *joint, uint32_t own, double *triangle);
/* The rows of the whole that a block sums over, where members' entries are what costs. */
void hw_lasso_joint_rows(const hw_lasso_joint *joint, uint32_t own, uint32_t blocks, size_t *begin, size_t *end);
/* Settles whether there is a Gram matrix and whether the descent is shared, and adds this block's share of the products (those of its
 * rows, or some of them whole) to the exchanged state, at [*first, *first + *count). */
hawser_status hw_lasso_joint_products(struct hw_lasso_block *block, const hawser_matrix *whole, uint32_t own,
                                      double *triangle, size_t *first, size_t *count, hw_linear_stop stop,
                                      hawser_error *error) HAWSER_MUST_USE;
/* Solves the union's problem: a number a member, in their order, into `solution`. `round` is as for a solver, without alpha and image. */
hawser_status hw_lasso_joint_solve(struct hw_lasso_block *block, const double *triangle, const hw_linear_round *round,
                                   double *solution, hawser_error *error) HAWSER_MUST_USE;
/* The same, shared (share.c): runs to the next product, or to the end (joint->solved). `sums` is the exchanged state, of which the first
 * *changed numbers may have changed. */
hawser_status hw_lasso_joint_descend(struct hw_lasso_block *block, const double *triangle, const hw_linear_round *round,
                                     uint32_t own, double *sums, size_t *changed, hawser_error *error) HAWSER_MUST_USE;
/* Puts the products that all blocks computed into the Gram matrix: every block uses the same bits. */
void hw_lasso_joint_take(hw_lasso_joint *joint, const double *triangle);
/* Moves this block's coefficients to the solution, or where the descent was shared to what that came to. */
void hw_lasso_joint_move(struct hw_lasso_block *block, const double *triangle, const double *solution, double *alpha);

#endif
