/* plot_check.h - checks the path of a plot before any work. */
#ifndef HW_CLI_PLOT_CHECK_H
#define HW_CLI_PLOT_CHECK_H

#include "hawser/status.h"

/* Returns HAWSER_BAD_OPTION, for the value of --option, unless the path ends with .svg or .png, and for every path in a
 * build without plots. A path may be NULL. */
hawser_status hw_plot_check(const char *option, const char *path, hawser_error *error) HAWSER_MUST_USE;

#endif
