/* plot.h - draws metrics over time, as SVG or PNG. */
#ifndef HW_CLI_PLOT_H
#define HW_CLI_PLOT_H

#include "cli/monitor.h"

/* Draws `count` samples, a panel for each watched metric with an axis, and writes the file atomically. */
hawser_status hw_plot_write(const char *path, const char *title, const char *subtitle, const hw_watched *watched,
                            const hw_sample *samples, size_t count, hawser_error *error) HAWSER_MUST_USE;

#endif
