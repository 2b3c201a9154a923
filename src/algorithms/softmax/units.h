/* units.h - the units of softmax regression. */
#ifndef HW_ALGORITHMS_SOFTMAX_UNITS_H
#define HW_ALGORITHMS_SOFTMAX_UNITS_H

#include "algorithms/softmax/problem.h"

/* Measures the rows, and looks at the first model. */
hawser_status hw_softmax_prepare(hawser_context *context);
/* One step of Newton's method, and the certificate. */
hawser_status hw_softmax_step(hawser_context *context);

/* Why the training has ended: the metric "ended", 0 while it goes on. */
typedef enum hw_softmax_end {
    HW_SOFTMAX_GOES_ON = 0,
    HW_SOFTMAX_GAP,
    HW_SOFTMAX_ITERATIONS,
    HW_SOFTMAX_PRECISION /* no smaller objective was found */
} hw_softmax_end;

#endif
