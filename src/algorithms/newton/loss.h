/*
 * loss.h - the losses that Newton's models approximate: one row of functions per algorithm, over the margins of all rows.
 * Pure.
 *
 * With margin m = v + b + offset, loss f_i of a row, and example weights c that sum to W:
 *     loss = sum c f_i(m) / W,   pull_i = -c f_i'(m) (W times minus the gradient),   curve_i = c f_i''(m).
 */
#ifndef HW_ALGORITHMS_NEWTON_LOSS_H
#define HW_ALGORITHMS_NEWTON_LOSS_H

#include <math.h>

#include "algorithms/glm/problem.h"

typedef struct hw_newton_rows {
    const struct hw_newton_loss *loss;
    size_t count;
    const double *target;     /* as the problem has it */
    const double *target_log; /* as the problem has it; NULL if the loss needs none */
    const double *weights;    /* c; NULL: ones */
    const double *offset;     /* or NULL */
    double total;             /* W */
    bool intercept;           /* b is free */
} hw_newton_rows;

/* The values at one v. The caller owns the arrays by row. */
typedef struct hw_newton_point {
    double *pull,
        *curve; /* curve is at least a small part of the pull, so that every row that pulls bends a quadratic model */
    double loss, sum, bend; /* sum of pull, of curve */
    double rounding;        /* by which the loss and the dual's part may be wrong; 0: no more than their digits */
    double intercept;
} hw_newton_point;

/* A dual point is an array theta by row that the loss defines. Zero is always feasible, and so is every multiple between 0
 * and 1 of a feasible point. Each theta_i stands for a pull c_i r_i, linear in theta_i. */
typedef struct hw_newton_loss {
    /* Fills everything except the intercept, which it reads. */
    void (*look)(const hw_newton_rows *rows, const double *v, hw_newton_point *point);
    /* Does what `look` does, but first optimises a free intercept to within `tolerance` of the objective, from its present
     * value. */
    void (*settle)(const hw_newton_rows *rows, const double *v, double tolerance, hw_newton_point *point);
    /* Computes theta of pulls. Returns false, with theta moved into the range of the loss, if a row left that range by more
     * than rounding. */
    bool (*theta)(const hw_newton_rows *rows, const double *pull, double *theta);
    /* Moves theta so that its pulls sum to zero. */
    void (*balance)(const hw_newton_rows *rows, double *theta);
    /* Computes the pulls of theta. Returns their sum. */
    double (*pull)(const hw_newton_rows *rows, const double *theta, double *pull);
    /* Returns the loss's part of the dual at scale * theta, over rows [first, last). If the intercept is free, the pulls sum
     * to zero, and the function may take the margins relative to `intercept`, which keeps digits. */
    double (*dual)(const hw_newton_rows *rows, const double *theta, double scale, double intercept, size_t first,
                   size_t last);
    /* Returns a distance from scale * theta, in the norm of scan.h, within which the best dual point lies. `gap`: of that
     * point. */
    double (*radius)(const hw_newton_rows *rows, const double *theta, double scale, double gap);
    /* Fails if the rows with weight admit no model. `where` says which rows they are: "" or " in a fold of --cv". */
    hawser_status (*check)(const hw_linear_problem *problem, const hw_newton_rows *rows, const char *where,
                           hawser_error *error);
} hw_newton_loss;

static inline double hw_newton_weight(const hw_newton_rows *rows, size_t i)
{
    return rows->weights != NULL ? rows->weights[i] : 1.0;
}

#endif
