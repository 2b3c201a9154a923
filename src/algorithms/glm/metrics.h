/* metrics.h - the metric rows that linear models share, and the printed coefficients. */
#ifndef HW_ALGORITHMS_GLM_METRICS_H
#define HW_ALGORITHMS_GLM_METRICS_H

#include "hawser/algorithm.h"

/* clang-format off */
/* The rows of certified models, with a bound of the distance to the optimum. `of_gap` is the target of the gap, or NULL. */
#define HW_LINEAR_METRICS(of_gap) \
    {.name = "objective", .help = "the function that the training minimises, at the coefficients of the model", .always = true, \
     .traced = true, .progress = true, .axis = "objective"}, \
    {.name = "gap", .help = "the duality gap: the objective is at most this far above its optimum; null without a certificate", \
     .always = true, .traced = true, .progress = true, .exponent = true, .axis = "duality gap", .log_axis = true, \
     .target = of_gap}, \
    {.name = "lambda", .help = "weight of the penalty; null without one", .always = true, .traced = true, .progress = true}, \
    {.name = "nonzeros", .help = "number of nonzero coefficients", .always = true, .traced = true}, \
    {.name = "intercept", .help = "the constant of the model"}, \
    {.name = "rounding", .help = "bound of the gap's rounding error, if the reason of the end is precision"}

#define HW_LINEAR_PATH_METRICS \
    {.name = "fits_left", .target = hw_linear_fits_target, .counts = true, .may_rise = hw_linear_path_grows}, \
    {.name = "fold", .help = "in --trace: the fold of --cv that is held out, from 1; empty or 0 while all rows are used", \
     .traced = true, .progress = true}, \
    {.name = "lambda_max", .help = "the lambda from which on all coefficients are zero"}, \
    {.name = "lambdas", .help = "the number of lambdas, if several were tried"}, \
    {.name = "cv_error", .help = "mean error on the held-out rows of --cv, if --cv-metric is not loss"}, \
    {.name = "cv_standard_error", .help = "standard error of the error on the held-out rows"}

/* How well a model fits: the part of `loss` that it explains, and its error on rows that the training did not see. The metrics of this error have
 * names that end with `word`; `error` describes it. */
#define HW_LINEAR_FIT_METRICS(fit, loss, word, error, end) \
    {.name = fit, .help = "the part of " loss " that the model explains"}, \
    {.name = "cv_" word, .help = error " on the held-out rows of --cv" end}, \
    {.name = "validation_" word, .help = error " on the rows of --validation or --validation-fraction" end, .traced = true, \
     .axis = error ", validation"}, \
    {.name = "evaluations", .help = "in --trace: how often the error on validation data has been measured", .traced = true}
/* clang-format on */

/* Returns the gap at which --tol ends a run; NaN for a path, for folds, and for batches, which end with their epochs. */
double hw_linear_gap_target(const hawser_options *options, const hawser_progress *progress);
/* Returns 0, the fits that are left at the end of a path or of folds; NaN for one lambda. */
double hw_linear_fits_target(const hawser_options *options, const hawser_progress *progress);
/* Returns whether the path may go on beyond the lambdas that are counted. */
bool hw_linear_path_grows(const hawser_options *options, const hawser_progress *progress);
/* The init_use of hawser_algorithm: a path or folds use the start model for the first lambda only. */
const char *hw_linear_init_use(const hawser_options *options);
/* Prints the intercept, then the `most` largest nonzero weights by name, largest first. */
hawser_status hw_linear_print_coefficients(const hawser_model *model, uint64_t most, FILE *out, hawser_error *error);

#endif
