/*
 * problem.h - least squares as descent sees it: settings, the centred target, and a block's columns.
 *
 * With W the sum of the weights w_i, z = y - offset, m_j and s_j the weighted mean and deviation of column j, the problem is
 *     min over theta, b of 1/(2W) sum_i w_i (z_i - b - sum_j x_ij theta_j)^2;
 * a free b is mean(z) - sum_j m_j theta_j, so that columns and target count as centred. A step is one for columns of deviation 1:
 * theta_j moves by rate g_j / s_j^2.
 */
#ifndef HW_ALGORITHMS_SGD_PROBLEM_H
#define HW_ALGORITHMS_SGD_PROBLEM_H

#include "algorithms/sgd/rows.h"
#include "hawser/algorithm.h"

typedef struct hw_descent {
    const hawser_matrix *X;
    double *target;                /* z, centred where there is an intercept */
    const double *weights;         /* or NULL */
    double total, mean, deviation; /* W; of z */
    double *start;                 /* theta */
    double *best;                  /* the theta of the least loss so far: blocks write it, each its own columns */
    bool intercept;
    bool all_rows;       /* gd */
    bool weights_travel; /* each block computes all products */
    size_t batch;        /* rows of an iteration */
    double rate;         /* 0: by the rule */
    double tolerance, epochs;
    uint64_t seed;
    hawser_sync sync;
    uint32_t blocks;
} hw_descent;

hawser_status hw_descent_new(hw_descent *descent, hawser_job *job, const hawser_training_input *input,
                             hawser_error *error) HAWSER_MUST_USE;
void hw_descent_free(hw_descent *descent);
/* The length of a step where the loss bends `bend` times as much as the square: with gradients of all rows it is stable below 2 / L, with a
 * lag d below pi / ((2d + 1) L); batches differ from all rows by what their longest row allows, and go down to nothing. */
double hw_descent_rate(const hw_descent *descent, double curvature, double row_square, double bend, uint64_t iteration);

/* What a block remembers from clock to clock of the losses that it has seen. */
typedef struct hw_descent_memory {
    double least, epoch; /* the least so far; of this epoch's batches, summed */
    uint64_t batches;    /* of this epoch */
} hw_descent_memory;

/* A block: its scratch. All but the memory follows from the data. */
typedef struct hw_descent_block {
    const hw_descent *descent;
    hw_rows own, whole;     /* whole: where weights travel */
    double *mean, *inverse; /* of the own columns; 1 / s_j^2, 0 where a column is constant */
    double *whole_mean;     /* of all, where weights travel */
    double *direction;      /* of the power method */
    double *gradient;       /* of the own columns */
    double *parts;          /* products by chunk, where they are computed here */
    const double **part;    /* by chunk: this iteration's products */
    double *margins;        /* their sum; then the residual */
    uint32_t *list;         /* rows of the batch */
    hw_descent_memory memory;
} hw_descent_block;

/* Own columns, and all of them (NULL: not needed). Their moments are still to be taken. */
hawser_status hw_descent_block_new(hw_descent_block *block, const hw_descent *descent, const hawser_matrix *own,
                                   const hawser_matrix *whole, hawser_error *error) HAWSER_MUST_USE;
/* Moments by the weights of `descent`, whenever these are new. */
hawser_status hw_descent_block_weigh(hw_descent_block *block, hawser_error *error) HAWSER_MUST_USE;
void hw_descent_block_release(void *block);

/* The rows of an iteration; of all: every row. */
hw_row_batch hw_descent_batch(hw_descent_block *block, uint64_t iteration);
hw_row_batch hw_descent_all(const hw_descent_block *block);
/* out = products of the batch with own columns, centred. */
void hw_descent_product(const hw_descent_block *block, hw_row_batch batch, const double *theta, double *out);
/* margins = block->part[0] + ... + block->part[blocks - 1], in this order. */
void hw_descent_add_up(hw_descent_block *block, size_t count);
/* Makes residuals of margins: w_i (z_i - margin_i); returns sum_i w_i (z_i - margin_i)^2 / 2. */
double hw_descent_residual(hw_descent_block *block, hw_row_batch batch);
/* Keeps theta in descent->best if `loss`, which it has on this batch, is the least so far: of all rows, or averaged over an epoch. With
 * batches weights of zero are the first to beat. */
void hw_descent_keep(hw_descent_block *block, double loss, const double *theta);
/* gradient[j] = sum over the batch of (x_ij - m_j) r_i; returns the largest |gradient_j| / s_j. */
double hw_descent_gradient(hw_descent_block *block, hw_row_batch batch);
/* Sum over own columns of ((x_ij - m_j) / s_j)^2, by row. */
void hw_descent_squares(const hw_descent_block *block, double *out);

#endif
