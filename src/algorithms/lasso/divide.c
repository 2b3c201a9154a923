#include "algorithms/lasso/divide.h"

#include "hawser/advanced.h"

enum {
    BUCKETS = 1024,   /* buckets of rows, for parts of equal cost */
    SAMPLES = 1 << 13 /* entries of the sample, in addition to one per column */
};

/* Returns the row at which a block's part begins, so that all parts have about as many entries of the members, by a
 * sample. */
static size_t row_begin(size_t rows, const double *counts, uint32_t block, uint32_t blocks)
{
    double total = 0.0, before = 0.0;
    for (size_t k = 0; k < BUCKETS; k++)
        total += counts[k];
    if (block == 0 || block == blocks)
        return block == 0 ? 0 : rows;
    for (size_t k = 0; k < BUCKETS; k++) {
        if (before * blocks >= total * block)
            return (k * rows + BUCKETS - 1) / BUCKETS;
        before += counts[k];
    }
    return rows;
}

size_t hw_lasso_divide_evenly(size_t length, uint32_t block, uint32_t blocks)
{
    return length / blocks * block + length % blocks * block / blocks;
}

/* Counts rows by a few entries of each column. */
static void count_rows(const hawser_matrix *X, const uint32_t *list, size_t count, double *counts)
{
    for (size_t k = 0; k < count; k++) {
        const uint64_t *ends = X->offsets + list[k];
        uint64_t entries = ends[1] - ends[0];
        size_t samples = SAMPLES / count + 1;
        hawser_simulated_work(NULL, samples);
        for (size_t s = 0; s < samples && entries > 0; s++) {
            uint64_t at = ends[0] + (uint64_t)(((double)s + 0.5) / (double)samples * (double)entries);
            counts[(uint64_t)X->indices[at] * BUCKETS / X->rows] += (double)entries / (double)samples;
        }
    }
}

void hw_lasso_divide_rows(const hawser_matrix *X, const uint32_t *list, size_t count, uint32_t own, uint32_t blocks,
                          size_t *begin, size_t *end)
{
    if (X->layout == HAWSER_DENSE) {
        *begin = hw_lasso_divide_evenly(X->rows, own, blocks);
        *end = hw_lasso_divide_evenly(X->rows, own + 1, blocks);
        return;
    }
    double counts[BUCKETS] = {0};
    count_rows(X, list, count, counts);
    *begin = row_begin(X->rows, counts, own, blocks);
    *end = row_begin(X->rows, counts, own + 1, blocks);
}
