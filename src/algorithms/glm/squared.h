/*
 * squared.h - what linear regressions share: the errors of rows, and the certificate (solve/certificate.h). Blocks report
 * its sums as metrics. With several targets the sums are of the same form, with norms in place of magnitudes.
 */
#ifndef HW_ALGORITHMS_GLM_SQUARED_H
#define HW_ALGORITHMS_GLM_SQUARED_H

#include "algorithms/glm/program.h"
#include "algorithms/solve/certificate.h"

/* The row_error, errors and certificate of a hw_linear_kind. */
double hw_linear_squared_error(double target, double margin);
extern const hw_linear_error hw_linear_squared_errors[];
void hw_linear_squared_certificate(hw_linear_metric *metric, const void *source, double zero_objective, double *objective,
                                   double *gap);

/* Returns the gap that rounding of the targets alone may leave: a target that is constant up to rounding has no smaller
 * one. */
double hw_linear_squared_rounding(const hw_linear_problem *problem);

/* Declares the metrics of the sums that not all linear models have. */
void hw_linear_squared_declare(hawser_program *program);
/* Reports a block's share of the sums. Called by `measure`. */
hawser_status hw_linear_squared_report(hawser_context *context, const hw_linear_sums *sums) HAWSER_MUST_USE;
/* Returns the scaling of the dual point that the columns of all blocks allow. Called by `bound` and `choose`. */
double hw_linear_squared_scale(const hawser_context *context);
/* Returns a bound of the distance of the dual point of this scale to the optimum. It may not be the best dual point, so its
 * own gap counts. Called by `choose`. */
double hw_linear_squared_radius(const hawser_context *context, double scale);

#endif
