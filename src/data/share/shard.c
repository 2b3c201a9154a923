#include "data/share/shard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/layout.h"
#include "base/memory.h"
#include "base/type.h"
#include "data/format/market.h"
#include "data/formats.h"
#include "data/label.h"
#include "data/layout/assemble.h"
#include "data/share/array.h"
#include "data/table/table.h"

hw_shard_facts hw_shard_facts_of(const hawser_dataset *rows)
{
    const hawser_load_figures *figures = &rows->figures;
    bool array = rows->array.rows != 0;
    return (hw_shard_facts){.rows = array ? rows->array.rows : rows->matrix.rows,
                            .cols = array ? rows->array.cols : rows->matrix.cols,
                            .stored = rows->matrix.stored,
                            .unseen_entries = figures->unseen_entries,
                            .unseen_columns = figures->unseen_columns,
                            .rows_dropped = figures->rows_dropped,
                            .bytes_read = figures->bytes_read,
                            .bytes_text = figures->bytes_text,
                            .target_column = figures->target_column,
                            .index_base = figures->index_base,
                            .base_guessed = figures->base_guessed,
                            .format = figures->format,
                            .format_assumed = figures->format_assumed,
                            .header_guessed = figures->header_guessed,
                            .layout = rows->matrix.layout,
                            .type = rows->matrix.type,
                            .has_target = rows->target != NULL,
                            .has_weights = rows->weights != NULL,
                            .has_offset = rows->offset != NULL,
                            .has_groups = rows->groups != NULL,
                            .further = (uint32_t)rows->further_count,
                            .scattered = rows->scattered,
                            .symmetric = rows->array.symmetric,
                            .declared = rows->declared,
                            .found = rows->found};
}

/* A node without rows has no form that could differ. */
static bool same_form(const hw_shard_facts *a, const hw_shard_facts *b)
{
    return a->format == b->format && a->layout == b->layout && a->type == b->type && a->has_target == b->has_target &&
           a->has_weights == b->has_weights && a->has_offset == b->has_offset && a->has_groups == b->has_groups &&
           a->further == b->further && a->scattered == b->scattered &&
           (!a->scattered || (a->rows == b->rows && a->declared == b->declared && a->symmetric == b->symmetric));
}

static void add(hw_shard_facts *whole, const hw_shard_facts *part)
{
    whole->rows += whole->scattered ? 0 : part->rows;
    whole->found += part->found;
    whole->stored += part->stored;
    whole->unseen_entries += part->unseen_entries;
    whole->rows_dropped += part->rows_dropped;
    whole->bytes_read += part->bytes_read;
    whole->bytes_text += part->bytes_text;
    if (part->unseen_columns > whole->unseen_columns)
        whole->unseen_columns = part->unseen_columns;
    if (part->index_base < whole->index_base)
        whole->index_base = part->index_base;
    whole->base_guessed = whole->base_guessed && part->base_guessed;
}

hawser_status hw_shard_agree(const hw_shard_facts *facts, uint32_t nodes, hw_shard_facts *whole, hawser_error *error)
{
    uint32_t first = 0;
    while (first + 1 < nodes && facts[first].rows == 0)
        first++;
    *whole = facts[first];
    for (uint32_t i = first + 1; i < nodes; i++) {
        if (facts[i].rows == 0)
            continue;
        if (!same_form(whole, &facts[i]))
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "nodes %u and %u have read parts that do not belong together (format, layout or target "
                               "differ)",
                               first, i);
        add(whole, &facts[i]);
    }
    whole->cols = 0;
    for (uint32_t i = 0; i < nodes; i++) {
        uint64_t cols = facts[i].rows == 0 ? 0 : facts[i].cols + (uint64_t)(facts[i].index_base - whole->index_base);
        if (cols > whole->cols)
            whole->cols = cols;
    }
    if (whole->rows == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "no rows in the input");
    if (whole->rows >= UINT32_MAX || whole->cols >= UINT32_MAX)
        return hawser_fail(error, HAWSER_BAD_INPUT, "more than 4294967294 rows or columns; split the input");
    if (whole->layout == HAWSER_DENSE || whole->layout == HAWSER_DENSE_ROWS)
        whole->stored = whole->rows * whole->cols;
    return HAWSER_OK;
}

