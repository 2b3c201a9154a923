/*
 * steps.h - logistic regression by proximal gradient steps on all rows, one, or a batch, over a parameter server: the
 * feature-partitioned descent of Goel et al. (2015, section 6) with a penalty.
 *
 * Each block keeps the weights of its columns and reads the changes of the other blocks. A step is taken in columns scaled
 * to a largest entry of 1,
 *     w_j = argmin over t of (t - w_j - eta_j g_j)^2 / (2 eta_j) + h_j(t),   g_j = sum over rows of (x_ij - m_j) pull_i /
 *     rows.
 * Each block has its own intercept, which follows the margins that it reads. Under bsp and dc:0 all intercepts are the same.
 */
#ifndef HW_ALGORITHMS_LOGISTIC_STEPS_H
#define HW_ALGORITHMS_LOGISTIC_STEPS_H

#include "algorithms/glm/program.h"

struct hw_newton_block;
struct hw_logistic_steps;

/* Adds the work between two certificates, for --solver gd, sgd or minibatch. */
void hw_logistic_steps_work(const hw_linear_frame *frame);
/* Declares its metrics: the metrics of sgd/exchange.h, and "centre", the sum of the columns' means times their weights. */
void hw_logistic_steps_declare(hawser_program *program);
/* Visits the state that a block keeps from clock to clock. */
void hw_logistic_steps_visit(hawser_record *record, hawser_context *context, struct hw_newton_block *block);
void hw_logistic_steps_free(struct hw_logistic_steps *steps);

#endif
