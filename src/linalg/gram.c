/* hawser_gram: inner products of chosen columns, the heart of working-set solvers.
 *
 * Dense: tiles of packed columns, HW_GRAM_ROWS rows at a time. Sparse: either row by row (each row adds the products of the
 * chosen entries it holds) or column by column (a fresh column is scattered, the others gather from it), whichever needs
 * less work. A few fresh columns go column by column in both layouts. The choice looks at counts alone, so it is the same on
 * every machine. */
#include "hawser/matrix.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/kernels.h"

enum {
    FEW_TILES = 32,    /* fresh columns up to which others are read too seldom for packing them to pay */
    FEW_FRESH = 3,     /* up to here packing or listing all columns costs more than it saves */
    BLOCK_ROWS = 4096, /* of sparse rows listed together, with at most BLOCK_ENTRIES and one row's more */
    BLOCK_ENTRIES = 32768,
    PANEL = 64 /* packed columns kept in the second-level cache while the fresh ones stream by: 256 KiB */
};

typedef struct gram {
    const hawser_matrix *A;
    const hw_kernels *kernels;
    const hw_typed_kernels *typed;
    const uint32_t *columns;
    size_t fresh, count;
    const double *weights;
    double *G;
    size_t ld;
} gram;

static const void *at(const gram *g, uint64_t entry)
{
    return (const unsigned char *)g->A->values + entry * hw_type_size(g->A->type);
}

static size_t entries(const gram *g, size_t k)
{
    const uint64_t *offsets = g->A->offsets + g->columns[k];
    return (size_t)(offsets[1] - offsets[0]);
}

static double value(const gram *g, uint64_t entry)
{
    return g->A->type == HAWSER_F32 ? (double)((const float *)g->A->values)[entry] : ((const double *)g->A->values)[entry];
}

static void mirror(const gram *g)
{
    for (size_t a = g->fresh; a < g->count; a++)
        for (size_t b = 0; b < a; b++)
            g->G[b * g->ld + a] = g->G[a * g->ld + b];
}

/* x = weights * column, dense. */
static void spread(const gram *g, size_t k, double *x)
{
    const hawser_matrix *A = g->A;
    if (A->layout == HAWSER_DENSE) {
        uint64_t begin = (uint64_t)g->columns[k] * A->stride;
        for (size_t i = 0; i < A->rows; i++)
            x[i] = (g->weights != NULL ? g->weights[i] : 1) * value(g, begin + i);
        return;
    }
    uint64_t begin = A->offsets[g->columns[k]];
    for (uint64_t e = begin; e < begin + entries(g, k); e++)
        x[A->indices[e]] = (g->weights != NULL ? g->weights[A->indices[e]] : 1) * value(g, e);
}

static hawser_status column_by_column(const gram *g, hawser_error *error)
{
    double *x = NULL;
    HAWSER_TRY(HW_NEW(&x, g->A->rows, "scratch of a Gram matrix", error));
    for (size_t a = g->fresh; a < g->count; a++) {
        spread(g, a, x);
        for (size_t b = 0; b <= a; b++)
            g->G[a * g->ld + b] = hawser_column_dot(g->A, g->columns[b], x);
        if (g->A->layout == HAWSER_CSC) {
            const uint32_t *rows = g->A->indices + g->A->offsets[g->columns[a]];
            for (size_t e = 0; e < entries(g, a); e++)
                x[rows[e]] = 0;
        }
    }
    free(x);
    return HAWSER_OK;
}

/* ---- dense ---- */

/* Where a tile's rows of column k are: packed, or where they are stored when that is as good. */
static const double *rows_of(const gram *g, size_t k, size_t row, const double *weights, bool direct, double *packed)
{
    const void *column = at(g, (uint64_t)g->columns[k] * g->A->stride);
    size_t left = g->A->rows - row;
    if (direct && left >= HW_GRAM_ROWS)
        return (const double *)column + row;
    g->typed->dense_pack(row, left < HW_GRAM_ROWS ? left : HW_GRAM_ROWS, column, weights, packed + k * HW_GRAM_ROWS);
    return packed + k * HW_GRAM_ROWS;
}

