/* plot_trace.h - draws the file of a --trace. */
#ifndef HW_CLI_PLOT_TRACE_H
#define HW_CLI_PLOT_TRACE_H

#include <stdbool.h>

#include "hawser/status.h"

/* Returns whether a file begins as a trace does; false also if it cannot be read. */
bool hw_is_trace(const char *path);
/* Draws the metrics of a trace over time, each in a panel. */
hawser_status hw_plot_trace(const char *trace, const char *plot, hawser_error *error) HAWSER_MUST_USE;

#endif
