/*
 * dual.h - from the residuals at a point to a feasible dual point theta in [0, 1]^n: sum c y theta = 0 with a free intercept, and
 * no pull on columns without a penalty (none to the free side of one with a bound). Without such columns the heavier class is
 * scaled down; with them the residuals go one Newton step along these columns, which leaves rows near 0 and 1 where they are.
 */
#ifndef HW_ALGORITHMS_LOGISTIC_DUAL_H
#define HW_ALGORITHMS_LOGISTIC_DUAL_H

#include "algorithms/glm/problem.h"
#include "algorithms/logistic/loss.h"

typedef struct hw_logistic_dual {
    double *theta; /* by row */
    double *pull;  /* c y theta */
    double sum;    /* of pull: 0 but for rounding where an intercept is free */
    double *matrix, *step, *image;
    uint32_t *used; /* free columns that are kept orthogonal now */
    size_t used_count;
} hw_logistic_dual;

hawser_status hw_logistic_dual_new(hw_logistic_dual *dual, const hw_linear *linear, hawser_error *error) HAWSER_MUST_USE;
void hw_logistic_dual_free(hw_logistic_dual *dual);
/* Makes theta, pull and sum from a point's pull and curve. */
void hw_logistic_dual_make(hw_logistic_dual *dual, const hw_linear *linear, const hw_logistic_rows *rows,
                           const hw_logistic_point *point);
/* The point at which only the intercept and columns that are free on both sides have moved from zero, as well as Newton's method
 * finds it; v is scratch. *zero: the loss where only the intercept has. */
void hw_logistic_dual_start(hw_logistic_dual *dual, const hw_linear *linear, const hw_logistic_rows *rows, double *v,
                            hw_logistic_point *point, double *zero);

#endif
