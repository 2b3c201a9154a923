/* options.c - the option and metric rows of the multi-task lasso. */
#include "algorithms/multitask/parts.h"

#include "algorithms/glm/metrics.h"
#include "algorithms/glm/rows.h"

const hawser_option hw_multitask_rows[] = {
    HW_LINEAR_LAMBDA_ROWS(
        "[0,inf)",
        "1/(2n) ||Y - XW - b||^2 + lambda (l1_ratio sum_j ||W_j|| + (1 - l1_ratio)/2 ||W||^2), where W_j has "
        "the coefficients of column j for all targets",
        "coefficients are zero"),
    HW_LINEAR_SHARE_ROW(
        "Share of the columns' norms in the penalty: 1 lasso, 0 ridge; they choose columns for all targets together"),
    HW_LINEAR_COMMON_ROWS,
    {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0}};

const hawser_metric_row hw_multitask_metrics[] = {HW_LINEAR_METRICS(hw_linear_gap_target),
                                                  HW_CHOICE_PATH_METRICS,
                                                  HW_LINEAR_FIT_METRICS("r2", "the loss at zero, of all targets together,",
                                                                        "mse", "mean squared error",
                                                                        ", over rows and targets"),
                                                  {.name = NULL}};
