/*
 * pivot.h - columns that are far from zero where there is no intercept. They are nearly multiples of one of them, the pivot,
 * so a search that takes them as they are sees only what they have in common. Taken less its share of the pivot, each shows
 * what it adds.
 */
#ifndef HW_ALGORITHMS_SOLVE_PIVOT_H
#define HW_ALGORITHMS_SOLVE_PIVOT_H

#include "algorithms/solve/columns.h"

/* Returns the place in a list of the column whose values are most alike. Returns `count` if the columns need no pivot. */
size_t hw_linear_pivot_find(const hw_linear_columns *columns, const uint32_t *list, size_t count);
/* Computes, by place, each column's share of the pivot, and the mean square of the rest. `scratch` has two numbers for each
 * row. */
void hw_linear_pivot_shares(const hw_linear_columns *columns, const uint32_t *list, size_t count, size_t pivot,
                            double *scratch[2], double *share, double *left);

#endif
