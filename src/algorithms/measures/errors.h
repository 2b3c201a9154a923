/* errors.h - measures of predicted numbers. All of them count the weights of the examples. */
#ifndef HW_ALGORITHMS_MEASURES_ERRORS_H
#define HW_ALGORITHMS_MEASURES_ERRORS_H

#include "hawser/algorithm.h"

/* The rows of `hawser help measures`. */
extern const hawser_measure_row hw_error_measures[];

/* The rows of what hw_errors_measure appends first, and those of hw_errors_spread. */
/* clang-format off */
#define HW_ERRORS_MEAN_ROWS                                                                                                  \
    {"r2",                                                                                                                   \
     "1 - (sum of squared errors) / (sum of squared distances of the target from its mean); 1 is best, 0 is the mean's; "    \
     "unknown if all targets are equal"},                                                                                    \
    {"rmse", "square root of mse"},                                                                                          \
    {"mae", "mean of the absolute errors"},                                                                                  \
    {"mse", "mean of the squared errors; an error is target minus prediction"}
#define HW_ERRORS_SPREAD_ROWS                                                                                                \
    {"median_absolute_error", "absolute_error of quantile 0.5"},                                                             \
    {"max_error", "the largest absolute error"},                                                                             \
    {"quantiles", "a line per quantile:"},                                                                                   \
    {".quantile", "Q, from 0 (the smallest error) to 1 (the largest)"},                                                      \
    {".error", "the smallest error such that at least a share Q of the rows has this error or a smaller one; if the share "  \
               "is exactly Q, "                                                                                              \
               "the mean of this error and the next larger one (as averaged_inverted_cdf of numpy.quantile)"},               \
    {".absolute_error", "likewise for the absolute errors"}
/* clang-format on */

/* Appends quantiles of the errors, target minus prediction, which are sorted in place of the pairs of predictions and
 * targets in input->scored. All predictions are finite, and one row has a weight. */
hawser_status hw_errors_spread(const hawser_evaluation_input *input, hawser_measure *measures,
                               hawser_error *error) HAWSER_MUST_USE;

/* Appends all measures of one output. The predictions are the linear predictor. An objective that is NaN is unknown. */
hawser_status hw_errors_measure(const hawser_evaluation_input *input, double objective, hawser_measure *measures,
                                hawser_error *error) HAWSER_MUST_USE;

#endif
