/* beside.h - numbers that belong to rows and are in a file of their own, of which every node has read a range. */
#ifndef HW_DATA_SHARE_BESIDE_H
#define HW_DATA_SHARE_BESIDE_H

#include "data/share/blocks.h"

/* Packs for each other node the numbers of its blocks' rows. `numbers` is dense, by column, of doubles; its rows begin at
 * row `first` of the whole. pieces has one item per node; the caller frees them. */
hawser_status hw_beside_pack(const struct hw_row_blocks *blocks, const hawser_matrix *numbers, size_t first,
                             hw_bytes *pieces, hawser_error *error) HAWSER_MUST_USE;
/* Stores the numbers of own blocks: column 0 as `kind` (HW_BESIDE_TARGET ...), column k from 1 on as HW_BESIDE_FURTHER + k -
 * 1. Refuses data that do not fit: every row must be there once. */
hawser_status hw_beside_fill(struct hw_row_blocks *blocks, unsigned kind, const hawser_matrix *numbers, size_t first,
                             const hw_bytes *pieces, uint32_t nodes, hawser_error *error) HAWSER_MUST_USE;

#endif
