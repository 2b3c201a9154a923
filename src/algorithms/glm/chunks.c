#include "algorithms/glm/chunks.h"
#include "hawser/stored.h"

#include <stdlib.h>
#include <string.h>

static void add(size_t count, const double *values, double *sum)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += values[i];
}

/* Adds the copies of the chunks from *next on, as far as there are copies, and frees them. */
static void add_held(double **held, uint32_t blocks, uint32_t *next, size_t count, double *sum)
{
    for (; *next < blocks && held[*next] != NULL; ++*next) {
        add(count, held[*next], sum);
        free(held[*next]);
        held[*next] = NULL;
    }
}

static hawser_status sum_up(hawser_context *context, const char *state, size_t count, double **held, double *sum)
{
    uint32_t next = 0, blocks = hawser_blocks(context);
    for (hawser_chunk chunk;;) {
        HAWSER_TRY(hawser_next_chunk(context, state, &chunk));
        if (chunk.block == UINT32_MAX)
            break;
        if (chunk.block == next) {
            add(count, chunk.values, sum);
            next++;
            add_held(held, blocks, &next, count, sum);
            continue;
        }
        held[chunk.block] = malloc(count * sizeof *sum);
        if (held[chunk.block] == NULL)
            return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for a chunk of %zu numbers", count);
        memcpy(held[chunk.block], chunk.values, count * sizeof *sum);
    }
    for (; next < blocks; next++) /* empty chunks do not arrive */
        add_held(held, blocks, &next, count, sum);
    return HAWSER_OK;
}

hawser_status hw_linear_sum_chunks(hawser_context *context, const char *state, size_t count, double *sum)
{
    uint32_t blocks = hawser_blocks(context);
    double **held = calloc(blocks, sizeof *held);
    if (held == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for a list of %u chunks", blocks);
    memset(sum, 0, count * sizeof *sum);
    hawser_status status = sum_up(context, state, count, held, sum);
    for (uint32_t b = 0; b < blocks; b++)
        free(held[b]);
    free(held);
    return status;
}
