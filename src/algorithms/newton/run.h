/*
 * run.h - solves the problem of a working set by Newton's method: makes a model, solves it, and goes along its step as far
 * as the objective falls (Friedman, Hastie and Tibshirani 2010; Yuan, Ho and Lin 2012).
 */
#ifndef HW_ALGORITHMS_NEWTON_RUN_H
#define HW_ALGORITHMS_NEWTON_RUN_H

#include "algorithms/newton/quadratic.h"

/* Searches from v towards v + move, by halving, for a lower objective; the penalty is convex on the way, `before` at v and
 * `after` at v + move. Returns the share of the step that is taken, or 0 if no share lowers the objective. `point` is that
 * of v, and becomes the point at the end, with the best intercept. Stores v + share * move in `there`. */
double hw_newton_line(const hw_newton_rows *rows, const double *v, const double *move, double before, double after,
                      double tolerance, hw_newton_point *point, double *there);

typedef struct hw_newton {
    double tolerance;     /* a smaller fall of the objective is not worth a further step */
    double gap;           /* upper bound of the objective's distance to its optimum */
    double *move, *there; /* scratch by row */
    hw_linear_stop stop;
    const hw_linear_part *part; /* this block's part if several blocks solve it together; else NULL */
} hw_newton;

/* Returns the most numbers that blocks add up at a time, with at most `most` members and this many rows. */
size_t hw_newton_sums(size_t most, size_t rows);
/* Moves q->members.x, and with it v and its point, until a step lowers the objective by little. Collective over blocks that
 * solve it together; newton->stop must return the same on all of them. */
hawser_status hw_newton_run(const hw_newton *newton, hw_newton_quadratic *q, const hw_newton_rows *rows, double *v,
                            hw_newton_point *point, hawser_error *error) HAWSER_MUST_USE;

#endif
