/* read.c - opens a cache: the file is mapped, and its arrays are used in place. */
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cancellation.h"
#include "base/clock.h"
#include "base/finite.h"
#include "base/hash.h"
#include "base/layout.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "data/cache/reader.h"
#include "data/exposure.h"
#include "data/layout/flip.h"
#include "data/table/schema.h"
#include "data/vocabulary.h"

/* Releases the whole pages among bytes that were read; a later access reads them again. */
static void was_read(const hw_cache_reader *in, const void *begin, size_t bytes)
{
    if (in->sparing)
        hw_release_pages(begin, (const char *)begin + bytes);
}

hawser_status hw_cache_damaged(const hw_cache_reader *in, const char *what, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_INPUT, "%s: damaged cache file: %s; convert the data again", in->name, what);
}

bool hw_cache_is_dense(const hw_cache_header *h)
{
    return h->layout == HAWSER_DENSE || h->layout == HAWSER_DENSE_ROWS;
}

const void *hw_cache_section(const hw_cache_reader *in, int which)
{
    if (which <= HW_CACHE_VALUES && !hw_cache_is_dense(&in->header))
        return in->bytes + in->header.sections[which].begin;
    return in->header.sections[which].size == 0 ? NULL : in->bytes + in->header.sections[which].begin;
}

static hawser_status check_header(hw_cache_reader *in, bool verify, hawser_error *error)
{
    if (in->size < sizeof in->header || memcmp(in->bytes, HW_CACHE_MAGIC, 8) != 0)
        return hw_cache_damaged(in, "no whole header", error);
    memcpy(&in->header, in->bytes, sizeof in->header);
    hw_cache_header copy = in->header;
    copy.digest = 0;
    if (copy.version < 1 || copy.version > HW_CACHE_VERSION)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: cache version %u; this version of Hawser reads 1 to %d; convert the data again", in->name,
                           copy.version, HW_CACHE_VERSION);
    static const int known[] = {0, HW_CACHE_MEANS, HW_CACHE_SCHEMA, HW_CACHE_SECTIONS, HW_CACHE_SECTIONS};
    size_t bytes = offsetof(hw_cache_header, sections) + (size_t)known[copy.version] * sizeof *copy.sections;
    for (int s = known[copy.version]; s < HW_CACHE_SECTIONS; s++)
        copy.sections[s] = in->header.sections[s] = (hw_cache_span){.digest = hw_hash(in->bytes, 0, 0)};
    if (verify && hw_hash(&copy, bytes, 0) != in->header.digest)
        return hw_cache_damaged(in, "the header's checksum does not match", error);
    if (copy.file_size != in->size)
        return hw_cache_damaged(in, "its length is not the one that was written", error);
    if (copy.rows == 0 || copy.cols == 0 || copy.rows > UINT32_MAX || copy.cols > UINT32_MAX ||
        copy.layout > (copy.version < 4 ? HAWSER_CSR : HAWSER_DENSE_ROWS) || copy.type > HAWSER_F32 ||
        copy.index_base < -1 || copy.index_base > 1)
        return hw_cache_damaged(in, "a field of the header is out of range", error);
    for (int s = 0; s < HW_CACHE_SECTIONS; s++) {
        const hw_cache_span *span = &copy.sections[s];
        if (span->begin % HW_CACHE_ALIGNMENT != 0 || span->begin > in->size || span->size > in->size - span->begin)
            return hw_cache_damaged(in, "a section extends beyond the file", error);
    }
    return HAWSER_OK;
}

/* Products cannot overflow: each factor is below 2^32 and the stored numbers were checked against the file's size. */
static hawser_status check_sizes(const hw_cache_reader *in, hawser_error *error)
{
    const hw_cache_header *h = &in->header;
    uint64_t lines = h->layout == HAWSER_CSR ? h->rows : h->cols;
    bool dense = hw_cache_is_dense(h);
    if (h->stored > in->size || (dense && h->stored != h->rows * h->cols))
        return hw_cache_damaged(in, "the number of stored entries does not fit the file", error);
    bool good = h->sections[HW_CACHE_OFFSETS].size == (dense ? 0 : (lines + 1) * 8) &&
                h->sections[HW_CACHE_INDICES].size == (dense ? 0 : h->stored * 4) &&
                h->sections[HW_CACHE_VALUES].size == h->stored * hw_type_size(h->type);
    for (int s = HW_CACHE_TARGET; s <= HW_CACHE_OFFSET; s++)
        good = good && (h->sections[s].size == 0 || h->sections[s].size == h->rows * 8);
    good = good && (h->sections[HW_CACHE_MEANS].size == 0 || h->sections[HW_CACHE_MEANS].size == h->cols * 8);
    return good ? HAWSER_OK : hw_cache_damaged(in, "the size of a section does not match rows, columns and entries", error);
}

