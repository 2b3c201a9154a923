#include "algorithms/kmeans/block.h"
#include "hawser/batches.h"

#include <math.h>

static bool needs_bounds(const hw_kmeans *kmeans)
{
    return kmeans->batch == 0 && kmeans->clusters > 1;
}

/* Estimates the bytes of copies of `count` rows of average length. */
static uint64_t packed_rows(const hawser_matrix *X, uint64_t count)
{
    uint64_t value = X->type == HAWSER_F32 ? 4 : 8, stored = X->rows > 0 ? X->stored / X->rows + 1 : 0;
    return count * (X->layout == HAWSER_CSR ? 8 + stored * (value + 4) : X->cols * value);
}

/* Estimates the bytes of a mini-batch in a block: the block's share of its rows, with their labels and squares. */
static uint64_t batch_bytes(const hw_kmeans *kmeans, uint64_t rows)
{
    uint64_t share = kmeans->batch / kmeans->blocks + 1, count = share < rows ? share : rows;
    return kmeans->batch == 0 ? 0 : packed_rows(kmeans->X, count) + count * (8 + 4 + 8 + 8 + (kmeans->single ? 4 : 0));
}

/* Estimates the bytes of a row that allocators may keep after the centres are drawn: distances, and keys or candidates. */
static uint64_t row_of_start(const hw_kmeans *kmeans)
{
    return kmeans->draw == HW_KMEANS_GIVEN    ? 0
           : kmeans->draw == HW_KMEANS_RANDOM ? 16 + 32
           : kmeans->draw == HW_KMEANS_PLUS   ? 16
                                              : 16 + 20;
}

uint64_t hw_kmeans_block_bytes(const hw_kmeans *kmeans, uint64_t rows)
{
    uint64_t k = kmeans->clusters, d = kmeans->X->cols, table = k * d, groups = (k + 7) / 8;
    groups = groups < kmeans->groups ? groups : kmeans->groups;
    uint64_t centres = table * 16, tile = HW_KMEANS_TILE * (k + 2) * 8;
    uint64_t width = hw_kmeans_start_width(kmeans), bounds = needs_bounds(kmeans) ? groups : 0;
    uint64_t of_row = 4 + 8 + 8 + (kmeans->single ? 4 : 0) + row_of_start(kmeans) + 8 * (bounds > width ? bounds : width);
    return rows * of_row + centres + 3 * table * 8 + 2 * width * d * 8 + kmeans->reduced * 8 +
           tile * (kmeans->single ? 3 : 2) / 2 + (needs_bounds(kmeans) ? packed_rows(kmeans->X, HW_KMEANS_TILE) : 0) +
           hw_kmeans_tile_bytes(kmeans->X, rows, k, kmeans->single) + batch_bytes(kmeans, rows) +
           hw_centre_rows_bytes(&kmeans->centre, kmeans->X, rows);
}

uint64_t hw_kmeans_record_bytes(const hw_kmeans *kmeans, uint64_t rows)
{
    const hw_kmeans_block *b = NULL;
    return rows * sizeof *b->labels + (kmeans->batch > 0 ? kmeans->clusters * sizeof *b->counts : 0);
}

