#include "data/share/blocks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/argument.h"
#include "base/layout.h"
#include "base/wide.h"
#include "data/layout/assemble.h"
#include "data/residence.h"
#include "data/share/array.h"

hawser_status hw_row_blocks_new(hw_view *view, uint32_t self, size_t *bounds, struct hw_row_blocks **out,
                                hawser_error *error)
{
    struct hw_row_blocks *blocks = NULL;
    hawser_status status = HW_NEW(&blocks, 1, "the blocks of the rows", error);
    HAWSER_THEN(status, HW_NEW(&blocks->block, view->blocks, "the blocks of the rows", error));
    if (status != HAWSER_OK) {
        free(blocks);
        free(bounds);
        hw_view_free(view);
        return status;
    }
    blocks->view = *view;
    *view = (hw_view){0};
    blocks->self = self;
    blocks->bounds = bounds;
    *out = blocks;
    return HAWSER_OK;
}

void hw_row_blocks_free(struct hw_row_blocks *blocks)
{
    if (blocks == NULL)
        return;
    for (uint32_t b = 0; b < blocks->view.blocks; b++) {
        hw_row_block *block = &blocks->block[b];
        for (int k = 0; k < HW_BESIDE_MOST && !blocks->borrows; k++)
            free(block->beside[k]);
        free(block->offsets);
        free(block->indices);
        free(block->values);
    }
    if (blocks->shadow != NULL)
        munmap(blocks->shadow, blocks->shadow_bytes);
    free(blocks->filling);
    free(blocks->counted);
    free(blocks->block);
    free(blocks->bounds);
    hw_view_free(&blocks->view);
    free(blocks);
}

size_t hw_row_blocks_overlap(const struct hw_row_blocks *blocks, uint32_t b, size_t first, size_t count, size_t *from)
{
    size_t begin = blocks->bounds[b], end = blocks->bounds[b + 1];
    begin = begin > first ? begin : first;
    end = end < first + count ? end : first + count;
    *from = begin;
    return end > begin ? end - begin : 0;
}

uint64_t hw_row_blocks_leaving(const struct hw_row_blocks *blocks, size_t first, size_t count)
{
    uint64_t leaving = 0;
    for (uint32_t b = 0; b < blocks->view.blocks; b++) {
        size_t from, some = hw_row_blocks_overlap(blocks, b, first, count, &from);
        leaving += hw_row_block_here(blocks, b) ? 0 : some;
    }
    return leaving;
}

/* ------------------------------------------------------------------------------------------------------ packing ---- */

/* Some rows of a block. They are followed by an array of doubles for each of `kinds`, then the values, then, of sparse
 * rows, the entries of each row and the columns. Each part is padded to 8 bytes. */
typedef struct row_segment {
    uint64_t block, first, rows, entries; /* first: row of the block */
} row_segment;

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static bool has(const hw_shard_facts *whole, unsigned kind)
{
    const uint32_t has[] = {whole->has_target, whole->has_weights, whole->has_offset, whole->has_groups};
    return kind < HW_BESIDE_FURTHER ? has[kind] != 0 : kind - HW_BESIDE_FURTHER < whole->further;
}

const double *hw_dataset_beside_of(const hawser_dataset *rows, unsigned kind)
{
    const double *const first[] = {rows->target, rows->weights, rows->offset, rows->groups};
    return kind < HW_BESIDE_FURTHER ? first[kind] : rows->further[kind - HW_BESIDE_FURTHER];
}

static unsigned count_kinds(const hw_shard_facts *whole)
{
    unsigned kinds = 0;
    for (unsigned k = 0; k < HW_BESIDE_MOST; k++)
        kinds += has(whole, k);
    return kinds;
}

/* Returns the bytes of a segment behind its head. */
static uint64_t segment_bytes(const hw_shard_facts *whole, const row_segment *s)
{
    uint64_t bytes = count_kinds(whole) * s->rows * sizeof(double) + padded(s->entries * hw_type_size(whole->type));
    return whole->layout == HAWSER_DENSE_ROWS ? bytes : bytes + padded((s->rows + s->entries) * sizeof(uint32_t));
}

static void put_dense(const hawser_matrix *A, size_t at, size_t rows, char *to)
{
    size_t size = hw_type_size(A->type);
    for (size_t r = at; r < at + rows; r++) {
        memcpy(to, (const char *)A->values + r * A->stride * size, A->cols * size);
        to += A->cols * size;
    }
}

