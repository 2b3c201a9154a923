#include "data/share/turned.h"

#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/type.h"
#include "base/wide.h"
#include "data/share/array.h"

void hw_turned_count(const hawser_matrix *A, uint64_t *counts)
{
    for (uint64_t e = 0; e < A->stored; e++)
        counts[A->indices[e]]++;
}

hawser_status hw_turned_begin(struct hw_row_blocks *blocks, const hw_shard_facts *whole, const uint64_t *offsets,
                              hawser_error *error)
{
    const hw_shard_facts entries = {
        .cols = whole->cols, .layout = whole->layout, .type = whole->type}; /* nothing beside them */
    for (uint32_t b = 0; b < blocks->view.blocks; b++) {
        const size_t begin = blocks->bounds[b], rows = blocks->bounds[b + 1] - begin;
        if (!hw_row_block_here(blocks, b))
            continue;
        HAWSER_TRY(hw_row_block_new(blocks, b, &entries,
                                    offsets != NULL ? offsets[begin + rows] - offsets[begin] : rows * whole->cols, error));
        /* offsets[i + 1] is where row i's next entry goes, so that it ends as the end of the row. */
        for (size_t i = 0; offsets != NULL && i < rows; i++)
            blocks->block[b].offsets[i + 1] = offsets[begin + i] - offsets[begin];
    }
    return HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------------------ packing ---- */

/* The rows of a block that are in a round. */
typedef struct row_range {
    size_t begin, end;
} row_range;

static row_range in_round(const struct hw_row_blocks *blocks, uint32_t b)
{
    const size_t begin = blocks->bounds[b], rows = blocks->bounds[b + 1] - begin;
    if (blocks->rounds <= 1)
        return (row_range){begin, begin + rows};
    return (row_range){begin + (size_t)hw_share_of(rows, blocks->round, blocks->rounds),
                       begin + (size_t)hw_share_of(rows, blocks->round + 1, blocks->rounds)};
}

/* A sparse piece: head, rows and columns of the whole (u32), padding to 8, values. A dense one: head, then for each column
 * its rows in each block. */
typedef struct turned_head {
    uint64_t first, columns, entries;
} turned_head;

static size_t values_at(const turned_head *h)
{
    return sizeof *h + h->entries * 2 * sizeof(uint32_t);
}

/* Returns the block of a row, searched from block `b` on or from the first one. */
static uint32_t block_of(const struct hw_row_blocks *blocks, size_t row, uint32_t b)
{
    b = row < blocks->bounds[b] ? 0 : b;
    while (row >= blocks->bounds[b + 1])
        b++;
    return b;
}

/* Where the next entry for a node is written; `count` counts. */
typedef struct entry_writer {
    uint32_t *row, *column;
    char *value;
    uint64_t count;
} entry_writer;

/* Counts the entries of the round for each node below `nodes`, or writes them. One pass serves all nodes. */
static void visit_entries(const struct hw_row_blocks *blocks, const hawser_matrix *A, size_t first, const row_range *ranges,
                          uint32_t nodes, bool writes, entry_writer *writers)
{
    const size_t size = hw_type_size(A->type);
    uint32_t b = 0;
    for (size_t j = 0; j < A->cols; j++)
        for (uint64_t e = A->offsets[j]; e < A->offsets[j + 1]; e++) {
            const uint32_t row = A->indices[e];
            b = block_of(blocks, row, b);
            if (row < ranges[b].begin || row >= ranges[b].end || hw_view_node(&blocks->view, b) >= nodes)
                continue;
            entry_writer *to = &writers[hw_view_node(&blocks->view, b)];
            to->count++;
            if (!writes)
                continue;
            *to->row++ = row;
            *to->column++ = (uint32_t)(first + j);
            memcpy(to->value, (const char *)A->values + e * size, size);
            to->value += size;
        }
}

static void put_columns(const struct hw_row_blocks *blocks, const hawser_matrix *A, const row_range *ranges, uint32_t node,
                        char *to)
{
    const size_t size = hw_type_size(A->type);
    for (size_t j = 0; j < A->cols; j++)
        for (uint32_t b = 0; b < blocks->view.blocks; b++) {
            const size_t count = ranges[b].end - ranges[b].begin;
            if (count == 0 || hw_view_node(&blocks->view, b) != node)
                continue;
            memcpy(to, (const char *)A->values + ((uint64_t)j * A->stride + ranges[b].begin) * size, count * size);
            to += count * size;
        }
}

static hawser_status new_piece(hw_bytes *piece, const turned_head *h, size_t length, hawser_error *error)
{
    HAWSER_TRY(hw_new_array(&piece->data, length, 1, "rows for another node", error));
    piece->length = length;
    memcpy(piece->data, h, sizeof *h);
    return HAWSER_OK;
}

static hawser_status pack_dense(const struct hw_row_blocks *blocks, const hawser_matrix *A, size_t first,
                                const row_range *ranges, uint32_t nodes, hw_bytes *pieces, hawser_error *error)
{
    for (uint32_t d = 0; d < nodes; d++) {
        turned_head h = {.first = first, .columns = A->cols};
        for (uint32_t b = 0; b < blocks->view.blocks; b++)
            h.entries += hw_view_node(&blocks->view, b) == d ? (ranges[b].end - ranges[b].begin) * A->cols : 0;
        HAWSER_TRY(new_piece(&pieces[d], &h, sizeof h + h.entries * hw_type_size(A->type), error));
        put_columns(blocks, A, ranges, d, (char *)pieces[d].data + sizeof h);
    }
    return HAWSER_OK;
}

static hawser_status pack_sparse(const struct hw_row_blocks *blocks, const hawser_matrix *A, size_t first,
                                 const row_range *ranges, uint32_t nodes, hw_bytes *pieces, hawser_error *error)
{
    entry_writer *writers = NULL;
    HAWSER_TRY(HW_NEW(&writers, nodes, "rows for another node", error));
    hawser_status status = HAWSER_OK;
    visit_entries(blocks, A, first, ranges, nodes, false, writers);
    for (uint32_t d = 0; d < nodes && status == HAWSER_OK; d++) {
        const turned_head h = {first, A->cols, writers[d].count};
        status = new_piece(&pieces[d], &h, values_at(&h) + h.entries * hw_type_size(A->type), error);
        if (status != HAWSER_OK)
            break;
        writers[d].row = (uint32_t *)(void *)((char *)pieces[d].data + sizeof h);
        writers[d].column = writers[d].row + h.entries;
        writers[d].value = (char *)pieces[d].data + values_at(&h);
    }
    if (status == HAWSER_OK)
        visit_entries(blocks, A, first, ranges, nodes, true, writers);
    free(writers);
    return status;
}

hawser_status hw_turned_pack(const struct hw_row_blocks *blocks, const hawser_matrix *A, size_t first, uint32_t nodes,
                             hw_bytes *pieces, hawser_error *error)
{
    row_range *ranges = NULL;
    memset(pieces, 0, nodes * sizeof *pieces);
    HAWSER_TRY(HW_NEW(&ranges, blocks->view.blocks, "rows for another node", error));
    for (uint32_t b = 0; b < blocks->view.blocks; b++)
        ranges[b] = in_round(blocks, b);
    const hawser_status status = hw_is_dense(A) ? pack_dense(blocks, A, first, ranges, nodes, pieces, error)
                                                : pack_sparse(blocks, A, first, ranges, nodes, pieces, error);
    free(ranges);
    return status;
}

uint64_t hw_turned_entries(const hw_bytes *piece)
{
    turned_head h = {0};
    if (piece->length >= sizeof h)
        memcpy(&h, piece->data, sizeof h);
    return h.entries;
}

/* ------------------------------------------------------------------------------------------------------ filling ---- */

static bool fill_sparse(struct hw_row_blocks *blocks, const hw_shard_facts *whole, const turned_head *h, const char *piece)
{
    const size_t size = hw_type_size(whole->type);
    const uint32_t *rows = (const uint32_t *)(const void *)(piece + sizeof *h), *columns = rows + h->entries;
    const char *values = piece + values_at(h);
    uint32_t b = 0;
    for (uint64_t e = 0; e < h->entries; e++) {
        if (rows[e] >= whole->rows || columns[e] >= whole->cols)
            return false;
        b = block_of(blocks, rows[e], b);
        hw_row_block *block = &blocks->block[b];
        if (!hw_row_block_here(blocks, b))
            return false;
        const uint64_t place = block->offsets[rows[e] - blocks->bounds[b] + 1]++;
        if (place >= block->matrix.stored)
            return false;
        block->indices[place] = columns[e];
        memcpy((char *)block->values + place * size, values + e * size, size);
    }
    return true;
}

/* Stores some rows of some columns, `step` numbers apart, a few rows at a time, so that a line of the processor's cache
 * serves the columns that it has. */
static void put_rows(const void *from, size_t step, size_t rows, size_t columns, size_t size, void *to, size_t stride)
{
    enum { SIDE = 16 };
    for (size_t begin = 0; begin < rows; begin += SIDE) {
        const size_t end = rows - begin < SIDE ? rows : begin + SIDE;
        for (size_t j = 0; j < columns; j++)
            for (size_t i = begin; i < end; i++)
                if (size == sizeof(float))
                    ((float *)to)[i * stride + j] = ((const float *)from)[j * step + i];
                else
                    ((double *)to)[i * stride + j] = ((const double *)from)[j * step + i];
    }
}

static bool fill_dense(struct hw_row_blocks *blocks, const hw_shard_facts *whole, const turned_head *h, const char *piece)
{
    const size_t size = hw_type_size(whole->type);
    const char *from = piece + sizeof *h;
    size_t step = 0;
    if (h->first > whole->cols || h->columns > whole->cols - h->first)
        return false;
    for (uint32_t b = 0; b < blocks->view.blocks; b++)
        if (hw_row_block_here(blocks, b))
            step += in_round(blocks, b).end - in_round(blocks, b).begin;
    if (h->entries != step * h->columns)
        return false;
    for (uint32_t b = 0; b < blocks->view.blocks; b++) {
        if (!hw_row_block_here(blocks, b))
            continue;
        const row_range range = in_round(blocks, b);
        const size_t at = (range.begin - blocks->bounds[b]) * whole->cols + h->first;
        put_rows(from, step, range.end - range.begin, h->columns, size, (char *)blocks->block[b].values + at * size,
                 whole->cols);
        from += (range.end - range.begin) * size;
    }
    return true;
}

static bool fill_piece(struct hw_row_blocks *blocks, const hw_shard_facts *whole, const hw_bytes *piece)
{
    turned_head h;
    const size_t size = hw_type_size(whole->type);
    const bool dense = whole->layout == HAWSER_DENSE_ROWS;
    if (piece->length < sizeof h)
        return false;
    memcpy(&h, piece->data, sizeof h);
    if (h.entries > whole->stored || piece->length != (dense ? sizeof h : values_at(&h)) + h.entries * size)
        return false;
    return dense ? fill_dense(blocks, whole, &h, piece->data) : fill_sparse(blocks, whole, &h, piece->data);
}

hawser_status hw_turned_fill(struct hw_row_blocks *blocks, const hw_shard_facts *whole, hw_bytes *pieces, uint32_t nodes,
                             hawser_error *error)
{
    for (uint32_t node = 0; node < nodes; node++) {
        if (!fill_piece(blocks, whole, &pieces[node]))
            return hw_share_misfit(node, error);
        free(pieces[node].data);
        pieces[node] = (hw_bytes){0};
    }
    return HAWSER_OK;
}

/* Returns whether the columns of each row ascend. A row with an entry too many or too few would break this in it or in the
 * next one. */
static bool is_whole(const hawser_matrix *A)
{
    if (A->offsets[A->rows] != A->stored)
        return false;
    for (size_t i = 0; i < A->rows; i++)
        for (uint64_t e = A->offsets[i] + 1; e < A->offsets[i + 1]; e++)
            if (A->indices[e] <= A->indices[e - 1])
                return false;
    return true;
}

hawser_status hw_turned_end(const struct hw_row_blocks *blocks, hawser_error *error)
{
    for (uint32_t b = 0; b < blocks->view.blocks; b++)
        if (hw_row_block_here(blocks, b) && !hw_is_dense(&blocks->block[b].matrix) && !is_whole(&blocks->block[b].matrix))
            return hw_share_misfit(blocks->self, error);
    return HAWSER_OK;
}
