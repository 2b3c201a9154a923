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

/* A run that stops wherever it needs what several blocks may share: the members' pulls, a product, or the image of a step
 * (solve/space.h). All of them run it alike, and go on with the sums of their shares. */
typedef struct hw_logistic_inexact_state hw_logistic_inexact_state;

/* Moves members.x, given the model's weighted residual there, which moves along (but not in a smooth model). What it is given has to
 * stay until the state is freed. */
hawser_status hw_logistic_inexact_new(hw_logistic_inexact *inexact, hw_logistic_quadratic *q, double *residual,
                                      const hw_logistic_crew *crew, hw_logistic_inexact_state **state,
                                      hawser_error *error) HAWSER_MUST_USE;
/* Goes on; *wanted: to the next sums, else to the end. */
hawser_status hw_logistic_inexact_go(hw_logistic_inexact_state *state, bool *wanted, hawser_error *error) HAWSER_MUST_USE;
/* What this block adds to the sums. */
hw_linear_share hw_logistic_inexact_share(hw_logistic_inexact_state *state);
/* Takes the sums, before it goes on. */
void hw_logistic_inexact_hear(hw_logistic_inexact_state *state, const double *sums);
void hw_logistic_inexact_free(hw_logistic_inexact_state *state);

/* All of it, by one block. */
hawser_status hw_logistic_inexact_run(hw_logistic_inexact *inexact, hw_logistic_quadratic *q, double *residual,
                                      hawser_error *error) HAWSER_MUST_USE;

#endif
