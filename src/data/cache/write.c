/* write.c - implements hawser_dataset_save. It walks the sections twice: for sizes and digests, then, after the header, to
 * write. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/layout.h"
#include "base/memory.h"
#include "data/cache/format.h"

typedef struct cache_writer {
    hw_file *file; /* NULL: only counts and digests */
    hw_cache_span *span;
    unsigned char *piece;
    size_t used;
} cache_writer;

static hawser_status end_piece(cache_writer *out, hawser_error *error)
{
    size_t used = out->used;
    out->used = 0;
    out->span->digest = hw_hash(out->piece, used, out->span->digest);
    out->span->size += used;
    return out->file != NULL ? hw_file_write(out->file, out->piece, used, error) : HAWSER_OK;
}

static hawser_status put(cache_writer *out, const void *data, size_t size, hawser_error *error)
{
    const unsigned char *from = data;
    while (size > 0) {
        size_t part = size < HW_CACHE_PIECE - out->used ? size : HW_CACHE_PIECE - out->used;
        memcpy(out->piece + out->used, from, part);
        out->used += part;
        from += part;
        size -= part;
        if (out->used == HW_CACHE_PIECE)
            HAWSER_TRY(end_piece(out, error));
    }
    return HAWSER_OK;
}

static hawser_status put_offsets(cache_writer *out, const hawser_matrix *A, hawser_error *error)
{
    for (size_t j = 0; j <= hw_lines(A); j++) {
        uint64_t offset = A->offsets[j] - A->offsets[0]; /* a view begins anywhere, a file at zero */
        HAWSER_TRY(put(out, &offset, sizeof offset, error));
    }
    return HAWSER_OK;
}

static hawser_status put_values(cache_writer *out, const hawser_matrix *A, hawser_error *error)
{
    const unsigned char *values = A->values;
    size_t size = hw_type_size(A->type);
    if (!hw_is_dense(A))
        return put(out, values + A->offsets[0] * size, A->stored * size, error);
    for (size_t j = 0; j < hw_lines(A); j++)
        HAWSER_TRY(put(out, values + j * A->stride * size, hw_line_width(A) * size, error));
    return HAWSER_OK;
}

static hawser_status put_names(cache_writer *out, const hawser_dataset *dataset, hawser_error *error)
{
    for (size_t j = 0; dataset->columns != NULL && j < dataset->matrix.cols; j++)
        HAWSER_TRY(put(out, dataset->columns[j], strlen(dataset->columns[j]) + 1, error));
    return HAWSER_OK;
}

static hawser_status put_schema(cache_writer *out, const hawser_dataset *dataset, hawser_error *error)
{
    char *text;
    if (dataset->schema == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hawser_schema_write(dataset->schema, &text, error));
    hawser_status status = put(out, text, strlen(text) + 1, error);
    free(text);
    return status;
}

static hawser_status put_section(cache_writer *out, const hawser_dataset *dataset, int section, hawser_error *error)
{
    const hawser_matrix *A = &dataset->matrix;
    const double *const rows[] = {dataset->target, dataset->weights, dataset->offset};
    switch (section) {
    case HW_CACHE_OFFSETS: return hw_is_dense(A) ? HAWSER_OK : put_offsets(out, A, error);
    case HW_CACHE_INDICES: return hw_is_dense(A) ? HAWSER_OK : put(out, A->indices + A->offsets[0], A->stored * 4, error);
    case HW_CACHE_VALUES: return put_values(out, A, error);
    case HW_CACHE_NAMES: return put_names(out, dataset, error);
    case HW_CACHE_TARGET_NAME:
        return dataset->target_name == NULL ? HAWSER_OK
                                            : put(out, dataset->target_name, strlen(dataset->target_name) + 1, error);
    case HW_CACHE_SCHEMA: return put_schema(out, dataset, error);
    case HW_CACHE_MEANS:
        return dataset->means == NULL ? HAWSER_OK : put(out, dataset->means, A->cols * sizeof(double), error);
    default:
        return rows[section - HW_CACHE_TARGET] == NULL
                   ? HAWSER_OK
                   : put(out, rows[section - HW_CACHE_TARGET], A->rows * sizeof(double), error);
    }
}

static uint64_t aligned(uint64_t size)
{
    return (size + HW_CACHE_ALIGNMENT - 1) / HW_CACHE_ALIGNMENT * HW_CACHE_ALIGNMENT;
}

/* Returns whether a column of the file, or its target, became equal when it was rounded. A load may have left out the column
 * since. */
