#include "data/format/npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/type.h"
#include "data/format/csv.h"
#include "data/layout/assemble.h"

/* Rows at a time; bytes after which what was read leaves memory, of columns what stands around it too. */
enum { TILE = 64, DONE = 1 << 20, DONE_COLUMNS = 8 << 20 };

typedef struct npy {
    const char *name;
    const hw_input_file *input;
    const unsigned char *values; /* not aligned */
    size_t start;                /* of the values in the file */
    uint64_t rows, width;
    bool single, fortran;
    int dimensions;
    void *buffer; /* of an unpacked file */
    size_t room;
} npy;

typedef struct npy_work {
    hw_job *job;
    hw_dense dense;
    const npy *file;
    uint64_t begin, end; /* rows of the file */
    uint64_t first;      /* row of the matrix that `begin` becomes */
} npy_work;

/* The text behind 'key': in the header's dictionary, or NULL. */
static const char *entry(const char *header, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *at = strstr(header, quoted);
    if (at == NULL)
        return NULL;
    at += strlen(quoted);
    at += strspn(at, " ");
    return *at == ':' ? at + 1 + strspn(at + 1, " ") : NULL;
}

static hawser_status read_shape(npy *f, const char *at, hawser_error *error)
{
    uint64_t sizes[2] = {0, 1};
    const char *begin = at;
    for (at += *at == '('; *at != ')'; f->dimensions++) {
        char *end;
        unsigned long long size = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : 0;
        if (f->dimensions == 2 || *at < '0' || *at > '9' || size >= UINT32_MAX)
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "%s: the shape %.*s is not one or two dimensions of at most 4294967294", f->name,
                               (int)(strcspn(begin, ")") + 1), begin);
        sizes[f->dimensions] = size;
        at = end + strspn(end, ", ");
    }
    f->rows = sizes[0];
    f->width = sizes[1];
    return f->dimensions > 0 ? HAWSER_OK
                             : hawser_fail(error, HAWSER_BAD_INPUT, "%s: holds a single number, not a matrix", f->name);
}

static hawser_status read_facts(npy *f, const char *header, hawser_error *error)
{
    const char *type = entry(header, "descr"), *order = entry(header, "fortran_order"), *shape = entry(header, "shape");
    if (type == NULL || order == NULL || shape == NULL || *shape != '(' || strchr(shape, ')') == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: damaged .npy header: %.60s", f->name, header);
    f->single = strncmp(type, "'<f4'", 5) == 0;
    if (!f->single && strncmp(type, "'<f8'", 5) != 0)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: numbers of type %.*s are not supported; save the array as '<f4' or '<f8'", f->name,
                           (int)strcspn(type, ","), type);
    f->fortran = strncmp(order, "True", 4) == 0;
    return read_shape(f, shape, error);
}

/* Where the header's text begins, and how long it is. */
static hawser_status measure_header(const npy *f, const char *text, size_t bytes, size_t *start, size_t *length,
                                    hawser_error *error)
{
    const unsigned char *u = (const unsigned char *)text;
    *start = bytes > 8 && u[6] == 1 ? 10 : 12;
    if (bytes < *start || memcmp(text, HW_NPY_MAGIC, 6) != 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: is no .npy file, or is cut off in its header", f->name);
    if (u[6] < 1 || u[6] > 3)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: .npy version %d is not supported", f->name, u[6]);
    *length = (size_t)u[8] | (size_t)u[9] << 8;
    if (u[6] > 1)
        *length |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
    return HAWSER_OK;
}

/* Reads the header alone: how many bytes the file should have. */
static hawser_status read_header(hw_job *job, size_t number, npy *f, uint64_t *promised, hawser_error *error)
{
    enum { MOST = 1 << 20 };
    const char *text;
    size_t bytes, start = 0, length = 0;
    HAWSER_TRY(hw_input_first(&job->input, number, 12, &text, &bytes, error));
    HAWSER_TRY(measure_header(f, text, bytes, &start, &length, error));
    if (length <= MOST)
        HAWSER_TRY(hw_input_first(&job->input, number, start + length, &text, &bytes, error));
    if (length > MOST || length > bytes - start)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: is cut off in its header", f->name);
    char *header;
    HAWSER_TRY(HW_NEW(&header, length + 1, "an .npy header", error));
    memcpy(header, text + start, length);
    hawser_status status = read_facts(f, header, error);
    free(header);
    f->start = start + length;
    uint64_t size = f->single ? 4 : 8;
    bool fits = f->width == 0 || f->rows < (uint64_t)INT64_MAX / size / f->width;
    *promised = fits ? f->start + f->rows * f->width * size : INT64_MAX;
    return status;
}

/* The header's claims are checked against the bytes that are there, so nothing is allocated by them. */
static hawser_status check_size(npy *f, const char *text, size_t bytes, hawser_error *error)
{
    f->values = (const unsigned char *)text + f->start;
    uint64_t there = bytes - f->start, size = f->single ? 4 : 8;
    if (f->width != 0 && there / size / f->width < f->rows)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: the header promises %llu x %llu numbers, and the file has %llu bytes of them", f->name,
                           (unsigned long long)f->rows, (unsigned long long)f->width, (unsigned long long)there);
    return f->rows * f->width * size == there
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_BAD_INPUT, "%s: something follows the numbers", f->name);
}

