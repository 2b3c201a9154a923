/*
 * problem.h - least squares for descent by steps: settings, the centred target, and a block's columns.
 *
 * With W the sum of the weights w_i, z = y - offset, m_j and s_j the weighted mean and deviation of column j, the problem is
 *     min over theta, b of 1/(2W) sum_i w_i (z_i - b - sum_j x_ij theta_j)^2;
 * a free b is mean(z) - sum_j m_j theta_j, so that columns and target are centred. A step is in units of the columns'
 * deviations: theta_j moves by rate g_j / s_j^2.
 */
#ifndef HW_ALGORITHMS_SGD_PROBLEM_H
#define HW_ALGORITHMS_SGD_PROBLEM_H

#include "algorithms/sgd/rows.h"
#include "hawser/algorithm.h"

typedef struct hw_descent {
    const hawser_dataset *data;
    const hawser_matrix *X;        /* of the data */
    double *target;                /* z, centred if there is an intercept */
    const double *weights;         /* or NULL */
    double total, mean, deviation; /* W; of z */
    double *start;                 /* theta */
    bool intercept;
    bool by_deviation;  /* a column's unit is its deviation, which must not vanish */
    bool all_rows;      /* gd */
    bool sends_weights; /* blocks send weights, and each computes all products */
    size_t batch;       /* rows of an iteration */
    double rate;        /* 0: by the rule of hw_descent_rate */
    double tolerance, epochs;
    uint64_t seed;
    hawser_sync sync;
    uint32_t blocks;
    uint64_t held; /* bytes of data in memory besides X (hawser_training_input.held) */
} hw_descent;

hawser_status hw_descent_read(void *descent, hawser_job *job, const hawser_training_input *input,
                              hawser_error *error) HAWSER_MUST_USE;
void hw_descent_release(void *descent);
/* Returns the length of a step, if the second derivative of the loss is at most `bend` times that of the square. With
 * gradients of all rows it is stable below 2 / L, with a lag d below pi / ((2d + 1) L). With batches the longest row counts
 * too, and steps decrease to zero. */
double hw_descent_rate(const hw_descent *descent, double curvature, double row_square, double bend, uint64_t iteration);

/* The losses that a block keeps from clock to clock. */
typedef struct hw_descent_memory {
    double least, epoch; /* the least loss so far; the sum over this epoch's batches */
    uint64_t batches;    /* batches of this epoch so far */
} hw_descent_memory;

/* The scratch of a block. Everything except `memory` follows from the data. */
typedef struct hw_descent_block {
    const hw_descent *descent;
    hw_rows own, whole;     /* own columns; all columns, if blocks send weights */
    double *mean, *inverse; /* of own columns; `inverse` is 1 / s_j^2, or 0 if a column is constant */
    double *whole_mean;     /* of all columns, if blocks send weights */
    double *direction;      /* of the power method */
    double *gradient;       /* of the own columns */
    double *parts;          /* products by chunk, if this block computes them */
    const double **part;    /* by chunk: this iteration's products */
    double *margins;        /* their sum; then the residual */
    uint32_t *list;         /* rows of the batch */
    hw_descent_memory memory;
} hw_descent_block;

/* Makes a block of its own columns and of all columns (NULL: not needed). hw_descent_block_weigh computes their moments. */
hawser_status hw_descent_block_new(hw_descent_block *block, const hw_descent *descent, const hawser_matrix *own,
                                   const hawser_matrix *whole, hawser_error *error) HAWSER_MUST_USE;
/* Computes moments by the weights of `descent`. Call it whenever these change. */
hawser_status hw_descent_block_weigh(hw_descent_block *block, hawser_error *error) HAWSER_MUST_USE;
void hw_descent_block_release(void *block);

/* Return the rows of an iteration, and all rows. */
hw_row_batch hw_descent_batch(hw_descent_block *block, uint64_t iteration);
hw_row_batch hw_descent_all(const hw_descent_block *block);
/* Computes the products of the batch with own columns, centred. */
void hw_descent_product(const hw_descent_block *block, hw_row_batch batch, const double *theta, double *out);
/* Computes margins = block->part[0] + ... + block->part[blocks - 1], in this order. */
void hw_descent_add_up(hw_descent_block *block, size_t count);
/* Replaces margins by residuals w_i (z_i - margin_i). Returns sum_i w_i (z_i - margin_i)^2 / 2. */
double hw_descent_residual(hw_descent_block *block, hw_row_batch batch);
/* Returns whether a loss is the least so far: `loss` on all rows, or the average over an epoch's batches. With batches it
 * must be below the loss of weights of zero. */
bool hw_descent_is_best(hw_descent_block *block, double loss);
/* Computes gradient[j] = sum over the batch of (x_ij - m_j) r_i. Returns the largest |gradient_j| / s_j. */
double hw_descent_gradient(hw_descent_block *block, hw_row_batch batch);
/* Computes the sum over own columns of ((x_ij - m_j) / s_j)^2, by row. */
void hw_descent_squares(const hw_descent_block *block, double *out);

#endif
