/* start.h - the coefficients that a training starts from, by column name if model and data have names. */
#ifndef HW_ALGORITHMS_GLM_START_H
#define HW_ALGORITHMS_GLM_START_H

#include "hawser/algorithm.h"

/* Fills the coefficients of a model for the columns of `data`: by name if both have names, else by position. The coefficients of a column's `outputs`
 * are next to each other. Fails for another number of outputs, for a nonzero coefficient of a column that the data lack, and for one that is not finite. */
hawser_status hw_linear_model_start(const hawser_model *init, const hawser_dataset *data, size_t outputs, double *alpha,
                                    hawser_error *error) HAWSER_MUST_USE;

#endif
