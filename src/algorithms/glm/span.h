/*
 * span.h - the columns without a penalty. A dual point must be orthogonal to each column that is free on both sides, and
 * must not point to the free side of a column that is bounded on the other side. A projection removes from a residual the
 * span of all columns that are free on both sides, and of the bounded ones whose constraint it violates. Other bounded
 * columns stay: at an optimum with a coefficient on its bound, the residual keeps its correlation with that column.
 */
#ifndef HW_ALGORITHMS_GLM_SPAN_H
#define HW_ALGORITHMS_GLM_SPAN_H

#include "algorithms/glm/problem.h"

typedef struct hw_linear_span {
    double *basis;     /* rows x `made`, orthonormal in the weights; a projection uses the first `count` vectors */
    uint32_t *members; /* the free column (by number among them) of each basis vector */
    size_t count, made;
} hw_linear_span;

hawser_status hw_linear_span_new(hw_linear_span *span, const hw_linear_problem *problem,
                                 hawser_error *error) HAWSER_MUST_USE;
void hw_linear_span_free(hw_linear_span *span);
/* Discards the basis, because the weights have changed. */
void hw_linear_span_reset(hw_linear_span *span);
/* Projects a (plain, centred) residual of a target so that it satisfies the constraints of these columns. */
void hw_linear_span_project(hw_linear_span *span, const hw_linear_problem *problem, const hw_linear_columns *columns,
                            const double *target, double *residual);

/* Removes from a (plain, centred) residual of a target what columns of penalty factor 0 explain within their bounds, as if
 * no other column had entered. The basis must be reset afterwards. */
hawser_status hw_linear_span_fit(hw_linear_span *span, const hw_linear_problem *problem, const hw_linear_columns *columns,
                                 const double *target, double *residual, hawser_error *error) HAWSER_MUST_USE;

#endif