hawser_status hw_shard_complete(const hw_shard_facts *whole, const char *name, hawser_error *error)
{
    return !whole->scattered || whole->found == whole->declared
               ? HAWSER_OK
               : hw_market_sizes(name, whole->declared, whole->found, error);
}

bool hw_shard_lacks_values(const hw_shard_facts *whole)
{
    return hw_format_has_option((hawser_format)whole->format, "missing");
}

uint64_t hw_shard_before(const hw_shard_facts *facts, uint32_t node)
{
    uint64_t before = 0;
    for (uint32_t i = 0; i < node; i++)
        before += facts[i].found;
    return before;
}

/* Returns the shift of these rows' column numbers in the whole. */
static uint32_t shift_of(const hawser_dataset *rows, const hw_shard_facts *whole)
{
    return (uint32_t)(rows->figures.index_base - whole->index_base);
}

void hw_shard_count(const hawser_dataset *rows, const hw_shard_facts *whole, uint64_t *counts)
{
    const hawser_matrix *A = &rows->matrix;
    uint32_t shift = shift_of(rows, whole);
    for (uint64_t e = 0; A->layout != HAWSER_DENSE && A->rows != 0 && e < A->stored; e++)
        counts[A->indices[e] + shift]++;
}

/* ------------------------------------------------------------------------------------------------------ packing ---- */

/* A sparse piece: head, entries per row (u32), columns (u32), padding to 8, values. A dense one: head, then column by
 * column. */
typedef struct shard_head {
    uint64_t rows, entries;
} shard_head;

static size_t values_at(const shard_head *h)
{
    return (sizeof *h + (h->rows + h->entries) * sizeof(uint32_t) + 7) / 8 * 8;
}

static hawser_status new_piece(hw_bytes *piece, size_t length, const shard_head *h, hawser_error *error)
{
    HAWSER_TRY(hw_new_array(&piece->data, length, 1, "a part of the input for another node", error));
    piece->length = length;
    memcpy(piece->data, h, sizeof *h);
    return HAWSER_OK;
}

/* Where the next entry of a node's piece is written. */
typedef struct writer {
    uint32_t *counts, *columns;
    char *values;
} writer;

/* The rows of a round. */
typedef struct sent_rows {
    uint64_t begin, end;
} sent_rows;

static sent_rows rows_of(const hawser_matrix *A, hw_shard_round round)
{
    return (sent_rows){hw_round_begin(round, A->rows), hw_round_end(round, A->rows)};
}

static void write_rows(const hawser_matrix *A, uint32_t shift, const hw_owners *owners, sent_rows rows, uint32_t nodes,
                       size_t size, writer *writers)
{
    for (size_t r = rows.begin; r < rows.end; r++) {
        for (uint64_t e = A->offsets[r]; e < A->offsets[r + 1]; e++) {
            uint32_t column = A->indices[e] + shift;
            writer *to = &writers[hw_owner(owners, column)];
            *to->counts += 1;
            *to->columns++ = column;
            memcpy(to->values, (const char *)A->values + e * size, size);
            to->values += size;
        }
        for (uint32_t d = 0; d < nodes; d++)
            writers[d].counts++;
    }
}

