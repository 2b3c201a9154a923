#include "runtime/job/entries.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/residence.h"
#include "data/share/blocks.h"
#include "program/entries.h"

/* Adds what the nodes have sent to counts[blocks]: of each block one node has sent its number. */
static hawser_status add_up(const hw_bytes *in, uint32_t nodes, uint32_t blocks, uint64_t *counts, hawser_error *error)
{
    memset(counts, 0, blocks * sizeof *counts);
    for (uint32_t node = 0; node < nodes; node++) {
        if (in[node].length != blocks * sizeof *counts)
            return hawser_fail(error, HAWSER_BAD_PROGRAM,
                               "node %u has an entries state with .by_value over %zu blocks, and this node over %u; run the "
                               "same program on all nodes",
                               node, in[node].length / sizeof *counts, blocks);
        const uint64_t *sent = in[node].data;
        for (uint32_t b = 0; b < blocks; b++)
            counts[b] += sent[b];
    }
    return HAWSER_OK;
}

static hawser_status count_state(hawser_job *job, const hawser_state *state, hawser_error *error)
{
    struct hw_row_blocks *rows = state->along->matrix->residence->rows;
    const uint32_t nodes = hawser_job_nodes(job), blocks = rows->view.blocks;
    uint64_t *counts = NULL;
    hw_bytes *in = NULL;
    free(rows->counted); /* the values may be others than those of an earlier run */
    rows->counted = NULL;
    hawser_status status = HW_NEW(&counts, blocks, "the numbers of blocks", error);
    HAWSER_THEN(status, HW_NEW(&in, nodes, "the numbers of blocks", error));
    HAWSER_THEN(status, hw_entries_held(state, counts, error));
    status = hw_cluster_agree(job->cluster, status, error);
    for (uint32_t b = 0; b < blocks && status == HAWSER_OK; b++)
        if (!hw_row_block_here(rows, b))
            counts[b] = 0;
    HAWSER_THEN(status, hw_cluster_allgather(job->cluster, (hw_bytes){counts, blocks * sizeof *counts}, in, error));
    HAWSER_THEN(status, hw_cluster_agree(job->cluster, add_up(in, nodes, blocks, counts, error), error));
    hw_bytes_free(in, nodes);
    if (status == HAWSER_OK)
        rows->counted = counts;
    else
        free(counts);
    return status;
}

hawser_status hw_job_count_entries(hawser_job *job, const hawser_program *program, hawser_error *error)
{
    if (job->cluster == NULL || program->mistake.status != HAWSER_OK)
        return HAWSER_OK;
    for (const hawser_state *state = program->states; state != NULL; state = state->next)
        if (state->by_value && state->along != NULL && hw_state_rows_held(state->along) != NULL)
            HAWSER_TRY(count_state(job, state, error));
    return HAWSER_OK;
}