static char *put_sparse(const hawser_matrix *A, uint32_t shift, size_t at, const row_segment *s, char *to)
{
    uint64_t begin = A->offsets[at];
    size_t size = hw_type_size(A->type);
    if (s->entries != 0)
        memcpy(to, (const char *)A->values + begin * size, s->entries * size);
    to += padded(s->entries * size);
    uint32_t *counts = (uint32_t *)(void *)to, *columns = counts + s->rows;
    for (size_t r = 0; r < s->rows; r++)
        counts[r] = (uint32_t)(A->offsets[at + r + 1] - A->offsets[at + r]);
    for (uint64_t e = 0; e < s->entries; e++)
        columns[e] = A->indices[begin + e] + shift;
    return to + padded((s->rows + s->entries) * sizeof(uint32_t));
}

/* Writes the rows of a segment, which begin at row `at` of these, and returns the end. */
static char *put_segment(const hawser_dataset *rows, const hw_shard_facts *whole, size_t at, const row_segment *s, char *to)
{
    memcpy(to, s, sizeof *s);
    to += sizeof *s;
    for (unsigned k = 0; k < HW_BESIDE_MOST; k++)
        if (has(whole, k)) {
            memcpy(to, hw_dataset_beside_of(rows, k) + at, s->rows * sizeof(double));
            to += s->rows * sizeof(double);
        }
    if (whole->layout != HAWSER_DENSE_ROWS)
        return put_sparse(&rows->matrix, (uint32_t)(rows->figures.index_base - whole->index_base), at, s, to);
    char *end = to + padded(s->entries * hw_type_size(whole->type));
    put_dense(&rows->matrix, at, s->rows, to);
    return end;
}

static size_t rows_of(const struct hw_row_blocks *blocks, uint64_t b)
{
    return blocks->bounds[b + 1] - blocks->bounds[b];
}

/* Makes the segment of some rows of a block, which begin at row `from` of the whole, and stores which of these rows is the
 * first. */
static row_segment new_segment(const struct hw_row_blocks *blocks, const hawser_matrix *A, uint32_t b, size_t first,
                               size_t from, size_t rows, size_t *at)
{
    row_segment s = {.block = b, .rows = rows};
    *at = from - first;
    if (rows == 0)
        return s;
    s.first = from - blocks->bounds[b];
    s.entries = hw_is_dense(A) ? (uint64_t)rows * A->cols : A->offsets[*at + rows] - A->offsets[*at];
    return s;
}

/* Returns the segment of a block among these rows, and the first of these rows that it has. */
static row_segment segment_of(const struct hw_row_blocks *blocks, const hawser_matrix *A, uint32_t b, size_t first,
                              size_t *at)
{
    size_t from, rows = hw_row_blocks_overlap(blocks, b, first, A->rows, &from);
    return new_segment(blocks, A, b, first, from, rows, at);
}

/* Finds the rows of block b in this round. */
static row_segment segment_in_round(const struct hw_row_blocks *blocks, const hawser_matrix *A, uint32_t b, size_t first,
                                    size_t *at)
{
    size_t from, rows = hw_row_blocks_overlap(blocks, b, first, A->rows, &from), end = from + rows;
    if (blocks->rounds > 1 && rows != 0) {
        size_t begin = blocks->bounds[b] + (size_t)hw_share_of(rows_of(blocks, b), blocks->round, blocks->rounds),
               past = blocks->bounds[b] + (size_t)hw_share_of(rows_of(blocks, b), blocks->round + 1, blocks->rounds);
        from = from > begin ? from : begin;
        end = end < past ? end : past;
        rows = end > from ? end - from : 0;
    }
    return new_segment(blocks, A, b, first, from, rows, at);
}

uint64_t hw_row_blocks_entries(const struct hw_row_blocks *blocks, const hawser_matrix *A, uint32_t block, size_t first)
{
    size_t at;
    return segment_of(blocks, A, block, first, &at).entries;
}

static hawser_status pack_for(const struct hw_row_blocks *blocks, const hawser_dataset *rows, const hw_shard_facts *whole,
                              size_t first, uint32_t node, hw_bytes *piece, hawser_error *error)
{
    uint64_t bytes = 0;
    size_t at;
    uint32_t end = blocks->view.blocks;
    for (uint32_t b = hw_view_next(&blocks->view, node, 0); b < end; b = hw_view_next(&blocks->view, node, b + 1)) {
        row_segment s = segment_in_round(blocks, &rows->matrix, b, first, &at);
        bytes += s.rows == 0 ? 0 : sizeof s + segment_bytes(whole, &s);
    }
    HAWSER_TRY(hw_new_array(&piece->data, bytes, 1, "rows for another node", error));
    piece->length = bytes;
    char *to = piece->data;
    for (uint32_t b = hw_view_next(&blocks->view, node, 0); b < end; b = hw_view_next(&blocks->view, node, b + 1)) {
        row_segment s = segment_in_round(blocks, &rows->matrix, b, first, &at);
        if (s.rows != 0)
            to = put_segment(rows, whole, at, &s, to);
    }
    return HAWSER_OK;
}