static hawser_status new_memory(hw_kmeans_block *b, hawser_error *error)
{
    const hw_kmeans *kmeans = b->kmeans;
    size_t n = b->X.rows, k = kmeans->clusters, d = b->X.cols, groups = b->centres.groups;
    bool bounds = needs_bounds(kmeans);
    b->packed_bytes = hawser_batch_bytes(&b->X, HW_KMEANS_TILE);
    b->labels = hw_array_new(&b->arrays, n + 1, sizeof *b->labels);
    b->squares = hw_array_new(&b->arrays, n + 1, sizeof *b->squares);
    b->sums = hw_array_new(&b->arrays, k * d + 1, sizeof *b->sums);
    b->weights = hw_array_new(&b->arrays, k, sizeof *b->weights);
    b->stale = hw_array_new(&b->arrays, k, sizeof *b->stale);
    b->before = hw_array_new(&b->arrays, k * d + 1, sizeof *b->before);
    b->drift = hw_array_new(&b->arrays, 2 * groups, sizeof *b->drift);
    b->reduced = hw_array_new(&b->arrays, kmeans->reduced, sizeof *b->reduced);
    b->products = hw_array_new(&b->arrays, HW_KMEANS_TILE * (k + 2), sizeof *b->products);
    b->apart = hw_array_new(&b->arrays, HW_KMEANS_TILE * b->centres.width, sizeof *b->apart);
    b->seen = hw_array_new(&b->arrays, HW_KMEANS_TILE * groups, sizeof *b->seen);
    b->list = hw_array_new(&b->arrays, HW_KMEANS_TILE, sizeof *b->list);
    b->packed = hw_array_new(&b->arrays, b->packed_bytes + 1, 1);
    b->counts = kmeans->batch > 0 ? hw_array_new(&b->arrays, k, sizeof *b->counts) : NULL;
    b->lower = bounds ? hw_array_new(&b->arrays, n * groups + 1, sizeof *b->lower) : NULL;
    b->floats = kmeans->single ? hw_array_new(&b->arrays, HW_KMEANS_TILE * k, sizeof *b->floats) : NULL;
    if (b->arrays.failed)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu rows and %zu centres of %zu columns", n, k, d);
    b->own = b->products + HW_KMEANS_TILE * k;
    b->upper = b->own + HW_KMEANS_TILE;
    return HAWSER_OK;
}

static hawser_status make(hw_kmeans_block *b, const hw_kmeans *kmeans, const hawser_matrix *X, hawser_error *error)
{
    b->kmeans = kmeans;
    b->X = *X;
    b->memory.best = INFINITY;
    HAWSER_TRY(hawser_dataset_beside(kmeans->data, X->first, X->rows, &b->beside, error));
    for (size_t i = 0; i < X->rows && b->beside.weights != NULL; i++)
        if (!(b->beside.weights[i] >= 0.0))
            return hawser_fail(error, HAWSER_BAD_INPUT, "row %zu: the example weight %g is negative; weights are 0 or more",
                               X->first + i + 1, b->beside.weights[i]);
    HAWSER_TRY(hw_centre_rows_new(&b->shifted, &kmeans->centre, X, X->rows, error));
    if (kmeans->centre.count > 0)
        b->X = hw_centre_rows_fill(&b->shifted, &kmeans->centre, X);
    HAWSER_TRY(hw_kmeans_points_new(&b->points, &b->X, kmeans->single, error));
    HAWSER_TRY(hw_kmeans_points_check(&b->points, error));
    HAWSER_TRY(hw_kmeans_centres_new(&b->centres, kmeans->clusters, X->cols, kmeans->groups, kmeans->single, error));
    HAWSER_TRY(hw_kmeans_tile_new(&b->tile, &b->X, &b->centres, error));
    return new_memory(b, error);
}

hawser_status hw_kmeans_block_open(hawser_context *context, hw_kmeans_block **block)
{
    hawser_error error = {0};
    *block = hawser_scratch(context);
    if ((*block)->kmeans != NULL)
        return HAWSER_OK;
    HAWSER_READ(context, hawser_matrix, X);
    return hw_unit_ends(context, make(*block, hawser_user(context), X, &error), &error);
}

void hw_kmeans_block_release(void *scratch)
{
    hw_kmeans_block *b = scratch;
    hw_kmeans_points_free(&b->points);
    hw_kmeans_centres_free(&b->centres);
    hw_centre_rows_free(&b->shifted);
    hw_kmeans_tile_free(&b->tile);
    hw_arrays_free(&b->arrays);
}

void hw_kmeans_block_visit(hawser_record *record, hawser_context *context)
{
    hw_kmeans_block *b = hawser_scratch(context);
    bool made = b->kmeans != NULL;
    hawser_record_bytes(record, &made, sizeof made);
    if (!made || (hawser_record_reads(record) && hw_kmeans_block_open(context, &b) != HAWSER_OK))
        return;
    hawser_record_bytes(record, &b->memory, sizeof b->memory);
    hawser_record_bytes(record, b->labels, b->X.rows * sizeof *b->labels);
    if (b->counts != NULL)
        hawser_record_bytes(record, b->counts, b->kmeans->clusters * sizeof *b->counts);
}
