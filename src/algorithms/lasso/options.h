/* options.h - the lasso's option rows. */
#ifndef HW_ALGORITHMS_LASSO_OPTIONS_H
#define HW_ALGORITHMS_LASSO_OPTIONS_H

#include "hawser/options.h"

extern const hawser_option hw_lasso_rows[];

#endif
