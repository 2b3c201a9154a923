/*
 * newton.h - the problem of a working set, solved by Newton's method: models, their solutions, and as far along each as the
 * objective falls (Friedman, Hastie and Tibshirani 2010; Yuan, Ho and Lin 2012).
 */
#ifndef HW_ALGORITHMS_LOGISTIC_NEWTON_H
#define HW_ALGORITHMS_LOGISTIC_NEWTON_H

#include "algorithms/logistic/quadratic.h"

/* From v towards v + move, over which the penalty goes from `before` to `after` and is convex: as far as makes the objective fall,
 * halving at most so often. Returns the share gone, 0 where nothing is gained, with the point there (its intercept the best one)
 * and v + share move in `there`. `point` is that of v. */
double hw_logistic_line(const hw_logistic_rows *rows, const double *v, const double *move, double before, double after,
                        double tolerance, hw_logistic_point *point, double *there);

typedef struct hw_logistic_newton {
    double tolerance;     /* a fall of the objective that is not worth a further step */
    double gap;           /* how far the objective may be from its optimum */
    double *move, *there; /* scratch by row */
    hw_linear_stop stop;
    const hw_linear_part *part; /* of several blocks that solve it together; NULL: one block does all */
} hw_logistic_newton;

/* The most numbers that blocks add up at a time, for `room` members and this many rows. */
size_t hw_logistic_newton_sums(size_t room, size_t rows);
/* Moves q->members.x, with v = X x (and the rest) and its point, until a step makes the objective fall by little. Blocks that solve it
 * together call it alike; newton->stop must answer alike on all of them. */
hawser_status hw_logistic_newton_run(const hw_logistic_newton *newton, hw_logistic_quadratic *q,
                                     const hw_logistic_rows *rows, double *v, hw_logistic_point *point,
                                     hawser_error *error) HAWSER_MUST_USE;

#endif
