/* spread.h - estimates the costs of a lasso's columns before the training, from the target. */
#ifndef HW_ALGORITHMS_LASSO_SPREAD_H
#define HW_ALGORITHMS_LASSO_SPREAD_H

#include "algorithms/glm/linear.h"

/* Estimates the cost of each column besides its scans. Under SSP and TAP each block solves subproblems of its own columns
 * only, so the columns that will enter them must be spread, not only entries. The caller frees *costs. */
hawser_status hw_lasso_spread(const hw_linear *lasso, double **costs, hawser_error *error) HAWSER_MUST_USE;

#endif
