/* errors.h - measures of predicted numbers. All of them count the weights of the examples. */
#ifndef HW_ALGORITHMS_MEASURES_ERRORS_H
#define HW_ALGORITHMS_MEASURES_ERRORS_H

#include "hawser/algorithm.h"

/* The rows of `hawser help measures`. */
extern const hawser_measure_row hw_error_measures[];

/* Appends all measures. `penalty` is added to half of the mean squared error for the objective; NaN: the objective is unknown. */
hawser_status hw_errors_measure(const hawser_evaluation_input *input, double penalty, hawser_measure *measures,
                                hawser_error *error) HAWSER_MUST_USE;

#endif
