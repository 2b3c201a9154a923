/* metrics.h - the metric rows that linear models share, and the printed coefficients. */
#ifndef HW_ALGORITHMS_GLM_METRICS_H
#define HW_ALGORITHMS_GLM_METRICS_H

#include "algorithms/choice/rows.h"

/* clang-format off */
/* The rows of certified models, with a bound of the distance to the optimum. `of_gap` is the target of the gap, or NULL. */
#define HW_LINEAR_METRICS(of_gap) \
    HW_CERTIFIED_METRICS("the function that the training minimises, at the coefficients of the model", of_gap), \
    {.name = "lambda", .help = "weight of the penalty; null without one", .always = true, .traced = true, .progress = true}, \
    {.name = "nonzeros", .help = "number of nonzero coefficients", .always = true, .traced = true}, \
    {.name = "intercept", .help = "the constant of the model"}, \
    {.name = "rounding", .help = "bound of the gap's rounding error, if the reason of the end is precision"}

/* How well a model fits: the part of `loss` that it explains, and its error on rows that the training did not see. The
 * metrics of this error have names that end with `word`; `error` describes it. */
#define HW_LINEAR_FIT_METRICS(fit, loss, word, error, end) \
    {.name = fit, .help = "the part of " loss " that the model explains"}, \
    {.name = "cv_" word, .help = error " on the held-out rows of --cv" end}, \
    {.name = "validation_" word, .help = error " on the rows of --validation or --validation-fraction" end, .traced = true, \
     .axis = error ", validation"}, \
    HW_EVALUATIONS_METRIC("validation data")
/* clang-format on */

/* Returns the gap at which --tol ends a run; NaN for a path, for folds, and for batches, which end with their epochs. */
double hw_linear_gap_target(const hawser_options *options, const hawser_progress *progress);
/* Prints the intercept, then the `most` largest nonzero weights by name, largest first. */
hawser_status hw_linear_print_coefficients(const hawser_model *model, uint64_t most, FILE *out, hawser_error *error);

#endif
