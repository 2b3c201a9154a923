/*
 * inexact.h - solves Newton's model over rows, only as exactly as pays (Yuan, Ho and Lin 2012; Byrd, Chin, Nocedal and
 * Oztoprak 2016). Passes over the coordinates in random order find signs. Between passes, conjugate gradients on the face
 * move along directions in which passes are slow. Once passes hardly change a sign, conjugate gradients continue alone.
 * Passes resume when members off the face have large pulls or when steps pass zero. Without an L1 part there is only one
 * face, and conjugate gradients suffice.
 */
#ifndef HW_ALGORITHMS_NEWTON_INEXACT_H
#define HW_ALGORITHMS_NEWTON_INEXACT_H

#include "algorithms/newton/quadratic.h"

typedef struct hw_newton_inexact {
    double target;    /* ends when the violations of a pass add up to no more than this, in the objective's scale */
    double reference; /* `first` of the problem's first model; 0: this is the first model */
    double idle;      /* if signs are settled and violations are at most this at the start, nothing is done */
    double missing;   /* the share of the objective's gap that the tolerance allows; 0: unknown */
    bool hasty;       /* gives up early if the solution would take long */
    hw_linear_stop stop;
    double first; /* out: violations of the first pass or look, or a smooth model's largest pull, in the objective's scale */
    unsigned passes; /* out */
    bool solved;     /* out: it did not give up */
} hw_newton_inexact;

/* Returns whether no member has an L1 part or bounds. */
bool hw_newton_smooth(const hw_newton_quadratic *q);

/* Moves members.x towards the model's minimum. `residual` is the model's weighted residual at x; it is updated, except in a
 * smooth model. Collective over blocks if `part` is not NULL: each block computes its part of the pulls, the products and
 * the image of a step, and inexact->stop must return the same on all of them. */
hawser_status hw_newton_inexact_run(hw_newton_inexact *inexact, hw_newton_quadratic *q, const hw_linear_part *part,
                                    double *residual, hawser_error *error) HAWSER_MUST_USE;

#endif