hawser_status hw_row_blocks_pack(const struct hw_row_blocks *blocks, const hawser_dataset *rows, const hw_shard_facts *whole,
                                 size_t first, hw_bytes *pieces, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    memset(pieces, 0, blocks->view.nodes * sizeof *pieces);
    for (unsigned k = 0; rows->matrix.rows != 0 && k < HW_BESIDE_MOST; k++)
        if (has(whole, k) && hw_dataset_beside_of(rows, k) == NULL)
            return hw_share_misfit(blocks->self, error);
    for (uint32_t d = 0; d < blocks->view.nodes && status == HAWSER_OK; d++)
        if (d != blocks->self || whole->scattered)
            status = pack_for(blocks, rows, whole, first, d, &pieces[d], error);
    for (uint32_t d = 0; status != HAWSER_OK && d < blocks->view.nodes; d++) {
        free(pieces[d].data);
        pieces[d] = (hw_bytes){0};
    }
    return status;
}

/* Releases the entries of these rows from row `from` on that are in front of row `at`, which are copied. */
static void release_rows(const hawser_matrix *A, size_t from, size_t at)
{
    size_t size = hw_type_size(A->type);
    const char *values = A->values;
    uint64_t begin = hw_is_dense(A) ? from * A->stride : A->offsets[from],
             end = hw_is_dense(A) ? at * A->stride : A->offsets[at];
    hw_release_pages(values + begin * size, values + end * size);
    if (!hw_is_dense(A))
        hw_release_pages(A->indices + begin, A->indices + end);
}

void hw_row_blocks_release(const struct hw_row_blocks *blocks, const hawser_dataset *rows, size_t first)
{
    size_t at;
    for (uint32_t b = 0; b < blocks->view.blocks && !rows->lent; b++) {
        const row_segment s = segment_in_round(blocks, &rows->matrix, b, first, &at);
        if (!hw_row_block_here(blocks, b) && s.rows != 0)
            release_rows(&rows->matrix, at, at + s.rows);
    }
}

/* ------------------------------------------------------------------------------------------------------ filling ---- */

/* How far a block is filled. */
typedef struct hw_row_filling {
    uint64_t entries; /* of the block */
    uint64_t rows, used;
} filling;

/* Reads the head of the segment at *at and checks that it fits; *at is then behind the head. */
static bool next_segment(const struct hw_row_blocks *blocks, const hw_shard_facts *whole, const hw_bytes *piece, size_t *at,
                         row_segment *s)
{
    if (piece->length - *at < sizeof *s)
        return false;
    memcpy(s, (const char *)piece->data + *at, sizeof *s);
    *at += sizeof *s;
    if (s->block >= blocks->view.blocks || !hw_row_block_here(blocks, (uint32_t)s->block) ||
        s->rows > rows_of(blocks, s->block) || s->entries > whole->stored ||
        (whole->layout == HAWSER_DENSE_ROWS && s->entries != s->rows * whole->cols))
        return false;
    return segment_bytes(whole, s) <= piece->length - *at;
}

static hawser_status count_entries(const struct hw_row_blocks *blocks, const hw_row_pieces *from, filling *fillings,
                                   hawser_error *error)
{
    row_segment s = {0};
    for (uint32_t node = 0; node < from->nodes; node++)
        for (size_t at = 0; at < from->pieces[node].length; at += segment_bytes(from->whole, &s)) {
            if (!next_segment(blocks, from->whole, &from->pieces[node], &at, &s))
                return hw_share_misfit(node, error);
            fillings[s.block].entries += s.entries;
        }
    return HAWSER_OK;
}

hawser_status hw_row_block_new(struct hw_row_blocks *blocks, uint32_t b, const hw_shard_facts *whole, uint64_t entries,
                               hawser_error *error)
{
    hw_row_block *block = &blocks->block[b];
    size_t rows = rows_of(blocks, b);
    bool dense = whole->layout == HAWSER_DENSE_ROWS;
    for (unsigned k = 0; k < HW_BESIDE_MOST; k++)
        if (has(whole, k))
            HAWSER_TRY(HW_NEW(&block->beside[k], rows, "what belongs to a block's rows", error));
    HAWSER_TRY(hw_new_array(&block->values, entries, hw_type_size(whole->type), "a block's rows", error));
    if (!dense) {
        HAWSER_TRY(HW_NEW(&block->offsets, rows + 1, "a block's rows", error));
        HAWSER_TRY(HW_NEW(&block->indices, entries, "a block's rows", error));
    }
    block->matrix = (hawser_matrix){.rows = rows,
                                    .cols = whole->cols,
                                    .stored = entries,
                                    .layout = dense ? HAWSER_DENSE_ROWS : HAWSER_CSR,
                                    .type = (hawser_type)whole->type,
                                    .offsets = block->offsets,
                                    .indices = block->indices,
                                    .values = block->values,
                                    .stride = dense ? whole->cols : 0,
                                    .first = blocks->bounds[b]};
    return HAWSER_OK;
}

