/*
 * block.h - what one block keeps between units, and the arithmetic on it. No context.
 */
#ifndef HW_ALGORITHMS_LOGISTIC_BLOCK_H
#define HW_ALGORITHMS_LOGISTIC_BLOCK_H

#include "algorithms/glm/problem.h"
#include "algorithms/logistic/dual.h"
#include "algorithms/logistic/newton.h"
#include "algorithms/solve/scan.h"
#include "algorithms/solve/search.h"

/* What the certificate is made of, as far as one block can tell. */
typedef struct hw_logistic_sums {
    double penalty, ratio; /* sum_j h_j(alpha_j); max_j hw_linear_ratio */
    size_t nonzeros;
} hw_logistic_sums;

typedef struct hw_logistic_block {
    const hw_linear *linear;
    hw_linear_columns columns;
    hw_logistic_rows rows;
    double *row_weights;     /* this fold's; NULL while all rows count alike */
    hw_logistic_point point; /* of the last look at v */
    hw_logistic_dual dual;
    hw_linear_scan scan;
    double zero_objective; /* at alpha = 0 */
    void *solver;          /* state of linear->settings.solver, which chooses working sets */
    double *memory;

    /* where several blocks move at the same time: this block's part of the model, and where it was made */
    hw_logistic_quadratic own;
    double *start, *start_alpha, *move, *there, *residual;
    double *rounds_memory;
    hw_linear_search search;

    struct hw_logistic_delayed *delayed; /* of --solver dbpg */
    struct hw_logistic_steps *steps;     /* of --solver gd, sgd, minibatch */

    /* the problem over the working sets of all blocks: see joint.h */
    hw_logistic_quadratic whole;
    double *whole_v, *whole_move, *whole_there;
    uint32_t *whole_list;
    hw_logistic_learned learned_together; /* from models that all blocks solved together; equal on all blocks */
} hw_logistic_block;

/* Makes the block ready for a fold; allocates on the first call. `most`: where to put the smallest lambda at which only columns
 * without a penalty enter, as far as this block can tell; or NULL. */
hawser_status hw_logistic_block_prepare(hw_logistic_block *block, const hw_linear *linear, const hawser_matrix *X,
                                        uint32_t fold, double *most, hawser_error *error) HAWSER_MUST_USE;
void hw_logistic_block_release(hw_logistic_block *block);
/* Looks at v, makes a dual point of it and scans the columns. */
void hw_logistic_block_measure(hw_logistic_block *block, const double *v, const double *alpha, double lambda,
                               hw_logistic_sums *sums);
/* The rows [*first, *last) of which one of the blocks sums what all know. */
void hw_logistic_block_rows(const hw_logistic_block *block, uint32_t own, size_t *first, size_t *last);
/* The scaling for which the dual point respects the penalty, given the largest ratio of all blocks. */
double hw_logistic_scale(double ratio);
/* Memory for rounds of several blocks, and for one that solves for all: of `room` columns of the whole. */
hawser_status hw_logistic_block_for_rounds(hw_logistic_block *block, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_logistic_block_for_all(hw_logistic_block *block, const hawser_matrix *whole, size_t room,
                                        hawser_error *error) HAWSER_MUST_USE;

#endif
