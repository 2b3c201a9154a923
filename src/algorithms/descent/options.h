#ifndef HW_ALGORITHMS_DESCENT_OPTIONS_H
#define HW_ALGORITHMS_DESCENT_OPTIONS_H

#include "hawser/options.h"

extern const hawser_option hw_descent_rows[];

#endif
