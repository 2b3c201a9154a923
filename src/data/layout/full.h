/* full.h - sparse data that take no more memory when they are stored densely. Kernels are faster on them so. */
#ifndef HW_DATA_FULL_H
#define HW_DATA_FULL_H

#include "data/dataset.h"

/* Returns whether the load asks for such data to be dense, and a sparse matrix of these sizes is that full. The sizes are
 * those of the whole input, so that all nodes find the same. */
bool hw_is_full(const hawser_load *load, hawser_format format, const hawser_matrix *sizes);
/* Replaces CSC by HAWSER_DENSE, or CSR by HAWSER_DENSE_ROWS. Rows that are a part of the whole get `cols` columns, and their
 * column numbers are `shift` less than those of the whole. The entries are the dataset's own; their pages are released while
 * they are copied. After a failure the dataset can only be freed. */
hawser_status hw_store_densely(hawser_dataset *dataset, size_t cols, uint32_t shift, hawser_error *error) HAWSER_MUST_USE;

#endif
