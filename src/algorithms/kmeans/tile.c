#include "algorithms/kmeans/tile.h"

#include <string.h>

enum {
    PART = 64,                 /* columns that are multiplied together: they stay in the second-level cache */
    LINE = HW_KMEANS_TILE + 8, /* from one column to the next; a power of two would use few cache sets */
    SOME = 8                   /* rows that are copied together */
};

/* The columns of all tiles are kept if they take at most this many bytes: to read more takes as long as to copy them. */
static const uint64_t MOST_KEPT = (uint64_t)1 << 22;

/* Returns how many numbers the columns of all tiles have. */
static uint64_t all_columns(uint64_t rows, uint64_t columns)
{
    return (rows + HW_KMEANS_TILE - 1) / HW_KMEANS_TILE * LINE * columns;
}

uint64_t hw_kmeans_tile_bytes(const hawser_matrix *X, uint64_t rows, uint64_t clusters, bool single)
{
    uint64_t number = single ? sizeof(float) : sizeof(double), all = all_columns(rows, X->cols);
    return ((all * number <= MOST_KEPT ? all : PART * LINE) + (clusters + 3) * HW_KMEANS_TILE) * number +
           clusters * sizeof(double);
}

hawser_status hw_kmeans_tile_new(hw_kmeans_tile *tile, const hawser_matrix *X, const hw_kmeans_centres *centres,
                                 hawser_error *error)
{
    static const size_t MOST = (size_t)1 << 24; /* hawser_nearest_f32 */
    size_t number = centres->single ? sizeof(float) : sizeof(double), k = centres->clusters;
    *tile = (hw_kmeans_tile){.usable = X->layout != HAWSER_CSR && X->residence == NULL && k <= MOST};
    if (!tile->usable)
        return HAWSER_OK;
    tile->keeps = all_columns(X->rows, X->cols) * number <= MOST_KEPT;
    tile->rows = hw_array_new(&tile->arrays, tile->keeps ? all_columns(X->rows, X->cols) + 1 : PART * LINE, number);
    tile->products = hw_array_new(&tile->arrays, k * HW_KMEANS_TILE, number);
    tile->nearest = hw_array_new(&tile->arrays, 3 * HW_KMEANS_TILE, number);
    tile->of_row = hw_array_new(&tile->arrays, k, sizeof *tile->of_row);
    if (tile->arrays.failed)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the distances to %zu centres", k);
    return HAWSER_OK;
}

void hw_kmeans_tile_free(hw_kmeans_tile *tile)
{
    hw_arrays_free(&tile->arrays);
    *tile = (hw_kmeans_tile){0};
}

/* Number (r, j) of the rows is values[r * across + j * along]. */
#define TRANSPOSE(name, from, to)                                                                                           \
    static void name(const void *values, size_t across, size_t along, size_t rows, size_t columns, void *out)               \
    {                                                                                                                       \
        const from *a = values;                                                                                             \
        to *b = out;                                                                                                        \
        size_t r = 0;                                                                                                       \
        for (; r + SOME <= rows; r += SOME)                                                                                 \
            for (size_t j = 0; j < columns; j++)                                                                            \
                for (size_t l = 0; l < SOME; l++)                                                                           \
                    b[j * LINE + r + l] = (to)a[(r + l) * across + j * along];                                              \
        for (; r < rows; r++)                                                                                               \
            for (size_t j = 0; j < columns; j++)                                                                            \
                b[j * LINE + r] = (to)a[r * across + j * along];                                                            \
    }
TRANSPOSE(transpose_f64, double, double)
TRANSPOSE(transpose_f64_f32, double, float)
TRANSPOSE(transpose_f32_f64, float, double)
TRANSPOSE(transpose_f32, float, float)

