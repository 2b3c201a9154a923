/* options.c - the lasso's option and metric rows. */
#include "algorithms/lasso/options.h"

#include "algorithms/glm/metrics.h"
#include "algorithms/glm/rows.h"

const hawser_option hw_lasso_rows[] = {
    {"lambda", HAWSER_NUMBER, NULL, "[0,inf)", "X",
     "Weight of the penalty; the objective is 1/(2n) ||y - Xw - b||^2 + lambda (...)", NULL, 'l'},
    {"lambda-ratio", HAWSER_NUMBER, "0.05", "(0,inf)", "R",
     "The penalty's weight as a fraction of lambda_max, above which all penalised coefficients are zero (nearly, where more "
     "than 256 columns without a penalty have bounds on both sides)",
     "Choice of lambda", 0},
    {"l1-ratio", HAWSER_NUMBER, "1", "[0,1]", "A", "L1 share of the penalty: 1 lasso, 0 ridge", NULL, 0},
    {"solver", HAWSER_WORD, "working-set", "working-set|cd", "NAME",
     "Local solver of a block's subproblem: working sets, or plain randomised coordinate descent", "Solver", 0},
    HW_LINEAR_ROWS,
    {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0}};

const hawser_metric_row hw_lasso_metrics[] = {
    HW_LINEAR_METRICS(hw_linear_gap_target),
    HW_LINEAR_PATH_METRICS,
    {.name = "r2", .help = "the part of the loss at zero that the model explains"},
    {.name = "cv_mse", .help = "mean squared error on the held-out rows of --cv"},
    {.name = "validation_mse", .help = "mean squared error on the rows of --validation or --validation-fraction"},
    {.name = NULL}};
