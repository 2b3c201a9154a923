/* options.c - the option and metric rows of the Poisson regression, and its page of the help. */
#include "algorithms/poisson/parts.h"

#include "algorithms/glm/metrics.h"
#include "algorithms/glm/rows.h"

const hawser_option hw_poisson_options[] = {
    HW_LINEAR_LAMBDA_ROWS("[0,inf)", "half the mean deviance + lambda (A ||w||_1 + (1 - A)/2 ||w||^2), A the L1 share",
                          "coefficients are zero"),
    HW_LINEAR_SHARE_ROW("L1 share of the penalty: 1 sparse, 0 ridge"),
    HW_LINEAR_ROWS,
    {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0}};

const hawser_metric_row hw_poisson_metrics[] = {
    HW_LINEAR_METRICS(hw_linear_gap_target),
    HW_CHOICE_PATH_METRICS,
    HW_LINEAR_FIT_METRICS("deviance_ratio", "the deviance at zero", "deviance", "mean deviance", ""),
    {.name = NULL}};

const hawser_topic hw_poisson_topics[] = {
    {"counts", "Counts: means, exposures, deviance",
     "train poisson models counts y >= 0 whose mean is exp(x w + b + offset). Counts need not be\n"
     "whole numbers. A negative target is refused with its row, and so are rows whose counts are\n"
     "all zero, for which the best intercept is minus infinity.\n\n"
     "  objective   sum c d / (2 sum c) + lambda (A ||w||_1 + (1 - A)/2 ||w||^2), where c is the\n"
     "              example's weight and d = 2 (y log(y / mean) - y + mean) its deviance, with\n"
     "              0 log 0 = 0. The intercept b has no penalty. glmnet's family = \"poisson\"\n"
     "              and scikit-learn's PoissonRegressor (alpha = lambda, A = 0) have the same\n"
     "              minimum; their objectives differ by a constant of the data.\n"
     "  --exposure  a column of exposures > 0 (hours, persons, areas), whose logarithm is added\n"
     "              to the margin: the model is of counts per exposure.\n"
     "  --offset    a column that is added to the margin as it is.\n"
     "  predict     prints the mean. A model that was trained with an exposure needs one.\n"
     "  evaluate    mean deviance, the part of it that the model explains (d2), and errors\n"
     "              with their quantiles.\n"
     "  --cv        chooses by the mean deviance on the held-out rows.\n\n"
     "deviance_ratio compares with the model of the intercept (and offsets) alone.\n"},
    {NULL, NULL, NULL},
};
