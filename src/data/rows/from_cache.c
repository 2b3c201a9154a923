/* from_cache.c - a cache file in pieces: rows are gathered from its columns, and pages that were read are released from
 * memory. */
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/memory.h"
#include "data/cache/cache.h"
#include "data/load.h"
#include "data/rows/rows.h"

/* Entries of a sparse piece, bytes of a dense one, and bytes after which pages are released. Each piece passes over all
 * columns, so a wider matrix has larger pieces. The rows of a narrow dense matrix are used in place, and released LAG pieces
 * later. */
enum { ENTRIES = 1 << 19, DENSE = 4 << 20, ENTRIES_PER_COLUMN = 4, DONE = 8 << 20, NARROW = 128, LAG = 4 };

typedef struct cache_rows {
    hawser_dataset *whole;
    uint64_t *places; /* of a matrix by columns: the first entry of each column that was not read */
    size_t row, step;
    uint64_t number;
} cache_rows;

/* Follows a walk through a section in ascending order, and releases what lies behind it. */
typedef struct trail {
    const char *from;
} trail;

static void walk_to(trail *t, const void *at)
{
    if ((const char *)at - t->from < DONE)
        return;
    hw_release_pages(t->from, at);
    t->from = at;
}

static hawser_status new_array(hawser_dataset *d, void **array, size_t count, size_t size, hawser_error *error)
{
    HAWSER_TRY(hw_new_array(array, count, size, "rows of a cache", error));
    hw_dataset_own(d, *array);
    return HAWSER_OK;
}

static hawser_status take_dense(const hawser_matrix *A, size_t begin, size_t end, hawser_dataset *d, hawser_error *error)
{
    size_t size = hw_type_size(A->type), count = end - begin;
    char *values;
    HAWSER_TRY(new_array(d, (void **)&values, count * A->cols, size, error));
    trail walked = {A->values};
    for (size_t j = 0; j < A->cols; j++) {
        const char *from = (const char *)A->values + (j * A->stride + begin) * size;
        memcpy(values + j * count * size, from, count * size);
        walk_to(&walked, from);
    }
    hw_release_pages(walked.from, (const char *)A->values + A->cols * A->stride * size);
    d->matrix = (hawser_matrix){.rows = count,
                                .cols = A->cols,
                                .stored = count * A->cols,
                                .layout = HAWSER_DENSE,
                                .type = A->type,
                                .values = values,
                                .stride = count};
    return HAWSER_OK;
}

/* Counts the entries of each row, then puts them. */
static hawser_status take_columns(cache_rows *c, const hawser_matrix *A, size_t end, hawser_dataset *d, hawser_error *error)
{
    size_t size = hw_type_size(A->type), begin = c->row, count = end - begin;
    uint64_t *offsets;
    uint32_t *indices;
    char *values;
    HAWSER_TRY(new_array(d, (void **)&offsets, count + 2, sizeof *offsets, error));
    trail first = {(const char *)A->indices};
    for (size_t j = 0; j < A->cols; j++) {
        uint64_t e = c->places[j], last = A->offsets[j + 1];
        for (; e < last && A->indices[e] < end; e++)
            offsets[A->indices[e] - begin + 2]++;
        walk_to(&first, &A->indices[e]);
    }
    for (size_t i = 2; i <= count + 1; i++)
        offsets[i] += offsets[i - 1];
    uint64_t stored = offsets[count + 1];
    HAWSER_TRY(new_array(d, (void **)&indices, stored, sizeof *indices, error));
    HAWSER_TRY(new_array(d, (void **)&values, stored, size, error));
    trail second = {(const char *)A->indices}, third = {A->values};
    for (size_t j = 0; j < A->cols; j++) {
        uint64_t e = c->places[j], last = A->offsets[j + 1];
        for (; e < last && A->indices[e] < end; e++) {
            uint64_t to = offsets[A->indices[e] - begin + 1]++; /* becomes the start of the next row */
            indices[to] = (uint32_t)j;
            memcpy(values + to * size, (const char *)A->values + e * size, size);
        }
        c->places[j] = e;
        walk_to(&second, &A->indices[e]);
        walk_to(&third, (const char *)A->values + e * size);
    }
    hw_release_pages(second.from, A->indices + A->stored);
    hw_release_pages(third.from, (const char *)A->values + A->stored * size);
    d->matrix = (hawser_matrix){.rows = count,
                                .cols = A->cols,
                                .stored = stored,
                                .layout = HAWSER_CSR,
                                .type = A->type,
                                .offsets = offsets,
                                .indices = indices,
                                .values = values};
    return HAWSER_OK;
}

