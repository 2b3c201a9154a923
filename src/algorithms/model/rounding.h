/* rounding.h - bounds of rounding errors, for certificates. */
#ifndef HW_ALGORITHMS_MODEL_ROUNDING_H
#define HW_ALGORITHMS_MODEL_ROUNDING_H

#include <math.h>

/* Returns a bound of the error of a sum of `terms` products of doubles, as a share of the sum of their absolute values.
 * Errors of few terms may all have one sign. Those of many do not: if they are spread evenly, 4 times the root of their
 * number is 7 standard deviations (Higham and Mary 2019). */
static inline double hw_rounding(double terms)
{
    return 0x1p-53 * (terms < 16.0 ? terms : 4.0 * sqrt(terms));
}

#endif
