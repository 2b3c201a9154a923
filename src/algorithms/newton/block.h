/*
 * block.h - what one block keeps between units, and the arithmetic on it. Nothing here needs a context.
 */
#ifndef HW_ALGORITHMS_NEWTON_BLOCK_H
#define HW_ALGORITHMS_NEWTON_BLOCK_H

#include "algorithms/glm/linear.h"
#include "algorithms/newton/dual.h"
#include "algorithms/newton/run.h"
#include "algorithms/solve/scan.h"
#include "algorithms/solve/search.h"

typedef struct hw_newton_block {
    const hw_linear *linear;
    uint32_t fold; /* for which it was prepared */
    hw_linear_columns columns;
    hw_newton_rows rows;
    double *row_weights;   /* of this fold; NULL if all rows have weight 1 */
    hw_newton_point point; /* at the v that was evaluated last */
    hw_newton_dual dual;
    hw_linear_scan scan;
    double zero_objective; /* at alpha = 0 */
    void *solver;          /* state of linear->choices.settings.solver, which chooses working sets */

    /* CoCoA rounds: this block's part of the model, and the point at which it was made */
    hw_newton_quadratic own;
    double *start, *start_alpha, *move, *there, *residual;
    double *rounds_memory;
    hw_linear_search search;

    /* the problem over the working sets of all blocks: see joint.h */
    hw_newton_quadratic whole;
    double *whole_v, *whole_move, *whole_there;
    uint32_t *whole_list;
    hw_newton_learned learned_together; /* from the models that all blocks solved together: the same on each block */
} hw_newton_block;

/* Prepares the block for a fold; allocates on the first call. Stores in *most (which may be NULL) the smallest lambda at
 * which, among the columns of this block, only those without a penalty enter. */
hawser_status hw_newton_block_prepare(hw_newton_block *block, const hw_linear *linear, const hawser_matrix *X, uint32_t fold,
                                      double *most, hawser_error *error) HAWSER_MUST_USE;
void hw_newton_block_release(void *scratch);
/* Evaluates the loss at v, makes a dual point and scans the columns. Stores the loss and this block's share of penalty and
 * ratio in *sums. Returns the number of nonzeros. */
size_t hw_newton_block_measure(hw_newton_block *block, const double *v, const double *alpha, double lambda,
                               hw_linear_sums *sums);
/* Finds the rows [*first, *last) over which block `own` sums. */
void hw_newton_block_rows(const hw_newton_block *block, uint32_t own, size_t *first, size_t *last);
/* Returns the scaling that makes the dual point feasible, given the largest ratio of all blocks. */
double hw_newton_scale(double ratio);
/* Allocates what CoCoA rounds need, and what the joint problem needs (with at most `most` members). Later calls do
 * nothing. */
hawser_status hw_newton_block_for_rounds(hw_newton_block *block, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_newton_block_for_all(hw_newton_block *block, const hawser_matrix *whole, size_t most,
                                      hawser_error *error) HAWSER_MUST_USE;

#endif
