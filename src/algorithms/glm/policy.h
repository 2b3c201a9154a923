/* policy.h - what a job's policy costs a linear model, in words for who waits. */
#ifndef HW_ALGORITHMS_GLM_POLICY_H
#define HW_ALGORITHMS_GLM_POLICY_H

#include "algorithms/glm/linear.h"

/* Clocks by which what is read may lag, as the length of a step takes account of it. */
double hw_linear_lag(hawser_sync sync);
/* What stale reads cost solvers that step by a length: `rate`, 0 where the rule shortens it. "" where nothing is stale. */
void hw_linear_policy_of_steps(hawser_sync sync, const char *sync_text, double rate, char *text, size_t size);
/* What --sync gives up beside bsp, for hawser_training.policy; "" if nothing. */
void hw_linear_policy(const hw_linear *linear, const hawser_options *options, char *text, size_t size);
/* What helps where rounds crawl under `sync`: the options that keep workers from solving their columns as one. */
void hw_linear_better_policy(hawser_sync sync, const hawser_options *options, char *text, size_t size);

#endif