static hawser_status pack_sparse(const hawser_dataset *rows, const hw_shard_facts *whole, const hw_owners *owners,
                                 sent_rows range, uint32_t nodes, hw_bytes *pieces, hawser_error *error)
{
    const hawser_matrix *A = &rows->matrix;
    uint32_t shift = shift_of(rows, whole);
    uint64_t *entries = NULL, count = range.end - range.begin;
    writer *writers = NULL;
    hawser_status status = HW_NEW(&entries, nodes, "a part of the input", error);
    HAWSER_THEN(status, HW_NEW(&writers, nodes, "a part of the input", error));
    for (uint64_t e = count == 0 ? 0 : A->offsets[range.begin];
         status == HAWSER_OK && count != 0 && e < A->offsets[range.end]; e++)
        entries[hw_owner(owners, A->indices[e] + shift)]++;
    for (uint32_t d = 0; d < nodes && status == HAWSER_OK; d++) {
        shard_head h = {count, entries[d]};
        status = new_piece(&pieces[d], values_at(&h) + entries[d] * hw_type_size(whole->type), &h, error);
        if (status != HAWSER_OK)
            break;
        char *bytes = pieces[d].data;
        writers[d].counts = (uint32_t *)(void *)(bytes + sizeof h);
        writers[d].columns = writers[d].counts + count;
        writers[d].values = bytes + values_at(&h);
    }
    if (status == HAWSER_OK)
        write_rows(A, shift, owners, range, nodes, hw_type_size(whole->type), writers);
    free(entries);
    free(writers);
    return status;
}

/* Copies numbers that are `step` apart. */
static void copy_numbers(const void *from, size_t step, size_t count, size_t size, void *to)
{
    if (step == 1)
        memcpy(to, from, count * size);
    else if (size == sizeof(float))
        for (size_t i = 0; i < count; i++)
            ((float *)to)[i] = ((const float *)from)[i * step];
    else
        for (size_t i = 0; i < count; i++)
            ((double *)to)[i] = ((const double *)from)[i * step];
}

/* Writes some rows of a node's columns one after the other, `stride` numbers apart. Rows that are stored by row are read
 * some at a time, so that a line of the processor's cache serves the columns that it has. */
static void put_columns(const hawser_matrix *A, const hw_owners *owners, sent_rows rows, uint32_t node, void *to,
                        size_t stride)
{
    bool by_row = A->layout == HAWSER_DENSE_ROWS;
    size_t size = hw_type_size(A->type), run = by_row ? 64 : rows.end - rows.begin;
    for (size_t first = rows.begin; first < rows.end; first += run) {
        size_t count = run < rows.end - first ? run : rows.end - first, at = first - rows.begin;
        for (size_t j = 0; j < A->cols; j++) {
            if (hw_owner(owners, j) != node)
                continue;
            copy_numbers((const char *)A->values + hw_dense_place(A, first, j) * size, by_row ? A->stride : 1, count, size,
                         (char *)to + at * size);
            at += stride;
        }
    }
}

static hawser_status pack_dense(const hawser_dataset *rows, const hw_shard_facts *whole, const hw_owners *owners,
                                sent_rows range, uint32_t nodes, hw_bytes *pieces, hawser_error *error)
{
    const hawser_matrix *A = &rows->matrix;
    size_t size = hw_type_size(whole->type);
    for (uint32_t d = 0; d < nodes; d++) {
        shard_head h = {.rows = range.end - range.begin};
        for (size_t j = 0; h.rows != 0 && j < A->cols; j++)
            h.entries += hw_owner(owners, j) == d ? h.rows : 0;
        HAWSER_TRY(new_piece(&pieces[d], sizeof h + h.entries * size, &h, error));
        if (h.rows != 0)
            put_columns(A, owners, range, d, (char *)pieces[d].data + sizeof h, h.rows);
    }
    return HAWSER_OK;
}

hawser_status hw_shard_pack(const hawser_dataset *rows, const hw_shard_facts *whole, const hw_owners *owners,
                            hw_shard_round round, uint32_t nodes, hw_bytes *pieces, hawser_error *error)
{
    const sent_rows range = rows_of(&rows->matrix, round);
    memset(pieces, 0, nodes * sizeof *pieces);
    hawser_status status = whole->layout != HAWSER_DENSE ? pack_sparse(rows, whole, owners, range, nodes, pieces, error)
                           : whole->scattered            ? hw_array_pack(rows, owners, nodes, pieces, error)
                                                         : pack_dense(rows, whole, owners, range, nodes, pieces, error);
    for (uint32_t d = 0; status != HAWSER_OK && d < nodes; d++) {
        free(pieces[d].data);
        pieces[d] = (hw_bytes){0};
    }
    return status;
}

