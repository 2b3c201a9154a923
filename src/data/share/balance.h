/* balance.h - the assumed cost of a share of a matrix. */
#ifndef HW_DATA_SHARE_BALANCE_H
#define HW_DATA_SHARE_BALANCE_H

#include "hawser/data.h"

/* The cost of a column (in CSR: a row) besides its entries, in entries: the call for it, its statistics, its place in lists. If the
 * frequent columns are first, as in text, balancing entries alone gave one block nearly all of the columns. */
enum { HW_LINE_COST = 8 };

/* Like hawser_balance, with additional costs[line] (none negative) for each line. */
void hw_balance_costs(const hawser_matrix *matrix, const double *costs, size_t parts, size_t *bounds);

#endif