hawser_status hw_cache_read_head(hw_cache_reader *in, bool verify, hawser_error *error)
{
    HAWSER_TRY(check_header(in, verify, error));
    return check_sizes(in, error);
}

static hawser_status check_digests(const hw_cache_reader *in, hawser_error *error)
{
    for (int s = 0; s < HW_CACHE_SECTIONS; s++) {
        const hw_cache_span *span = &in->header.sections[s];
        uint64_t digest = 0, left = span->size;
        const unsigned char *at = in->bytes + span->begin;
        for (; left >= HW_CACHE_PIECE; left -= HW_CACHE_PIECE, at += HW_CACHE_PIECE) {
            HAWSER_TRY(hw_cancellation_check(in->cancellation, error));
            digest = hw_hash(at, HW_CACHE_PIECE, digest);
            was_read(in, at, HW_CACHE_PIECE);
        }
        if (hw_hash(at, (size_t)left, digest) != span->digest)
            return hw_cache_damaged(in, "a checksum does not match", error);
    }
    return HAWSER_OK;
}

/* A checksum finds accidents, but a file made to deceive must not lead the kernels out of their arrays either. */
hawser_status hw_cache_check_offsets(const hw_cache_reader *in, const uint64_t *offsets, size_t first, size_t end,
                                     hawser_error *error)
{
    const hw_cache_header *h = &in->header;
    const size_t lines = (size_t)(h->layout == HAWSER_CSR ? h->rows : h->cols);
    if (offsets[0] != 0 || offsets[lines] != h->stored)
        return hw_cache_damaged(in, "the offsets do not span the entries", error);
    for (size_t j = first; j < end; j++)
        if (offsets[j] > offsets[j + 1] || offsets[j + 1] > h->stored)
            return hw_cache_damaged(in, "the offsets do not ascend", error);
    return HAWSER_OK;
}

hawser_status hw_cache_check_indices(const hw_cache_reader *in, const hawser_matrix *A, hawser_error *error)
{
    size_t lines = hw_lines(A), width = hw_line_width(A);
    const uint32_t *seen = A->indices;
    for (size_t j = 0; j < lines; j++) {
        const uint32_t *at = A->indices + A->offsets[j];
        size_t count = (size_t)(A->offsets[j + 1] - A->offsets[j]), wrong = 0;
        for (size_t k = 1; k < count; k++)
            wrong += at[k] <= at[k - 1];
        if (wrong > 0 || (count > 0 && at[count - 1] >= width))
            return hw_cache_damaged(in, "the indices of a line do not ascend or are out of range", error);
        if (at + count - seen > HW_CACHE_PIECE) {
            was_read(in, seen, (size_t)((const char *)(at + count) - (const char *)seen));
            seen = at + count;
        }
    }
    return HAWSER_OK;
}

bool hw_cache_all_finite(const hw_cache_reader *in, const void *values, hawser_type type, uint64_t count)
{
    const char *at = values;
    for (uint64_t some; count > 0; count -= some) {
        some = count < HW_CACHE_PIECE ? count : HW_CACHE_PIECE;
        const void *piece = at;
        if ((type == HAWSER_F32 ? hw_first_not_finite_f32(piece, some) : hw_first_not_finite_f64(piece, some)) != some)
            return false;
        at += some * hw_type_size(type);
        was_read(in, piece, some * hw_type_size(type));
    }
    return true;
}

static hawser_status check_numbers(const hw_cache_reader *in, hawser_error *error)
{
    const hawser_dataset *d = in->dataset;
    bool good = hw_cache_all_finite(in, d->matrix.values, d->matrix.type, d->matrix.stored);
    const double *const rows[] = {d->target, d->weights, d->offset};
    for (int i = 0; i < 3; i++)
        good = good && (rows[i] == NULL || hw_cache_all_finite(in, rows[i], HAWSER_F64, d->matrix.rows));
    good = good && (d->means == NULL || hw_cache_all_finite(in, d->means, HAWSER_F64, d->matrix.cols));
    return good ? HAWSER_OK : hw_cache_damaged(in, "it holds numbers that are not finite", error);
}

