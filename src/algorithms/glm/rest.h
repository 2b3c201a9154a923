/* rest.h - the rest of a run that did not end by its tests. A program of its own certifies it, or only collects it if no time is left. */
#ifndef HW_ALGORITHMS_GLM_REST_H
#define HW_ALGORITHMS_GLM_REST_H

#include "algorithms/glm/driver.h"

/* Makes a program that only collects coefficients and the kept ones on node 0, for a training without time for a certificate. `path`: also those of
 * finished lambdas. */
hawser_program *hw_linear_collect_program(hw_linear *linear, const double *alpha, bool path);
/* Fills the record's `rest` on node 0 from the run of that program, which may have been abandoned, and returns the state that has the coefficients: "best",
 * the kept point, if all blocks have kept the same one after some work. Else "alpha"; then objective, gap and nonzeros are NAN. */
const char *hw_linear_take_collected(hw_linear_driver *driver, const hawser_run *run);
/* Counts the nonzeros of the rest, if that was not done yet, in its coefficients. */
void hw_linear_count_rest(hw_linear_driver *driver, const double *alpha);
/* Stores the certificate of the rest, from the run of its program, for hw_linear_finish. */
void hw_linear_take_rest(hw_linear_driver *driver, const hawser_run *run);
/* Returns the mean of a target over the rows that train. */
double hw_linear_mean_target(const hw_linear_problem *problem, size_t output);

#endif
