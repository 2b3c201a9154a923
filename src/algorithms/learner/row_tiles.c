#include "algorithms/learner/row_tiles.h"

#include "hawser/row_kernels.h"

hawser_status hw_row_tiles_new(hw_row_tiles *tiles, const hawser_matrix *X, const hw_centre *centre, hawser_error *error)
{
    *tiles = (hw_row_tiles){.X = *X, .centre = centre, .every = 1};
    return hw_centre_rows_new(&tiles->memory, centre, X, HW_ROW_TILE, error);
}

void hw_row_tiles_free(hw_row_tiles *tiles)
{
    hw_centre_rows_free(&tiles->memory);
}

bool hw_row_next_tile(hw_row_tiles *tiles, hw_row_tile *t)
{
    const hawser_matrix *X = &tiles->X;
    t->begin += t->count > 0 ? HW_ROW_TILE * tiles->every : 0;
    size_t left = t->begin < X->rows ? X->rows - t->begin : 0;
    t->count = left < HW_ROW_TILE ? left : HW_ROW_TILE;
    if (t->count > 0)
        t->X = hawser_matrix_rows(X, t->begin, t->begin + t->count);
    if (t->count > 0 && tiles->centre->count > 0)
        t->X = hw_centre_rows_fill(&tiles->memory, tiles->centre, &t->X);
    return t->count > 0;
}

void hw_row_tile_multiply(const hw_row_tile *t, const double *models, const double *intercepts, size_t count, double *out)
{
    hawser_multiply_block(&t->X, models, count, count, out, count);
    for (size_t i = 0; i < t->count; i++)
        for (size_t s = 0; s < count; s++)
            out[i * count + s] += intercepts[s];
}

void hw_row_tile_accumulate(const hw_row_tile *t, const double *R, size_t count, double *sums)
{
    double *last = sums + t->X.cols * count;
    hawser_accumulate_block(&t->X, R, count, count, sums, count);
    for (size_t i = 0; i < t->count; i++)
        for (size_t s = 0; s < count; s++)
            last[s] += R[i * count + s];
}