/* Copies columns [first, first + columns) of rows [begin, begin + rows). */
static void copy_rows(const hawser_matrix *X, bool single, size_t begin, size_t rows, size_t first, size_t columns,
                      void *out)
{
    size_t across = X->layout == HAWSER_DENSE ? 1 : X->stride, along = X->layout == HAWSER_DENSE ? X->stride : 1;
    size_t at = begin * across + first * along;
    if (X->type == HAWSER_F32)
        (single ? transpose_f32 : transpose_f32_f64)((const float *)X->values + at, across, along, rows, columns, out);
    else
        (single ? transpose_f64_f32 : transpose_f64)((const double *)X->values + at, across, along, rows, columns, out);
}

/* Adds the products of some columns. The table of centres has a row per column, a number per place. */
static void add_products(const hw_kmeans_centres *centres, size_t first, size_t columns, const void *of_rows, size_t rows,
                         hw_kmeans_tile *tile)
{
    size_t k = centres->clusters;
    hawser_matrix table = {.rows = columns,
                           .cols = k,
                           .stored = columns * k,
                           .layout = HAWSER_DENSE_ROWS,
                           .type = centres->single ? HAWSER_F32 : HAWSER_F64,
                           .stride = k};
    if (centres->single) {
        table.values = centres->table_f + first * k;
        hawser_accumulate_block_f32(&table, of_rows, LINE, rows, tile->products, HW_KMEANS_TILE);
    } else {
        table.values = centres->table + first * k;
        hawser_accumulate_block(&table, of_rows, LINE, rows, tile->products, HW_KMEANS_TILE);
    }
}

static double number_at(const void *values, bool single, size_t at)
{
    return single ? (double)((const float *)values)[at] : ((const double *)values)[at];
}

/* Decides by differences for row `at` of the tile: two centres are too near to each other for products. Distances lack the
 * row's own square. */
static uint32_t compare(const hw_kmeans_points *points, const hw_kmeans_centres *centres, size_t row, size_t at,
                        const hw_kmeans_tile *tile, double limit)
{
    for (size_t p = 0; p < centres->clusters; p++)
        tile->of_row[p] = centres->squares[p] - 2.0 * number_at(tile->products, centres->single, p * HW_KMEANS_TILE + at);
    return hw_kmeans_decide(points, centres, row, tile->of_row, NULL, UINT32_MAX, limit);
}

void hw_kmeans_nearest_of_tile(const hw_kmeans_points *points, const hw_kmeans_centres *centres, size_t begin, size_t end,
                               hw_kmeans_tile *tile, uint32_t *nearest)
{
    size_t rows = end - begin, k = centres->clusters, d = centres->columns;
    bool single = centres->single;
    memset(tile->products, 0, k * HW_KMEANS_TILE * (single ? sizeof(float) : sizeof(double)));
    for (size_t j = 0; j < d; j += PART) {
        size_t columns = d - j < PART ? d - j : PART;
        size_t at = tile->keeps ? (begin / HW_KMEANS_TILE * d + j) * LINE : 0;
        void *of_rows = single ? (void *)((float *)tile->rows + at) : (void *)((double *)tile->rows + at);
        if (!tile->keeps || end > tile->copied)
            copy_rows(points->X, single, begin, rows, j, columns, of_rows);
        add_products(centres, j, columns, of_rows, rows, tile);
    }
    tile->copied = end > tile->copied ? end : tile->copied;
    if (single) {
        float *least = tile->nearest;
        hawser_nearest_f32(k, rows, centres->squares_f, tile->products, HW_KMEANS_TILE, least, least + HW_KMEANS_TILE,
                           least + 2 * HW_KMEANS_TILE);
    } else {
        double *least = tile->nearest;
        hawser_nearest(k, rows, centres->squares, tile->products, HW_KMEANS_TILE, least, least + HW_KMEANS_TILE,
                       least + 2 * HW_KMEANS_TILE);
    }
    for (size_t r = 0; r < rows; r++) {
        double limit = number_at(tile->nearest, single, r) + 2.0 * hw_kmeans_error(points, centres, begin + r);
        double next = number_at(tile->nearest, single, HW_KMEANS_TILE + r);
        size_t place = (size_t)number_at(tile->nearest, single, 2 * HW_KMEANS_TILE + r);
        nearest[r] = next > limit ? centres->order[place] : compare(points, centres, begin + r, r, tile, limit);
    }
}
