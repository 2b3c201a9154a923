/* rest.h - what a run left behind that did not end by its tests: it is certified, or where no time is left handed in, by a program of its own. */
#ifndef HW_ALGORITHMS_GLM_REST_H
#define HW_ALGORITHMS_GLM_REST_H

#include "algorithms/glm/driver.h"

/* A program that only brings coefficients and the kept ones to node 0, for a training that has no time for a certificate. `path`: those of finished
 * lambdas too. */
hawser_program *hw_linear_hand_in_program(hw_linear *linear, const double *alpha, bool path);
/* Node 0: makes the record's `rest` of its run, which may have been abandoned, and returns the coefficients. They are the kept point where all blocks
 * have kept the same after some work; else `alpha`, whose objective and gap are NAN. */
const double *hw_linear_take_handed(hw_linear_driver *driver, const hawser_run *run);
/* Keeps the certificate that a program has made of coefficients that a run left behind, for hw_linear_finish. */
void hw_linear_take_rest(hw_linear_driver *driver, const hawser_run *run);

#endif
