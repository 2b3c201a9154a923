/* options.c - option rows of linear regression by descent. */
#include "algorithms/sgd/options.h"

const hawser_option hw_descent_rows[] = {
    {"solver", HAWSER_WORD, "gd", "gd|sgd|minibatch", "NAME",
     "Descent by all rows, one row, or --batch rows; gd: gradient descent on all rows, sgd: one row at a time, minibatch: "
     "--batch rows at a time",
     NULL, 0},
    HW_DESCENT_ROWS,
    {"tol", HAWSER_NUMBER, "1e-6", "(0,1)", "T",
     "Stop --solver gd below this correlation; of any column with the residual, as a fraction of the target's deviation",
     NULL, 0},
    {"intercept", HAWSER_FLAG, "yes", NULL, NULL, "Fit an intercept", NULL, 0},
    {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0}};
