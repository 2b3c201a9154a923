/* options.c - option rows of linear regression by descent. */
#include "algorithms/descent/options.h"

const hawser_option hw_descent_rows[] = {
    {"solver", HAWSER_WORD, "gd", "gd|sgd|minibatch", "NAME",
     "Gradient descent on all rows, on one row at a time (sgd), or on batches of --batch rows (minibatch)", "0.1", 0},
    {"exchange", HAWSER_WORD, "auto", "auto|products|weights", "WHAT",
     "What workers exchange: products of their columns with their weights, or the weights, from which each computes all "
     "products "
     "again; auto: products, but weights where stale products would be those of other rows",
     "0.1", 0},
    {"batch", HAWSER_INTEGER, "100", "[1,4294967295]", "ROWS", "Rows of a batch of --solver minibatch", "0.1", 0},
    {"step", HAWSER_NUMBER, NULL, "(0,inf)", "X",
     "Length of a step, for columns of standard deviation 1; default: what the largest eigenvalue and the sync's delay "
     "allow",
     "0.1", 0},
    {"epochs", HAWSER_NUMBER, "20", "(0,1e9]", "N", "Passes over the rows of --solver sgd and minibatch", "0.1", 0},
    {"tol", HAWSER_NUMBER, "1e-6", "(0,1)", "T",
     "Stop --solver gd when no column correlates with the residual by more than T (of the target's deviation)", "0.1", 0},
    {"intercept", HAWSER_FLAG, "yes", NULL, NULL, "Fit an intercept", "0.1", 0},
    {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0}};
