/* gram.c - hawser_gram: inner products of listed columns, for working-set solvers.
 *
 * Dense: tiles of packed columns, HW_GRAM_ROWS rows at a time. Sparse: either row by row (each row adds the products of its
 * listed entries) or LANES fresh columns at a time (these are scattered, and the others gather from them), whichever needs
 * less work. Very few fresh columns are processed one by one in both layouts. The choice depends only on counts, so it is
 * the same on every machine. */
#include "hawser/matrix.h"

#include <stdbool.h>
#include <string.h>

#include "base/argument.h"
#include "base/memory.h"
#include "base/type.h"
#include "linalg/kernels.h"
#include "linalg/presence.h"
#include "linalg/sound.h"

enum {
    FEW_TILES = 32, /* up to this many fresh columns, the others are read too rarely for packing them to pay */
    FEW_FRESH = 3,  /* up to this many fresh columns, packing all columns costs more than it saves */
    LANES = 8,      /* sparse fresh columns that are multiplied by the others at once */
    BLOCK_ROWS =
        4096, /* sparse rows that are listed together, with at most BLOCK_ENTRIES entries and those of one more row */
    BLOCK_ENTRIES = 32768,
    PANEL = 64 /* packed columns that stay in the second-level cache (256 KiB) while the fresh ones are read */
};

typedef struct gram {
    const hawser_matrix *A;
    const hw_kernels *kernels;
    const hw_typed_kernels *typed;
    size_t begin, end; /* rows */
    const uint32_t *columns;
    size_t fresh, count;
    const double *weights;
    double *G;
    size_t ld, top;  /* `top`: the listed column of the first line of G */
    uint64_t *first; /* sparse: by listed column, the begin and the end of its entries in these rows */
} gram;

static double *line(const gram *g, size_t a)
{
    return g->G + (a - g->top) * g->ld;
}

static const void *at(const gram *g, uint64_t entry)
{
    return (const unsigned char *)g->A->values + entry * hw_type_size(g->A->type);
}

static uint64_t first_entry(const gram *g, size_t k)
{
    return g->first[2 * k];
}

static size_t entries(const gram *g, size_t k)
{
    return (size_t)(g->first[2 * k + 1] - g->first[2 * k]);
}

