/*
 * loss.h - half the deviance of counts under a log link, row by row, with the same bits on every machine. Pure.
 *
 * With count y >= 0 and margin m, the mean is mu = exp(m), and
 *     loss = y log(y / mu) - y + mu (0 log 0 = 0),   pull = c (y - mu),   curve = c mu.
 * A dual point is the residual theta <= y of each row, which stands for a mean t = y - theta >= 0. Zero means t = y.
 */
#ifndef HW_ALGORITHMS_POISSON_LOSS_H
#define HW_ALGORITHMS_POISSON_LOSS_H

#include "algorithms/newton/loss.h"

/* Returns the loss of one row. `log_target` is log(target), and 0 if the target is 0. */
double hw_poisson_loss(double target, double log_target, double margin);
/* Returns exp(margin); infinity from 709 on. */
double hw_poisson_mean(double margin);
/* Returns log(x), and 0 for x = 0 and for a subnormal number, which all functions here take for 0. */
double hw_poisson_log(double x);

/* The row of Poisson regression. */
extern const hw_newton_loss hw_poisson_losses;

#endif