static double value_at(const npy *f, uint64_t place)
{
    uint64_t bits = 0;
    const unsigned char *from = f->values + place * (f->single ? 4 : 8);
    for (int i = 0; i < (f->single ? 4 : 8); i++)
        bits |= (uint64_t)from[i] << 8 * i;
    double value;
    float narrow;
    uint32_t low = (uint32_t)bits;
    memcpy(&value, &bits, sizeof value);
    memcpy(&narrow, &low, sizeof narrow);
    return f->single ? (double)narrow : value;
}

/* Rows, or of columns the place of as many numbers, are not needed any more. */
static void text_done(const npy *f, uint64_t begin, uint64_t end)
{
    uint64_t bytes = f->width * (f->single ? sizeof(float) : sizeof(double));
    const char *text = (const char *)f->values;
    hw_text_done(f->input, text + begin * bytes, text + end * bytes);
}

static hawser_status put_rows(void *context, uint32_t thread, hawser_error *error)
{
    const npy_work *w = context;
    const npy *f = w->file;
    uint64_t rows = w->end - w->begin, begin = w->begin + rows * thread / w->job->threads,
             end = w->begin + rows * (thread + 1) / w->job->threads;
    uint64_t read = begin, bytes = f->width * (f->single ? sizeof(float) : sizeof(double));
    double *tile;
    HAWSER_TRY(HW_NEW(&tile, TILE * f->width, "rows", error));
    hawser_status status = HAWSER_OK;
    for (uint64_t row = begin; status == HAWSER_OK && row < end; row += TILE) {
        uint64_t count = end - row < TILE ? end - row : TILE;
        for (uint64_t i = 0; status == HAWSER_OK && i < count; i++)
            for (uint64_t j = 0; j < f->width; j++) {
                double value = value_at(f, f->fortran ? j * f->rows + row + i : (row + i) * f->width + j);
                tile[i * f->width + j] = value;
                bool wide = w->dense.single && w->dense.roles[j] == HW_FEATURE && isinf((float)value);
                if (value - value != 0 || wide) {
                    status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: row %llu, column %llu (from 0): the value is %g; %s",
                                         f->name, (unsigned long long)(row + i), (unsigned long long)j, value,
                                         value - value == 0 ? "that is too large for type f32, use f64" : "remove the row");
                    break;
                }
            }
        if (status == HAWSER_OK)
            status = hw_dense_put(&w->dense, tile, w->first + row - w->begin, count, error);
        if ((row + count - read) * bytes >= (f->fortran ? DONE_COLUMNS : DONE)) {
            text_done(f, f->fortran ? 0 : read, f->fortran ? f->rows : row + count);
            read = row + count;
        }
    }
    w->job->rows_read[thread] += end - begin;
    free(tile);
    return status;
}

static hawser_status give_roles(const hw_job *job, const npy *f, unsigned char *roles, hawser_load_figures *figures,
                                hawser_error *error)
{
    const char *specs[] = {job->load->target, job->load->weights, job->load->offset};
    static const char *const what[] = {"target", "weights", "offset"};
    if (specs[0] == NULL && f->dimensions == 2)
        specs[0] = "0";
    for (int i = 0; i < 3; i++) {
        if (specs[i] == NULL || strcmp(specs[i], "none") == 0)
            continue;
        size_t column = hw_csv_column(specs[i], NULL, f->width);
        if (column < f->width && roles[column] == HW_FEATURE)
            roles[column] = (unsigned char)(HW_TARGET + i);
        else if (column < f->width || !hw_is_file(specs[i]))
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "%s: the %s '%s' is neither a free column (of %llu, from 0) nor a file", f->name, what[i],
                               specs[i], (unsigned long long)f->width);
    }
    uint64_t features = 0;
    for (uint64_t j = 0; j < f->width; j++)
        if (roles[j] == HW_FEATURE && ++features > job->load->columns && job->load->columns != 0)
            roles[j] = HW_UNSEEN;
    if (features < job->load->columns)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: has %llu columns besides target, weights and offset, and %zu are needed", f->name,
                           (unsigned long long)features, job->load->columns);
    figures->unseen_columns = job->load->columns != 0 ? features - job->load->columns : 0;
    return HAWSER_OK;
}

/* Of a file's rows [begin, end) are read: its figures are theirs. */
static void count_bytes(hw_job *job, size_t number, const npy *f, uint64_t begin, uint64_t end)
{
    hw_input_file *file = &job->input.files[number];
    uint64_t bytes = (f->rows - (end - begin)) * f->width * (f->single ? 4 : 8);
    job->input.text -= bytes;
    if (file->map != NULL)
        file->to -= bytes;
}

