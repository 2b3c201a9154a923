/* centre.h - finds columns whose values are far from zero, beside their spread, and numbers to subtract from them. */
#ifndef HW_DATA_CENTRE_H
#define HW_DATA_CENTRE_H

#include "data/dataset.h"

/* A column, or a target, of `rows` numbers; rows without an entry are zeros. */
typedef struct hw_centre_column {
    const void *values;
    hawser_type type;
    uint64_t stored, step;   /* entries, and numbers from one entry to the next */
    const uint32_t *indices; /* the rows of the entries; NULL: entry k is row k */
    size_t rows;
    const double *weights; /* by row; rows of weight 0 do not count; NULL: ones */
} hw_centre_column;

/* Returns one of the column's values if most of them differ from it by less than a 4096th of it, but not all of those are
 * equal: sums of products of such values lose the digits in which they differ. Else returns 0. */
double hw_centre_of(const hw_centre_column *column);
/* Fills origin[j] for the columns that are on this node, of a matrix by column or of a whole one, and with 0 for the
 * others. */
void hw_centre_columns(const hawser_dataset *dataset, double *origin);

#endif
