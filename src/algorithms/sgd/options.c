/* options.c - option rows of linear regression by descent. */
#include "algorithms/sgd/options.h"

const hawser_option hw_descent_rows[] = {
    {"solver", HAWSER_WORD, "gd", "gd|sgd|minibatch", "NAME",
     "Gradient descent on all rows, on one row at a time (sgd), or on batches of --batch rows (minibatch)", "0.1", 0},
    HW_DESCENT_ROWS,
    {"tol", HAWSER_NUMBER, "1e-6", "(0,1)", "T",
     "Stop --solver gd when no column correlates with the residual by more than T (of the target's deviation)", "0.1", 0},
    {"intercept", HAWSER_FLAG, "yes", NULL, NULL, "Fit an intercept", "0.1", 0},
    {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0}};