hawser_status hw_cache_read_names(hw_cache_reader *in, hawser_error *error)
{
    const hw_cache_header *h = &in->header;
    const char *target = hw_cache_section(in, HW_CACHE_TARGET_NAME), *at = hw_cache_section(in, HW_CACHE_NAMES);
    if (target != NULL &&
        strnlen(target, h->sections[HW_CACHE_TARGET_NAME].size) + 1 != h->sections[HW_CACHE_TARGET_NAME].size)
        return hw_cache_damaged(in, "the target's name does not end", error);
    in->dataset->target_name = target;
    if (at == NULL)
        return HAWSER_OK;
    uint64_t left = h->sections[HW_CACHE_NAMES].size;
    if (left < h->cols) /* before memory is allocated for them: a name takes one byte or more */
        return hw_cache_damaged(in, "it has fewer names than columns", error);
    const char **names = NULL;
    HAWSER_TRY(HW_NEW(&names, h->cols, "the names of the columns", error));
    hw_dataset_own(in->dataset, names);
    for (uint64_t j = 0; j < h->cols; j++) {
        size_t length = strnlen(at, left);
        if (length == left)
            return hw_cache_damaged(in, "it has fewer names than columns", error);
        if (!hw_is_utf8(at))
            return hawser_fail(
                error, HAWSER_BAD_INPUT,
                "%s: the name of column %llu (from 0) is not UTF-8; make the input UTF-8 and convert it again", in->name,
                (unsigned long long)j);
        names[j] = at;
        at += length + 1;
        left -= length + 1;
    }
    if (left != 0)
        return hw_cache_damaged(in, "it has more names than columns", error);
    in->dataset->columns = names;
    return HAWSER_OK;
}

hawser_status hw_cache_read_schema(hw_cache_reader *in, hawser_error *error)
{
    const char *text = hw_cache_section(in, HW_CACHE_SCHEMA);
    hawser_error own = {0};
    if (text == NULL)
        return HAWSER_OK;
    if (text[in->header.sections[HW_CACHE_SCHEMA].size - 1] != '\0')
        return hw_cache_damaged(in, "the columns' description does not end", error);
    hawser_status status = hawser_schema_read(text, &in->dataset->schema, &own);
    if (status != HAWSER_OK)
        return status == HAWSER_NO_MEMORY ? hawser_fail(error, status, "%s", own.text)
                                          : hw_cache_damaged(in, own.text, error);
    return in->dataset->schema->width == in->header.cols
               ? HAWSER_OK
               : hw_cache_damaged(in, "its columns' description has other columns", error);
}

hawser_status hw_cache_read_equals(hw_cache_reader *in, hawser_error *error)
{
    const uint64_t count = in->header.equals > 0 ? in->header.equals - 1 : 0, bytes = hw_cache_equals(count);
    hw_equals *list = &in->dataset->equals;
    uint64_t digest;
    list->begun = in->header.equals > 0;
    if (count == 0)
        return HAWSER_OK;
    if (count > in->header.cols + 1 || bytes > in->size)
        return hw_cache_damaged(in, "its list of columns extends beyond the file", error);
    const unsigned char *at = in->bytes + in->size - bytes;
    memcpy(&digest, at, sizeof digest);
    at += sizeof digest;
    if (hw_hash(at, count * sizeof(uint32_t), 0) != digest)
        return hw_cache_damaged(in, "the checksum of its list of columns does not match", error);
    for (uint64_t k = 0; k < count; k++, at += sizeof(uint32_t)) {
        uint32_t column;
        memcpy(&column, at, sizeof column);
        HAWSER_TRY(hw_equals_add(list, column, NAN, 0, error));
        list->items[k].differ = true;
    }
    return HAWSER_OK;
}

static hawser_status read_all(hw_cache_reader *in, bool verify, hawser_error *error)
{
    HAWSER_TRY(hw_cache_read_head(in, verify, error));
    if (verify)
        HAWSER_TRY(check_digests(in, error));
    const hw_cache_header *h = &in->header;
    hawser_dataset *d = in->dataset;
    d->matrix = (hawser_matrix){.rows = h->rows,
                                .cols = h->cols,
                                .stored = h->stored,
                                .layout = (hawser_layout)h->layout,
                                .type = (hawser_type)h->type,
                                .offsets = hw_cache_section(in, HW_CACHE_OFFSETS),
                                .indices = hw_cache_section(in, HW_CACHE_INDICES),
                                .values = hw_cache_section(in, HW_CACHE_VALUES)};
    d->matrix.stride = hw_cache_is_dense(h) ? hw_line_width(&d->matrix) : 0;
    d->target = hw_cache_section(in, HW_CACHE_TARGET);
    d->weights = hw_cache_section(in, HW_CACHE_WEIGHTS);
    d->offset = hw_cache_section(in, HW_CACHE_OFFSET);
    d->means = hw_cache_section(in, HW_CACHE_MEANS);
    d->figures.index_base = h->index_base;
    hw_cache_take_facts(h->facts, &d->figures);
    if (!hw_cache_is_dense(h)) {
        HAWSER_TRY(hw_cache_check_offsets(in, d->matrix.offsets, 0, hw_lines(&d->matrix), error));
        HAWSER_TRY(hw_cache_check_indices(in, &d->matrix, error));
    }
    HAWSER_TRY(check_numbers(in, error));
    HAWSER_TRY(hw_cache_read_schema(in, error));
    HAWSER_TRY(hw_cache_read_equals(in, error));
    return hw_cache_read_names(in, error);
}

