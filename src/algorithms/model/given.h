/* given.h - whether a user has asked for something that an algorithm cannot do. */
#ifndef HW_ALGORITHMS_MODEL_GIVEN_H
#define HW_ALGORITHMS_MODEL_GIVEN_H

#include "hawser/options.h"

/* Returns whether the command line or a call has an option with another value than its default. */
bool hw_option_given(const hawser_options *options, const char *key);

#endif
