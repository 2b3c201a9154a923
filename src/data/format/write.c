/* write.c - implements hawser_dataset_write: rows of a dataset in formats of other software. Sparse data are written row by
 * row. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/file.h"
#include "base/layout.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "data/format/npy.h"
#include "data/format/number_text.h"
#include "data/formats.h"
#include "data/layout/flip.h"

typedef struct row_writer {
    hw_file file;
    const hawser_dataset *d; /* the requested rows, sparse ones as CSR */
    hawser_error *error;
} row_writer;

static double dense_at(const hawser_matrix *A, size_t row, size_t column)
{
    return hw_value_at(A->values, A->type, hw_dense_place(A, row, column));
}

static double sparse_at(const hawser_matrix *A, uint64_t entry)
{
    return hw_value_at(A->values, A->type, entry);
}

/* Returns number j of row i, for ascending j. *e is the first entry of the row that was not returned; it begins at that of
 * the row. */
static double next_at(const hawser_matrix *A, size_t i, size_t j, uint64_t *e)
{
    if (hw_is_dense(A))
        return dense_at(A, i, j);
    return *e < A->offsets[i + 1] && A->indices[*e] == j ? sparse_at(A, (*e)++) : 0;
}

static hawser_status put_number(row_writer *out, double value, hawser_type type)
{
    char text[HW_NUMBER_TEXT];
    return hw_file_write(&out->file, text, hw_number_text(text, value, type), out->error);
}

static hawser_status put_text(row_writer *out, const char *text)
{
    return hw_file_write(&out->file, text, strlen(text), out->error);
}

/* " 17:0.5" */
static hawser_status put_entry(row_writer *out, uint64_t index, double value)
{
    char text[2 * HW_NUMBER_TEXT];
    size_t size = 0;
    text[size++] = ' ';
    size += hw_number_text(text + size, (double)index, HAWSER_F64);
    text[size++] = ':';
    size += hw_number_text(text + size, value, out->d->matrix.type);
    return hw_file_write(&out->file, text, size, out->error);
}

/* Columns keep the numbers of their input, otherwise a model of the original would misread the copy. */
static hawser_status write_svmlight(row_writer *out)
{
    const hawser_matrix *A = &out->d->matrix;
    uint64_t base = out->d->figures.index_base == 0 ? 0 : 1;
    for (size_t i = 0; i < A->rows; i++) {
        HAWSER_TRY(put_number(out, out->d->target != NULL ? out->d->target[i] : 0, HAWSER_F64));
        if (hw_is_dense(A)) {
            for (size_t j = 0; j < A->cols; j++)
                if (dense_at(A, i, j) != 0)
                    HAWSER_TRY(put_entry(out, j + base, dense_at(A, i, j)));
        } else {
            for (uint64_t e = A->offsets[i]; e < A->offsets[i + 1]; e++)
                HAWSER_TRY(put_entry(out, A->indices[e] + base, sparse_at(A, e)));
        }
        HAWSER_TRY(put_text(out, "\n"));
    }
    return HAWSER_OK;
}

/* ---- CSV ---- */

static hawser_status put_name(row_writer *out, const char *name)
{
    if (name[0] != '\0' && strpbrk(name, ",;\t\"\r\n ") == NULL)
        return put_text(out, name);
    HAWSER_TRY(put_text(out, "\""));
    for (; *name != '\0'; name++) {
        if (*name == '"')
            HAWSER_TRY(put_text(out, "\""));
        HAWSER_TRY(hw_file_write(&out->file, name, 1, out->error));
    }
    return put_text(out, "\"");
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has_name(const char **sorted, size_t count, const char *name)
{
    return count > 0 && bsearch(&name, sorted, count, sizeof *sorted, by_text) != NULL;
}

/* Sorts the names of the data, for free(). Refuses equal ones, which could not be read back. */
static hawser_status sort_names(const hawser_dataset *d, const char *path, const char ***sorted, size_t *count,
                                hawser_error *error)
{
    *count = 0;
    HAWSER_TRY(HW_NEW(sorted, d->matrix.cols + 1, "column names", error));
    for (size_t j = 0; d->columns != NULL && j < d->matrix.cols; j++)
        if (d->columns[j][0] != '\0')
            (*sorted)[(*count)++] = d->columns[j];
    if (d->target != NULL && d->target_name != NULL && d->target_name[0] != '\0')
        (*sorted)[(*count)++] = d->target_name;
    qsort(*sorted, *count, sizeof **sorted, by_text);
    for (size_t j = 1; j < *count; j++)
        if (strcmp((*sorted)[j], (*sorted)[j - 1]) == 0)
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "%s: two columns are named '%.100s', so a CSV file with both could not be read back; give "
                               "other --names",
                               path, (*sorted)[j]);
    return HAWSER_OK;
}

