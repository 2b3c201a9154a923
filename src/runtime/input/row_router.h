/* row_router.h - how rows come to their blocks: they are packed for each node, and placed there. */
#ifndef HW_RUNTIME_INPUT_ROW_ROUTER_H
#define HW_RUNTIME_INPUT_ROW_ROUTER_H

#include "data/share/array_rows.h"

typedef struct hw_row_router {
    hawser_status (*pack)(const struct hw_row_blocks *blocks, const hawser_dataset *rows, const hw_shard_facts *whole,
                          size_t first, hw_bytes *pieces, hawser_error *error);
    hawser_status (*place)(struct hw_row_blocks *blocks, const hw_row_pieces *from, hawser_error *error);
} hw_row_router;

/* Returns the router for parts that have rows in order, entries of any rows (Matrix Market), or a range of an array's
 * values. */
static inline hw_row_router hw_row_router_of(const hw_shard_facts *whole)
{
    if (!whole->scattered)
        return (hw_row_router){hw_row_blocks_pack, hw_row_blocks_fill};
    return whole->layout == HAWSER_DENSE_ROWS ? (hw_row_router){hw_array_pack_rows, hw_array_fill_rows}
                                              : (hw_row_router){hw_row_blocks_pack, hw_row_blocks_merge};
}

#endif
