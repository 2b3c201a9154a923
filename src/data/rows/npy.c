/* npy.c - .npy files in row order in pieces. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/exposure.h"
#include "data/format/binary.h"
#include "data/layout/assemble.h"
#include "data/rows/rows.h"

typedef struct npy_rows {
    hw_binary file; /* the one that is read */
    size_t at;      /* its number */
    uint64_t done;  /* rows of it that were read */
    uint64_t width; /* of the first file */
    unsigned char *roles;
    char *carry; /* of a stream: bytes behind the last whole row */
    size_t carried, carry_capacity;
    bool ended; /* the stream */
    uint64_t number;
    hawser_status late; /* a failure behind rows that were read */
    hawser_error late_error;
} npy_rows;

/* Numbers of a piece: where they are, how many rows, and the number of the first in its file. */
typedef struct npy_piece {
    hw_binary file;
    uint64_t first, count;
    uint64_t number;
} npy_piece;

static uint64_t row_bytes(const npy_rows *n)
{
    return n->file.width * n->file.size;
}

static hawser_status other_size(const npy_rows *n, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_INPUT,
                       "%s: the header declares %llu x %llu numbers, but the file has only %llu rows", n->file.name,
                       (unsigned long long)n->file.rows, (unsigned long long)n->file.width, (unsigned long long)n->done);
}

/* Reads the header of the next file, which follows the rows of the last. */
static hawser_status begin_file(hawser_rows *rows, npy_rows *n, hawser_error *error)
{
    hw_input *input = &rows->reading.input;
    hw_input_file *file = &input->files[n->at];
    n->file = (hw_binary){.input = file, .name = file->name};
    n->done = n->carried = 0;
    n->ended = false;
    input->eager = false; /* a header is read as a whole */
    hawser_status status = hw_npy_header(&rows->reading, n->at, &n->file, error);
    input->eager = true;
    HAWSER_TRY(status);
    n->width = n->at == 0 ? n->file.width : n->width;
    if (n->file.width != n->width || n->file.fortran)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: has %llu columns in %s order, and %s %llu in row order", file->name,
                           (unsigned long long)n->file.width, n->file.fortran ? "column" : "row", input->files[0].name,
                           (unsigned long long)n->width);
    if (n->file.rows == 0 || n->width == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the array has no rows or no columns", file->name);
    if (file->map != NULL) {
        uint64_t there = file->bytes - n->file.start, row = n->file.width * n->file.size;
        n->done = there / row; /* for the message */
        if (there / row < n->file.rows)
            return other_size(n, error);
        n->done = 0;
        if (there != n->file.rows * row)
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s: other data follow the numbers", file->name);
        return HAWSER_OK;
    }
    n->carried = file->head_used - n->file.start;
    HAWSER_TRY(HW_GROW(&n->carry, &n->carry_capacity, n->carried + 1, "a row", error));
    if (n->carried > 0)
        memcpy(n->carry, file->head + n->file.start, n->carried);
    return HAWSER_OK;
}

/* Fills the slot with whole rows of a stream: those that can be read without waiting, or one. */
static hawser_status read_stream(hawser_rows *rows, npy_rows *n, hw_rows_slot *slot, uint64_t most, uint64_t *count,
                                 hawser_error *error)
{
    const hw_input_file *file = n->file.input;
    uint64_t row = row_bytes(n), wanted = most * row, used = n->carried < wanted ? n->carried : wanted;
    HAWSER_TRY(HW_GROW(&slot->bytes, &slot->capacity, wanted, "rows", error));
    if (used > 0)
        memcpy(slot->bytes, n->carry, used);
    memmove(n->carry, n->carry + used, n->carried - used);
    n->carried -= used;
    while (used < wanted && !n->ended) {
        size_t got = 0;
        hawser_status status = hw_stream_read_some(file->stream, slot->bytes + used, wanted - used, used < row,
                                                   rows->stop[0], &got, &n->ended, error);
        used += got;
        if (status != HAWSER_OK && used >= row) {
            n->late = status;
            n->late_error = error != NULL ? *error : n->late_error;
        } else if (status != HAWSER_OK) {
            return status;
        }
        if (got == 0 || status != HAWSER_OK)
            break;
    }
    *count = used / row;
    uint64_t rest = used - *count * row;
    HAWSER_TRY(HW_GROW(&n->carry, &n->carry_capacity, n->carried + rest, "a row", error));
    if (rest > 0)
        memcpy(n->carry + n->carried, slot->bytes + *count * row, rest);
    n->carried += rest;
    return HAWSER_OK;
}