/* Writes a name for a column without one, which no other column has. */
static hawser_status put_free_name(row_writer *out, const char **sorted, size_t count, const char *name)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%s", name);
    for (size_t k = 2; has_name(sorted, count, text); k++)
        (void)snprintf(text, sizeof text, "%s_%zu", name, k);
    HAWSER_TRY(put_text(out, text));
    return put_text(out, ",");
}

static hawser_status put_names(row_writer *out, const char **sorted, size_t count)
{
    const hawser_dataset *d = out->d;
    if (d->target != NULL && d->target_name != NULL) {
        HAWSER_TRY(put_name(out, d->target_name));
        HAWSER_TRY(put_text(out, ","));
    } else if (d->target != NULL) {
        HAWSER_TRY(put_free_name(out, sorted, count, "target"));
    }
    if (d->weights != NULL)
        HAWSER_TRY(put_free_name(out, sorted, count, "weight"));
    if (d->offset != NULL)
        HAWSER_TRY(put_free_name(out, sorted, count, "offset"));
    for (size_t j = 0; j < d->matrix.cols; j++) {
        if (j > 0)
            HAWSER_TRY(put_text(out, ","));
        if (d->columns != NULL)
            HAWSER_TRY(put_name(out, d->columns[j]));
        else
            HAWSER_TRY(hw_file_print(&out->file, out->error, "x%zu", j + 1));
    }
    return put_text(out, "\n");
}

/* Always writes a header, so that no reader has to guess whether there is one. */
static hawser_status write_csv_head(row_writer *out)
{
    const char **sorted = NULL;
    size_t count = 0;
    hawser_status status = sort_names(out->d, out->file.path, &sorted, &count, out->error);
    HAWSER_THEN(status, put_names(out, sorted, count));
    free(sorted);
    return status;
}

/* Writes a target, which is the number of a word if the target has words. */
static hawser_status put_target(row_writer *out, const char *const *words, size_t count, double value)
{
    if (words != NULL && value >= 0 && value < (double)count)
        return put_name(out, words[(size_t)value]);
    return put_number(out, value, HAWSER_F64);
}

static hawser_status write_csv(row_writer *out)
{
    const hawser_matrix *A = &out->d->matrix;
    size_t count;
    const char *const *words = hawser_schema_target(out->d->schema, &count);
    const double *const extra[] = {out->d->target, out->d->weights, out->d->offset};
    HAWSER_TRY(write_csv_head(out));
    for (size_t i = 0; i < A->rows; i++) {
        for (int k = 0; k < 3; k++)
            if (extra[k] != NULL) {
                HAWSER_TRY(put_target(out, k == 0 ? words : NULL, count, extra[k][i]));
                HAWSER_TRY(put_text(out, ","));
            }
        uint64_t e = hw_is_dense(A) ? 0 : A->offsets[i];
        for (size_t j = 0; j < A->cols; j++) {
            if (j > 0)
                HAWSER_TRY(put_text(out, ","));
            HAWSER_TRY(put_number(out, next_at(A, i, j, &e), A->type));
        }
        HAWSER_TRY(put_text(out, "\n"));
    }
    return HAWSER_OK;
}

/* ---- Matrix Market ---- */

static hawser_status write_matrix_market(row_writer *out)
{
    const hawser_matrix *A = &out->d->matrix;
    if (hw_is_dense(A)) {
        HAWSER_TRY(hw_file_print(&out->file, out->error, "%%%%MatrixMarket matrix array real general\n%zu %zu\n", A->rows,
                                 A->cols));
        for (size_t j = 0; j < A->cols; j++)
            for (size_t i = 0; i < A->rows; i++) {
                HAWSER_TRY(put_number(out, dense_at(A, i, j), A->type));
                HAWSER_TRY(put_text(out, "\n"));
            }
        return HAWSER_OK;
    }
    HAWSER_TRY(hw_file_print(&out->file, out->error,
                             "%%%%MatrixMarket matrix coordinate real general\n%zu %zu %" PRIu64 "\n", A->rows, A->cols,
                             A->stored));
    for (size_t i = 0; i < A->rows; i++)
        for (uint64_t e = A->offsets[i]; e < A->offsets[i + 1]; e++) {
            HAWSER_TRY(hw_file_print(&out->file, out->error, "%zu %" PRIu64 " ", i + 1, (uint64_t)A->indices[e] + 1));
            HAWSER_TRY(put_number(out, sparse_at(A, e), A->type));
            HAWSER_TRY(put_text(out, "\n"));
        }
    return HAWSER_OK;
}

