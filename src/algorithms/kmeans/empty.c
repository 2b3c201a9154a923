#include "algorithms/kmeans/empty.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Finds the farthest row of the block that has weight and is not taken. Returns its distance, or -1 if there is none. */
static double farthest(const hw_kmeans_block *b, size_t *row)
{
    double most = -1.0;
    for (size_t i = 0; i < b->X.rows; i++)
        if (b->squares[i] > most && hw_kmeans_weight(b, i) > 0.0) {
            most = b->squares[i];
            *row = i;
        }
    return most;
}

/* Finds the farthest row of all blocks: `moved` receives the row times its weight, the weight, and its cluster. */
static hawser_status find(hawser_context *context, hw_kmeans_block *b, double *moved, bool *found)
{
    size_t row = 0, d = b->X.cols;
    double own = farthest(b, &row), most = own, first = INFINITY;
    HAWSER_TRY(hawser_allreduce(context, &most, 1, HAWSER_MAX));
    *found = most > 0.0;
    if (!*found)
        return HAWSER_OK;
    if (own == most)
        first = (double)(b->X.first + row);
    HAWSER_TRY(hawser_allreduce(context, &first, 1, HAWSER_MIN));
    memset(moved, 0, (d + 2) * sizeof *moved);
    if (own == most && first == (double)(b->X.first + row)) {
        double weight = hw_kmeans_weight(b, row);
        hawser_row_axpy(&b->X, row, weight, moved);
        moved[d] = weight;
        moved[d + 1] = b->labels[row];
        b->squares[row] = -1.0; /* taken */
    }
    return hawser_allreduce(context, moved, d + 2, HAWSER_SUM);
}

hawser_status hw_kmeans_fill_empty(hawser_context *context, hw_kmeans_block *b, double *sums, double *weights)
{
    size_t d = b->X.cols, k = b->kmeans->clusters, empty = 0;
    for (size_t c = 0; c < k; c++)
        empty += !(weights[c] > 0.0);
    double *moved = empty > 0 ? calloc(d + 2, sizeof *moved) : NULL;
    bool found = moved != NULL, *was_empty = empty > 0 ? calloc(k, sizeof *was_empty) : NULL;
    hawser_status status = HAWSER_OK;
    if (empty > 0 && (moved == NULL || was_empty == NULL))
        status = hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for a row of %zu columns", d);
    for (size_t c = 0; status == HAWSER_OK && empty > 0 && c < k; c++)
        was_empty[c] = !(weights[c] > 0.0);
    for (size_t c = 0; status == HAWSER_OK && empty > 0 && found && c < k; c++) {
        if (!was_empty[c])
            continue;
        status = find(context, b, moved, &found);
        if (status != HAWSER_OK || !found)
            break;
        size_t from = (size_t)moved[d + 1];
        for (size_t j = 0; j < d; j++) {
            sums[from * d + j] -= moved[j];
            sums[c * d + j] = moved[j];
        }
        weights[from] -= moved[d];
        weights[c] = moved[d];
    }
    free(moved);
    free(was_empty);
    return status;
}
