#include "data/share/array_rows.h"

#include <string.h>

#include "base/layout.h"
#include "data/share/array.h"

/* Returns the block of a row, searched from block `b` on or from the first one. */
static uint32_t block_of(const struct hw_row_blocks *blocks, uint64_t row, uint32_t b)
{
    b = row < blocks->bounds[b] ? 0 : b;
    while (row >= blocks->bounds[b + 1])
        b++;
    return b;
}

/* Adds values to the piece of their row's node. Mirrored, a value belongs to the row with its column's number as well; the
 * node of a run stores both. */
static void add_values(const hw_array_part *array, const void *homes, hw_array_run r, const char *values, size_t size,
                       hw_array_writer *writers)
{
    const struct hw_row_blocks *blocks = homes;
    uint32_t b = 0, mirror = array->symmetric ? hw_view_node(&blocks->view, block_of(blocks, r.column, 0)) : UINT32_MAX;
    for (uint64_t row = r.row, last = row + r.count, end; row < last; row = end) {
        b = block_of(blocks, row, b);
        end = blocks->bounds[b + 1] < last ? blocks->bounds[b + 1] : last;
        uint32_t home = hw_view_node(&blocks->view, b);
        hw_array_run part = {r.column, (uint32_t)row, end - row};
        const char *from = values + (row - r.row) * size;
        if (r.column < array->cols || home == mirror)
            hw_array_add(&writers[home], part, from, size);
        if (mirror != UINT32_MAX && mirror != home)
            hw_array_add(&writers[mirror], part, from, size);
    }
}

hawser_status hw_array_pack_rows(const struct hw_row_blocks *blocks, const hawser_dataset *values,
                                 const hw_shard_facts *whole, size_t first, hw_bytes *pieces, hawser_error *error)
{
    (void)whole, (void)first;
    return hw_array_pack_by(values, add_values, blocks, blocks->view.nodes, pieces, error);
}

uint64_t hw_array_leaving(const hawser_dataset *values, const struct hw_row_blocks *blocks)
{
    const hw_array_part *array = &values->array;
    uint64_t leaving = 0, row, column = 0, top = 0, left = values->found;
    for (row = array->first; row >= array->rows - top; top = array->symmetric ? column : 0) {
        row -= array->rows - top;
        column++;
    }
    for (row += top; left > 0; row = top) {
        uint64_t count = array->rows - row < left ? array->rows - row : left;
        for (uint32_t b = 0; b < blocks->view.blocks; b++) {
            size_t from;
            leaving += hw_row_block_here(blocks, b) ? 0 : hw_row_blocks_overlap(blocks, b, row, count, &from);
        }
        left -= count;
        column++;
        top = array->symmetric ? column : 0;
    }
    return leaving;
}

/* Stores the values of a run that are in rows of own blocks. */
static void put_run(struct hw_row_blocks *blocks, const hw_shard_facts *whole, hw_array_run r, const char *values)
{
    size_t size = hw_type_size(whole->type);
    uint32_t b = 0, mirror = whole->symmetric ? block_of(blocks, r.column, 0) : 0;
    bool mirrored = whole->symmetric && hw_row_block_here(blocks, mirror);
    for (uint64_t row = r.row; row < r.row + r.count; row++, values += size) {
        b = block_of(blocks, row, b);
        if (hw_row_block_here(blocks, b) && r.column < whole->cols)
            memcpy((char *)blocks->block[b].values + ((row - blocks->bounds[b]) * whole->cols + r.column) * size, values,
                   size);
        if (mirrored && row < whole->cols)
            memcpy((char *)blocks->block[mirror].values + ((r.column - blocks->bounds[mirror]) * whole->cols + row) * size,
                   values, size);
    }
}

static hawser_status take_piece(struct hw_row_blocks *blocks, const hw_shard_facts *whole, const hw_bytes *piece,
                                uint32_t node, hawser_error *error)
{
    size_t size = hw_type_size(whole->type);
    hw_array_reader reader;
    hw_array_run r;
    const char *values;
    if (!hw_array_open(piece, &reader))
        return hw_share_misfit(node, error);
    while (reader.runs > 0) {
        if (!hw_array_next(&reader, whole->rows, whole->symmetric ? whole->rows : whole->cols, size, &r, &values))
            return hw_share_misfit(node, error);
        put_run(blocks, whole, r, values);
    }
    return reader.left == 0 ? HAWSER_OK : hw_share_misfit(node, error);
}

hawser_status hw_array_fill_rows(struct hw_row_blocks *blocks, const hw_row_pieces *from, hawser_error *error)
{
    const hw_shard_facts *whole = from->whole;
    hawser_status status = HAWSER_OK;
    for (uint32_t b = 0; b < blocks->view.blocks && status == HAWSER_OK; b++)
        if (hw_row_block_here(blocks, b))
            status = hw_row_block_new(blocks, b, whole, (blocks->bounds[b + 1] - blocks->bounds[b]) * whole->cols, error);
    for (uint32_t node = 0; node < from->nodes && status == HAWSER_OK; node++) {
        status = take_piece(blocks, whole, &from->pieces[node], node, error);
        free(from->pieces[node].data);
        from->pieces[node] = (hw_bytes){0};
    }
    return status;
}
