/*
 * span.h - the columns without a penalty. A dual point must be orthogonal to each that is free on both sides, and may not point
 * to the free side of one that is bounded on the other: all others' correlations are of no consequence. What is taken out of a
 * residual is therefore the span of the former and of those of the latter that it violates, and no more: at an optimum with a
 * coefficient on its bound the residual keeps its correlation with that column.
 */
#ifndef HW_ALGORITHMS_LASSO_SPAN_H
#define HW_ALGORITHMS_LASSO_SPAN_H

#include "algorithms/glm/problem.h"

typedef struct hw_lasso_span {
    double *basis;     /* orthonormal in the weights: rows x `made`, of which a projection uses the first `count` */
    uint32_t *members; /* the free column (by number among them) that each of the basis was made of */
    size_t count, made;
} hw_lasso_span;

hawser_status hw_lasso_span_new(hw_lasso_span *span, const hw_linear_problem *problem, hawser_error *error) HAWSER_MUST_USE;
void hw_lasso_span_free(hw_lasso_span *span);
/* The weights have changed: the basis has to be made anew. */
void hw_lasso_span_reset(hw_lasso_span *span);
/* Makes a (plain, centred) residual a feasible dual point as far as these columns go. */
void hw_lasso_span_project(hw_lasso_span *span, const hw_linear_problem *problem, const hw_linear_columns *columns,
                           double *residual);

/* Takes what columns of penalty factor 0 explain within their bounds out of a (plain, centred) residual: what is left where nothing else
 * has entered. The basis has to be made anew afterwards. */
hawser_status hw_lasso_span_fit(hw_lasso_span *span, const hw_linear_problem *problem, const hw_linear_columns *columns,
                                double *residual, hawser_error *error) HAWSER_MUST_USE;

#endif
