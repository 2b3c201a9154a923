/*
 * steps.h - logistic regression by proximal gradient steps on all rows, one, or a batch, over a parameter server: the feature-partitioned descent
 * of Goel et al. (2015, section 6) with a penalty.
 *
 * Every block keeps the weights of its columns and reads what the others have made of theirs; a step is one in columns whose largest entry is 1,
 *     w_j = argmin over t of (t - w_j - eta_j g_j)^2 / (2 eta_j) + h_j(t),   g_j = sum over rows of (x_ij - m_j) pull_i / rows.
 * The intercept belongs to nobody: each block has its own, which follows the margins that it sees; under bsp and dc:0 they are all the same.
 */
#ifndef HW_ALGORITHMS_LOGISTIC_STEPS_H
#define HW_ALGORITHMS_LOGISTIC_STEPS_H

#include "algorithms/glm/program.h"

struct hw_logistic_steps;

/* The work between two certificates, where --solver gd, sgd or minibatch asks for it. */
void hw_logistic_steps_work(const hw_linear_frame *frame, hw_linear *linear);
/* Its metrics: those of sgd/exchange.h, and "centre", of the columns' means by their weights. */
void hw_logistic_steps_declare(hawser_program *program);
void hw_logistic_steps_free(struct hw_logistic_steps *steps);

#endif