static bool take_sparse(hw_row_block *block, const hw_shard_facts *whole, const row_segment *s, const char *from,
                        const filling *f)
{
    size_t size = hw_type_size(whole->type);
    if (s->entries > block->matrix.stored - f->used)
        return false;
    memcpy((char *)block->values + f->used * size, from, s->entries * size);
    const uint32_t *counts = (const uint32_t *)(const void *)(from + padded(s->entries * size)), *columns = counts + s->rows;
    uint64_t end = 0;
    for (uint64_t r = 0; r < s->rows; r++) {
        end += counts[r];
        block->offsets[s->first + r + 1] = f->used + end;
    }
    for (uint64_t e = 0; e < s->entries; e++) {
        if (columns[e] >= whole->cols)
            return false;
        block->indices[f->used + e] = columns[e];
    }
    return end == s->entries;
}

static void take_dense(hw_row_block *block, const hw_shard_facts *whole, const row_segment *s, const char *from)
{
    size_t size = hw_type_size(whole->type);
    memcpy((char *)block->values + s->first * whole->cols * size, from, s->entries * size);
}

/* Takes a segment, which must continue the rows of its block. */
static bool take_segment(struct hw_row_blocks *blocks, const hw_shard_facts *whole, const row_segment *s, const char *from,
                         filling *f)
{
    hw_row_block *block = &blocks->block[s->block];
    if (s->first != f->rows || s->rows > rows_of(blocks, s->block) - f->rows)
        return false;
    for (unsigned k = 0; k < HW_BESIDE_MOST; k++)
        if (has(whole, k)) {
            memcpy(block->beside[k] + s->first, from, s->rows * sizeof(double));
            from += s->rows * sizeof(double);
        }
    if (whole->layout == HAWSER_DENSE_ROWS)
        take_dense(block, whole, s, from);
    else if (!take_sparse(block, whole, s, from, f))
        return false;
    f->rows += s->rows;
    f->used += s->entries;
    return true;
}

/* Copies rows that this node has read to their block; they begin at row `at`. */
static void copy_rows(hw_row_block *block, const hawser_dataset *rows, const hw_shard_facts *whole, size_t at,
                      const row_segment *s, filling *f)
{
    const hawser_matrix *A = &rows->matrix;
    size_t size = hw_type_size(A->type);
    for (unsigned k = 0; k < HW_BESIDE_MOST && s->rows != 0; k++)
        if (has(whole, k))
            memcpy(block->beside[k] + s->first, hw_dataset_beside_of(rows, k) + at, s->rows * sizeof(double));
    if (hw_is_dense(A)) {
        put_dense(A, at, s->rows, (char *)block->values + s->first * whole->cols * size);
    } else if (s->rows != 0) {
        uint64_t begin = A->offsets[at];
        uint32_t shift = (uint32_t)(rows->figures.index_base - whole->index_base);
        if (s->entries != 0)
            memcpy((char *)block->values + f->used * size, (const char *)A->values + begin * size, s->entries * size);
        for (uint64_t e = 0; e < s->entries; e++)
            block->indices[f->used + e] = A->indices[begin + e] + shift;
        for (uint64_t r = 0; r < s->rows; r++)
            block->offsets[s->first + r + 1] = A->offsets[at + r + 1] - begin + f->used;
    }
    f->rows += s->rows;
    f->used += s->entries;
}

/* Moves rows that this node has read to its own blocks, a run of rows at a time, so that there is hardly more than one copy
 * of them. */
static void take_own(struct hw_row_blocks *blocks, const hw_shard_facts *whole, const hawser_dataset *rows, size_t first,
                     filling *fillings)
{
    enum { RUN = 1 << 18 }; /* entries */
    const hawser_matrix *A = &rows->matrix;
    for (uint32_t b = 0; b < blocks->view.blocks; b++) {
        size_t at, done = 0, kept = 0;
        row_segment all = segment_in_round(blocks, A, b, first, &at);
        if (!hw_row_block_here(blocks, b) || fillings[b].rows == rows_of(blocks, b))
            continue;
        for (size_t step; done < all.rows; done += step) {
            uint64_t begin = hw_is_dense(A) ? 0 : A->offsets[at + done];
            step = hw_is_dense(A) && A->cols != 0 ? RUN / A->cols + 1 : 1;
            step = step < all.rows - done ? step : all.rows - done;
            while (!hw_is_dense(A) && done + step < all.rows && A->offsets[at + done + step + 1] - begin <= RUN)
                step++;
            row_segment s = {.block = b, .first = all.first + done, .rows = step};
            s.entries = hw_is_dense(A) ? (uint64_t)step * A->cols : A->offsets[at + done + step] - begin;
            copy_rows(&blocks->block[b], rows, whole, at + done, &s, &fillings[b]);
            if (!rows->lent)
                release_rows(A, at + kept, at + done + step);
            kept = done;
        }
    }
}

