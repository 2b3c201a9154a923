/* rows.h - the option rows of a path and of cross-validation, and the metric rows of models that are chosen so and have a
 * certificate. */
#ifndef HW_ALGORITHMS_CHOICE_ROWS_H
#define HW_ALGORITHMS_CHOICE_ROWS_H

#include "hawser/algorithm.h"

/* clang-format off */
/* The folds, below this heading of the help. */
#define HW_CHOICE_FOLDS_ROW(section) \
    {"folds", HAWSER_TEXT, NULL, NULL, "FILE|stratified|by:COLUMN", \
     "Folds of --cv: a file with the number of each row's fold, the same share of each class in all, or groups of rows that stay " \
     "together, by a column that is then no feature; if unset, rows are dealt by chance", \
     section, 0}
/* A path of lambdas. */
#define HW_CHOICE_PATH_ROWS \
    {"path", HAWSER_TEXT, NULL, NULL, "N|LIST", \
     "Fit a path of N lambdas, or the listed ones. N go from lambda_max down, a list is separated by commas; each starts from the last one's solution", \
     NULL, 0}, \
    {"lambda-min-ratio", HAWSER_NUMBER, NULL, "(0,1)", "R", \
     "End of a path of N lambdas, as a fraction of lambda_max; default 0.0001, or 0.01 if there are more columns than " \
     "rows with a weight above 0", \
     "Choice of lambda", 0}
/* Cross-validation, and what the error compares. `lambdas` is a part of a sentence. */
#define HW_CHOICE_CV_ROWS(lambdas) \
    {"cv", HAWSER_INTEGER, NULL, "[2,1000]", "K", \
     "Choose lambda by K-fold cross-validation; on a path of 100 lambdas unless --path is set" lambdas "; --json has the result as an " \
     "object cv: lambda_min and lambda_1se, and by lambda the lists lambda, error, standard_error and nonzeros", NULL, 0}, \
    {"cv-rule", HAWSER_WORD, "1se", "1se|min", "RULE", \
     "Least error, or sparser within its error; 1se: the largest lambda whose error is within one standard error of the least, min: the one with the least", \
     NULL, 0}, \
    HW_CHOICE_FOLDS_ROW("Choice of lambda")

/* The objective and its certificate. `of_objective` says what the objective is; `of_gap` is the target of the gap, or
 * NULL. */
#define HW_CERTIFIED_METRICS(of_objective, of_gap) \
    {.name = "objective", .help = of_objective, .always = true, \
     .traced = true, .progress = true, .axis = "objective"}, \
    {.name = "gap", .help = "the duality gap: the objective is at most this far above its optimum; null without a certificate", \
     .always = true, .traced = true, .progress = true, .exponent = true, .axis = "duality gap", .log_axis = true, \
     .target = of_gap}

/* The progress of a path and of folds, and the errors on held-out rows; `chosen` is the end of a sentence. */
#define HW_CHOICE_FITS_METRICS \
    {.name = "fits_left", .target = hw_choice_fits_target, .counts = true, .may_rise = hw_choice_path_grows}, \
    {.name = "fold", .help = "in --trace: the fold of --cv that is held out, from 1; empty or 0 while all rows are used", \
     .traced = true, .progress = true}
#define HW_CHOICE_CV_METRICS(chosen) \
    {.name = "cv_error", .help = "mean error on the held-out rows of --cv" chosen}, \
    {.name = "cv_standard_error", .help = "standard error of the error on the held-out rows"}, \
    {.name = "cv_folds_finished", .help = "only if the training was ended before --cv was: the folds that were finished"}
#define HW_CHOICE_PATH_METRICS \
    HW_CHOICE_FITS_METRICS, \
    {.name = "lambda_max", .help = "the lambda from which on all coefficients are zero"}, \
    {.name = "lambdas", .help = "the number of lambdas, if several were tried"}, \
    HW_CHOICE_CV_METRICS(", if --cv-metric is not loss")
#define HW_EVALUATIONS_METRIC(data) \
    {.name = "evaluations", .help = "in --trace: how often the error on " data " has been measured", .traced = true}
/* clang-format on */

/* Returns 0, the fits that are left at the end of a path or of folds; NaN for one lambda. */
double hw_choice_fits_target(const hawser_options *options, const hawser_progress *progress);
/* Returns whether the path may go on beyond the lambdas that are counted. */
bool hw_choice_path_grows(const hawser_options *options, const hawser_progress *progress);
/* The init_use of hawser_algorithm: a path or folds use the start model for the first lambda only. */
const char *hw_choice_init_use(const hawser_options *options);

#endif
