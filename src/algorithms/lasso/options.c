/* options.c - the lasso's option and metric rows, and a page of the help on validation data. */
#include "algorithms/lasso/parts.h"

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
    HW_CHOICE_PATH_METRICS,
    HW_LINEAR_FIT_METRICS("r2", "the loss at zero", "mse", "mean squared error", ""),
    {.name = NULL}};

const hawser_topic hw_lasso_topics[] = {
    {"validation", "Validation data, and the end of a training by their error",
     "--validation FILE names rows that a training does not learn from; --validation-fraction F\n"
     "(of linear models) keeps some of its own. Their error is measured\n\n"
     "  lasso, logistic, poisson, multitask   at each certificate: mean squared error, log loss or\n"
     "                                        deviance\n"
     "  softmax                               at the start and after each step: log loss\n"
     "  svm                                   at each certificate: accuracy, or mean squared error\n"
     "  kmeans --batch                        after each pass over the rows: inertia\n\n"
     "and is a column of --trace and a field of --log-json, beside the number of the evaluation.\n"
     "Node 0 reads the file and measures, so large files make the other workers wait.\n\n"
     "With a path, the lambda (of svm: C) of the least error is chosen. --early-stopping N ends the\n"
     "path when N lambdas one after another have not lowered the error; the rest are not tried. With\n"
     "one lambda it counts certificates or steps, as the epochs of --solver minibatch, and the model\n"
     "is that of the one with the least error, also if --epochs, a limit or a signal ends the\n"
     "training first. Its objective and gap are those of this model, so the gap may be far above\n"
     "--tol. --early-stopping-min-delta D counts an error as lower only if it is so by more than D.\n\n"
     "kmeans ends each start so, with the centres of the least inertia. Without --batch it does not,\n"
     "since no iteration over all rows raises the inertia of these.\n\n"
     "All nodes decide by node 0's error, so the model has the same bits with any number of threads\n"
     "and nodes under bsp. --cv chooses by its folds, and excludes both.\n"},
    {NULL, NULL, NULL},
};