void hw_shard_release(const hawser_dataset *rows, hw_shard_round round)
{
    const hawser_matrix *A = &rows->matrix;
    const sent_rows range = rows_of(A, round);
    const bool dense = hw_is_dense(A);
    if (A->layout == HAWSER_DENSE || range.begin == range.end)
        return; /* a row is not one range of memory */
    uint64_t begin = dense ? range.begin * A->stride : A->offsets[range.begin];
    uint64_t end = dense ? range.end * A->stride : A->offsets[range.end];
    size_t size = hw_type_size(A->type);
    hw_dataset_release(rows, A->values, begin * size, end * size);
    if (!dense)
        hw_dataset_release(rows, A->indices, begin * sizeof *A->indices, end * sizeof *A->indices);
}

/* ------------------------------------------------------------------------------------------------------- places ---- */

hawser_status hw_shard_pack_counts(const uint64_t *counts, const hw_shard_facts *whole, const hw_owners *owners,
                                   uint32_t nodes, hw_bytes *pieces, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    memset(pieces, 0, nodes * sizeof *pieces);
    for (size_t j = 0; j < whole->cols; j++)
        pieces[hw_owner(owners, j)].length += sizeof *counts;
    for (uint32_t d = 0; d < nodes && status == HAWSER_OK; d++) {
        status = hw_new_array(&pieces[d].data, pieces[d].length, 1, "counts of entries", error);
        pieces[d].length = 0;
    }
    for (size_t j = 0; status == HAWSER_OK && j < whole->cols; j++) {
        hw_bytes *to = &pieces[hw_owner(owners, j)];
        memcpy((char *)to->data + to->length, &counts[j], sizeof counts[j]);
        to->length += sizeof counts[j];
    }
    for (uint32_t d = 0; status != HAWSER_OK && d < nodes; d++) {
        free(pieces[d].data);
        pieces[d] = (hw_bytes){0};
    }
    return status;
}

/* Adds up the counts of the nodes before each, column by column. */
static hawser_status place_nodes(hw_shard_places *places, const hw_bytes *pieces, hawser_error *error)
{
    for (uint32_t node = 0; node + 1 < places->nodes; node++) {
        const uint64_t *count = pieces[node].data, *before = places->next + node * places->own;
        uint64_t *next = places->next + (node + 1) * places->own;
        if (pieces[node].length != places->own * sizeof *count)
            return hw_share_misfit(node, error);
        for (size_t k = 0; k < places->own; k++)
            next[k] = before[k] + count[k];
    }
    return HAWSER_OK;
}

hawser_status hw_shard_places_new(const hw_shard_facts *whole, const uint64_t *offsets, const hw_owners *owners,
                                  uint32_t self, const hw_bytes *pieces, uint32_t nodes, hw_shard_places *places,
                                  hawser_error *error)
{
    *places = (hw_shard_places){.nodes = pieces != NULL ? nodes : 1};
    HAWSER_TRY(HW_NEW(&places->rank, whole->cols, "places of entries", error));
    for (size_t j = 0; j < whole->cols; j++)
        places->rank[j] = hw_owner(owners, j) == self ? (uint32_t)places->own++ : UINT32_MAX;
    HAWSER_TRY(HW_NEW(&places->next, places->own * places->nodes, "places of entries", error));
    for (size_t j = 0; j < whole->cols; j++)
        if (places->rank[j] != UINT32_MAX)
            places->next[places->rank[j]] = offsets[j];
    return pieces != NULL ? place_nodes(places, pieces, error) : HAWSER_OK;
}

bool hw_shard_is_filled(const hw_shard_places *places, const uint64_t *offsets)
{
    const uint64_t *last = places->next + (places->nodes - 1) * places->own;
    bool filled = true;
    for (size_t j = 0, k = 0; k < places->own; j++)
        if (places->rank[j] != UINT32_MAX)
            filled = last[k++] == offsets[j + 1] && filled;
    return filled;
}

