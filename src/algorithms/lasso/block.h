/*
 * block.h - the data that one block keeps between units, and the arithmetic on it. It needs no context, so the same
 * functions certify a whole problem on one thread.
 */
#ifndef HW_ALGORITHMS_LASSO_BLOCK_H
#define HW_ALGORITHMS_LASSO_BLOCK_H

#include "algorithms/glm/linear.h"
#include "algorithms/glm/span.h"
#include "algorithms/lasso/covariance.h"
#include "algorithms/solve/accelerate.h"
#include "algorithms/solve/certificate.h"
#include "algorithms/solve/descent.h"
#include "algorithms/solve/scan.h"
#include "algorithms/solve/search.h"
#include "algorithms/solve/shared.h"

/* How a union is solved: what the unit that computes its products leaves for the unit that solves it. */
typedef struct hw_lasso_joint_plan {
    bool use_gram, divided; /* there is a Gram matrix; the descent's products are divided */
    bool broken;            /* the run was asked to end before this block had its products */
    /* How the matrix's new products are computed: all in this process; or by slots, of which this block computes [begin,
     * end); or as sums over rows, of which this block has [begin, end). */
    enum { ALL_HERE, SLOTS, ROWS } from;
    size_t begin, end;
} hw_lasso_joint_plan;

/* This block's part of the joint solution (joint.h). */
typedef struct hw_lasso_joint {
    hw_linear_columns whole;   /* of the whole data; mean and norm are valid for columns that were members */
    hw_linear_shared *shared;  /* the Gram matrix, which the blocks of a process share */
    uint64_t step;             /* of it (shared.h) */
    hw_linear_members members; /* of the union; numbers of the whole */
    hw_lasso_joint_plan plan;
} hw_lasso_joint;

typedef struct hw_lasso_block {
    const hw_linear *lasso;
    uint32_t fold; /* for which it was prepared */
    hw_linear_columns columns;
    double *row_weights; /* weights of this fold; NULL: all rows weigh alike */
    hw_linear_span span; /* of columns without penalty */
    double *residual;    /* w_i r_i at the last read of v: `own`, or the values of `dual` */
    double *own;
    hw_linear_held *dual; /* which the blocks of a process share; or NULL */
    double *measured;     /* v of the last dual residual */
    bool kept;            /* the residual and its sums are still those */
    hw_linear_scan scan;
    hw_lasso_covariance covariance;
    double loss;                /* sum w r^2 / 2W */
    double sum, square, target; /* of the dual point: sum w r, sum w r^2 / W, sum w r y / W */
    double intercept;
    double zero_objective; /* at alpha = 0 */
    bool fresh;            /* the residual has not changed since the gradient was computed */
    hw_linear_accelerator accelerator;
    hw_linear_search search;
    hw_lasso_joint joint;
    bool joint_stale; /* its Gram matrix is of another fold */
    void *solver;     /* state of lasso->choices.settings.solver */
} hw_lasso_block;

/* Makes the block ready for a fold; allocates on the first call. */
hawser_status hw_lasso_block_prepare(hw_lasso_block *block, const hw_linear *lasso, const hawser_matrix *X, uint32_t fold,
                                     hawser_error *error) HAWSER_MUST_USE;
void hw_lasso_block_release(void *scratch);
/* Computes the residual w (y - v - intercept) with the best intercept, and its sums. `dual` projects it to satisfy the
 * constraints of columns without a penalty. */
void hw_lasso_block_residual(hw_lasso_block *block, const double *v, bool dual);
/* Computes the dual residual, unless it is here already: a path measures the same point at the end of one lambda and at the
 * beginning of the next. Where blocks solve together, the first block of a process does it for all of them. */
hawser_status hw_lasso_block_measure(hw_lasso_block *block, const double *v, hawser_error *error) HAWSER_MUST_USE;
/* Gives the block a residual of its own to change: a copy, where the process shares it. */
void hw_lasso_block_own(hw_lasso_block *block);
/* Computes the smallest lambda at which only columns without a penalty enter, among this block's columns. */
hawser_status hw_lasso_block_lambda_max(hw_lasso_block *block, double *most, hawser_error *error) HAWSER_MUST_USE;
/* Computes the correlations of all columns that may matter with the residual (scan.h). */
void hw_lasso_block_scan(hw_lasso_block *block, const double *alpha, double lambda);
/* Makes the certificate of a point from products of columns (covariance.h). *done is false if rows must be read: there are
 * no such products, or their rounding errors may matter. */
hawser_status hw_lasso_block_by_products(hw_lasso_block *block, const double *alpha, double lambda, hw_linear_stop stop,
                                         bool *done, hawser_error *error) HAWSER_MUST_USE;
/* Computes this block's share of the sums. Returns the number of nonzeros. */
size_t hw_lasso_block_sums(const hw_lasso_block *block, const double *alpha, double lambda, hw_linear_sums *sums);
/* Returns the sum of the penalties of this block's coefficients. */
double hw_lasso_block_penalty(const hw_lasso_block *block, const double *alpha, double lambda);
/* Extrapolate over rounds (accelerate.h): store the point before round `at`; return the candidate's penalty, and that of
 * alpha in *now; move to the candidate. */
hawser_status hw_lasso_block_remember(hw_lasso_block *block, const double *alpha, size_t at,
                                      hawser_error *error) HAWSER_MUST_USE;
double hw_lasso_block_propose(hw_lasso_block *block, const double *alpha, double lambda, double *now);
void hw_lasso_block_take(hw_lasso_block *block, double gain, double *alpha, double *image);

#endif
