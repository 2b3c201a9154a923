/* units.h - the units of softmax regression. */
#ifndef HW_ALGORITHMS_SOFTMAX_UNITS_H
#define HW_ALGORITHMS_SOFTMAX_UNITS_H

#include "algorithms/softmax/problem.h"

/* Measures the rows, and looks at the first model. */
hawser_status hw_softmax_prepare(hawser_context *context);
/* One step of Newton's method, and the certificate. */
hawser_status hw_softmax_step(hawser_context *context);

#endif