static hawser_status tile_by_tile(const gram *g, hawser_error *error)
{
    double *packed = NULL, *weighted = NULL;
    const double **right = NULL, **left = NULL;
    bool direct = g->A->type == HAWSER_F64 && g->count - g->fresh <= FEW_TILES;
    hawser_status status = HW_NEW(&packed, g->count * HW_GRAM_ROWS, "scratch of a Gram matrix", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&right, 2 * g->count, "scratch of a Gram matrix", error);
    if (status == HAWSER_OK && g->weights != NULL)
        status = HW_NEW(&weighted, g->count * HW_GRAM_ROWS, "scratch of a Gram matrix", error);
    left = right != NULL ? right + g->count : NULL;
    for (size_t a = g->fresh; status == HAWSER_OK && a < g->count; a++)
        memset(g->G + a * g->ld, 0, (a + 1) * sizeof *g->G);
    for (size_t row = 0; status == HAWSER_OK && row < g->A->rows; row += HW_GRAM_ROWS) {
        for (size_t k = 0; k < g->count; k++)
            right[k] = rows_of(g, k, row, NULL, direct, packed);
        for (size_t k = g->fresh; k < g->count; k++)
            left[k] = weighted != NULL ? rows_of(g, k, row, g->weights, false, weighted) : right[k];
        for (size_t b = 0; b < g->count; b += PANEL)
            g->kernels->gram_panel(left, right, g->fresh > b ? g->fresh : b, g->count, b, b + PANEL, g->G, g->ld);
    }
    free(packed);
    free(weighted);
    free(right);
    return status;
}

/* ---- sparse, row by row ---- */

/* Rows are listed a block at a time, so that the lists stay in the second-level cache and scratch memory does not grow with
 * the stored entries. */
typedef struct row_lists {
    uint32_t *chosen;  /* by row: chosen entries in it; 0 where no fresh one is */
    uint32_t *fresh;   /* by row: how many of them are fresh */
    uint64_t *cursors; /* by chosen column: its first entry that is in no block yet */
    uint32_t *ends;    /* by row of the block: end of its list so far */
    uint32_t *which;   /* by entry of the block: position in the list of columns, ascending in a row */
    double *values;
} row_lists;

static void row_lists_free(row_lists *lists)
{
    free(lists->chosen);
    free(lists->fresh);
    free(lists->cursors);
    free(lists->ends);
    free(lists->which);
    free(lists->values);
}

/* Counts the chosen entries of each row that holds a fresh one. *work is the number of products that going row by row needs. */
static hawser_status count_rows(const gram *g, row_lists *lists, uint64_t *work, hawser_error *error)
{
    const hawser_matrix *A = g->A;
    HAWSER_TRY(HW_NEW(&lists->chosen, A->rows, "scratch of a Gram matrix", error));
    HAWSER_TRY(HW_NEW(&lists->fresh, A->rows, "scratch of a Gram matrix", error));
    for (size_t k = 0; k < g->count; k++) {
        uint32_t *counts = k < g->fresh ? lists->chosen : lists->fresh;
        uint64_t begin = A->offsets[g->columns[k]];
        for (uint64_t e = begin; e < begin + entries(g, k); e++)
            counts[A->indices[e]]++;
    }
    *work = 0;
    for (size_t i = 0; i < A->rows; i++) {
        uint64_t fresh = lists->fresh[i], old = lists->chosen[i];
        lists->chosen[i] = fresh == 0 ? 0 : (uint32_t)(old + fresh);
        *work += fresh * old + fresh * (fresh + 1) / 2;
    }
    return HAWSER_OK;
}