static bool is_rounded(const hawser_dataset *dataset, const hw_equal *item)
{
    return item->differ && (item->column < dataset->matrix.cols || item->column == HW_EQUAL_TARGET(0));
}

static uint32_t count_equals(const hawser_dataset *dataset)
{
    uint32_t count = 0;
    for (size_t k = 0; k < dataset->equals.count; k++)
        count += is_rounded(dataset, &dataset->equals.items[k]);
    return count;
}

static hawser_status write_equals(const hawser_dataset *dataset, hw_file *file, hawser_error *error)
{
    uint32_t count = count_equals(dataset);
    unsigned char *bytes;
    uint32_t *column;
    if (count == 0)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&bytes, hw_cache_equals(count), "columns of one value", error));
    column = (uint32_t *)(void *)(bytes + sizeof(uint64_t));
    for (size_t k = 0; k < dataset->equals.count; k++)
        if (is_rounded(dataset, &dataset->equals.items[k]))
            *column++ = dataset->equals.items[k].column;
    uint64_t digest = hw_hash(bytes + sizeof digest, count * sizeof *column, 0);
    memcpy(bytes, &digest, sizeof digest);
    hawser_status status = hw_file_write(file, bytes, hw_cache_equals(count), error);
    free(bytes);
    return status;
}

static hawser_status describe(const hawser_dataset *dataset, unsigned char *piece, hw_cache_header *header,
                              hawser_error *error)
{
    const hawser_matrix *A = &dataset->matrix;
    /* Versions that do not know the layout refuse the file by its version. */
    *header = (hw_cache_header){.version = A->layout == HAWSER_DENSE_ROWS ? HW_CACHE_VERSION : HW_CACHE_VERSION - 1,
                                .layout = A->layout,
                                .rows = A->rows,
                                .cols = A->cols,
                                .stored = A->stored,
                                .type = A->type,
                                .index_base = dataset->figures.index_base,
                                .facts = hw_cache_facts(&dataset->figures),
                                .equals = dataset->equals.begun ? 1 + count_equals(dataset) : 0};
    memcpy(header->magic, HW_CACHE_MAGIC, sizeof header->magic);
    uint64_t begin = aligned(sizeof *header);
    for (int s = 0; s < HW_CACHE_SECTIONS; s++) {
        cache_writer out = {NULL, &header->sections[s], piece, 0};
        HAWSER_TRY(put_section(&out, dataset, s, error));
        HAWSER_TRY(end_piece(&out, error));
        header->sections[s].begin = begin;
        begin += aligned(header->sections[s].size);
    }
    header->file_size = begin + hw_cache_equals(count_equals(dataset));
    header->digest = hw_hash(header, sizeof *header, 0);
    return HAWSER_OK;
}

static hawser_status write_all(const hawser_dataset *dataset, unsigned char *piece, hw_file *file, hawser_error *error)
{
    static const unsigned char zeros[HW_CACHE_ALIGNMENT];
    hw_cache_header header;
    HAWSER_TRY(describe(dataset, piece, &header, error));
    HAWSER_TRY(hw_file_write(file, &header, sizeof header, error));
    HAWSER_TRY(hw_file_write(file, zeros, aligned(sizeof header) - sizeof header, error));
    for (int s = 0; s < HW_CACHE_SECTIONS; s++) {
        hw_cache_span span = {0};
        cache_writer out = {file, &span, piece, 0};
        HAWSER_TRY(put_section(&out, dataset, s, error));
        HAWSER_TRY(end_piece(&out, error));
        HAWSER_TRY(hw_file_write(file, zeros, aligned(span.size) - span.size, error));
    }
    return write_equals(dataset, file, error);
}

hawser_status hawser_dataset_save(const hawser_dataset *dataset, const char *path, hawser_error *error)
{
    HW_GIVEN(dataset);
    HW_GIVEN(path);
    hw_file file;
    unsigned char *piece = NULL;
    HAWSER_TRY(hw_dataset_check_one_target(dataset, path, error));
    HAWSER_TRY(hawser_matrix_whole(&dataset->matrix, error));
    HAWSER_TRY(hawser_dataset_intact(dataset, error));
    HAWSER_TRY(hw_file_begin(&file, path, error));
    hawser_status status = HW_NEW(&piece, HW_CACHE_PIECE, "a write buffer", error);
    HAWSER_THEN(status, write_all(dataset, piece, &file, error));
    free(piece);
    if (status == HAWSER_OK)
        return hw_file_commit(&file, error);
    hw_file_abort(&file);
    return status;
}