static hawser_status view(hw_cache_reader *in, bool verify, hawser_dataset **dataset, hawser_error *error)
{
    *dataset = NULL;
    HAWSER_TRY(hw_dataset_new(&in->dataset, error));
    hawser_status status = read_all(in, verify, error);
    if (status != HAWSER_OK) {
        hawser_dataset_free(in->dataset);
        return status;
    }
    *dataset = in->dataset;
    return HAWSER_OK;
}

hawser_status hw_cache_view(const unsigned char *bytes, size_t size, const char *name, bool verify, hawser_dataset **dataset,
                            hawser_error *error)
{
    return view(&(hw_cache_reader){.bytes = bytes, .size = size, .name = name}, verify, dataset, error);
}

/* ---- checks of the caller's options ---- */

static bool asked(const char *text)
{
    return text != NULL && strcmp(text, "none") != 0;
}

hawser_status hw_cache_check_wishes(const hawser_dataset *d, const char *path, const hawser_load *load, hawser_error *error)
{
    static const char again[] = "a cache keeps the options of its conversion: give this one to `hawser data convert`";
    if (asked(load->target) && !load->target_optional &&
        (d->target_name == NULL || strcmp(load->target, d->target_name) != 0))
        return hawser_fail(error, HAWSER_BAD_OPTION, "%s: target \"%s\" is not its target \"%s\"; %s", path, load->target,
                           d->target_name != NULL ? d->target_name : "", again);
    if (asked(load->weights) || asked(hw_load_offset(load)) || load->names != NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%s: cannot add weights, an offset or names from \"%s\"; %s", path,
                           asked(load->weights)          ? load->weights
                           : asked(hw_load_offset(load)) ? hw_load_offset(load)
                                                         : load->names,
                           again);
    const char *const lists[] = {load->select, load->ignore, load->dates};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (lists[i] != NULL)
            return hawser_fail(error, HAWSER_BAD_OPTION, "%s: cannot select columns or dates (\"%.100s\"); %s", path,
                               lists[i], again);
    if (hw_vocabulary_asked(load))
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "%s: cannot leave out columns by --min-documents, --max-documents, --max-words or --stop-words; %s", path,
            again);
    if (load->type == HAWSER_F32 && d->matrix.type != HAWSER_F32)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%s: it has 64-bit numbers, but 32-bit ones were requested; %s", path,
                           again);
    if (load->index_base != 0 && d->figures.index_base >= 0 && load->index_base - 1 != d->figures.index_base)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%s: its index base is %d, but %d was requested; %s", path,
                           d->figures.index_base, load->index_base - 1, again);
    return HAWSER_OK;
}

hawser_status hw_cache_refuse_turn(const char *path, bool by_row, uint64_t need, uint64_t have, hawser_error *error)
{
    return hawser_fail(error, HAWSER_NO_MEMORY,
                       "%s: converting %s needs %llu MiB, but %llu MiB are allowed; write a cache that has them once, by "
                       "hawser data convert %s-o NEW.hwc, or raise --memory-limit",
                       path, by_row ? "rows into columns" : "columns into rows", (unsigned long long)(need >> 20),
                       (unsigned long long)(have >> 20), by_row ? "" : "--by-row ");
}

static hawser_status flip_dataset(hawser_dataset *d, const char *path, const hawser_load *load, hawser_error *error)
{
    const hawser_matrix *A = &d->matrix;
    bool dense = hw_is_dense(A);
    uint64_t need = A->stored * (hw_type_size(A->type) + (dense ? 0 : 4)) + (dense ? 0 : (A->rows + A->cols) * 8);
    uint64_t have = load->memory_limit != 0 ? load->memory_limit : hw_machine_memory(1);
    d->figures.memory_estimate = d->figures.memory_taken = need;
    if (need > have)
        return hw_cache_refuse_turn(path, hw_is_by_row(A), need, have, error);
    hw_flipped flipped;
    HAWSER_TRY(dense ? hw_flip_dense(A, &flipped, error) : hw_flip(A, 0, hw_line_width(A), &flipped, error));
    hw_dataset_own(d, flipped.offsets);
    hw_dataset_own(d, flipped.indices);
    hw_dataset_own(d, flipped.values);
    d->matrix = flipped.matrix;
    return HAWSER_OK;
}

