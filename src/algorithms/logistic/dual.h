/*
 * dual.h - makes a feasible dual point theta in [0, 1]^n of the residuals at a point: sum c y theta = 0 with a free intercept, and
 * no pull on columns without a penalty (none to the free side of a column with a bound). Without such columns the heavier class is
 * scaled down; with them the residuals go one Newton step along these columns, which leaves rows near 0 and 1 where they are.
 */
#ifndef HW_ALGORITHMS_LOGISTIC_DUAL_H
#define HW_ALGORITHMS_LOGISTIC_DUAL_H

#include "algorithms/glm/problem.h"
#include "algorithms/logistic/loss.h"

typedef struct hw_logistic_dual {
    double *theta; /* by row */
    double *pull;  /* c y theta */
    double sum;    /* of pull: 0 except for rounding if there is an intercept */
    double *matrix, *step, *image;
    uint32_t *used; /* the free columns to which theta is made orthogonal */
    size_t used_count;
} hw_logistic_dual;

hawser_status hw_logistic_dual_new(hw_logistic_dual *dual, const hw_linear_problem *problem,
                                   hawser_error *error) HAWSER_MUST_USE;
void hw_logistic_dual_free(hw_logistic_dual *dual);
/* Computes theta, pull and sum from a point's pull and curve. */
void hw_logistic_dual_make(hw_logistic_dual *dual, const hw_linear_problem *problem, const hw_logistic_rows *rows,
                           const hw_logistic_point *point);
/* Computes, by Newton's method, the best point at which only the intercept and the columns that are free on both sides are not zero. Stores in
 * *zero the loss of the best intercept alone. `v` is scratch. */
void hw_logistic_dual_start(hw_logistic_dual *dual, const hw_linear_problem *problem, const hw_logistic_rows *rows,
                            double *v, hw_logistic_point *point, double *zero);

#endif
