/* given.h - whether an option was given, and its value if it was. */
#ifndef HW_ALGORITHMS_MODEL_GIVEN_H
#define HW_ALGORITHMS_MODEL_GIVEN_H

#include "hawser/options.h"

/* Returns whether the command line or a call has an option with another value than its default. */
bool hw_option_given(const hawser_options *options, const char *key);
/* Returns whether an option is set by other than its default, be it to the same value. */
bool hw_option_set(const hawser_options *options, const char *key);
/* Returns whether the runtime may change what an option sets while it runs: "auto" or "auto:VALUE". */
bool hw_option_auto(const hawser_options *options, const char *key);
/* Returns the number of an option, or `otherwise` if it has none. */
double hw_option_number(const hawser_options *options, const char *key, double otherwise);

#endif
