#include "data/cache/part.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/layout.h"
#include "base/memory.h"
#include "base/type.h"
#include "base/wide.h"
#include "data/cache/reader.h"
#include "data/exposure.h"

/* ------------------------------------------------------------------------------------------------------ the share ---- */

/* Returns the first line of part `part`. Parts have equal numbers of entries and lines together, so that neither long nor
 * empty lines are all in one. */
static size_t line_of_part(const uint64_t *offsets, size_t lines, uint64_t stored, uint32_t part, uint32_t parts)
{
    if (offsets == NULL || part == 0 || part == parts)
        return (size_t)hw_share_of(lines, part, parts);
    const uint64_t wanted = hw_share_of(stored + lines, part, parts);
    size_t low = 0, high = lines;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (offsets[middle] + middle < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sets the shape that is loaded: columns from load->columns on are left out. */
static void set_shape(const hw_cache_reader *in, const hawser_load *load, hw_cache_part *part)
{
    const hw_cache_header *h = &in->header;
    part->whole = (hawser_matrix){.rows = h->rows,
                                  .cols = h->cols,
                                  .stored = h->stored,
                                  .layout = (hawser_layout)h->layout,
                                  .type = (hawser_type)h->type};
    if (load->columns != 0 && load->columns < h->cols)
        part->whole.cols = load->columns;
}

static void cut_lines(const hw_cache_reader *in, const hawser_load *load, hw_cache_part *part)
{
    const uint64_t *offsets = hw_cache_is_dense(&in->header) ? NULL : hw_cache_section(in, HW_CACHE_OFFSETS);
    const size_t lines = hw_lines(&part->whole);
    const uint64_t stored = offsets == NULL ? 0 : offsets[lines];
    part->part = load->part;
    part->parts = load->parts;
    part->digest = in->header.digest;
    part->first = line_of_part(offsets, lines, stored, load->part, load->parts);
    part->end = line_of_part(offsets, lines, stored, load->part + 1, load->parts);
}

/* ------------------------------------------------------------------------------------------------------ entries ---- */

/* Copies the entries of the known columns, which are the first ones of each row. */
static hawser_status drop_columns(hawser_dataset *d, size_t columns, hawser_error *error)
{
    const hawser_matrix A = d->matrix;
    const size_t size = hw_type_size(A.type);
    uint64_t *offsets = (uint64_t *)(uintptr_t)A.offsets, kept = 0;
    uint32_t *indices = NULL;
    void *values = NULL;
    bool *seen = NULL;
    hawser_status status = HW_NEW(&indices, A.stored, "the known columns", error);
    hw_dataset_own(d, indices);
    HAWSER_THEN(status, hw_new_array(&values, A.stored, size, "the known columns", error));
    hw_dataset_own(d, values);
    HAWSER_TRY(status);
    HAWSER_TRY(HW_NEW(&seen, A.cols - columns, "unknown columns", error));
    for (size_t i = 0, begin = 0; i < A.rows; i++) {
        const size_t end = (size_t)offsets[i + 1];
        for (size_t e = begin; e < end; e++)
            if (A.indices[e] >= columns) {
                seen[A.indices[e] - columns] = true;
            } else {
                indices[kept] = A.indices[e];
                memcpy((char *)values + kept++ * size, (const char *)A.values + e * size, size);
            }
        offsets[i + 1] = kept;
        begin = end;
    }
    for (size_t j = 0; j < A.cols - columns; j++)
        d->figures.unseen_columns += seen[j];
    free(seen);
    d->figures.unseen_entries = A.stored - kept;
    d->matrix.stored = kept;
    d->matrix.cols = columns;
    d->matrix.indices = indices;
    d->matrix.values = values;
    return HAWSER_OK;
}

/* Counts the columns that are left out of a file by columns. Every node counts all of them. */
static void count_unseen(const hw_cache_reader *in, const hw_cache_part *part, hawser_dataset *d)
{
    const hw_cache_header *h = &in->header;
    const uint64_t *offsets = hw_cache_section(in, HW_CACHE_OFFSETS);
    d->figures.unseen_entries = h->stored - offsets[part->whole.cols];
    for (size_t j = part->whole.cols; j < h->cols; j++)
        d->figures.unseen_columns += offsets[j + 1] > offsets[j];
}

/* Makes the matrix of some sparse lines, with offsets of its own that begin at 0. */
static hawser_status take_sparse(const hw_cache_reader *in, hw_cache_part *part, hawser_error *error)
{
    hawser_dataset *d = in->dataset;
    const hw_cache_header *h = &in->header;
    const uint64_t *all = hw_cache_section(in, HW_CACHE_OFFSETS);
    const size_t lines = part->end - part->first;
    uint64_t *offsets = NULL;
    const bool by_row = h->layout == HAWSER_CSR;
    if (part->end < part->first)
        return hw_cache_damaged(in, "the offsets do not ascend", error);
    HAWSER_TRY(
        hw_cache_check_offsets(in, all, part->first, by_row || part->part + 1 < part->parts ? part->end : h->cols, error));
    HAWSER_TRY(HW_NEW(&offsets, lines + 1, "offsets", error));
    hw_dataset_own(d, offsets);
    const uint64_t begin = all[part->first];
    for (size_t i = 0; i <= lines; i++)
        offsets[i] = all[part->first + i] - begin;
    d->matrix = (hawser_matrix){.rows = by_row ? lines : (size_t)h->rows,
                                .cols = by_row ? (size_t)h->cols : lines,
                                .stored = offsets[lines],
                                .layout = (hawser_layout)h->layout,
                                .type = (hawser_type)h->type,
                                .offsets = offsets,
                                .indices = (const uint32_t *)hw_cache_section(in, HW_CACHE_INDICES) + begin,
                                .values = (const char *)hw_cache_section(in, HW_CACHE_VALUES) +
                                          begin * hw_type_size((hawser_type)h->type)};
    HAWSER_TRY(hw_cache_check_indices(in, &d->matrix, error));
    if (part->whole.cols == h->cols)
        return HAWSER_OK;
    if (by_row)
        return drop_columns(d, part->whole.cols, error);
    count_unseen(in, part, d);
    part->whole.stored = all[part->whole.cols];
    return HAWSER_OK;
}

static void take_dense(const hw_cache_reader *in, hw_cache_part *part)
{
    hawser_dataset *d = in->dataset;
    const hw_cache_header *h = &in->header;
    const bool by_row = h->layout == HAWSER_DENSE_ROWS;
    const size_t lines = part->end - part->first, width = (size_t)(by_row ? h->cols : h->rows);
    const char *values = hw_cache_section(in, HW_CACHE_VALUES);
    part->whole.stored = (uint64_t)part->whole.rows * part->whole.cols;
    d->matrix = part->whole;
    *(by_row ? &d->matrix.rows : &d->matrix.cols) = lines;
    d->matrix.stored = (uint64_t)d->matrix.rows * d->matrix.cols;
    d->matrix.stride = width;
    d->matrix.values = values + (uint64_t)part->first * width * hw_type_size((hawser_type)h->type);
    d->figures.unseen_columns = h->cols - part->whole.cols;
    d->figures.unseen_entries = d->figures.unseen_columns * d->matrix.rows;
}

/* ---------------------------------------------------------------------------------------- what belongs to the whole ---- */

static bool has_rows(const hw_cache_part *part)
{
    return hw_is_by_row(&part->whole);
}

/* Sets what belongs to rows: that of these rows, or of all rows if the part has columns. */
static hawser_status take_beside(const hw_cache_reader *in, const hw_cache_part *part, hawser_error *error)
{
    hawser_dataset *d = in->dataset;
    const size_t first = has_rows(part) ? part->first : 0, count = d->matrix.rows;
    const double **const all[] = {&d->target, &d->weights, &d->offset};
    for (int i = 0; i < 3; i++) {
        const double *numbers = hw_cache_section(in, HW_CACHE_TARGET + i);
        *all[i] = numbers != NULL ? numbers + first : NULL;
        if (numbers != NULL && !hw_cache_all_finite(in, *all[i], HAWSER_F64, count))
            return hw_cache_damaged(in, "it holds numbers that are not finite", error);
    }
    return HAWSER_OK;
}

/* Copies names and means, which stay when the file is unmapped. */
static hawser_status copy_names(hw_cache_reader *in, size_t columns, hawser_error *error)
{
    hawser_dataset *d = in->dataset;
    const double *means = hw_cache_section(in, HW_CACHE_MEANS);
    const hawser_matrix matrix = d->matrix;
    HAWSER_TRY(hw_cache_read_schema(in, error));
    HAWSER_TRY(hw_cache_read_equals(in, error));
    HAWSER_TRY(hw_cache_read_names(in, error));
    const char *const *names = d->columns;
    d->matrix.cols = columns; /* a part by columns has fewer */
    hawser_status status = names != NULL || d->target_name != NULL
                               ? hw_dataset_copy_names(d, names, d->target_name != NULL ? &d->target_name : NULL, 1, error)
                               : HAWSER_OK;
    d->matrix = matrix;
    hw_dataset_disown(d, names);
    if (status != HAWSER_OK || means == NULL)
        return status;
    double *copy = NULL;
    HAWSER_TRY(HW_NEW(&copy, columns, "the columns' means", error));
    memcpy(copy, means, columns * sizeof *copy);
    hw_dataset_own(d, copy);
    d->means = copy;
    return hw_cache_all_finite(in, means, HAWSER_F64, columns)
               ? HAWSER_OK
               : hw_cache_damaged(in, "it holds numbers that are not finite", error);
}

/* ------------------------------------------------------------------------------------------------------ checksums ---- */

/* Bytes of a section: [begin, end) are of this part, and the next part begins at `next`. */
typedef struct byte_range {
    uint64_t begin, end, next;
    bool shared; /* other parts have other bytes */
} byte_range;

static byte_range range_of(const hw_cache_header *h, const hw_cache_part *part, const uint64_t *offsets, int s)
{
    const uint64_t size = hw_type_size((hawser_type)h->type);
    uint64_t begin = part->first, end = part->end, each = sizeof(double);
    bool shared = s <= HW_CACHE_VALUES || (s <= HW_CACHE_OFFSET && has_rows(part));
    if (!shared || h->sections[s].size == 0)
        return (byte_range){0, h->sections[s].size, h->sections[s].size, false};
    if (s == HW_CACHE_INDICES || s == HW_CACHE_VALUES) {
        const uint64_t width = h->layout == HAWSER_DENSE_ROWS ? h->cols : h->rows;
        each = s == HW_CACHE_INDICES ? sizeof(uint32_t) : size;
        begin = offsets != NULL ? offsets[begin] : begin * width;
        end = offsets != NULL ? offsets[end] : end * width;
    }
    byte_range range = {begin * each, end * each, end * each, true};
    if (s == HW_CACHE_OFFSETS)
        range.end += sizeof *offsets; /* the end of the last line */
    if (part->part + 1 == part->parts)
        range.end = range.next = h->sections[s].size;
    return range;
}

/* Continues the checksum of one section. */
static hawser_status check_section(const hw_cache_reader *in, int s, byte_range r, bool last, hw_cache_progress *progress,
                                   hawser_error *error)
{
    const hw_cache_span *span = &in->header.sections[s];
    const unsigned char *bytes = in->bytes + span->begin;
    const uint64_t goal = r.next / HW_CACHE_PIECE, known = progress->of[s].after;
    const bool compared = progress->of[s].has_after != 0;
    uint64_t digest = progress->of[s].before, k = r.begin / HW_CACHE_PIECE;
    if (r.begin == r.next && !last)
        return HAWSER_OK; /* nothing of this part: the next one begins where this one would */
    progress->of[s].has_after = 0;
    for (uint64_t at = k * HW_CACHE_PIECE; at < r.end || last; at += HW_CACHE_PIECE, k++) {
        const uint64_t left = span->size - at, some = left < HW_CACHE_PIECE ? left : HW_CACHE_PIECE;
        HAWSER_TRY(hw_cancellation_check(in->cancellation, error));
        progress->of[s].before = k == goal ? digest : progress->of[s].before;
        digest = hw_hash(bytes + at, some, digest);
        if ((some < HW_CACHE_PIECE && digest != span->digest) ||
            (compared && k == r.begin / HW_CACHE_PIECE && digest != known))
            return hw_cache_damaged(in, "a checksum does not match", error);
        if (some < HW_CACHE_PIECE || k == goal) {
            progress->of[s].after = digest;
            progress->of[s].has_after = 1;
        }
        if (some < HW_CACHE_PIECE)
            return HAWSER_OK;
    }
    if (k == goal)
        progress->of[s].before = digest;
    return HAWSER_OK;
}

hawser_status hw_cache_part_check(const hw_cache_part *part, const hawser_dataset *dataset, const char *path,
                                  const hawser_cancellation *cancellation, hw_cache_progress *progress, hawser_error *error)
{
    hw_cache_reader in = {
        .bytes = dataset->mapping, .size = dataset->mapping_bytes, .name = path, .cancellation = cancellation};
    HAWSER_TRY(hw_cache_read_head(&in, true, error));
    const uint64_t *offsets = hw_cache_is_dense(&in.header) ? NULL : hw_cache_section(&in, HW_CACHE_OFFSETS);
    if (progress->line != part->first)
        return hw_cache_damaged(&in, "its nodes have found other lines in it", error);
    progress->line = part->end;
    for (int s = 0; s < HW_CACHE_SECTIONS; s++) {
        const byte_range range = range_of(&in.header, part, offsets, s);
        hw_cache_progress alone = {0};
        if (range.shared)
            HAWSER_TRY(check_section(&in, s, range, part->part + 1 == part->parts, progress, error));
        else
            HAWSER_TRY(check_section(&in, s, range, true, &alone, error));
    }
    return HAWSER_OK;
}

/* ---------------------------------------------------------------------------------------------------------- opening ---- */

static uint64_t count_bytes(const hw_cache_reader *in, const hw_cache_part *part)
{
    const uint64_t *offsets = hw_cache_is_dense(&in->header) ? NULL : hw_cache_section(in, HW_CACHE_OFFSETS);
    uint64_t bytes = sizeof in->header;
    for (int s = 0; s < HW_CACHE_SECTIONS; s++) {
        const byte_range range = range_of(&in->header, part, offsets, s);
        bytes += range.end - range.begin;
    }
    return bytes;
}

static hawser_status read_part(hw_cache_reader *in, const hawser_load *load, hw_cache_part *part, hawser_error *error)
{
    hawser_dataset *d = in->dataset;
    const hw_cache_header *h = &in->header;
    set_shape(in, load, part);
    const hawser_matrix shape = {.layout = (hawser_layout)h->layout, .cols = (size_t)h->cols};
    HAWSER_TRY(hw_cache_check_columns(&shape, in->name, load, error));
    cut_lines(in, load, part);
    if (!hw_cache_is_dense(h))
        HAWSER_TRY(take_sparse(in, part, error));
    else
        take_dense(in, part);
    const hawser_matrix *A = &d->matrix;
    const bool whole_lines = !hw_is_dense(A) || A->stride == hw_line_width(A);
    for (size_t i = 0; !whole_lines && i < A->rows; i++) /* rows of which some columns are left out */
        if (!hw_cache_all_finite(in, (const char *)A->values + i * A->stride * hw_type_size(A->type), A->type, A->cols))
            return hw_cache_damaged(in, "it holds numbers that are not finite", error);
    if (whole_lines && !hw_cache_all_finite(in, A->values, A->type, A->stored))
        return hw_cache_damaged(in, "it holds numbers that are not finite", error);
    HAWSER_TRY(take_beside(in, part, error));
    HAWSER_TRY(copy_names(in, part->whole.cols, error));
    d->figures.index_base = h->index_base;
    hw_cache_take_facts(h->facts, &d->figures);
    d->figures.format = HAWSER_CACHE;
    d->figures.bytes_read = d->figures.bytes_here = d->figures.bytes_text = count_bytes(in, part);
    HAWSER_TRY(hw_cache_check_wishes(d, in->name, load, error));
    if (load->target != NULL && strcmp(load->target, "none") == 0) {
        d->target = NULL;
        d->target_name = NULL;
    }
    return HAWSER_OK;
}

hawser_status hw_cache_open_part(const char *path, const hawser_load *load, hw_cache_part *part, hawser_dataset **dataset,
                                 hawser_error *error)
{
    const double start = hw_seconds();
    hw_mapped_file *file = NULL;
    *dataset = NULL;
    HAWSER_TRY(hw_mapped_open(path, &file, error));
    hw_cache_reader in = {.bytes = file->bytes, .size = file->size, .name = path, .cancellation = load->cancellation};
    hawser_status status = hw_cache_read_head(&in, true, error);
    const bool rows = in.header.layout == HAWSER_CSR || in.header.layout == HAWSER_DENSE_ROWS;
    if (status != HAWSER_OK || rows == (load->split == HAWSER_BY_ROW)) {
        hw_mapped_close(file);
        return status;
    }
    status = hw_dataset_new(&in.dataset, error);
    if (status != HAWSER_OK) {
        hw_mapped_close(file);
        return status;
    }
    in.dataset->file = file;
    in.dataset->mapping = file->bytes;
    in.dataset->mapping_bytes = file->size;
    status = read_part(&in, load, part, error);
    if (status != HAWSER_OK) {
        hawser_dataset_free(in.dataset);
        return status;
    }
    in.dataset->figures.seconds = hw_seconds() - start;
    *dataset = in.dataset;
    return HAWSER_OK;
}