/* After the last row of a stream nothing may follow. */
static hawser_status end_stream(hawser_rows *rows, npy_rows *n, hawser_error *error)
{
    char byte;
    size_t got = n->carried;
    if (n->file.input->map == NULL && got == 0 && !n->ended)
        HAWSER_TRY(hw_stream_read_some(n->file.input->stream, &byte, 1, true, rows->stop[0], &got, &n->ended, error));
    return got == 0 ? HAWSER_OK : hawser_fail(error, HAWSER_BAD_INPUT, "%s: other data follow the numbers", n->file.name);
}

/* Cuts the next piece; count 0: there is none. */
static hawser_status cut(hawser_rows *rows, npy_rows *n, hw_rows_slot *slot, npy_piece *piece, hawser_error *error)
{
    piece->number = n->number;
    piece->count = 0;
    if (n->late != HAWSER_OK)
        return hawser_fail(error, n->late, "%s", n->late_error.text);
    if (n->done == n->file.rows) {
        HAWSER_TRY(end_stream(rows, n, error));
        bool stopped = n->file.input->map == NULL && !n->ended;
        if (n->at + 1 == rows->reading.input.count || stopped)
            return HAWSER_OK;
        n->at++;
        HAWSER_TRY(begin_file(rows, n, error));
    }
    uint64_t most = rows->piece_bytes / row_bytes(n) + 1, left = n->file.rows - n->done;
    most = most < left ? most : left;
    piece->file = n->file;
    piece->first = n->done;
    if (n->file.input->map != NULL) {
        piece->file.values = (const unsigned char *)n->file.input->map + n->file.start + n->done * row_bytes(n);
        piece->count = most;
    } else {
        HAWSER_TRY(read_stream(rows, n, slot, most, &piece->count, error));
        piece->file.values = (const unsigned char *)slot->bytes;
        if (piece->count == 0 && n->ended)
            return other_size(n, error);
    }
    n->done += piece->count;
    n->number += piece->count > 0;
    return HAWSER_OK;
}

static hawser_status next_npy(hawser_rows *rows, hw_rows_slot *slot, hawser_piece *piece, bool *more, hawser_error *error)
{
    npy_rows *n = rows->own;
    npy_piece got;
    pthread_mutex_lock(&rows->cutting);
    pthread_mutex_lock(&rows->lock);
    bool stopped = rows->stopped;
    pthread_mutex_unlock(&rows->lock);
    hawser_status status = HAWSER_OK;
    got = (npy_piece){.number = n->number};
    if (!stopped)
        status = cut(rows, n, slot, &got, error);
    pthread_mutex_unlock(&rows->cutting);
    piece->number = got.number;
    *more = got.count > 0;
    if (status != HAWSER_OK || !*more)
        return status;
    hw_reading reading;
    hw_rows_reading(rows, &reading);
    HAWSER_TRY(hw_rows_dataset(rows, &piece->data, error));
    status = hw_binary_take(&reading, &got.file, n->roles, got.first, got.count, piece->data, error);
    if (got.file.input->map != NULL)
        hw_text_done(got.file.input, (const char *)got.file.values,
                     (const char *)got.file.values + got.count * got.file.width * got.file.size);
    if (piece->data->matrix.rows == 0) {
        hawser_dataset_free(piece->data);
        piece->data = NULL;
    }
    return status;
}

static void close_npy(hawser_rows *rows)
{
    npy_rows *n = rows->own;
    free(n->roles);
    free(n->carry);
    free(n);
}

hawser_status hw_rows_npy(hawser_rows *rows, const char **why, hawser_error *error)
{
    static const hw_rows_kind kind = {.next = next_npy, .close = close_npy};
    npy_rows *n;
    hw_binary first = {.input = &rows->reading.input.files[0], .name = rows->reading.input.files[0].name};
    if (first.input->sparse) {
        *why = "it is a sparse matrix of scipy";
        return HAWSER_OK;
    }
    rows->reading.input.eager = false;
    hawser_status status = hw_npy_header(&rows->reading, 0, &first, error);
    rows->reading.input.eager = true;
    HAWSER_TRY(status);
    if (first.fortran) {
        *why = "its numbers are in column order";
        return HAWSER_OK;
    }
    HAWSER_TRY(HW_NEW(&n, 1, "a reader of rows", error));
    rows->own = n;
    rows->kind = &kind;
    HAWSER_TRY(begin_file(rows, n, error));
    HAWSER_TRY(HW_NEW(&n->roles, n->width, "columns", error));
    HAWSER_TRY(hw_binary_roles(&rows->reading, &n->file, n->roles, error));
    *why = hw_rows_sides(&rows->load, n->roles, n->width);
    if (*why == NULL)
        return HAWSER_OK;
    close_npy(rows);
    rows->own = NULL;
    rows->kind = NULL;
    return HAWSER_OK;
}
