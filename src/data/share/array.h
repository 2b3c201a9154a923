/* array.h - a Matrix Market array of which every node has read a range of values. */
#ifndef HW_DATA_ARRAY_H
#define HW_DATA_ARRAY_H

#include "base/memory.h"
#include "data/dataset.h"
#include "data/owners.h"

/* Packs for each node the values of its columns, given array.first; of a symmetric array also the mirrored values. pieces has one item per
 * node; the caller frees them, also after a failure. */
hawser_status hw_array_pack(const hawser_dataset *values, const hw_owners *owners, uint32_t nodes, hw_bytes *pieces,
                            hawser_error *error) HAWSER_MUST_USE;
/* Fails because a node sent data that do not match the sizes that it reported before. */
hawser_status hw_share_misfit(uint32_t node, hawser_error *error) HAWSER_MUST_USE;

/* Stores a node's piece in own columns of A. Refuses data that do not fit. */
hawser_status hw_array_fill(const hawser_matrix *A, bool symmetric, const hw_owners *owners, uint32_t self,
                            const hw_bytes *piece, uint32_t node, hawser_error *error) HAWSER_MUST_USE;

#endif
