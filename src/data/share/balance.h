/* balance.h - the assumed cost of a share of a matrix. */
#ifndef HW_DATA_SHARE_BALANCE_H
#define HW_DATA_SHARE_BALANCE_H

#include <stdbool.h>

#include "hawser/data.h"

/* The cost of a column (in CSR: a row) besides its entries, in entries: the call for it, its statistics, its place in lists.
 * If the frequent columns are first, as in text, balancing entries alone gave one block nearly all of the columns. */
enum { HW_LINE_COST = 8 };

/* Returns whether columns without entries are left out before columns are cut: there are many, and they would cost more than
 * the entries. A training may leave them out only where this holds, so that its blocks are the same. */
static inline bool hw_leaves_out(uint64_t empty, uint64_t stored)
{
    enum { FEWEST = 1 << 16 };
    return empty >= FEWEST && stored / HW_LINE_COST < empty;
}

/* Like hawser_balance, with additional costs[line] (none negative) for each line. */
void hw_balance_costs(const hawser_matrix *matrix, const double *costs, size_t parts, size_t *bounds);

/* Cuts `count` lines into shares of equal size; the first ones have one more if necessary. Dense rows are cut this way. */
void hw_balance_even(size_t count, size_t parts, size_t *bounds);

/* Some consecutive lines of a sparse matrix, and where they are in the whole. */
typedef struct hw_line_range {
    const uint64_t *offsets; /* count + 1 */
    size_t first, count;     /* lines of the whole before these; these lines */
    uint64_t before;         /* entries of the whole before these lines */
} hw_line_range;

/* Finds those cuts of hawser_balance that fall into these lines: cuts[p] for 0 < p < parts becomes a line of the whole, or
 * SIZE_MAX if the cut is in other lines (of two pieces that meet at a cut, the first has it). `lines` and `stored` are the
 * whole's. */
void hw_balance_find(const hw_line_range *piece, size_t lines, uint64_t stored, size_t parts, size_t *cuts);
/* Makes the bounds of hawser_balance from the cuts that were found: bounds[p] for 0 < p < parts holds one on entry. */
void hw_balance_fit(size_t lines, size_t parts, size_t *bounds);

#endif
