/* largest.h - the printed numbers of a model by column, the largest ones first. */
#ifndef HW_ALGORITHMS_MODEL_LARGEST_H
#define HW_ALGORITHMS_MODEL_LARGEST_H

#include "hawser/algorithm.h"

/* A number and its column. */
typedef struct hw_column_value {
    double value;
    size_t column;
} hw_column_value;

/* Prints at most `most` of the `count` values that are not 0, one per line behind `indent`, with the names of their columns.
 * `space` has `count` elements. */
void hw_print_largest(const hawser_model *model, const hawser_schema *schema, const double *values, size_t count,
                      uint64_t most, const char *indent, hw_column_value *space, FILE *out);

#endif