/* Returns the first entry of a column in a row >= `row`. */
static uint64_t entry_at(const hawser_matrix *A, uint32_t column, size_t row)
{
    uint64_t begin = A->offsets[column], end = A->offsets[column + 1];
    if (row == 0 || row >= A->rows)
        return row == 0 ? begin : end;
    while (begin < end) {
        uint64_t middle = begin + (end - begin) / 2;
        if (A->indices[middle] < row)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

static hawser_status find_entries(gram *g, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&g->first, 2 * g->count, "scratch of a Gram matrix", error));
    for (size_t k = 0; k < g->count; k++) {
        g->first[2 * k] = entry_at(g->A, g->columns[k], g->begin);
        g->first[2 * k + 1] = entry_at(g->A, g->columns[k], g->end);
    }
    return HAWSER_OK;
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

/* Writes weights * column to the dense vector x. */
static void spread(const gram *g, size_t k, double *x)
{
    const hawser_matrix *A = g->A;
    if (A->layout == HAWSER_DENSE) {
        uint64_t begin = (uint64_t)g->columns[k] * A->stride;
        for (size_t i = g->begin; i < g->end; i++)
            x[i] = (g->weights != NULL ? g->weights[i] : 1) * value(g, begin + i);
        return;
    }
    uint64_t begin = first_entry(g, k);
    for (uint64_t e = begin; e < begin + entries(g, k); e++)
        x[A->indices[e]] = (g->weights != NULL ? g->weights[A->indices[e]] : 1) * value(g, e);
}

static double dot(const gram *g, size_t k, const double *x)
{
    if (g->A->layout == HAWSER_DENSE)
        return g->typed->dense_dot(g->end - g->begin, at(g, (uint64_t)g->columns[k] * g->A->stride + g->begin),
                                   x + g->begin);
    uint64_t begin = first_entry(g, k);
    return g->typed->sparse_dot(entries(g, k), g->A->indices + begin, at(g, begin), x);
}

static hawser_status column_by_column(const gram *g, hawser_error *error)
{
    double *x = NULL;
    HAWSER_TRY(HW_NEW(&x, g->A->rows, "scratch of a Gram matrix", error));
    for (size_t a = g->fresh; a < g->count; a++) {
        spread(g, a, x);
        for (size_t b = 0; b <= a; b++)
            line(g, a)[b] = dot(g, b, x);
        if (g->A->layout == HAWSER_CSC) {
            const uint32_t *rows = g->A->indices + first_entry(g, a);
            for (size_t e = 0; e < entries(g, a); e++)
                x[rows[e]] = 0;
        }
    }
    free(x);
    return HAWSER_OK;
}

/* ---- dense ---- */

/* Returns a tile's rows of column k: packed, or (if `direct`) where they are stored. */
static const double *rows_of(const gram *g, size_t k, size_t row, const double *weights, bool direct, double *packed)
{
    const void *column = at(g, (uint64_t)g->columns[k] * g->A->stride);
    size_t left = g->end - row;
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
    HAWSER_THEN(status, HW_NEW(&right, 2 * g->count, "scratch of a Gram matrix", error));
    if (status == HAWSER_OK && g->weights != NULL)
        status = HW_NEW(&weighted, g->count * HW_GRAM_ROWS, "scratch of a Gram matrix", error);
    left = right != NULL ? right + g->count : NULL;
    for (size_t a = g->fresh; status == HAWSER_OK && a < g->count; a++)
        memset(line(g, a), 0, (a + 1) * sizeof *g->G);
    for (size_t row = g->begin; status == HAWSER_OK && row < g->end; row += HW_GRAM_ROWS) {
        for (size_t k = 0; k < g->count; k++)
            right[k] = rows_of(g, k, row, NULL, direct, packed);
        for (size_t k = g->fresh; k < g->count; k++)
            left[k] = weighted != NULL ? rows_of(g, k, row, g->weights, false, weighted) : right[k];
        for (size_t b = 0; b < g->count; b += PANEL)
            g->kernels->gram_panel(left, right, g->fresh > b ? g->fresh : b, g->count, b, b + PANEL, g->G, g->ld, g->top);
    }
    free(packed);
    free(weighted);
    free(right);
    return status;
}

/* ---- sparse, some fresh columns at a time ---- */

/* Adds the products of columns [0, a + lanes) with the fresh columns, whose rows [begin, end) are side by side in x. */
static void add_lanes(const gram *g, size_t a, size_t lanes, size_t begin, size_t end, const double *restrict x,
                      uint64_t *cursors)
{
    const uint32_t *restrict rows = g->A->indices;
    for (size_t k = 0; k < a + lanes; k++) {
        double sum[LANES] = {0};
        uint64_t e = cursors[k], stop = g->first[2 * k + 1];
        for (; e < stop && rows[e] < end; e++) {
            const double *restrict row = x + (rows[e] - begin) * LANES, v = value(g, e);
            for (size_t l = 0; l < LANES; l++)
                sum[l] += v * row[l];
        }
        cursors[k] = e;
        for (size_t l = k > a ? k - a : 0; l < lanes; l++)
            line(g, a + l)[k] += sum[l];
    }
}

static hawser_status lanes_at_once(const gram *g, hawser_error *error)
{
    double *x = NULL;
    uint64_t *cursors = NULL;
    hawser_status status = HW_NEW(&x, BLOCK_ROWS * LANES, "scratch of a Gram matrix", error);
    HAWSER_THEN(status, HW_NEW(&cursors, g->count, "scratch of a Gram matrix", error));
    for (size_t a = g->fresh; status == HAWSER_OK && a < g->count; a += LANES) {
        size_t lanes = g->count - a < LANES ? g->count - a : LANES;
        for (size_t l = 0; l < lanes; l++)
            memset(line(g, a + l), 0, (a + l + 1) * sizeof *g->G);
        for (size_t k = 0; k < a + lanes; k++)
            cursors[k] = first_entry(g, k);
        for (size_t begin = g->begin, end; begin < g->end; begin = end) {
            end = g->end - begin < BLOCK_ROWS ? g->end : begin + BLOCK_ROWS;
            memset(x, 0, (end - begin) * LANES * sizeof *x);
            for (size_t l = 0; l < lanes; l++)
                for (uint64_t e = cursors[a + l]; e < g->first[2 * (a + l) + 1] && g->A->indices[e] < end; e++) {
                    size_t row = g->A->indices[e];
                    x[(row - begin) * LANES + l] = (g->weights != NULL ? g->weights[row] : 1) * value(g, e);
                }
            add_lanes(g, a, lanes, begin, end, x, cursors);
        }
    }
    free(x);
    free(cursors);
    return status;
}

/* ---- sparse, row by row ---- */

/* Rows are listed in blocks, so that the lists stay in the second-level cache and scratch memory does not grow with the
 * stored entries. */
typedef struct row_lists {
    uint32_t *chosen;  /* by row from g->begin: its entries of listed columns; 0 if none is of a fresh column */
    uint32_t *fresh;   /* by row from g->begin: its entries of fresh columns */
    uint64_t *cursors; /* by listed column: its first entry that is in no block yet */
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

/* Counts the listed entries of each row that has a fresh one. *work is the number of products that row by row takes. */
static hawser_status count_rows(const gram *g, row_lists *lists, uint64_t *work, hawser_error *error)
{
    const hawser_matrix *A = g->A;
    HAWSER_TRY(HW_NEW(&lists->chosen, g->end - g->begin, "scratch of a Gram matrix", error));
    HAWSER_TRY(HW_NEW(&lists->fresh, g->end - g->begin, "scratch of a Gram matrix", error));
    for (size_t k = 0; k < g->count; k++) {
        uint32_t *counts = k < g->fresh ? lists->chosen : lists->fresh;
        uint64_t begin = first_entry(g, k);
        for (uint64_t e = begin; e < begin + entries(g, k); e++)
            counts[A->indices[e] - g->begin]++;
    }
    *work = 0;
    for (size_t i = 0; i < g->end - g->begin; i++) {
        uint64_t fresh = lists->fresh[i], old = lists->chosen[i];
        lists->chosen[i] = fresh == 0 ? 0 : (uint32_t)(old + fresh);
        *work += fresh * old + fresh * (fresh + 1) / 2;
    }
    return HAWSER_OK;
}

/* Lists rows from `begin` on until the block is full, and returns the row behind it. */
static size_t list_block(const gram *g, row_lists *lists, size_t begin)
{
    const hawser_matrix *A = g->A;
    size_t end = begin;
    uint32_t total = 0;
    for (; end < g->end && end - begin < BLOCK_ROWS && total < BLOCK_ENTRIES; end++) {
        lists->ends[end - begin] = total;
        total += lists->chosen[end - g->begin];
    }
    for (size_t k = 0; k < g->count; k++) {
        uint64_t e = lists->cursors[k], stop = g->first[2 * k + 1];
        for (; e < stop && A->indices[e] < end; e++) {
            size_t row = A->indices[e];
            if (lists->chosen[row - g->begin] == 0)
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
        double *restrict into = line(g, which[a]);
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
        lists->cursors[k] = first_entry(g, k);
    for (size_t a = g->fresh; a < g->count; a++)
        memset(line(g, a), 0, (a + 1) * sizeof *g->G);
    for (size_t begin = g->begin; begin < g->end;) {
        size_t end = list_block(g, lists, begin);
        for (size_t i = begin; i < end; i++) {
            size_t chosen = lists->chosen[i - g->begin], first = lists->ends[i - begin] - chosen;
            if (chosen > 0)
                add_row(g, lists->which + first, lists->values + first, chosen, lists->fresh[i - g->begin],
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
    size_t fresh = g->count - g->fresh, turns = (fresh + LANES - 1) / LANES;
    for (size_t k = 0; k < g->count; k++)
        stored += entries(g, k);
    /* Costs in touched numbers: about two for an entry times LANES fresh columns, four for a listed entry, one for a
     * product. */
    double blocks = (double)((g->end - g->begin + BLOCK_ROWS - 1) / BLOCK_ROWS) * (double)g->count;
    double at_once = (double)turns * (2.0 * (double)stored + blocks), one_by_one = (double)stored * (double)fresh;
    if (one_by_one < at_once)
        return column_by_column(g, error);
    if (turns == 1)
        return lanes_at_once(g, error);
    hawser_status status = count_rows(g, &lists, &work, error);
    HAWSER_THEN(status, 4.0 * (double)stored + blocks + (double)work < at_once ? row_by_row(g, &lists, error)
                                                                               : lanes_at_once(g, error));
    row_lists_free(&lists);
    return status;
}

static hawser_status check(const hawser_matrix *A, size_t begin, size_t end, size_t fresh, size_t count, size_t ld,
                           hawser_error *error)
{
    const char *wrong = A->layout == HAWSER_CSR          ? "is stored by rows (CSR)"
                        : A->layout == HAWSER_DENSE_ROWS ? "is stored by rows (HAWSER_DENSE_ROWS)"
                                                         : hw_matrix_wrong(A);
    if (wrong != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "the matrix of a Gram matrix %s", wrong);
    if (fresh > count || count > ld || begin > end || end > A->rows)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "impossible Gram matrix: columns %zu to %zu in lines of %zu, rows %zu to %zu of %zu", fresh,
                           count, ld, begin, end, A->rows);
    return HAWSER_OK;
}

static hawser_status run(gram *g, hawser_error *error)
{
    const hawser_matrix *A = g->A;
    for (size_t k = 0; A->residence != NULL && k < g->count; k++)
        hw_presence_touch(A, g->columns[k]);
    hawser_status status = A->layout == HAWSER_CSC ? find_entries(g, error) : HAWSER_OK;
    HAWSER_TRY(status);
    if (A->layout == HAWSER_CSC)
        status = sparse_gram(g, error);
    else
        status = g->count - g->fresh <= FEW_FRESH ? column_by_column(g, error) : tile_by_tile(g, error);
    free(g->first);
    return status;
}

hawser_status hawser_gram_rows(const hawser_matrix *A, size_t begin, size_t end, const uint32_t *columns, size_t fresh,
                               size_t count, const double *weights, double *part, size_t ld, hawser_error *error)
{
    HW_GIVEN(A);
    HAWSER_TRY(check(A, begin, end, fresh, count, ld, error));
    if (fresh == count)
        return HAWSER_OK;
    HW_GIVEN(columns);
    HW_GIVEN(part);
    const hw_kernels *kernels = hw_kernels_best();
    gram g = {A, kernels, &kernels->typed[A->type], begin, end, columns, fresh, count, weights, part, ld, fresh, NULL};
    return run(&g, error);
}

hawser_status hawser_gram(const hawser_matrix *A, const uint32_t *columns, size_t fresh, size_t count, const double *weights,
                          double *G, size_t ld, hawser_error *error)
{
    HW_GIVEN(A);
    HAWSER_TRY(check(A, 0, A->rows, fresh, count, ld, error));
    if (fresh == count)
        return HAWSER_OK;
    HW_GIVEN(columns);
    HW_GIVEN(G);
    const hw_kernels *kernels = hw_kernels_best();
    gram g = {A, kernels, &kernels->typed[A->type], 0, A->rows, columns, fresh, count, weights, G, ld, 0, NULL};
    HAWSER_TRY(run(&g, error));
    mirror(&g);
    return HAWSER_OK;
}
