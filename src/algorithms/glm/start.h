/* start.h - the coefficients that a training starts from, by column name if model and data have names. */
#ifndef HW_ALGORITHMS_GLM_START_H
#define HW_ALGORITHMS_GLM_START_H

#include "hawser/algorithm.h"

/* The name of --init NAME=FILE. */
#define HW_LINEAR_START "coefficients"

/* Returns whether a training starts from a model or from such a file; else it starts at zero. */
bool hw_linear_starts(const hawser_job *job, const hawser_training_input *input);
/* Fills the coefficients of a model, or of a file with outputs x columns numbers, for the columns of `data`: by name if both
 * have names, else by position. The coefficients of a column's `outputs` are next to each other. Fails for another number of
 * outputs, for a nonzero coefficient of a column that the data lack, and for one that is not finite. */
hawser_status hw_linear_start(hawser_job *job, const hawser_training_input *input, size_t outputs, double *alpha,
                              hawser_error *error) HAWSER_MUST_USE;

#endif
