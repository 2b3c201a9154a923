/* policy.h - describes to the user what a job's policy costs a linear model. */
#ifndef HW_ALGORITHMS_GLM_POLICY_H
#define HW_ALGORITHMS_GLM_POLICY_H

#include "algorithms/glm/linear.h"

/* Returns the clocks by which reads may lag, for the length of a step. */
double hw_linear_lag(hawser_sync sync);
/* Describes the cost of stale reads for solvers with a step length `rate`; 0: the rule sets it. "" if reads are not
 * stale. */
void hw_linear_policy_of_steps(hawser_sync sync, const char *sync_text, double rate, char *text, size_t size);
/* Describes the guarantees of bsp that --sync lacks, for hawser_training.policy; "" if none. */
void hw_linear_policy(const hw_linear *linear, const hawser_options *options, char *text, size_t size);
/* Describes what helps if rounds make little progress under `sync`: the options that keep workers from solving their columns
 * as one. */
void hw_linear_better_policy(hawser_sync sync, const hawser_options *options, char *text, size_t size);

#endif