/* The rows stay in the mapping. */
static void take_narrow(const cache_rows *c, const hawser_matrix *A, size_t end, hawser_dataset *d)
{
    size_t size = hw_type_size(A->type), last = c->number > LAG ? c->row - LAG * c->step : 0;
    size_t first = last > c->step ? last - c->step : 0;
    d->matrix = hawser_matrix_rows(A, c->row, end);
    for (size_t j = 0; last > 0 && j < A->cols; j++)
        hw_release_pages((const char *)A->values + (j * A->stride + first) * size,
                         (const char *)A->values + (j * A->stride + last) * size + 4096);
}

static void take_view(const cache_rows *c, const hawser_matrix *A, size_t end, hawser_dataset *d)
{
    size_t size = hw_type_size(A->type);
    d->matrix = hawser_matrix_rows(A, c->row, end);
    if (A->layout == HAWSER_DENSE_ROWS) {
        hw_release_pages(A->values, (const char *)A->values + (uint64_t)c->row * A->stride * size);
        return;
    }
    hw_release_pages(A->indices, A->indices + A->offsets[c->row]);
    hw_release_pages(A->values, (const char *)A->values + A->offsets[c->row] * size);
}

static hawser_status cut(cache_rows *c, size_t end, hawser_dataset *d, hawser_error *error)
{
    const hawser_dataset *whole = c->whole;
    const hawser_matrix *A = &whole->matrix;
    size_t first = c->row;
    if (A->layout == HAWSER_DENSE && A->cols <= NARROW)
        take_narrow(c, A, end, d);
    else if (A->layout == HAWSER_DENSE)
        HAWSER_TRY(take_dense(A, first, end, d, error));
    else if (A->layout == HAWSER_CSC)
        HAWSER_TRY(take_columns(c, A, end, d, error));
    else
        take_view(c, A, end, d);
    d->offset = whole->offset != NULL ? whole->offset + first : NULL;
    d->weights = whole->weights != NULL ? whole->weights + first : NULL;
    d->target = whole->target != NULL ? whole->target + first : NULL;
    return HAWSER_OK;
}

static hawser_status next_cache(hawser_rows *rows, hw_rows_slot *slot, hawser_piece *piece, bool *more, hawser_error *error)
{
    cache_rows *c = rows->own;
    hawser_status status = HAWSER_OK;
    (void)slot;
    pthread_mutex_lock(&rows->cutting);
    pthread_mutex_lock(&rows->lock);
    bool stopped = rows->stopped;
    pthread_mutex_unlock(&rows->lock);
    size_t all = c->whole->matrix.rows, end = all - c->row < c->step ? all : c->row + c->step;
    piece->number = c->number;
    *more = c->row < all && !stopped;
    if (*more) {
        status = hw_rows_dataset(rows, &piece->data, error);
        HAWSER_THEN(status, cut(c, end, piece->data, error));
        c->row = end;
        c->number++;
    }
    pthread_mutex_unlock(&rows->cutting);
    if (status != HAWSER_OK) {
        hawser_dataset_free(piece->data);
        piece->data = NULL;
    }
    return status;
}

static void close_cache(hawser_rows *rows)
{
    cache_rows *c = rows->own;
    hawser_dataset_free(c->whole);
    free(c->places);
    free(c);
}

hawser_status hw_rows_cache(hawser_rows *rows, hawser_error *error)
{
    static const hw_rows_kind kind = {.next = next_cache, .close = close_cache};
    cache_rows *c;
    const char *path = rows->reading.input.files[0].name;
    HAWSER_TRY(HW_NEW(&c, 1, "a reader of rows", error));
    rows->own = c;
    rows->kind = &kind;
    HAWSER_TRY(hw_cache_open_pieces(path, &rows->load, &c->whole, error));
    if (rows->load.schema != NULL)
        HAWSER_TRY(hw_load_matches(path, c->whole, &rows->load, error));
    rows->figures = *hawser_dataset_figures(c->whole);
    const hawser_matrix *A = &c->whole->matrix;
    uint64_t most = (uint64_t)A->cols * ENTRIES_PER_COLUMN, each = A->stored / A->rows + 1;
    most = most > ENTRIES ? most : ENTRIES;
    c->step = (size_t)(hw_is_dense(A) ? DENSE / (A->cols * hw_type_size(A->type)) + 64 : most / each + 1);
    if (A->layout != HAWSER_CSC)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&c->places, A->cols, "the columns of a cache", error));
    memcpy(c->places, A->offsets, A->cols * sizeof *c->places);
    return HAWSER_OK;
}
