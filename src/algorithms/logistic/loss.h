/*
 * loss.h - the logistic loss of margins, row by row: stable for any margin, with the same bits on every machine
 * (newton/exponential.h). Pure.
 *
 * With y = +-1, margin m = v + b + offset, q = 1 / (1 + exp(y m)) and example weights c that sum to W:
 *     loss = sum c log(1 + exp(-y m)) / W,   pull_i = c y q (W times minus the gradient),   curve_i = c q (1 - q).
 */
#ifndef HW_ALGORITHMS_LOGISTIC_LOSS_H
#define HW_ALGORITHMS_LOGISTIC_LOSS_H

#include "algorithms/newton/loss.h"

/* Returns log(1 + exp(-x)). */
double hw_logistic_loss(double x);
/* Returns 1 / (1 + exp(-x)). */
double hw_logistic_probability(double x);

/* Computes a point's loss, pulls, curvatures and sums at v and at the point's intercept. */
void hw_logistic_look(const hw_newton_rows *rows, const double *v, hw_newton_point *point);
/* Like hw_logistic_look, at the best intercept if there is one: to within `tolerance` of the objective. Starts at the
 * point's intercept. */
void hw_logistic_settle(const hw_newton_rows *rows, const double *v, double tolerance, hw_newton_point *point);
/* Returns the loss's part of the dual: sum c (-t log t - (1 - t) log(1 - t) - t y offset) / W for t = scale * theta, over
 * rows [first, last). */
double hw_logistic_entropy(const hw_newton_rows *rows, const double *theta, double scale, size_t first, size_t last);

/* The row of logistic regression. A dual point is theta in [0, 1]^n, with pulls c y theta. */
extern const hw_newton_loss hw_logistic_losses;

#endif