/* Lists rows from `begin` on until the block is full and returns the row behind it. */
static size_t list_block(const gram *g, row_lists *lists, size_t begin)
{
    const hawser_matrix *A = g->A;
    size_t end = begin;
    uint32_t total = 0;
    for (; end < A->rows && end - begin < BLOCK_ROWS && total < BLOCK_ENTRIES; end++) {
        lists->ends[end - begin] = total;
        total += lists->chosen[end];
    }
    for (size_t k = 0; k < g->count; k++) {
        uint64_t e = lists->cursors[k], stop = A->offsets[g->columns[k] + 1];
        for (; e < stop && A->indices[e] < end; e++) {
            size_t row = A->indices[e];
            if (lists->chosen[row] == 0)
                continue;
            uint32_t place = lists->ends[row - begin]++;
            lists->which[place] = (uint32_t)k;
            lists->values[place] = value(g, e);
        }
        lists->cursors[k] = e;
    }
    return end;
}

static void add_row(const gram *g, const uint32_t *restrict which, const double *restrict values, size_t chosen,
                    size_t fresh, double weight)
{
    for (size_t a = chosen - fresh; a < chosen; a++) {
        double product = weight * values[a];
        double *restrict into = g->G + which[a] * g->ld;
        for (size_t b = 0; b <= a; b++)
            into[which[b]] += product * values[b];
    }
}

static hawser_status row_by_row(const gram *g, row_lists *lists, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&lists->cursors, g->count, "scratch of a Gram matrix", error));
    HAWSER_TRY(HW_NEW(&lists->ends, BLOCK_ROWS, "scratch of a Gram matrix", error));
    HAWSER_TRY(HW_NEW(&lists->which, BLOCK_ENTRIES + g->count, "scratch of a Gram matrix", error));
    HAWSER_TRY(HW_NEW(&lists->values, BLOCK_ENTRIES + g->count, "scratch of a Gram matrix", error));
    for (size_t k = 0; k < g->count; k++)
        lists->cursors[k] = g->A->offsets[g->columns[k]];
    for (size_t a = g->fresh; a < g->count; a++)
        memset(g->G + a * g->ld, 0, (a + 1) * sizeof *g->G);
    for (size_t begin = 0; begin < g->A->rows;) {
        size_t end = list_block(g, lists, begin);
        for (size_t i = begin; i < end; i++) {
            size_t chosen = lists->chosen[i], first = lists->ends[i - begin] - chosen;
            if (chosen > 0)
                add_row(g, lists->which + first, lists->values + first, chosen, lists->fresh[i],
                        g->weights != NULL ? g->weights[i] : 1);
        }
        begin = end;
    }
    return HAWSER_OK;
}

static hawser_status sparse_gram(const gram *g, hawser_error *error)
{
    row_lists lists = {0};
    uint64_t work = 0, stored = 0;
    hawser_status status = count_rows(g, &lists, &work, error);
    for (size_t k = 0; k < g->count; k++)
        stored += entries(g, k);
    /* Listing an entry costs about four products; a product scattered into G costs about as much as one gathered. */
    double by_column = (double)stored * (double)(g->count - g->fresh);
    if (status == HAWSER_OK)
        status = 4.0 * (double)stored + (double)work < by_column ? row_by_row(g, &lists, error) : column_by_column(g, error);
    row_lists_free(&lists);
    return status;
}

hawser_status hawser_gram(const hawser_matrix *A, const uint32_t *columns, size_t fresh, size_t count, const double *weights,
                          double *G, size_t ld, hawser_error *error)
{
    assert(A->layout != HAWSER_CSR && fresh <= count && count <= ld);
    const hw_kernels *kernels = hw_kernels_best();
    const gram g = {A, kernels, &kernels->typed[A->type], columns, fresh, count, weights, G, ld};
    if (fresh == count)
        return HAWSER_OK;
    hawser_status status;
    if (count - fresh <= FEW_FRESH)
        status = column_by_column(&g, error);
    else if (A->layout == HAWSER_DENSE)
        status = tile_by_tile(&g, error);
    else
        status = sparse_gram(&g, error);
    if (status == HAWSER_OK)
        mirror(&g);
    return status;
}
