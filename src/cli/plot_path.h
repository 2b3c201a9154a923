/* plot_path.h - draws the path of a model: errors and coefficients over the logarithm of the parameter. */
#ifndef HW_CLI_PLOT_PATH_H
#define HW_CLI_PLOT_PATH_H

#include "cli/cli.h"

/* Sets *has to whether the model has a path. A damaged path is an error. */
hawser_status hw_plot_has_path(const hawser_model *model, bool *has, hawser_error *error) HAWSER_MUST_USE;
/* Draws the path of a model that has one, and writes the file atomically. With errors there are two panels: errors, with
 * bars of a standard error, and coefficients. The numbers on top are those of columns in the model. */
hawser_status hw_plot_path_write(const char *path, const hawser_model *model, hawser_error *error) HAWSER_MUST_USE;

#endif
