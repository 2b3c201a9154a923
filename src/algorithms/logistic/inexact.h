/*
 * inexact.h - Newton's model over rows, solved as exactly as it is worth: passes over the coordinates in random order, which find
 * signs, and conjugate gradients on the face between them, which move what passes crawl along (Yuan, Ho and Lin 2012; Byrd, Chin,
 * Nocedal and Oztoprak 2016). Once passes hardly change a sign, conjugate gradients go on alone, until the pulls on the members that
 * are off the face, or steps that pass zero, say that signs are to be looked for again. Without an L1 part there is one face, and
 * conjugate gradients are all there is to do.
 */
#ifndef HW_ALGORITHMS_LOGISTIC_INEXACT_H
#define HW_ALGORITHMS_LOGISTIC_INEXACT_H

#include "algorithms/logistic/quadratic.h"

typedef struct hw_logistic_inexact {
    double target;    /* enough: a pass along which the members' violations add up to no more, in the objective's scale */
    double reference; /* what `first` was when the problem was begun; 0: that is now */
    double idle;      /* begun with no more violations than that, while signs are settled, it is left alone */
    double missing;   /* share of the objective's gap that would be little enough; 0: not known */
    bool hasty;       /* leaves off where it would take long */
    hw_linear_stop stop;
    double first; /* out: violations of the first pass or look, or a smooth model's largest pull, in the objective's scale */
    unsigned passes; /* out */
    bool solved;     /* out: it did not leave off */
} hw_logistic_inexact;

/* No member has an L1 part or bounds. */
bool hw_logistic_smooth(const hw_logistic_quadratic *q);

/* Moves members.x towards the model's minimum, given the model's weighted residual there, which moves along (but not in a smooth model).
 * `part`: several blocks do the same, and each computes its part of the pulls, the products and the image of a step; NULL: one block does all.
 * inexact->stop must answer alike on all of them. */
hawser_status hw_logistic_inexact_run(hw_logistic_inexact *inexact, hw_logistic_quadratic *q, const hw_linear_part *part,
                                      double *residual, hawser_error *error) HAWSER_MUST_USE;

#endif
