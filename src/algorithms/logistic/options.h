/* options.h - the option rows of the logistic regression. */
#ifndef HW_ALGORITHMS_LOGISTIC_OPTIONS_H
#define HW_ALGORITHMS_LOGISTIC_OPTIONS_H

#include "hawser/options.h"

extern const hawser_option hw_logistic_options[];

#endif