static hawser_status take_pieces(struct hw_row_blocks *blocks, const hw_row_pieces *from, filling *fillings,
                                 hawser_error *error)
{
    for (uint32_t node = 0; node < from->nodes; node++) {
        hw_bytes *piece = &from->pieces[node];
        row_segment s;
        if (node == blocks->self)
            take_own(blocks, from->whole, from->rows, from->first, fillings);
        for (size_t at = 0; at < piece->length; at += segment_bytes(from->whole, &s))
            if (!next_segment(blocks, from->whole, piece, &at, &s) ||
                !take_segment(blocks, from->whole, &s, (const char *)piece->data + at, &fillings[s.block]))
                return hw_share_misfit(node, error);
        free(piece->data);
        *piece = (hw_bytes){0};
    }
    return HAWSER_OK;
}

/* Makes a block a view of lent rows if these have all of its rows, and counts it as filled. What belongs to rows is
 * copied. */
static hawser_status view_rows(struct hw_row_blocks *blocks, const hw_shard_facts *whole, const hawser_dataset *rows,
                               uint32_t b, size_t first, filling *f, hawser_error *error)
{
    hw_row_block *block = &blocks->block[b];
    size_t at;
    row_segment s = segment_of(blocks, &rows->matrix, b, first, &at);
    if (!rows->lent || s.rows == 0 || s.rows != rows_of(blocks, b))
        return HAWSER_OK;
    for (unsigned k = 0; k < HW_BESIDE_MOST; k++)
        if (has(whole, k)) {
            HAWSER_TRY(HW_NEW(&block->beside[k], s.rows, "what belongs to a block's rows", error));
            memcpy(block->beside[k], hw_dataset_beside_of(rows, k) + at, s.rows * sizeof(double));
        }
    block->matrix = hawser_matrix_rows(&rows->matrix, at, at + s.rows);
    block->matrix.first = blocks->bounds[b];
    f->rows = s.rows;
    f->used = f->entries;
    return HAWSER_OK;
}

/* Before the first round: allocates own blocks, except those that are views. */
static hawser_status start_filling(struct hw_row_blocks *blocks, const hw_row_pieces *from, hawser_error *error)
{
    const hawser_dataset *rows = from->rows;
    HAWSER_TRY(HW_NEW(&blocks->filling, blocks->view.blocks, "the blocks of the rows", error));
    if (from->stored == NULL)
        HAWSER_TRY(count_entries(blocks, from, blocks->filling, error));
    for (uint32_t b = 0; b < blocks->view.blocks; b++) {
        filling *f = &blocks->filling[b];
        if (!hw_row_block_here(blocks, b))
            continue;
        f->entries = from->stored != NULL ? from->stored[b]
                                          : f->entries + hw_row_blocks_entries(blocks, &rows->matrix, b, from->first);
        HAWSER_TRY(view_rows(blocks, from->whole, rows, b, from->first, f, error));
        if (f->rows == 0)
            HAWSER_TRY(hw_row_block_new(blocks, b, from->whole, f->entries, error));
    }
    return HAWSER_OK;
}

/* After the last round, when all rows must be there. */
static hawser_status end_filling(struct hw_row_blocks *blocks, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    for (uint32_t b = 0; b < blocks->view.blocks && status == HAWSER_OK; b++)
        if (hw_row_block_here(blocks, b) &&
            (blocks->filling[b].rows != rows_of(blocks, b) || blocks->filling[b].used != blocks->filling[b].entries))
            status = hw_share_misfit(blocks->self, error);
    free(blocks->filling);
    blocks->filling = NULL;
    return status;
}

hawser_status hw_row_blocks_fill(struct hw_row_blocks *blocks, const hw_row_pieces *from, hawser_error *error)
{
    if (blocks->filling == NULL)
        HAWSER_TRY(start_filling(blocks, from, error));
    HAWSER_TRY(take_pieces(blocks, from, blocks->filling, error));
    return blocks->round + 1 >= blocks->rounds ? end_filling(blocks, error) : HAWSER_OK;
}