/* Opens a writer for the target alone, as a matrix of one column, at `path`.target. */
static hawser_status begin_target(const hawser_dataset *d, const char *path, hawser_dataset *column, row_writer *out,
                                  hawser_error *error)
{
    char *name = NULL;
    size_t size = strlen(path) + sizeof ".target";
    *column = (hawser_dataset){.matrix = {.rows = d->matrix.rows,
                                          .cols = 1,
                                          .stored = d->matrix.rows,
                                          .layout = HAWSER_DENSE,
                                          .type = HAWSER_F64,
                                          .values = d->target,
                                          .stride = d->matrix.rows}};
    *out = (row_writer){.d = column, .error = error};
    HAWSER_TRY(HW_NEW(&name, size, "a file name", error));
    (void)snprintf(name, size, "%s.target", path);
    hawser_status status = hw_file_begin(&out->file, name, error);
    free(name);
    return status;
}

/* The format has no place for a target, so it is written to a file of its own, for --target PATH.target. Both files get
 * their names only after both are written: a new target beside an old matrix would be taken for its target. */
static hawser_status write_market_pair(const hawser_dataset *d, const char *path, hawser_error *error)
{
    hawser_dataset column;
    row_writer out = {.d = d, .error = error}, side = {0};
    if (strcmp(path, "-") == 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "Matrix Market keeps the target in a second file; name a file instead of -");
    HAWSER_TRY(hw_file_begin(&out.file, path, error));
    hawser_status status = begin_target(d, path, &column, &side, error);
    HAWSER_THEN(status, write_matrix_market(&side));
    HAWSER_THEN(status, write_matrix_market(&out));
    HAWSER_THEN(status, hw_file_sync(&side.file, error));
    HAWSER_THEN(status, hw_file_sync(&out.file, error));
    HAWSER_THEN(status, hw_file_commit(&side.file, error));
    HAWSER_THEN(status, hw_file_commit(&out.file, error));
    hw_file_abort(&side.file);
    hw_file_abort(&out.file);
    return status;
}

/* ---- npy ---- */

static hawser_status put_binary(row_writer *out, double value, bool single)
{
    float narrow = (float)value;
    return single ? hw_file_write(&out->file, &narrow, sizeof narrow, out->error)
                  : hw_file_write(&out->file, &value, sizeof value, out->error);
}

/* Writes the target as the first column. HAWSER_DENSE is written by columns as stored, other layouts by rows. */
static hawser_status write_npy(row_writer *out)
{
    const hawser_matrix *A = &out->d->matrix;
    const double *target = out->d->target;
    bool single = A->type == HAWSER_F32 && target == NULL, fortran = A->layout == HAWSER_DENSE;
    const hw_npy_shape shape = {single, fortran, 2, {A->rows, A->cols + (target != NULL)}};
    HAWSER_TRY(hw_npy_head(&out->file, &shape, out->error));
    if (fortran) {
        if (target != NULL)
            HAWSER_TRY(hw_file_write(&out->file, target, A->rows * sizeof *target, out->error));
        for (size_t j = 0; j < A->cols; j++)
            for (size_t i = 0; i < A->rows; i++)
                HAWSER_TRY(put_binary(out, dense_at(A, i, j), single));
        return HAWSER_OK;
    }
    for (size_t i = 0; i < A->rows; i++) {
        uint64_t e = hw_is_dense(A) ? 0 : A->offsets[i];
        if (target != NULL)
            HAWSER_TRY(put_binary(out, target[i], single));
        for (size_t j = 0; j < A->cols; j++)
            HAWSER_TRY(put_binary(out, next_at(A, i, j, &e), single));
    }
    return HAWSER_OK;
}

/* ---- all ---- */

