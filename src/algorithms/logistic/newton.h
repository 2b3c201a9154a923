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
    hw_logistic_crew crew; /* who share what models cost */
} hw_logistic_newton;

/* A run that stops wherever blocks have something to share. All of them run it alike, and go on with the sums of their shares. */
typedef struct hw_logistic_newton_state hw_logistic_newton_state;

/* The sums' most numbers, for `room` members and so many rows. */
size_t hw_logistic_newton_sums(size_t room, size_t rows);
/* Moves q->members.x, with v = X x (and the rest) and its point, until a step makes the objective fall by little. `newton` is copied;
 * what else it is given has to stay until the state is freed. */
hawser_status hw_logistic_newton_new(const hw_logistic_newton *newton, hw_logistic_quadratic *q,
                                     const hw_logistic_rows *rows, double *v, hw_logistic_point *point,
                                     hw_logistic_newton_state **state, hawser_error *error) HAWSER_MUST_USE;
/* Goes on; *wanted: to where sums are needed, else to the end. */
hawser_status hw_logistic_newton_go(hw_logistic_newton_state *state, bool *wanted, hawser_error *error) HAWSER_MUST_USE;
/* What this block adds to the sums: moments of members, or what a model's solution wants. */
hw_linear_share hw_logistic_newton_share(hw_logistic_newton_state *state);
/* Takes the sums, before it goes on. */
void hw_logistic_newton_hear(hw_logistic_newton_state *state, const double *sums);
void hw_logistic_newton_free(hw_logistic_newton_state *state);

/* All of it, by one block. */
hawser_status hw_logistic_newton_run(const hw_logistic_newton *newton, hw_logistic_quadratic *q,
                                     const hw_logistic_rows *rows, double *v, hw_logistic_point *point,
                                     hawser_error *error) HAWSER_MUST_USE;

#endif