void hw_shard_places_free(hw_shard_places *places)
{
    free(places->rank);
    free(places->next);
    *places = (hw_shard_places){0};
}

/* ------------------------------------------------------------------------------------------------------ filling ---- */

hawser_load_figures hw_shard_figures(const hw_shard_facts *whole)
{
    return (hawser_load_figures){.format = (hawser_format)whole->format,
                                 .index_base = whole->index_base,
                                 .base_guessed = whole->base_guessed != 0,
                                 .format_assumed = whole->format_assumed != 0,
                                 .header_guessed = whole->header_guessed,
                                 .target_column = whole->target_column,
                                 .bytes_read = whole->bytes_read,
                                 .bytes_text = whole->bytes_text,
                                 .unseen_entries = whole->unseen_entries,
                                 .unseen_columns = whole->unseen_columns,
                                 .rows_dropped = whole->rows_dropped};
}

hawser_status hw_shard_new(const hw_shard_facts *whole, uint64_t *offsets, hawser_dataset **out, hawser_error *error)
{
    hawser_dataset *dataset = NULL;
    size_t size = hw_type_size(whole->type), indices = whole->layout == HAWSER_DENSE ? 0 : whole->stored * sizeof(uint32_t);
    indices = (indices + HW_ALIGNMENT - 1) / HW_ALIGNMENT * HW_ALIGNMENT;
    size_t bytes = indices + whole->stored * size + HW_ALIGNMENT;
    *out = NULL;
    hawser_status status = hw_dataset_new(&dataset, error);
    if (status != HAWSER_OK) {
        free(offsets);
        return status;
    }
    hw_dataset_own(dataset, offsets);
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        hawser_dataset_free(dataset);
        return hawser_fail(error, HAWSER_NO_MEMORY, "no address space for a matrix of %llu entries",
                           (unsigned long long)whole->stored);
    }
    dataset->mapping = map;
    dataset->mapping_bytes = bytes;
    bool dense = whole->layout == HAWSER_DENSE;
    dataset->matrix = (hawser_matrix){.rows = whole->rows,
                                      .cols = whole->cols,
                                      .stored = whole->stored,
                                      .layout = dense ? HAWSER_DENSE : HAWSER_CSC,
                                      .type = (hawser_type)whole->type,
                                      .offsets = offsets,
                                      .indices = dense ? NULL : map,
                                      .values = (char *)map + indices,
                                      .stride = dense ? whole->rows : 0};
    dataset->figures = hw_shard_figures(whole);
    *out = dataset;
    return HAWSER_OK;
}

/* Where the rows of a piece belong in the whole: `rows` of them from `first` on, which node `node` has read. */
typedef struct piece_rows {
    uint64_t first, rows;
    uint32_t node;
} piece_rows;

static hawser_status fill_sparse(const hawser_matrix *A, const hw_shard_facts *whole, const hw_bytes *piece, piece_rows at,
                                 const hw_shard_places *places, hawser_error *error)
{
    shard_head h;
    size_t size = hw_type_size(whole->type);
    if (piece->length < sizeof h)
        return hw_share_misfit(at.node, error);
    memcpy(&h, piece->data, sizeof h);
    if (h.rows != at.rows || h.entries > whole->stored || piece->length != values_at(&h) + h.entries * size)
        return hw_share_misfit(at.node, error);
    const uint32_t *counts = (const uint32_t *)(const void *)((const char *)piece->data + sizeof h);
    const uint32_t *columns = counts + h.rows;
    const char *values = (const char *)piece->data + values_at(&h);
    uint64_t *next = places->next + (places->nodes > 1 ? at.node * places->own : 0), e = 0;
    uint32_t *indices = (uint32_t *)(uintptr_t)A->indices;
    for (uint64_t r = 0; r < h.rows; r++)
        for (uint64_t end = e + counts[r]; e < end; e++) {
            if (e >= h.entries || columns[e] >= whole->cols || places->rank[columns[e]] == UINT32_MAX)
                return hw_share_misfit(at.node, error);
            uint64_t place = next[places->rank[columns[e]]]++;
            if (place >= A->offsets[columns[e] + 1])
                return hw_share_misfit(at.node, error);
            indices[place] = (uint32_t)(at.first + r);
            memcpy((char *)(uintptr_t)A->values + place * size, values + e * size, size);
        }
    return e == h.entries ? HAWSER_OK : hw_share_misfit(at.node, error);
}

