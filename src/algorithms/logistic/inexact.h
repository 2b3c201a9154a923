/*
 * inexact.h - Newton's model over rows, solved as exactly as it is worth: passes over the coordinates in random order, which find
 * signs, and conjugate gradients on the face between them, which move what passes crawl along (Yuan, Ho and Lin 2012; Byrd, Chin,
 * Nocedal and Oztoprak 2016). Without an L1 part there is one face, and conjugate gradients are all there is to do.
 */
#ifndef HW_ALGORITHMS_LOGISTIC_INEXACT_H
#define HW_ALGORITHMS_LOGISTIC_INEXACT_H

#include "algorithms/logistic/quadratic.h"

typedef struct hw_logistic_inexact {
    double target;    /* enough: a pass along which the members' violations add up to no more, in the objective's scale */
    double reference; /* what `first` was when the problem was begun; 0: that is now */
    bool hasty;       /* leaves off where it would take long */
    hw_linear_stop stop;
    double first;    /* out: the first pass's violations, or a smooth model's largest pull, in the objective's scale */
    unsigned passes; /* out */
    bool solved;     /* out: it did not leave off */
} hw_logistic_inexact;

/* No member has an L1 part or bounds. */
bool hw_logistic_smooth(const hw_logistic_quadratic *q);
/* Moves members.x, given the model's weighted residual there, which moves along (but not in a smooth model). */
hawser_status hw_logistic_inexact_run(hw_logistic_inexact *inexact, hw_logistic_quadratic *q, double *residual,
                                      hawser_error *error) HAWSER_MUST_USE;

#endif
