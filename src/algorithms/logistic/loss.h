/*
 * loss.h - the logistic loss of margins, row by row: stable for any margin, with the same bits on every machine (exp and log are
 * ours: a C library chooses its own by processor). Pure.
 *
 * With y = +-1, margin m = v + b + offset, q = 1 / (1 + exp(y m)) and example weights c that sum to W:
 *     loss = sum c log(1 + exp(-y m)) / W,   pull_i = c y q (W times minus the gradient),   curve_i = c q (1 - q).
 */
#ifndef HW_ALGORITHMS_LOGISTIC_LOSS_H
#define HW_ALGORITHMS_LOGISTIC_LOSS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hw_logistic_rows {
    size_t count;
    const double *sign;    /* y */
    const double *weights; /* c; NULL: ones */
    const double *offset;  /* or NULL */
    double total;          /* W */
    bool intercept;        /* b is free */
} hw_logistic_rows;

/* What is known of one v. Arrays by row belong to whoever made it. */
typedef struct hw_logistic_point {
    double *pull, *curve;   /* curve is at least a small part of the pull: no row may make a quadratic that nothing bends */
    double loss, sum, bend; /* sum of pull, of curve */
    double intercept;
} hw_logistic_point;

/* log(1 + exp(-x)). */
double hw_logistic_loss(double x);
/* 1 / (1 + exp(-x)). */
double hw_logistic_probability(double x);

/* Fills everything but the intercept, which is taken as it is. */
void hw_logistic_look(const hw_logistic_rows *rows, const double *v, hw_logistic_point *point);
/* The same at the best intercept, where that is free: to within `tolerance` of the objective; begins at the point's. */
void hw_logistic_settle(const hw_logistic_rows *rows, const double *v, double tolerance, hw_logistic_point *point);
/* sum c (-t log t - (1 - t) log(1 - t) - t y offset) / W for t = scale * theta, over rows [first, last): the loss's part of the dual. */
double hw_logistic_entropy(const hw_logistic_rows *rows, const double *theta, double scale, size_t first, size_t last);

#endif