static hawser_status fill_dense(const hawser_matrix *A, const hw_shard_facts *whole, const hw_owners *owners, uint32_t self,
                                const hw_bytes *piece, piece_rows rows, hawser_error *error)
{
    shard_head h;
    size_t size = hw_type_size(whole->type), at = sizeof h;
    if (piece->length < sizeof h)
        return hw_share_misfit(rows.node, error);
    memcpy(&h, piece->data, sizeof h);
    if (h.rows != rows.rows)
        return hw_share_misfit(rows.node, error);
    for (size_t j = 0; h.rows != 0 && j < A->cols; j++) {
        if (hw_owner(owners, j) != self)
            continue;
        if (piece->length - at < h.rows * size)
            return hw_share_misfit(rows.node, error);
        memcpy((char *)(uintptr_t)A->values + (j * A->stride + rows.first) * size, (const char *)piece->data + at,
               h.rows * size);
        at += h.rows * size;
    }
    return at == piece->length ? HAWSER_OK : hw_share_misfit(rows.node, error);
}

hawser_status hw_shard_fill(hawser_dataset *dataset, const hw_shard_facts *whole, const hw_shard_facts *all,
                            const hw_owners *owners, hw_shard_round round, uint32_t self, hw_shard_places *places,
                            hw_bytes *pieces, uint32_t nodes, hawser_error *error)
{
    const hawser_matrix *A = &dataset->matrix;
    hawser_status status = HAWSER_OK;
    uint64_t first = 0;
    for (uint32_t node = 0; node < nodes && status == HAWSER_OK; node++) {
        const uint64_t begin = hw_round_begin(round, all[node].rows), end = hw_round_end(round, all[node].rows);
        const piece_rows rows = {.first = first + begin, .rows = end - begin, .node = node};
        status = A->layout != HAWSER_DENSE ? fill_sparse(A, whole, &pieces[node], rows, places, error)
                 : whole->scattered ? hw_array_fill(A, whole->symmetric != 0, owners, self, &pieces[node], node, error)
                                    : fill_dense(A, whole, owners, self, &pieces[node], rows, error);
        first += whole->scattered ? 0 : all[node].rows;
        free(pieces[node].data);
        pieces[node] = (hw_bytes){0};
    }
    return status;
}

/* Own columns are one after the other in each block, but blocks of other nodes may be in between. */
static void take_dense(const hawser_matrix *to, const hawser_matrix *A, const hw_owners *owners, uint32_t self)
{
    size_t size = hw_type_size(A->type);
    for (size_t begin = 0, end; begin < A->cols; begin = end) {
        for (end = begin + 1; end < A->cols && hw_owner(owners, end) == hw_owner(owners, begin);)
            end++;
        if (hw_owner(owners, begin) != self)
            continue;
        hawser_matrix part = *A;
        part.cols = end - begin;
        part.values = (const char *)A->values + hw_dense_place(A, 0, begin) * size;
        const hw_owners all = {.view = owners->view, .block = owners->block + begin};
        put_columns(&part, &all, (sent_rows){0, A->rows}, self, (char *)(uintptr_t)to->values + begin * to->stride * size,
                    to->stride);
    }
}

