/* block_digest.h - a digest of the rows of a block, with what belongs to them. */
#ifndef HW_DATA_SHARE_BLOCK_DIGEST_H
#define HW_DATA_SHARE_BLOCK_DIGEST_H

#include "data/share/blocks.h"

/* Digests of data in different layouts differ. beside[kind] has a number per row, or is NULL. */
uint64_t hw_rows_digest(const hawser_matrix *A, const double *const beside[HW_BESIDE_MOST]);
/* Digests `beside` alone, without a matrix. */
uint64_t hw_beside_digest(size_t rows, const double *const beside[HW_BESIDE_MOST]);

#endif
