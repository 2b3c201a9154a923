/* batch.c - copies rows of a matrix, in any order, into memory of the caller: hawser_batch_pack. */
#include <string.h>

#include "base/argument.h"
#include "base/layout.h"
#include "hawser/batches.h"
#include "hawser/data.h"
#include "linalg/presence.h"
#include "linalg/sound.h"

/* Returns the bytes of a packed CSR matrix: offsets, then values, then indices, so that each array is aligned. */
static uint64_t sparse_bytes(const hawser_matrix *A, uint64_t rows, uint64_t stored)
{
    return (rows + 1) * sizeof *A->offsets + stored * (hw_type_size(A->type) + sizeof *A->indices);
}

/* Returns the most entries that `count` different rows can have together, or more. */
static uint64_t most_stored(const hawser_matrix *A, uint64_t count)
{
    uint64_t longest = 0, all = A->offsets[A->rows] - A->offsets[0];
    for (size_t i = 0; i < A->rows; i++)
        if (A->offsets[i + 1] - A->offsets[i] > longest)
            longest = A->offsets[i + 1] - A->offsets[i];
    return longest > 0 && count > all / longest ? all : count * longest;
}

size_t hawser_batch_bytes(const hawser_matrix *A, size_t count)
{
    if (A == NULL || A->layout == HAWSER_CSC || hw_matrix_wrong(A) != NULL || hw_touch_rows(A))
        return 0;
    uint64_t rows = count < A->rows ? count : A->rows, bytes = rows * A->cols * hw_type_size(A->type);
    if (A->layout == HAWSER_CSR)
        bytes = sparse_bytes(A, rows, rows > 0 ? most_stored(A, rows) : 0);
    return bytes > 0 ? (size_t)bytes : 1;
}

/* Returns the bytes that a batch needs, UINT64_MAX if they are too many for 64 bits. Its rows are in A. */
static uint64_t bytes_of(const hawser_matrix *A, const hawser_batch *batch)
{
    const uint64_t line = (uint64_t)A->cols * hw_type_size(A->type), most = UINT64_MAX / 32;
    if (A->layout != HAWSER_CSR)
        return line > 0 && batch->count > most / line ? UINT64_MAX : batch->count * line;
    uint64_t stored = 0;
    for (size_t k = 0; k < batch->count && stored < most; k++)
        stored += A->offsets[batch->rows[k] + 1] - A->offsets[batch->rows[k]];
    return stored < most && batch->count < most ? sparse_bytes(A, batch->count, stored) : UINT64_MAX;
}

static hawser_status check(const hawser_matrix *A, const hawser_batch *batch, size_t bytes, hawser_error *error)
{
    const char *wrong =
        A->layout == HAWSER_CSC ? "is CSC, which has no rows to copy: load it with rows_layout 1" : hw_matrix_wrong(A);
    if (wrong != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_batch_pack: the matrix %s", wrong);
    HAWSER_TRY(hawser_matrix_whole(A, error)); /* before its arrays are read */
    if (batch->count > 0 && batch->rows == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_batch_pack: the batch has no list of rows");
    for (size_t k = 0; k < batch->count; k++)
        if (batch->rows[k] >= A->rows)
            return hawser_fail(
                error, HAWSER_BAD_ARGUMENT,
                "hawser_batch_pack: row %zu is asked for, and the matrix has %zu rows; a batch counts the rows "
                "of a view from 0",
                batch->rows[k], A->rows);
    uint64_t needed = bytes_of(A, batch);
    if (needed > bytes)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "hawser_batch_pack: %zu rows take %llu bytes, and the memory has %zu; hawser_batch_bytes returns "
                           "enough for rows that differ",
                           batch->count, (unsigned long long)needed, bytes);
    return HAWSER_OK;
}

static void pack_sparse(const hawser_matrix *A, const hawser_batch *batch, void *memory, hawser_matrix *out)
{
    const size_t size = hw_type_size(A->type);
    uint64_t *offsets = memory, stored = 0;
    offsets[0] = 0;
    for (size_t k = 0; k < batch->count; k++)
        offsets[k + 1] = stored += A->offsets[batch->rows[k] + 1] - A->offsets[batch->rows[k]];
    unsigned char *values = (unsigned char *)(offsets + batch->count + 1);
    uint32_t *indices = (uint32_t *)(void *)(values + stored * size);
    for (size_t k = 0; k < batch->count; k++) {
        uint64_t from = A->offsets[batch->rows[k]], count = offsets[k + 1] - offsets[k];
        if (count == 0)
            continue; /* a matrix without entries has no arrays */
        memcpy(values + offsets[k] * size, (const unsigned char *)A->values + from * size, count * size);
        memcpy(indices + offsets[k], A->indices + from, count * sizeof *indices);
    }
    out->offsets = offsets;
    out->values = values;
    out->indices = indices;
    out->stored = stored;
}

/* Copies row i to `to`, entry by entry, since the numbers of a row may be far apart. */
static void copy_row(const hawser_matrix *A, size_t i, unsigned char *to)
{
    const size_t size = hw_type_size(A->type);
    for (size_t j = 0; j < A->cols; j++)
        memcpy(to + j * size, (const unsigned char *)A->values + hw_dense_place(A, i, j) * size, size);
}

static void pack_dense(const hawser_matrix *A, const hawser_batch *batch, void *memory, hawser_matrix *out)
{
    const size_t line = A->cols * hw_type_size(A->type);
    for (size_t k = 0; line > 0 && k < batch->count; k++) {
        unsigned char *to = (unsigned char *)memory + k * line;
        if (A->layout == HAWSER_DENSE)
            copy_row(A, batch->rows[k], to);
        else
            memcpy(to, (const unsigned char *)A->values + batch->rows[k] * A->stride * hw_type_size(A->type), line);
    }
    out->layout = HAWSER_DENSE_ROWS;
    out->values = memory;
    out->stride = A->cols;
    out->stored = (uint64_t)batch->count * A->cols;
}

hawser_status hawser_batch_pack(const hawser_matrix *A, const hawser_batch *batch, void *memory, size_t bytes,
                                hawser_matrix *out, hawser_error *error)
{
    HW_GIVEN(A);
    HW_GIVEN(batch);
    HW_GIVEN(memory);
    HW_GIVEN(out);
    HAWSER_TRY(check(A, batch, bytes, error));
    hawser_matrix packed = {.rows = batch->count, .cols = A->cols, .layout = A->layout, .type = A->type};
    if (A->layout == HAWSER_CSR)
        pack_sparse(A, batch, memory, &packed);
    else
        pack_dense(A, batch, memory, &packed);
    *out = packed;
    return HAWSER_OK;
}
