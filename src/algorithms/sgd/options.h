/* options.h - option rows of descent by steps over a parameter server. */
#ifndef HW_ALGORITHMS_SGD_OPTIONS_H
#define HW_ALGORITHMS_SGD_OPTIONS_H

#include "hawser/options.h"

/* The rows that linear and logistic regression share. */
/* clang-format off */
#define HW_DESCENT_ROWS \
    {"exchange", HAWSER_WORD, "auto", "auto|products|weights", "WHAT", \
     "With --solver gd, sgd, minibatch, what workers exchange: products of their columns with their weights, or the " \
     "weights, from which each computes all products again; auto: products, but weights where stale products would be " \
     "those of other rows", \
     "Solver", 0}, \
    {"batch", HAWSER_INTEGER, "100", "[1,4294967295]", "ROWS", "Rows of a batch of --solver minibatch", "Solver", 0}, \
    {"step", HAWSER_NUMBER, NULL, "(0,1e100]", "X", \
     "Length of a step of --solver gd, sgd, minibatch, each column in a unit of its own: its standard deviation for linear, " \
     "its largest entry for logistic regression; default: what the largest eigenvalue and the sync's delay allow", \
     "Solver", 0}, \
    {"epochs", HAWSER_NUMBER, "20", "(0,1e9]", "N", \
     "Passes over the rows of --solver sgd and minibatch; with several lambdas, for each", "Solver", 0}
/* clang-format on */

extern const hawser_option hw_descent_rows[]; /* of linear regression */

#endif