/* ------------------------------------------------------------------------------------------ scattered entries ---- */

/* Adds the entries of each row to offsets[row + 1] of its block. */
static hawser_status count_rows(struct hw_row_blocks *blocks, const hw_row_pieces *from, hawser_error *error)
{
    const hw_shard_facts *whole = from->whole;
    row_segment s;
    for (uint32_t node = 0; node < from->nodes; node++)
        for (size_t at = 0; at < from->pieces[node].length; at += segment_bytes(whole, &s)) {
            if (!next_segment(blocks, whole, &from->pieces[node], &at, &s))
                return hw_share_misfit(node, error);
            const char *values = (const char *)from->pieces[node].data + at + padded(s.entries * hw_type_size(whole->type));
            const uint32_t *counts = (const uint32_t *)(const void *)values;
            uint64_t sum = 0;
            for (uint64_t r = 0; r < s.rows; r++) {
                blocks->block[s.block].offsets[r + 1] += counts[r];
                sum += counts[r];
            }
            if (s.rows != rows_of(blocks, s.block) || sum != s.entries)
                return hw_share_misfit(node, error);
        }
    return HAWSER_OK;
}

/* Puts the entries of a segment behind those that their rows have; places[row] is where the next one goes. */
static bool scatter_segment(hw_row_block *block, const hw_shard_facts *whole, const row_segment *s, const char *from,
                            uint64_t *places)
{
    size_t size = hw_type_size(whole->type);
    const uint32_t *counts = (const uint32_t *)(const void *)(from + padded(s->entries * size)), *columns = counts + s->rows;
    uint64_t e = 0;
    for (uint64_t r = 0; r < s->rows; r++)
        for (uint64_t end = e + counts[r]; e < end; e++) {
            if (columns[e] >= whole->cols)
                return false;
            block->indices[places[r]] = columns[e];
            memcpy((char *)block->values + places[r]++ * size, from + e * size, size);
        }
    return true;
}

static hawser_status sort_block(hw_row_block *block, const char *name, hawser_error *error)
{
    const hawser_matrix *A = &block->matrix;
    hw_sorter sorter = {0};
    hawser_status status = HAWSER_OK;
    for (size_t r = 0; r < A->rows && status == HAWSER_OK; r++) {
        uint32_t twice;
        uint64_t begin = block->offsets[r];
        void *values = (char *)block->values + begin * hw_type_size(A->type);
        status = hw_sort_entries(block->indices + begin, values, A->type == HAWSER_F32, block->offsets[r + 1] - begin,
                                 &sorter, &twice, error);
        if (status == HAWSER_OK && twice != UINT32_MAX)
            status = hw_given_twice(name, A->first + r, twice, error);
    }
    free(sorter.pairs);
    return status;
}

static hawser_status merge_block(struct hw_row_blocks *blocks, uint32_t b, const hw_row_pieces *from, hawser_error *error)
{
    const hw_shard_facts *whole = from->whole;
    const hw_bytes *pieces = from->pieces;
    hw_row_block *block = &blocks->block[b];
    uint64_t *places = NULL;
    size_t rows = rows_of(blocks, b);
    hawser_status status = HAWSER_OK;
    row_segment s;
    HAWSER_TRY(HW_NEW(&places, rows + 1, "places of entries", error));
    memcpy(places, block->offsets, (rows + 1) * sizeof *places);
    for (uint32_t node = 0; node < from->nodes; node++)
        for (size_t at = 0; at < pieces[node].length; at += segment_bytes(whole, &s))
            if (!next_segment(blocks, whole, &pieces[node], &at, &s) ||
                (s.block == b && !scatter_segment(block, whole, &s, (const char *)pieces[node].data + at, places)))
                status = hw_share_misfit(node, error);
            else if (s.block == b)
                hw_release_pages((const char *)pieces[node].data + at, /* nothing reads the entries again */
                                 (const char *)pieces[node].data + at + segment_bytes(whole, &s));
    free(places);
    return status == HAWSER_OK ? sort_block(block, from->name, error) : status;
}

