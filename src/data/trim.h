/* trim.h - leaves out the last columns of an input whose text numbers its columns, if only rows of weight 0 have entries in
 * them. */
#ifndef HW_DATA_TRIM_H
#define HW_DATA_TRIM_H

#include "data/dataset.h"

/* Returns whether columns of this input may be left out: the text numbers them, rows have weights, and no model says which
 * columns there are. */
bool hw_trims_columns(const hawser_load *load, hawser_format format);
/* Trims a sparse matrix that was read and is not yet shared. `weights` are those of its rows; NULL: all rows count. The
 * first column stays. */
void hw_trim_columns(hawser_dataset *dataset, const double *weights);
/* Leaves out the columns from `columns` on of a sparse matrix that has more. */
void hw_trim_to(hawser_dataset *dataset, size_t columns);

#endif
