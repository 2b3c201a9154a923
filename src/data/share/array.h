/* array.h - a Matrix Market array of which every node has read a run of values. */
#ifndef HW_DATA_ARRAY_H
#define HW_DATA_ARRAY_H

#include "base/memory.h"
#include "data/dataset.h"
#include "data/owners.h"

/* What of these values goes to each node, array.first being known: values of its columns, and of a symmetric array those that are
 * mirrored there. pieces has room for all nodes; the caller frees them, after a failure too. */
hawser_status hw_array_pack(const hawser_dataset *values, const hw_owners *owners, uint32_t nodes, hw_bytes *pieces,
                            hawser_error *error) HAWSER_MUST_USE;
/* Fails: what the node sent does not match the sizes that it reported before. */
hawser_status hw_share_misfit(uint32_t node, hawser_error *error) HAWSER_MUST_USE;

/* Puts a node's piece into own columns of A. Refuses what does not fit. */
hawser_status hw_array_fill(const hawser_matrix *A, bool symmetric, const hw_owners *owners, uint32_t self,
                            const hw_bytes *piece, uint32_t node, hawser_error *error) HAWSER_MUST_USE;

#endif
