/* spread.h - where the work of a lasso will be, before anything is known but the target. */
#ifndef HW_ALGORITHMS_LASSO_SPREAD_H
#define HW_ALGORITHMS_LASSO_SPREAD_H

#include "algorithms/glm/linear.h"

/* What each column is likely to cost besides its scans. Under SSP and TAP each block solves subproblems of its own columns alone: those
 * have to be spread that enter them, and not entries alone. The caller frees *costs. */
hawser_status hw_lasso_spread(const hw_linear *lasso, double **costs, hawser_error *error) HAWSER_MUST_USE;

#endif
