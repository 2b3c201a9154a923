/* start.h - the coefficients that a training starts from, by the names of the columns where model and data have them. */
#ifndef HW_ALGORITHMS_GLM_START_H
#define HW_ALGORITHMS_GLM_START_H

#include "hawser/algorithm.h"

/* Coefficients of a model to start from, for the columns of `data`: by name where both have names, else by position. Refuses a
 * coefficient of a column that the data lack, or one that is not finite. */
hawser_status hw_linear_model_start(const hawser_model *init, const hawser_dataset *data, double *alpha,
                                    hawser_error *error) HAWSER_MUST_USE;

#endif
