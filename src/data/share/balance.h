/* balance.h - what a share of a matrix is taken to cost. */
#ifndef HW_DATA_SHARE_BALANCE_H
#define HW_DATA_SHARE_BALANCE_H

#include "hawser/data.h"

/* A column (of CSR: a row) costs as much as so many entries besides its own: the call for it, its statistics, its place in lists.
 * Where columns come with the frequent ones first, as in text, equal entries alone gave one block nearly all of the columns. */
enum { HW_LINE_COST = 8 };

/* hawser_balance where each line costs costs[line] (none below zero) besides. */
void hw_balance_costs(const hawser_matrix *matrix, const double *costs, size_t parts, size_t *bounds);

#endif
