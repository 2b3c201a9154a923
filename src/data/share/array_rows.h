/* array_rows.h - distributes a Matrix Market array by rows; each node has read a range of its values. */
#ifndef HW_DATA_SHARE_ARRAY_ROWS_H
#define HW_DATA_SHARE_ARRAY_ROWS_H

#include "data/share/blocks.h"

/* Packs for each node the values of its blocks' rows, like hw_array_pack. The signature is that of hw_row_blocks_pack. */
hawser_status hw_array_pack_rows(const struct hw_row_blocks *blocks, const hawser_dataset *values,
                                 const hw_shard_facts *whole, size_t first, hw_bytes *pieces,
                                 hawser_error *error) HAWSER_MUST_USE;
/* Returns how many of the values that this node has read are in rows of other nodes' blocks. */
uint64_t hw_array_leaving(const hawser_dataset *values, const struct hw_row_blocks *blocks);

/* Makes own blocks from the pieces of all nodes; each is freed after use. Refuses data that do not fit. */
hawser_status hw_array_fill_rows(struct hw_row_blocks *blocks, const hw_row_pieces *from,
                                 hawser_error *error) HAWSER_MUST_USE;

#endif
