#include "algorithms/multitask/options.h"

#include "algorithms/glm/metrics.h"
#include "algorithms/glm/rows.h"

const hawser_option hw_multitask_rows[] = {
    {"lambda", HAWSER_NUMBER, NULL, "(0,inf)", "X",
     "Weight of the penalty; the objective is 1/(2n) ||Y - XW - b||^2 + lambda (l1_ratio sum_j ||W_j|| + (1 - l1_ratio)/2 "
     "||W||^2), where W_j has the coefficients of column j for all targets",
     NULL, 'l'},
    {"lambda-ratio", HAWSER_NUMBER, "0.05", "(0,inf)", "R",
     "The penalty's weight as a fraction of lambda_max, above which all coefficients are zero", "Choice of lambda", 0},
    {"l1-ratio", HAWSER_NUMBER, "1", "[0,1]", "A",
     "Share of the columns' norms in the penalty: 1 lasso, 0 ridge; they choose columns for all targets together", NULL, 0},
    HW_LINEAR_COMMON_ROWS,
    {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0}};

const hawser_metric_row hw_multitask_metrics[] = {
    HW_LINEAR_METRICS(hw_linear_gap_target),
    HW_LINEAR_PATH_METRICS,
    {.name = "r2", .help = "the part of the loss at zero, of all targets together, that the model explains"},
    {.name = "cv_mse", .help = "mean squared error on the held-out rows of --cv, over rows and targets"},
    {.name = "validation_mse",
     .help = "mean squared error on the rows of --validation or --validation-fraction, over rows and "
             "targets"},
    {.name = NULL}};
