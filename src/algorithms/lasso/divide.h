/* divide.h - divides rows among blocks so that each has about as many entries of some columns. */
#ifndef HW_ALGORITHMS_LASSO_DIVIDE_H
#define HW_ALGORITHMS_LASSO_DIVIDE_H

#include "hawser/matrix.h"

/* Returns the begin of a block's range of `length` numbers that are divided evenly. */
size_t hw_lasso_divide_evenly(size_t length, uint32_t block, uint32_t blocks);
/* Finds the rows [*begin, *end) of block `own`, for the listed columns of X. */
void hw_lasso_divide_rows(const hawser_matrix *X, const uint32_t *list, size_t count, uint32_t own, uint32_t blocks,
                          size_t *begin, size_t *end);

#endif
