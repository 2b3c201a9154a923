/* measure.h - checks the rows of an evaluation, and appends to its list of measures. */
#ifndef HW_ALGORITHMS_MEASURES_MEASURE_H
#define HW_ALGORITHMS_MEASURES_MEASURE_H

#include "hawser/algorithm.h"

/* Stores the total weight of the rows. Returns HAWSER_BAD_INPUT if it is not above zero. Weights NULL: ones. */
hawser_status hw_measure_total(size_t rows, const double *weights, double *total, hawser_error *error) HAWSER_MUST_USE;
/* Returns HAWSER_BAD_INPUT if the number of a row, which counts from 0, is NaN or infinite. `what` names it:
 * "prediction". */
hawser_status hw_measure_finite(double number, size_t row, const char *what, hawser_error *error) HAWSER_MUST_USE;
/* Returns HAWSER_BAD_INPUT if the linear predictor of a row is NaN or infinite. */
hawser_status hw_measure_finite_scores(const hawser_evaluation_input *input, const char *what,
                                       hawser_error *error) HAWSER_MUST_USE;

/* Appends a number. `why` says why it is NaN. If it is infinite, or NaN where `why` is NULL, the numbers are too large. */
void hw_measure_number(hawser_measure *measures, const char *name, double value, const char *why);
/* Appends a table if `columns` has its `width` names, else a matrix with zeroed heads. Stores its lines x width numbers, all
 * zero, in *values, and the heads behind them. The measure owns them. */
hawser_status hw_measure_table(hawser_measure *measures, const char *name, const char *const *columns, size_t lines,
                               size_t width, double **values, hawser_error *error) HAWSER_MUST_USE;

#endif
