/*
 * earlier.h - what a run has decided, with which another one begins (--learn), and trials across runs. Pure.
 *
 * A run may end before any trial can begin. It then leaves one setting that makes its clocks shorter. The next run of the
 * same program on the same data begins with it, and the one after that has the faster of the two.
 */
#ifndef HW_ADAPT_EARLIER_H
#define HW_ADAPT_EARLIER_H

#include "adapt/decide.h"

/* What a run has decided when it ends. */
typedef struct hw_decided {
    double value[HW_KNOBS];    /* NaN: as at the start; that of a share is unused */
    double *shares;            /* by block; NULL: all have their whole work */
    uint32_t losses[HW_KNOBS]; /* lost trials in a row */
    double clocks, lost;       /* so far, those of earlier runs included; those of lost trials */
    double noise;              /* of the logarithm of a gap; 0: of another metric */
    hw_across across;          /* zero: nothing is compared with other runs */
} hw_decided;

/* Begins with what an earlier run has decided, within the bounds: right after hw_decider_open. Its staleness begins after
 * two measurements under bsp. Another setting is compared with that of the start once a measurement takes a small share of
 * this run's clocks, and is undone if it is not faster. Without a metric, encoding and quota begin as at the start. If
 * the earlier run lost a trial, that setting waits before it is tried again. What a trial across runs has kept waits for
 * hw_decider_across. `reason` is the reason of these changes. */
void hw_decider_learn(hw_decider *decider, const hw_decided *from, const char *reason);
/* Begins with what a trial across runs has kept, or with what is tried. Returns false if there is nothing of it. */
bool hw_decider_across(hw_decider *decider);
/* Stores what has been decided. A change that is still being tried counts as not made. `shares` has one number for each
 * block, and takes the shares. `seconds` is what the run took; `ended`: up to its end by its own test, and no limit. */
void hw_decider_decided(const hw_decider *decider, double *shares, double seconds, bool ended, hw_decided *decided);

#endif
