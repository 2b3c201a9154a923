/*
 * ranked.h - values with weights, sorted in place: 16 bytes per row. The sort allocates nothing, takes at most 64 passes
 * whatever the values, and gives equal values no order.
 */
#ifndef HW_ALGORITHMS_MEASURES_RANKED_H
#define HW_ALGORITHMS_MEASURES_RANKED_H

#include <stddef.h>

/* The area under the ROC curve uses the sign of the weight: below zero, the example is not of the class. */
typedef struct hw_ranked {
    double value, weight;
} hw_ranked;

/* Returns the pairs of numbers of an evaluation as items, which are written in their place. */
static inline hw_ranked *hw_ranked_in(double *scored)
{
    return (hw_ranked *)scored;
}

/* Sorts by value, ascending. No value may be NaN or -0. */
void hw_ranked_sort(hw_ranked *items, size_t count);
/* Returns the weighted probability that a value of the class is above a value that is not of it; ties count half. NaN if the
 * class or its complement has no item. The items must be sorted. */
double hw_ranked_area(const hw_ranked *items, size_t count);
/* Returns the smallest value at or below which the items have at least the share `q` of the total weight. If they have
 * exactly this share, returns the mean of this value and the next. Weights must be above zero, the items sorted, and their
 * count above zero. */
double hw_ranked_quantile(const hw_ranked *items, size_t count, double q);

#endif