hawser_status hw_row_blocks_merge(struct hw_row_blocks *blocks, const hw_row_pieces *from, hawser_error *error)
{
    filling *fillings = NULL;
    HAWSER_TRY(HW_NEW(&fillings, blocks->view.blocks, "the blocks of the rows", error));
    hawser_status status = count_entries(blocks, from, fillings, error);
    for (uint32_t b = 0; b < blocks->view.blocks && status == HAWSER_OK; b++)
        if (hw_row_block_here(blocks, b))
            status = hw_row_block_new(blocks, b, from->whole, fillings[b].entries, error);
    free(fillings);
    HAWSER_THEN(status, count_rows(blocks, from, error));
    for (uint32_t b = 0; b < blocks->view.blocks && status == HAWSER_OK; b++) {
        if (!hw_row_block_here(blocks, b))
            continue;
        for (size_t r = 0; r < rows_of(blocks, b); r++)
            blocks->block[b].offsets[r + 1] += blocks->block[b].offsets[r];
        status = merge_block(blocks, b, from, error);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------- from what is whole here ---- */

static hawser_status copy_block(struct hw_row_blocks *blocks, uint32_t b, const hawser_matrix *A, hawser_error *error)
{
    size_t first = blocks->bounds[b], rows = rows_of(blocks, b), size = hw_type_size(A->type);
    bool dense = hw_is_dense(A);
    hw_row_block *block = &blocks->block[b];
    uint64_t begin = dense ? 0 : A->offsets[first],
             entries = dense ? (uint64_t)rows * A->cols : A->offsets[first + rows] - begin;
    const hw_shard_facts shape = {.cols = A->cols, .layout = A->layout, .type = A->type};
    HAWSER_TRY(hw_row_block_new(blocks, b, &shape, entries, error));
    if (dense) {
        put_dense(A, first, rows, block->values);
        return HAWSER_OK;
    }
    if (entries != 0) {
        memcpy(block->values, (const char *)A->values + begin * size, entries * size);
        memcpy(block->indices, A->indices + begin, entries * sizeof *block->indices);
    }
    for (size_t r = 0; r <= rows; r++)
        block->offsets[r] = A->offsets[first + r] - begin;
    return HAWSER_OK;
}

hawser_status hw_row_blocks_cut(struct hw_row_blocks *blocks, hawser_dataset *whole, hawser_error *error)
{
    const hawser_matrix *A = &whole->matrix;
    uintptr_t values = (uintptr_t)A->values, map = (uintptr_t)whole->mapping;
    bool mapped = whole->mapping != NULL && values >= map && values - map < whole->mapping_bytes; /* not if it was turned */
    bool views = mapped || whole->lent;
    for (uint32_t b = 0; b < blocks->view.blocks; b++)
        if (hw_row_block_here(blocks, b)) {
            if (views)
                blocks->block[b].matrix = hawser_matrix_rows(A, blocks->bounds[b], blocks->bounds[b + 1]);
            else
                HAWSER_TRY(copy_block(blocks, b, A, error));
        }
    if (!mapped)
        hw_dataset_drop_entries(whole);
    return HAWSER_OK;
}

hawser_status hw_row_blocks_take(struct hw_row_blocks *blocks, hawser_dataset *dataset, hawser_error *error)
{
    for (unsigned k = 0; k < HW_BESIDE_MOST; k++) {
        const double *all = hw_dataset_beside_of(dataset, k);
        for (uint32_t b = 0; all != NULL && b < blocks->view.blocks; b++) {
            double **own = &blocks->block[b].beside[k];
            if (!hw_row_block_here(blocks, b))
                continue;
            HAWSER_TRY(HW_NEW(own, rows_of(blocks, b), "what belongs to a block's rows", error));
            if (rows_of(blocks, b) != 0)
                memcpy(*own, all + blocks->bounds[b], rows_of(blocks, b) * sizeof **own);
        }
        if (all != NULL)
            hw_dataset_disown(dataset, all);
    }
    if (dataset->target != NULL)
        dataset->outputs_by_block = 1 + dataset->further_count;
    dataset->target = dataset->weights = dataset->offset = dataset->groups = NULL;
    memset(dataset->further, 0, sizeof dataset->further);
    dataset->further_count = 0;
    return HAWSER_OK;
}

void hw_row_blocks_shape(struct hw_row_blocks *blocks, const hawser_matrix *whole, const uint64_t *stored)
{
    for (uint32_t b = 0; b < blocks->view.blocks; b++) {
        if (hw_row_block_here(blocks, b))
            continue;
        size_t rows = rows_of(blocks, b);
        blocks->block[b].matrix = (hawser_matrix){.rows = rows,
                                                  .cols = whole->cols,
                                                  .stored = stored[b],
                                                  .layout = whole->layout,
                                                  .type = whole->type,
                                                  .stride = whole->layout == HAWSER_DENSE_ROWS ? whole->cols : 0,
                                                  .first = blocks->bounds[b]};
    }
}

/* Reserves address space in which every access faults. */
static hawser_status reserve(struct hw_row_blocks *blocks, size_t bytes, hawser_error *error)
{
    void *map = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no address space of %zu bytes for the shape of a matrix", bytes);
    blocks->shadow = map;
    blocks->shadow_bytes = bytes;
    return HAWSER_OK;
}

hawser_status hw_row_blocks_settle(struct hw_row_blocks *blocks, hawser_dataset *dataset, const hawser_matrix *shape,
                                   hawser_error *error)
{
    bool dense = hw_is_dense(shape);
    size_t offsets = dense ? 0 : (shape->rows + 1) * sizeof(uint64_t),
           indices = dense ? 0 : shape->stored * sizeof(uint32_t);
    HAWSER_TRY(reserve(blocks, offsets + padded(indices) + shape->stored * hw_type_size(shape->type) + HW_ALIGNMENT, error));
    char *map = blocks->shadow;
    hawser_matrix *A = &dataset->matrix;
    *A = *shape;
    A->offsets = dense ? NULL : (const uint64_t *)(const void *)map;
    A->indices = dense ? NULL : (const uint32_t *)(const void *)(map + offsets);
    A->values = map + offsets + padded(indices);
    A->stride = dense ? shape->cols : 0;
    A->first = 0;
    HAWSER_TRY(hw_residence_of_rows(A, blocks, hw_row_blocks_free, &dataset->residence, error));
    A->residence = dataset->residence;
    return HAWSER_OK;
}

/* ---------------------------------------------------------------------------------------------- what a program sees ---- */

static const struct hw_row_blocks *blocks_of(const hawser_dataset *dataset)
{
    return dataset->residence != NULL ? dataset->residence->rows : NULL;
}

const size_t *hawser_dataset_cut(const hawser_dataset *dataset, uint32_t *blocks)
{
    const struct hw_row_blocks *rows = dataset != NULL ? blocks_of(dataset) : NULL;
    if (blocks != NULL)
        *blocks = dataset == NULL ? 0 : rows != NULL ? rows->view.blocks : dataset->cut_blocks;
    return dataset == NULL ? NULL : rows != NULL ? rows->bounds : dataset->cut;
}

/* Finds the block that has all of the rows [first, first + count). Of no rows it is the first one that begins or ends there
 * and is on this node. */
static hawser_status find_block(const struct hw_row_blocks *rows, size_t first, size_t count, uint32_t *block,
                                hawser_error *error)
{
    uint32_t blocks = rows->view.blocks, other = UINT32_MAX;
    for (uint32_t b = 0; b < blocks; b++) {
        if (first < rows->bounds[b] || first > rows->bounds[b + 1] || count > rows->bounds[b + 1] - first)
            continue;
        other = b;
        *block = b;
        if (hw_row_block_here(rows, b))
            return HAWSER_OK;
    }
    if (other == UINT32_MAX)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "rows %zu to %zu (from 0, without the last) are in several blocks; ask for the rows of one "
                           "block, whose bounds hawser_dataset_cut returns",
                           first, first + count);
    return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                       "rows %zu to %zu (from 0, without the last) are in block %u, which is on node %u; this is node %u",
                       first, first + count, other, hw_view_node(&rows->view, other), rows->self);
}

