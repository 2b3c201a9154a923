/*
 * block.h - what one block of a multi-task lasso keeps between units, and the arithmetic on it.
 *
 * With q targets the problem is min over W of 1/(2W) sum_io w_i (y_io - x_i W_o - b_o)^2 + sum_j h_j(W_j), where W_j has the
 * q coefficients of column j and h_j(t) = lambda (l1_j ||t||_2 + l2_j ||t||_2^2 / 2). So a column enters for all targets or
 * for none. What is a number per column in a lasso is a vector of q numbers here, and magnitudes are its norm; the
 * certificate is otherwise the lasso's.
 */
#ifndef HW_ALGORITHMS_MULTITASK_BLOCK_H
#define HW_ALGORITHMS_MULTITASK_BLOCK_H

#include "algorithms/glm/linear.h"
#include "algorithms/glm/span.h"
#include "algorithms/solve/certificate.h"
#include "algorithms/solve/columns.h"
#include "algorithms/solve/gram.h"

typedef struct hw_multitask_block {
    const hw_linear *linear;
    uint32_t fold; /* for which it was prepared */
    size_t outputs;
    hw_linear_columns columns;
    double *row_weights; /* of this fold; NULL: all rows weigh alike */
    hw_linear_span span; /* of columns without a penalty */
    double *residual;    /* w_i r_io at the last read of v, by output, then by row */
    double *sum;         /* by output: sum_i w_i r_io */
    double *intercept;   /* by output */
    double *gradient;    /* sum_i w_i (x_ij - m_j) r_io / W, by column, then by output */
    double *norm;        /* by column: the norm of its gradient */
    double *scan;        /* scratch, by column; behind norm */
    double loss, zero_objective;
    double square, target; /* of the dual point, as sum and residual after a measure */
    bool fresh;            /* the residual has not changed since the gradient was computed */
    double *measured;      /* v of the last measure, for which the residual and the gradient still hold if `kept` */
    bool kept;
    uint32_t *members; /* columns that rounds change */
    size_t member_count, member_capacity;
    hw_linear_gram gram;
    bool use_gram;
    size_t screened;                  /* columns that the last choice has proved to be zero */
    struct hw_multitask_block *joint; /* of all blocks' working sets (joint.h); NULL: there is none */
    double *joint_alpha;              /* coefficients of all columns, of which those of the joint set are set */
    double *solution; /* of the joint set: the coefficients of `solved` own members, by member, then by output */
    size_t solved;
} hw_multitask_block;

/* Makes the block ready for a fold; allocates on the first call. */
hawser_status hw_multitask_prepare(hw_multitask_block *block, const hw_linear *linear, const hawser_matrix *X, uint32_t fold,
                                   hawser_error *error) HAWSER_MUST_USE;
void hw_multitask_release(void *scratch);
/* Allocates the arrays for a matrix X. Called by prepare, and for a joint set. */
hawser_status hw_multitask_allocate(hw_multitask_block *block, const hawser_matrix *X, hawser_error *error) HAWSER_MUST_USE;
/* Makes room for `count` members; those that exist are kept. */
hawser_status hw_multitask_reserve(hw_multitask_block *block, size_t count, hawser_error *error) HAWSER_MUST_USE;
/* Computes the residuals w (y - v - intercept) with the best intercepts, and their sums. */
void hw_multitask_residual(hw_multitask_block *block, const double *v);
/* Computes the dual point at v and its gradients, unless they are here already: a path measures the same point at the end of
 * one lambda and at the beginning of the next. The dual point is the residuals, less the span of columns without a
 * penalty. */
void hw_multitask_measure(hw_multitask_block *block, const double *v);
/* Computes the norm of a column's gradient; a constant column has none. */
void hw_multitask_measure_gradient(hw_multitask_block *block, size_t column);
/* Computes the smallest lambda at which only columns without a penalty enter, among this block's columns. Changes the
 * residuals and the gradient. */
hawser_status hw_multitask_lambda_max(hw_multitask_block *block, double *most, hawser_error *error) HAWSER_MUST_USE;
/* Computes this block's share of the certificate's sums. Returns the number of columns with a coefficient. */
size_t hw_multitask_sums(const hw_multitask_block *block, const double *alpha, double lambda, hw_linear_sums *sums);
/* Computes sum_j h_j*(scale g_j), and the same at scale 1. */
void hw_multitask_conjugate(const hw_multitask_block *block, double lambda, double scale, double *scaled, double *plain);
/* Chooses the columns of the next rounds: those with coefficients or without a penalty, and the most promising others that
 * are not proved to be zero. At most `least` of these enter, or as many as have coefficients. The gap of the dual point of
 * this scale bounds its distance to the optimum by `radius`. */
hawser_status hw_multitask_choose(hw_multitask_block *block, const double *alpha, double lambda, double scale, double radius,
                                  size_t least, hawser_error *error) HAWSER_MUST_USE;

/* Returns the norm of `count` numbers. */
static inline double hw_multitask_norm(const double *values, size_t count)
{
    double square = 0.0;
    for (size_t k = 0; k < count; k++)
        square += values[k] * values[k];
    return sqrt(square);
}

#endif
