#include "algorithms/glm/finished.h"

#include <stdlib.h>

enum { MOST = 1 << 16 }; /* numbers of one reduction */

size_t hw_linear_finished_reduces(size_t coefficients, size_t blocks)
{
    size_t pairs = coefficients < MOST / 2 ? 2 * coefficients : MOST;
    return pairs > blocks ? pairs : blocks;
}

/* Counts the coefficients of all blocks that are not zero, and those of the blocks before this one. */
static hawser_status count_all(hawser_context *context, size_t own, size_t *before, size_t *all)
{
    uint32_t blocks = hawser_blocks(context), block = hawser_block(context);
    double *counts = calloc(blocks, sizeof *counts);
    if (counts == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for %u counts", blocks);
    counts[block] = (double)own;
    hawser_status status = hawser_allreduce(context, counts, blocks, HAWSER_SUM);
    *before = *all = 0;
    for (uint32_t b = 0; b < blocks; b++) {
        *before += b < block ? (size_t)counts[b] : 0;
        *all += (size_t)counts[b];
    }
    free(counts);
    return status;
}

/* Stores a member from its pairs, over what it may have: a unit may run again. */
static void take(const hw_linear *linear, size_t member, const double *pairs, size_t count, const double *intercepts)
{
    size_t stride = linear->finished->members, outputs = linear->problem.outputs, last = linear->problem.X->cols * outputs;
    double *numbers = linear->finished->numbers + member;
    for (size_t e = 0; e < last; e++)
        if (numbers[e * stride] != 0.0) /* most memory was never written to, and takes none */
            numbers[e * stride] = 0.0;
    for (size_t p = 0; p < count; p++)
        numbers[(size_t)pairs[2 * p] * stride] = pairs[2 * p + 1];
    for (size_t o = 0; o < outputs; o++)
        numbers[(last + o) * stride] = intercepts[o];
    linear->finished->table[member] = 1.0;
}

hawser_status hw_linear_finished_gather(hawser_context *context, size_t member, const double *values, size_t first,
                                        size_t count, const double *intercepts)
{
    size_t own = 0, at = 0, all = 0;
    for (size_t e = 0; e < count; e++)
        own += values[e] != 0.0;
    HAWSER_TRY(count_all(context, own, &at, &all));
    double *pairs = calloc(2 * all + 1, sizeof *pairs);
    if (pairs == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for %zu coefficients", all);
    for (size_t e = 0; e < count; e++)
        if (values[e] != 0.0) {
            pairs[2 * at] = (double)(first + e);
            pairs[2 * at++ + 1] = values[e];
        }
    hawser_status status = HAWSER_OK;
    for (size_t e = 0; status == HAWSER_OK && e < 2 * all; e += MOST)
        status = hawser_allreduce(context, pairs + e, 2 * all - e < MOST ? 2 * all - e : MOST, HAWSER_SUM);
    if (status == HAWSER_OK && hawser_block(context) == 0)
        take(hawser_user(context), member, pairs, all, intercepts);
    free(pairs);
    return status;
}