/* A part of the input is a run of all files' rows. */
static hawser_status fill_files(hw_job *job, const npy *files, uint64_t all, unsigned char *roles, hawser_dataset *dataset,
                                hawser_error *error)
{
    npy_work w = {.job = job};
    uint32_t part = job->load->part, parts = job->load->parts;
    uint64_t first = parts > 1 ? all * part / parts : 0, last = parts > 1 ? all * (part + 1) / parts : all, before = 0;
    uint64_t rows = last - first;
    HAWSER_TRY(give_roles(job, &files[0], roles, &dataset->figures, error));
    uint64_t size = hw_type_size(job->load->type);
    uint64_t used = atomic_load(&job->budget.used), scratch = TILE * files[0].width * sizeof(double) * job->threads;
    HAWSER_TRY(hw_budget_estimate(&job->budget, used + scratch + rows * files[0].width * size, error));
    HAWSER_TRY(HW_NEW(&job->rows_read, job->threads, "figures", error));
    job->input.readers = job->threads;
    HAWSER_TRY(hw_dense_begin(&w.dense, job, rows, files[0].width, roles, dataset, error));
    for (size_t i = 0; i < job->input.count; i++) {
        w.file = &files[i];
        w.begin = first > before ? first - before : 0;
        w.begin = w.begin < files[i].rows ? w.begin : files[i].rows;
        w.end = last > before ? last - before : 0;
        w.end = w.end < files[i].rows ? w.end : files[i].rows;
        HAWSER_TRY(hw_in_parallel(job->threads, put_rows, &w, error));
        text_done(&files[i], 0, files[i].rows);
        count_bytes(job, i, &files[i], w.begin, w.end);
        w.first += w.end - w.begin;
        before += files[i].rows;
    }
    hw_dense_end(&w.dense, dataset);
    dataset->figures.unseen_entries = dataset->figures.unseen_columns * rows;
    return HAWSER_OK;
}

static hawser_status read_files(hw_job *job, npy *files, uint64_t *rows, hawser_error *error)
{
    for (size_t i = 0; i < job->input.count; i++) {
        const char *text;
        size_t bytes;
        npy *f = &files[i];
        f->input = &job->input.files[i];
        f->name = f->input->name;
        uint64_t promised = 0;
        HAWSER_TRY(read_header(job, i, f, &promised, error));
        if (f->input->map == NULL)
            HAWSER_TRY(hw_budget_estimate(&job->budget, promised, error));
        HAWSER_TRY(hw_input_whole(&job->input, i, promised, &text, &bytes, &f->buffer, &f->room, error));
        HAWSER_TRY(check_size(f, text, bytes, error));
        *rows += f->rows;
        if (f->width != files[0].width)
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s: has %llu columns, and %s %llu", f->name,
                               (unsigned long long)f->width, files[0].name, (unsigned long long)files[0].width);
    }
    if (*rows == 0 || files[0].width == 0 || *rows >= UINT32_MAX)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the array has no rows, no columns, or more than 4294967294 rows",
                           files[0].name);
    return HAWSER_OK;
}

hawser_status hw_npy_load(hw_job *job, hawser_dataset *dataset, hawser_error *error)
{
    npy *files;
    unsigned char *roles = NULL;
    uint64_t rows = 0;
    HAWSER_TRY(HW_NEW(&files, job->input.count, "files", error));
    hawser_status status = read_files(job, files, &rows, error);
    if (status == HAWSER_OK)
        status = HW_NEW(&roles, files[0].width, "columns", error);
    if (status == HAWSER_OK)
        status = fill_files(job, files, rows, roles, dataset, error);
    for (size_t i = 0; i < job->input.count; i++)
        hw_pages_free(&job->budget, files[i].buffer, files[i].room);
    free(roles);
    free(files);
    return status;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "behind the head numbers are written as they lie");

hawser_status hw_npy_head(hw_file *file, const hw_npy_shape *shape, hawser_error *error)
{
    enum { PREFIX = 10, ALIGNMENT = 64 };
    char text[256], second[32] = "";
    if (shape->dimensions == 2)
        snprintf(second, sizeof second, " %zu", shape->sizes[1]);
    int length = snprintf(text, sizeof text, "{'descr': '<f%d', 'fortran_order': %s, 'shape': (%zu,%s), }",
                          shape->single ? 4 : 8, shape->fortran ? "True" : "False", shape->sizes[0], second);
    size_t total = (PREFIX + (size_t)length + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, size = total - PREFIX;
    HAWSER_TRY(hw_file_write(file, HW_NPY_MAGIC "\1\0", PREFIX - 2, error));
    HAWSER_TRY(hw_file_write(file, (unsigned char[]){size & 255, (unsigned char)(size >> 8)}, 2, error));
    return hw_file_print(file, error, "%-*s\n", (int)size - 1, text);
}