static hawser_status write_rows(const hawser_dataset *rows, const char *path, hawser_status (*write)(row_writer *out),
                                hawser_error *error)
{
    row_writer out = {.d = rows, .error = error};
    HAWSER_TRY(hw_file_begin(&out.file, path, error));
    hawser_status status = write(&out);
    if (status == HAWSER_OK)
        return hw_file_commit(&out.file, error);
    hw_file_abort(&out.file);
    return status;
}

hawser_status hw_svmlight_write(const hawser_dataset *whole, hawser_dataset *rows, const char *path, hawser_error *error)
{
    (void)whole;
    return write_rows(rows, path, write_svmlight, error);
}

hawser_status hw_csv_write(const hawser_dataset *whole, hawser_dataset *rows, const char *path, hawser_error *error)
{
    (void)whole;
    return write_rows(rows, path, write_csv, error);
}

hawser_status hw_market_write(const hawser_dataset *whole, hawser_dataset *rows, const char *path, hawser_error *error)
{
    (void)whole;
    return rows->target != NULL ? write_market_pair(rows, path, error) : write_rows(rows, path, write_matrix_market, error);
}

hawser_status hw_npy_write(const hawser_dataset *whole, hawser_dataset *rows, const char *path, hawser_error *error)
{
    (void)whole;
    return write_rows(rows, path, write_npy, error);
}

hawser_status hw_idx_write(const hawser_dataset *whole, hawser_dataset *rows, const char *path, hawser_error *error)
{
    (void)whole, (void)rows;
    return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s: idx is read, not written", path);
}

/* Fills `slice`, a view, with rows [begin, end); sparse data as CSR, which `flipped` holds if the data are CSC. */
static hawser_status slice_rows(const hawser_dataset *d, size_t begin, size_t end, hawser_dataset *slice,
                                hw_flipped *flipped, hawser_error *error)
{
    const hawser_matrix *A = &d->matrix;
    *flipped = (hw_flipped){0};
    *slice = *d;
    slice->target = d->target != NULL ? d->target + begin : NULL;
    slice->weights = d->weights != NULL ? d->weights + begin : NULL;
    slice->offset = d->offset != NULL ? d->offset + begin : NULL;
    if (A->layout == HAWSER_CSC) {
        HAWSER_TRY(hw_flip(A, begin, end, flipped, error));
        slice->matrix = flipped->matrix;
    } else {
        slice->matrix = hawser_matrix_rows(A, begin, end);
    }
    return HAWSER_OK;
}

/* A cache keeps the layout of the data: rows that were made for cutting are converted back. */
hawser_status hw_cache_write(const hawser_dataset *d, hawser_dataset *slice, const char *path, hawser_error *error)
{
    hw_flipped back = {0};
    if (d->matrix.layout == HAWSER_CSC) {
        HAWSER_TRY(hw_flip(&slice->matrix, 0, slice->matrix.cols, &back, error));
        slice->matrix = back.matrix;
    }
    hawser_status status = hawser_dataset_save(slice, path, error);
    hw_flip_free(&back);
    return status;
}

hawser_status hawser_dataset_write(const hawser_dataset *dataset, size_t begin, size_t end, hawser_format format,
                                   const char *path, hawser_error *error)
{
    HW_GIVEN(dataset);
    HW_GIVEN(path);
    const hawser_matrix *A = &dataset->matrix;
    if (begin >= end || end > A->rows)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s: cannot write rows %zu to %zu of %zu", path, begin, end, A->rows);
    const hw_format_row *row = hw_format_row_of(format);
    if (row == NULL || row->extension[0] == '\0') {
        char known[100];
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s: cannot write this format; the extension must be %s", path,
                           hw_format_extensions(known, sizeof known));
    }
    if ((row->traits & HW_FORMAT_SIDES) == 0 && (dataset->weights != NULL || dataset->offset != NULL))
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s: this format has no place for %s; write csv or cache", path,
                           dataset->weights != NULL ? "example weights" : "an offset");
    hawser_dataset slice;
    hw_flipped flipped;
    HAWSER_TRY(hw_dataset_check_one_target(dataset, path, error));
    HAWSER_TRY(hawser_matrix_whole(A, error));
    HAWSER_TRY(hawser_dataset_intact(dataset, error));
    HAWSER_TRY(slice_rows(dataset, begin, end, &slice, &flipped, error));
    hawser_status status = row->write(dataset, &slice, path, error);
    hw_flip_free(&flipped);
    return status;
}