hawser_status hw_cache_check_columns(const hawser_matrix *A, const char *path, const hawser_load *load, hawser_error *error)
{
    if (hw_is_dense(A) && A->cols < load->columns)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: has %zu columns besides target, weights and offset, but %zu are needed", path, A->cols,
                           load->columns);
    return HAWSER_OK;
}

/* Leaves out the columns that a model does not have, and counts the dropped entries. Dense data must have all columns of the
 * model; in sparse data absent ones are zeros. */
static hawser_status cut_columns(hawser_dataset *d, const char *path, const hawser_load *load, hawser_error *error)
{
    HAWSER_TRY(hw_cache_check_columns(&d->matrix, path, load, error));
    if (load->columns == 0 || d->matrix.cols <= load->columns)
        return HAWSER_OK;
    if (d->matrix.layout == HAWSER_CSR)
        HAWSER_TRY(flip_dataset(d, path, load, error));
    hawser_matrix known = hawser_matrix_columns(&d->matrix, 0, load->columns);
    d->figures.unseen_entries = d->matrix.stored - known.stored;
    if (hw_is_dense(&d->matrix))
        d->figures.unseen_columns = d->matrix.cols - load->columns;
    else
        for (size_t j = load->columns; j < d->matrix.cols; j++)
            d->figures.unseen_columns += d->matrix.offsets[j + 1] > d->matrix.offsets[j];
    d->matrix = known;
    return HAWSER_OK;
}

static hawser_status grant_wishes(hawser_dataset *d, const char *path, const hawser_load *load, bool in_pieces,
                                  hawser_error *error)
{
    HAWSER_TRY(hw_cache_check_wishes(d, path, load, error));
    if (load->target != NULL && !asked(load->target)) {
        d->target = NULL;
        d->target_name = NULL;
    }
    HAWSER_TRY(cut_columns(d, path, load, error));
    if (!in_pieces && hw_is_by_row(&d->matrix) != (load->rows_layout != 0))
        HAWSER_TRY(flip_dataset(d, path, load, error));
    else
        d->matrix.mapped = true;
    d->figures.rows_read = NULL; /* mapped: no thread has read a row */
    d->figures.readers = 0;
    d->figures.format = HAWSER_CACHE;
    return HAWSER_OK;
}

static hawser_status open_cache(const char *path, const hawser_load *load, bool in_pieces, hawser_dataset **dataset,
                                hawser_error *error)
{
    double start = hw_seconds();
    hw_mapped_file *file = NULL;
    hawser_dataset *d = NULL;
    *dataset = NULL;
    const uint64_t limit = load->split == HAWSER_BY_ROW ? load->memory_limit : 0;
    HAWSER_TRY(hw_mapped_open(path, &file, error));
    void *bytes = file->bytes;
    const size_t size = file->size;
    /* More than the memory holds: checked pages are released, and come back when they are used. */
    const bool sparing = in_pieces || (limit != 0 && size > limit);
    if (limit == 0 || size <= limit)
        (void)madvise(bytes, size, MADV_WILLNEED);
    hw_cache_reader in = {
        .bytes = bytes, .size = size, .name = path, .sparing = sparing, .cancellation = load->cancellation};
    hawser_status status = view(&in, true, &d, error);
    if (status != HAWSER_OK) {
        hw_mapped_close(file);
        return status;
    }
    d->file = file;
    d->mapping = bytes;
    d->mapping_bytes = size;
    d->figures.bytes_read = d->figures.bytes_here = d->figures.bytes_text = size;
    status = grant_wishes(d, path, load, in_pieces, error);
    if (status != HAWSER_OK) {
        hawser_dataset_free(d);
        return status;
    }
    d->figures.seconds = hw_seconds() - start;
    *dataset = d;
    return HAWSER_OK;
}

hawser_status hw_cache_open(const char *path, const hawser_load *load, hawser_dataset **dataset, hawser_error *error)
{
    return open_cache(path, load, false, dataset, error);
}

hawser_status hw_cache_open_pieces(const char *path, const hawser_load *load, hawser_dataset **dataset, hawser_error *error)
{
    return open_cache(path, load, true, dataset, error);
}

uint64_t hw_cache_digest(const hawser_dataset *dataset)
{
    hw_cache_header header;
    memcpy(&header, dataset->mapping, sizeof header);
    return header.digest;
}
