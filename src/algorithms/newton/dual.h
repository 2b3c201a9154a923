/*
 * dual.h - makes a feasible dual point (loss.h) of the residuals at a point: its pulls sum to zero with a free intercept,
 * and there is no pull on columns without a penalty (none to the free side of a column with a bound). Without such columns
 * the loss balances the pulls. With them the residuals take one Newton step along these columns, which leaves rows near the
 * ends of their range where they are.
 */
#ifndef HW_ALGORITHMS_NEWTON_DUAL_H
#define HW_ALGORITHMS_NEWTON_DUAL_H

#include "algorithms/model/arrays.h"
#include "algorithms/newton/loss.h"

/* A column of factor 0 in the quadratic model of a start. */
typedef struct hw_newton_variable {
    size_t column; /* among the problem's free columns */
    double mean, length;
} hw_newton_variable;

typedef struct hw_newton_dual {
    double *theta; /* by row */
    double *pull;  /* of theta */
    double sum;    /* of pull: 0 except for rounding if there is an intercept */
    double *matrix, *step, *image;
    uint32_t *used; /* the free columns to which theta is made orthogonal */
    size_t used_count;
    double *at; /* of a start: the coefficients of the free columns */
    hw_newton_variable *variables;
    double *box; /* memory of its quadratic model */
    hw_arrays arrays;
} hw_newton_dual;

hawser_status hw_newton_dual_new(hw_newton_dual *dual, const hw_linear_problem *problem,
                                 hawser_error *error) HAWSER_MUST_USE;
void hw_newton_dual_free(hw_newton_dual *dual);
/* Computes theta, pull and sum from a point's pull and curve. If `certain`, theta is feasible, if need be zero; else it is
 * only within the loss's domain, as lambda_max needs it. */
void hw_newton_dual_make(hw_newton_dual *dual, const hw_linear_problem *problem, const hw_newton_rows *rows,
                         const hw_newton_point *point, bool certain);
/* Computes, by Newton's method, the best point within the bounds at which only the intercept and the columns of penalty
 * factor 0 are not zero. Stores in *zero the loss of the best intercept alone. `v` is scratch. */
void hw_newton_dual_start(hw_newton_dual *dual, const hw_linear_problem *problem, const hw_newton_rows *rows, double *v,
                          hw_newton_point *point, double *zero);

#endif
