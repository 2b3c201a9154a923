#include "data/share/beside.h"

#include <string.h>

#include "base/layout.h"
#include "data/share/array.h"

/* Some rows of a block. They are followed by as many doubles for each column. */
typedef struct beside_run {
    uint64_t block, first, rows; /* first: row of the block */
} beside_run;

/* Returns the rows of a block among `count` rows from `first` on, and stores the first of these rows that it has. */
static beside_run run_of(const struct hw_row_blocks *blocks, uint32_t b, size_t first, size_t count, size_t *at)
{
    size_t from, rows = hw_row_blocks_overlap(blocks, b, first, count, &from);
    *at = from - first;
    return (beside_run){b, rows == 0 ? 0 : from - blocks->bounds[b], rows};
}

/* Copies numbers [at, at + rows) of a column. */
static void copy_column(const hawser_matrix *numbers, size_t column, size_t at, size_t rows, double *to)
{
    const double *from = numbers->values;
    if (numbers->layout == HAWSER_DENSE || numbers->stride == 1)
        memcpy(to, from + hw_dense_place(numbers, at, column), rows * sizeof *to);
    else
        for (size_t i = 0; i < rows; i++)
            to[i] = from[hw_dense_place(numbers, at + i, column)];
}

static hawser_status pack_for(const struct hw_row_blocks *blocks, const hawser_matrix *numbers, size_t first, uint32_t node,
                              hw_bytes *piece, hawser_error *error)
{
    size_t bytes = 0, at;
    for (uint32_t b = 0; b < blocks->view.blocks; b++) {
        beside_run run = run_of(blocks, b, first, numbers->rows, &at);
        if (run.rows != 0 && hw_view_node(&blocks->view, b) == node)
            bytes += sizeof run + run.rows * numbers->cols * sizeof(double);
    }
    HAWSER_TRY(hw_new_array(&piece->data, bytes, 1, "numbers for another node", error));
    piece->length = bytes;
    char *to = piece->data;
    for (uint32_t b = 0; b < blocks->view.blocks; b++) {
        beside_run run = run_of(blocks, b, first, numbers->rows, &at);
        if (run.rows == 0 || hw_view_node(&blocks->view, b) != node)
            continue;
        memcpy(to, &run, sizeof run);
        to += sizeof run;
        for (size_t k = 0; k < numbers->cols; k++, to += run.rows * sizeof(double))
            copy_column(numbers, k, at, run.rows, (double *)(void *)to);
    }
    return HAWSER_OK;
}

hawser_status hw_beside_pack(const struct hw_row_blocks *blocks, const hawser_matrix *numbers, size_t first,
                             hw_bytes *pieces, hawser_error *error)
{
    for (uint32_t d = 0; d < blocks->view.nodes; d++)
        if (d != blocks->self)
            HAWSER_TRY(pack_for(blocks, numbers, first, d, &pieces[d], error));
    return HAWSER_OK;
}

static double *column_of(const struct hw_row_blocks *blocks, uint64_t block, unsigned kind, size_t k)
{
    return blocks->block[block].beside[k == 0 ? kind : HW_BESIDE_FURTHER + k - 1];
}

static size_t rows_of(const struct hw_row_blocks *blocks, uint64_t b)
{
    return blocks->bounds[b + 1] - blocks->bounds[b];
}

/* Stores a node's piece, and counts its rows in filled[block]. */
static bool take_piece(const struct hw_row_blocks *blocks, unsigned kind, size_t columns, const hw_bytes *piece,
                       size_t *filled)
{
    const char *at = piece->data;
    beside_run run;
    for (size_t left = piece->length; left != 0;) {
        if (left < sizeof run)
            return false;
        memcpy(&run, at, sizeof run);
        at += sizeof run;
        left -= sizeof run;
        if (run.block >= blocks->view.blocks || !hw_row_block_here(blocks, (uint32_t)run.block) ||
            run.first != filled[run.block] || run.rows > rows_of(blocks, run.block) - run.first ||
            left / sizeof(double) / columns < run.rows)
            return false;
        for (size_t k = 0; k < columns; k++, at += run.rows * sizeof(double))
            memcpy(column_of(blocks, run.block, kind, k) + run.first, at, run.rows * sizeof(double));
        left -= run.rows * columns * sizeof(double);
        filled[run.block] += run.rows;
    }
    return true;
}

static void take_own(const struct hw_row_blocks *blocks, unsigned kind, const hawser_matrix *numbers, size_t first,
                     size_t *filled)
{
    for (uint32_t b = 0; b < blocks->view.blocks; b++) {
        size_t at;
        beside_run run = run_of(blocks, b, first, numbers->rows, &at);
        if (run.rows == 0 || !hw_row_block_here(blocks, b))
            continue;
        for (size_t k = 0; k < numbers->cols; k++)
            copy_column(numbers, k, at, run.rows, column_of(blocks, b, kind, k) + run.first);
        filled[b] += run.rows;
    }
}

static hawser_status new_columns(struct hw_row_blocks *blocks, unsigned kind, size_t columns, hawser_error *error)
{
    for (uint32_t b = 0; b < blocks->view.blocks; b++)
        for (size_t k = 0; hw_row_block_here(blocks, b) && k < columns; k++)
            HAWSER_TRY(HW_NEW(&blocks->block[b].beside[k == 0 ? kind : HW_BESIDE_FURTHER + k - 1], rows_of(blocks, b),
                              "what belongs to a block's rows", error));
    return HAWSER_OK;
}

hawser_status hw_beside_fill(struct hw_row_blocks *blocks, unsigned kind, const hawser_matrix *numbers, size_t first,
                             const hw_bytes *pieces, uint32_t nodes, hawser_error *error)
{
    size_t *filled = NULL;
    HAWSER_TRY(new_columns(blocks, kind, numbers->cols, error));
    HAWSER_TRY(HW_NEW(&filled, blocks->view.blocks, "the blocks of the rows", error));
    hawser_status status = HAWSER_OK;
    for (uint32_t node = 0; node < nodes && status == HAWSER_OK; node++)
        if (node == blocks->self)
            take_own(blocks, kind, numbers, first, filled);
        else if (!take_piece(blocks, kind, numbers->cols, &pieces[node], filled))
            status = hw_share_misfit(node, error);
    for (uint32_t b = 0; b < blocks->view.blocks && status == HAWSER_OK; b++)
        if (hw_row_block_here(blocks, b) && filled[b] != rows_of(blocks, b))
            status = hw_share_misfit(blocks->self, error);
    free(filled);
    return status;
}