static void point_into(const double *const arrays[HW_BESIDE_MOST], size_t skip, hawser_beside *beside)
{
    const double **const to[] = {&beside->target, &beside->weights, &beside->offset, &beside->groups};
    for (int k = 0; k < HW_BESIDE_FURTHER; k++)
        *to[k] = arrays[k] != NULL ? arrays[k] + skip : NULL;
    beside->outputs[0] = beside->target;
    for (int k = 0; k < HW_FURTHER_TARGETS; k++)
        beside->outputs[k + 1] = arrays[HW_BESIDE_FURTHER + k] != NULL ? arrays[HW_BESIDE_FURTHER + k] + skip : NULL;
}

hawser_status hawser_dataset_beside(const hawser_dataset *dataset, size_t first, size_t count, hawser_beside *beside,
                                    hawser_error *error)
{
    HW_GIVEN(dataset);
    HW_GIVEN(beside);
    *beside = (hawser_beside){0};
    size_t n = dataset->matrix.rows;
    if (first > n || count > n - first)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "rows %zu to %zu (from 0, without the last) of a dataset of %zu rows",
                           first, first + count, n);
    const struct hw_row_blocks *rows = blocks_of(dataset);
    const double *arrays[HW_BESIDE_MOST];
    uint32_t block = 0;
    if (rows != NULL)
        HAWSER_TRY(find_block(rows, first, count, &block, error));
    for (unsigned k = 0; k < HW_BESIDE_MOST; k++)
        arrays[k] = rows != NULL ? rows->block[block].beside[k] : hw_dataset_beside_of(dataset, k);
    beside->first = first;
    beside->count = count;
    point_into(arrays, rows != NULL ? first - rows->bounds[block] : first, beside);
    return HAWSER_OK;
}
