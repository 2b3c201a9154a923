#include "algorithms/glm/finished.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 16 }; /* numbers of one reduction */

size_t hw_finished_reduces(size_t coefficients, size_t blocks)
{
    size_t pairs = coefficients < MOST / 2 ? 2 * coefficients : MOST;
    return pairs > blocks ? pairs : blocks;
}

hawser_status hw_finished_new(hw_finished **finished, size_t members, size_t outputs, hawser_error *error)
{
    *finished = calloc(1, sizeof **finished);
    hw_finished_member *member = calloc(members + 1, sizeof *member);
    if (*finished != NULL && member != NULL) {
        **finished = (hw_finished){member, members, outputs};
        return HAWSER_OK;
    }
    free(member);
    return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a path of %zu lambdas", members);
}

void hw_finished_free(hw_finished *finished)
{
    for (size_t k = 0; finished != NULL && k < finished->members; k++) {
        free(finished->member[k].pairs);
        free(finished->member[k].intercepts);
    }
    if (finished != NULL)
        free(finished->member);
    free(finished);
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

/* Takes the pairs of a member in place of those that it may have: a unit may run again. */
static hawser_status take(hawser_context *context, hw_finished *finished, size_t member, double *pairs, size_t count,
                          const double *intercepts)
{
    hw_finished_member *own = &finished->member[member];
    double *copy = malloc(finished->outputs * sizeof *copy);
    if (copy == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for %zu intercepts", finished->outputs);
    memcpy(copy, intercepts, finished->outputs * sizeof *copy);
    free(own->pairs);
    free(own->intercepts);
    *own = (hw_finished_member){pairs, copy, count};
    return HAWSER_OK;
}

hawser_status hw_finished_gather(hawser_context *context, hw_finished *finished, size_t member, const double *values,
                                 size_t first, size_t count, const double *intercepts)
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
    if (status == HAWSER_OK && hawser_block(context) == 0) {
        status = take(context, finished, member, pairs, all, intercepts);
        pairs = status == HAWSER_OK ? NULL : pairs;
    }
    free(pairs);
    return status;
}

void hw_finished_fill(const hw_finished *finished, size_t count, double *path, double *intercepts)
{
    for (size_t k = 0; k < count && k < finished->members; k++) {
        const hw_finished_member *member = &finished->member[k];
        for (size_t p = 0; p < member->count; p++)
            path[(size_t)member->pairs[2 * p] * finished->members + k] = member->pairs[2 * p + 1];
        for (size_t o = 0; o < finished->outputs && member->intercepts != NULL; o++)
            intercepts[k * finished->outputs + o] = member->intercepts[o];
    }
}
