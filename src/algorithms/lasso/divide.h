/* divide.h - rows divided among blocks such that each has equally many of the entries of some columns. */
#ifndef HW_ALGORITHMS_LASSO_DIVIDE_H
#define HW_ALGORITHMS_LASSO_DIVIDE_H

#include "hawser/matrix.h"

/* Where the range of a block begins, of `length` numbers that are divided evenly. */
size_t hw_lasso_divide_evenly(size_t length, uint32_t block, uint32_t blocks);
/* The rows [*begin, *end) of block `own`; the columns listed are of X. */
void hw_lasso_divide_rows(const hawser_matrix *X, const uint32_t *list, size_t count, uint32_t own, uint32_t blocks,
                          size_t *begin, size_t *end);

#endif
