/* options.c - the lasso's option and metric rows. */
#include "algorithms/lasso/options.h"

#include "algorithms/glm/metrics.h"
#include "algorithms/glm/rows.h"

const hawser_option hw_lasso_rows[] = {
    HW_LINEAR_LAMBDA_ROWS(
        "[0,inf)", "1/(2n) ||y - Xw - b||^2 + lambda (...)",
        "penalised coefficients are zero (nearly, where more than 256 columns without a penalty have bounds "
        "on both sides)"),
    HW_LINEAR_SHARE_ROW("L1 share of the penalty: 1 lasso, 0 ridge"),
    {"solver", HAWSER_WORD, "working-set", "working-set|cd", "NAME",
     "Local solver of a block's subproblem: working sets, or plain randomised coordinate descent", "Solver", 0},
    HW_LINEAR_ROWS,
    {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0}};

const hawser_metric_row hw_lasso_metrics[] = {
    HW_LINEAR_METRICS(hw_linear_gap_target),
    HW_LINEAR_PATH_METRICS,
    HW_LINEAR_FIT_METRICS("r2", "the loss at zero", "mse", "mean squared error", ""),
    {.name = NULL}};