hawser_status hw_shard_take(hawser_dataset *dataset, const hawser_dataset *rows, const hw_owners *owners, uint32_t self,
                            hawser_error *error)
{
    const hawser_matrix *to = &dataset->matrix, *A = &rows->matrix;
    size_t size = hw_type_size(A->type);
    uint64_t *places = NULL;
    if (to->layout == HAWSER_DENSE) {
        take_dense(to, A, owners, self);
        return HAWSER_OK;
    }
    HAWSER_TRY(HW_NEW(&places, A->cols, "places of entries", error));
    memcpy(places, to->offsets, A->cols * sizeof *places);
    for (size_t r = 0; r < A->rows; r++)
        for (uint64_t e = A->offsets[r]; e < A->offsets[r + 1]; e++) {
            uint32_t column = A->indices[e];
            if (hw_owner(owners, column) != self)
                continue;
            uint64_t place = places[column]++;
            ((uint32_t *)(uintptr_t)to->indices)[place] = (uint32_t)r;
            memcpy((char *)(uintptr_t)to->values + place * size, (const char *)A->values + e * size, size);
        }
    free(places);
    return HAWSER_OK;
}

hawser_status hw_shard_sort(hawser_dataset *dataset, const hw_owners *owners, uint32_t self, const char *name,
                            hawser_error *error)
{
    const hawser_matrix *A = &dataset->matrix;
    bool single = A->type == HAWSER_F32;
    hw_sorter sorter = {0};
    hawser_status status = HAWSER_OK;
    for (size_t j = 0; j < A->cols && status == HAWSER_OK; j++) {
        uint64_t begin = A->offsets[j];
        uint32_t twice;
        if (hw_owner(owners, j) != self)
            continue;
        void *values = (char *)(uintptr_t)A->values + begin * hw_type_size(A->type);
        status = hw_sort_entries((uint32_t *)(uintptr_t)A->indices + begin, values, single, A->offsets[j + 1] - begin,
                                 &sorter, &twice, error);
        if (status == HAWSER_OK && twice != UINT32_MAX)
            status = hw_given_twice(name, twice, j, error);
    }
    free(sorter.pairs);
    return status;
}

hawser_status hw_shard_means(hawser_dataset *dataset, const hw_owners *owners, uint32_t self, const char *name,
                             double *means, hawser_error *error)
{
    const hawser_matrix *A = &dataset->matrix;
    char text[HW_COLUMN_CALLED];
    for (size_t j = 0; j < A->cols; j++) {
        uint64_t first = A->layout == HAWSER_DENSE ? j * A->stride : A->offsets[j];
        if (hw_owner(owners, j) != self || !hw_schema_has_numbers(dataset->schema, j))
            continue;
        hw_column_values column = {.values = (char *)(uintptr_t)A->values + first * hw_type_size(A->type),
                                   .stored = A->layout == HAWSER_DENSE ? A->rows : A->offsets[j + 1] - first,
                                   .step = 1,
                                   .rows = A->rows,
                                   .single = A->type == HAWSER_F32,
                                   .indices = A->layout == HAWSER_DENSE ? NULL : A->indices + first,
                                   .weights = dataset->weights};
        means[j] = hw_fill_mean(&column, NULL);
        if (isnan(means[j]))
            return hw_no_mean(name, hw_column_called(dataset, j, text), error);
    }
    return HAWSER_OK;
}

hawser_status hw_shard_vector(hawser_dataset *dataset, const hw_bytes *pieces, uint32_t nodes, const double **out,
                              hawser_error *error)
{
    double *values = NULL;
    size_t at = 0, bytes = dataset->matrix.rows * sizeof *values;
    HAWSER_TRY(HW_NEW(&values, dataset->matrix.rows, "values of all rows", error));
    for (uint32_t node = 0; node < nodes; node++) {
        if (pieces[node].length > bytes - at) {
            free(values);
            return hw_share_misfit(node, error);
        }
        if (pieces[node].length != 0)
            memcpy((char *)values + at, pieces[node].data, pieces[node].length);
        at += pieces[node].length;
    }
    if (at != bytes) {
        free(values);
        return hw_share_misfit(0, error);
    }
    hw_dataset_own(dataset, values);
    *out = values;
    return HAWSER_OK;
}
