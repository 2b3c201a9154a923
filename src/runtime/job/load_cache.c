/* load_cache.c - a cache whose layout is not the one that the load wants. Each node reads a share of its lines (data/cache/part.h) and sends entries to
 * the nodes that need them: rows take the path of text that is loaded by column, and columns become rows here. */
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/machine.h"
#include "base/type.h"
#include "data/cache/reader.h"
#include "data/load.h"
#include "data/residence.h"
#include "data/share/turned.h"
#include "runtime/job/loading.h"
#include "runtime/job/source.h"

/* ------------------------------------------------------------------------------------------------------ reading ---- */

/* What a node has found. */
typedef struct cache_report {
    uint64_t turned, digest;
} cache_report;

/* Fails if the nodes have opened different files. Copies have the same header, which has the checksums of everything. Collective. */
static hawser_status compare(hw_loading *l, hawser_error *error)
{
    const cache_report own = {l->turned, l->turned ? l->cache.digest : 0};
    hw_bytes *in = NULL;
    hawser_status status = hw_loading_gather(l, &own, sizeof own, &in, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++)
        if (in[i].length != sizeof own || memcmp(in[i].data, &own, sizeof own) != 0)
            status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: nodes %u and %u have different files; give all the same",
                                 l->paths[0], l->self < i ? l->self : i, l->self < i ? i : l->self);
    hw_bytes_free(in, l->nodes);
    return hw_cluster_agree(l->cluster, status, error);
}

/* Computes the checksums of the file, one node after the other. Collective. */
static hawser_status check(hw_loading *l, hawser_error *error)
{
    hw_cache_progress progress = {0};
    hawser_status found = HAWSER_OK, status = HAWSER_OK;
    for (uint32_t turn = 0; turn < l->nodes && status == HAWSER_OK; turn++) {
        hw_bytes *in = NULL;
        if (turn == l->self)
            found = hw_cache_part_check(&l->cache, l->rows, l->paths[0], l->load->cancellation, &progress, error);
        status = hw_loading_gather(l, &progress, turn == l->self ? sizeof progress : 0, &in, error);
        if (status == HAWSER_OK && in[turn].length == sizeof progress)
            memcpy(&progress, in[turn].data, sizeof progress);
        hw_bytes_free(in, l->nodes);
    }
    return status != HAWSER_OK ? status : hw_cluster_agree(l->cluster, found, error);
}

hawser_status hw_loading_read_cache(hw_loading *l, hawser_error *error)
{
    hawser_load part = *l->load;
    part.part = l->self;
    part.parts = l->nodes;
    part.like = NULL; /* the cut follows the reading */
    const hawser_status status = hw_load_part_of_cache(l->paths, l->path_count, &part, &l->cache, &l->rows, error);
    HAWSER_TRY(hw_cluster_agree(l->cluster, status, error));
    l->turned = l->rows != NULL;
    HAWSER_TRY(compare(l, error));
    if (!l->turned)
        return HAWSER_OK;
    l->limit = hw_loading_limit(l);
    l->rows->figures.parted = true;
    return check(l, error);
}

hawser_status hw_loading_take_names(hw_loading *l, hawser_error *error)
{
    const double *means = l->rows->means;
    hw_dataset_take_names(l->dataset, l->rows);
    if (!l->turned || means == NULL)
        return HAWSER_OK;
    double *copy = NULL;
    HAWSER_TRY(HW_NEW(&copy, l->cache.whole.cols, "the columns' means", error));
    memcpy(copy, means, l->cache.whole.cols * sizeof *copy);
    hw_dataset_own(l->dataset, copy);
    l->dataset->means = copy;
    return HAWSER_OK;
}

hawser_status hw_loading_afford_turn(hw_loading *l, uint64_t own, uint64_t in_flight, hawser_error *error)
{
    const uint64_t need = own + in_flight, have = l->limit != 0 ? l->limit : hw_machine_memory(1);
    const hawser_status status =
        need > have ? hw_cache_refuse_turn(l->paths[0], hw_is_by_row(&l->cache.whole), need, have, error) : HAWSER_OK;
    l->estimate = need > l->estimate ? need : l->estimate;
    return hw_cluster_agree(l->cluster, status, error);
}

/* ------------------------------------------------------------------------------------------------ columns into rows ---- */

/* Adds up the entries of each row, and makes the offsets of all rows; NULL if the matrix is dense. Collective. */
static hawser_status count_rows(hw_loading *l, hawser_error *error)
{
    uint64_t *counts = NULL;
    if (hw_is_dense(&l->rows->matrix))
        return HAWSER_OK;
    hawser_status status = HW_NEW(&counts, l->whole.rows, "entries of rows", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&l->offsets, l->whole.rows + 1, "entries of rows", error);
    status = hw_cluster_agree(l->cluster, status, error);
    if (status == HAWSER_OK) {
        hw_turned_count(&l->rows->matrix, counts);
        status = hw_loading_sum(l, l->whole.rows, counts, l->offsets, error);
    }
    free(counts);
    uint64_t sum = 0;
    for (size_t i = 0; status == HAWSER_OK && i <= l->whole.rows; i++) {
        const uint64_t count = i < l->whole.rows ? l->offsets[i] : 0;
        l->offsets[i] = sum;
        sum += count;
    }
    return status;
}

static hawser_status cut_rows(hw_loading *l, size_t *bounds, hawser_error *error)
{
    HAWSER_TRY(count_rows(l, error));
    const hawser_matrix shape = {.rows = l->whole.rows,
                                 .cols = l->whole.cols,
                                 .stored = l->whole.stored,
                                 .layout = (hawser_layout)l->whole.layout,
                                 .type = (hawser_type)l->whole.type,
                                 .offsets = l->offsets,
                                 .stride = l->whole.cols};
    hw_loading_cut(&shape, l->job->settings.blocks, bounds);
    return hw_loading_follow_like(l, &l->rows->figures, l->whole.rows, bounds, error);
}

static uint64_t entries_of(const hw_loading *l, const struct hw_row_blocks *blocks, uint32_t b)
{
    const size_t begin = blocks->bounds[b], end = blocks->bounds[b + 1];
    return l->offsets != NULL ? l->offsets[end] - l->offsets[begin] : (end - begin) * l->whole.cols;
}

/* Chooses the rounds, in each of which there is a pass over the columns, and checks the memory for own rows and what is in flight. Collective. */
static hawser_status afford(hw_loading *l, struct hw_row_blocks *blocks, hawser_error *error)
{
    const uint64_t least = (uint64_t)1 << 20, most = l->offsets != NULL ? 8 : 16,
                   entry = hw_type_size((hawser_type)l->whole.type) + (l->offsets != NULL ? sizeof(uint32_t) : 0),
                   rounds = l->whole.stored * entry / l->nodes / least, sent = l->offsets != NULL ? entry + 4 : entry;
    uint64_t own = 0;
    blocks->rounds = rounds < 1 ? 1 : rounds < most ? (uint32_t)rounds : (uint32_t)most;
    for (uint32_t b = 0; b < blocks->view.blocks; b++)
        if (hw_row_block_here(blocks, b))
            own += entries_of(l, blocks, b) * entry + (blocks->bounds[b + 1] - blocks->bounds[b]) * 4 * sizeof(double);
    const uint64_t counts = l->offsets != NULL ? l->whole.rows * sizeof *l->offsets : 0;
    /* as pieces, and once more as messages */
    return hw_loading_afford_turn(l, own + counts, 2 * (l->rows->matrix.stored * sent + own) / blocks->rounds, error);
}

static hawser_status trade_round(hw_loading *l, struct hw_row_blocks *blocks, hw_bytes *out, hw_bytes *in, uint64_t *moved,
                                 hawser_error *error)
{
    hawser_status status = hw_turned_pack(blocks, &l->rows->matrix, l->cache.first, l->nodes, out, error);
    for (uint32_t d = 0; d < l->nodes; d++)
        *moved += d != l->self ? hw_turned_entries(&out[d]) : 0;
    status = hw_cluster_agree(l->cluster, status, error);
    if (status == HAWSER_OK)
        status = hw_cluster_hand_over(l->cluster, out, in, error);
    if (status == HAWSER_OK)
        status = hw_turned_fill(blocks, &l->whole, in, l->nodes, error);
    return hw_cluster_agree(l->cluster, status, error);
}

static hawser_status trade(hw_loading *l, struct hw_row_blocks *blocks, uint64_t *moved, hawser_error *error)
{
    hw_bytes *out = NULL, *in = NULL;
    hawser_status status = HW_NEW(&out, l->nodes, "rows for other nodes", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&in, l->nodes, "rows from other nodes", error);
    if (status == HAWSER_OK)
        status = hw_turned_begin(blocks, &l->whole, l->offsets, error);
    status = hw_cluster_agree(l->cluster, status, error);
    for (blocks->round = 0; blocks->round < blocks->rounds && status == HAWSER_OK; blocks->round++)
        status = trade_round(l, blocks, out, in, moved, error);
    blocks->round = blocks->rounds = 0;
    hw_bytes_free(out, l->nodes);
    hw_bytes_free(in, l->nodes);
    return status == HAWSER_OK ? hw_turned_end(blocks, error) : status;
}

/* Adds up what the nodes have read and moved. Collective. */
static hawser_status add_up(hw_loading *l, uint64_t moved, hawser_error *error)
{
    const uint64_t own[2] = {l->rows->figures.bytes_here, moved};
    hawser_load_figures *figures = &l->dataset->figures;
    hw_bytes *in = NULL;
    *figures = l->rows->figures;
    figures->bytes_read = figures->bytes_text = 0;
    figures->memory_estimate = figures->memory_taken = l->estimate;
    hawser_status status = hw_loading_gather(l, own, sizeof own, &in, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++) {
        uint64_t node[2] = {0};
        if (in[i].length == sizeof node)
            memcpy(node, in[i].data, sizeof node);
        figures->bytes_read += node[0];
        figures->bytes_text += node[0];
        figures->rows_moved += node[1];
    }
    hw_bytes_free(in, l->nodes);
    return status;
}

/* Lets the dataset have the rows, and what belongs to them, which the part has of all rows. */
static hawser_status settle(hw_loading *l, struct hw_row_blocks *blocks, hawser_error *error)
{
    const hawser_matrix shape = {.rows = l->whole.rows,
                                 .cols = l->whole.cols,
                                 .stored = l->whole.stored,
                                 .layout = (hawser_layout)l->whole.layout,
                                 .type = (hawser_type)l->whole.type};
    uint64_t *stored = NULL;
    HAWSER_TRY(HW_NEW(&stored, blocks->view.blocks, "the entries of blocks", error));
    for (uint32_t b = 0; b < blocks->view.blocks; b++)
        stored[b] = entries_of(l, blocks, b);
    hw_row_blocks_shape(blocks, &shape, stored);
    free(stored);
    l->dataset->outputs_by_block = l->rows->target != NULL;
    HAWSER_TRY(hw_row_blocks_take(blocks, l->rows, error));
    HAWSER_TRY(hw_loading_take_names(l, error));
    return hw_row_blocks_settle(blocks, l->dataset, &shape, error);
}

static hawser_status make_rows(hw_loading *l, struct hw_row_blocks *blocks, hawser_error *error)
{
    uint64_t moved = 0;
    HAWSER_TRY(afford(l, blocks, error));
    HAWSER_TRY(hw_cluster_agree(l->cluster, trade(l, blocks, &moved, error), error));
    HAWSER_TRY(add_up(l, moved, error));
    return hw_cluster_agree(l->cluster, settle(l, blocks, error), error);
}

static hw_shard_facts facts_of(const hw_loading *l)
{
    const hawser_matrix *whole = &l->cache.whole;
    return (hw_shard_facts){.rows = whole->rows,
                            .cols = whole->cols,
                            .stored = whole->stored,
                            .layout = whole->layout == HAWSER_DENSE ? HAWSER_DENSE_ROWS : HAWSER_CSR,
                            .type = whole->type};
}

hawser_status hw_loading_turn_columns(hw_loading *l, hawser_error *error)
{
    struct hw_row_blocks *blocks = NULL;
    size_t *bounds = NULL;
    l->whole = facts_of(l);
    HAWSER_TRY(hw_dataset_new(&l->dataset, error));
    HAWSER_TRY(HW_NEW(&bounds, l->job->settings.blocks + 1, "the cut of the rows", error));
    hawser_status status = cut_rows(l, bounds, error);
    if (status != HAWSER_OK) {
        free(bounds);
        return status;
    }
    HAWSER_TRY(hw_loading_new_blocks(l, bounds, &blocks, error));
    status = make_rows(l, blocks, error);
    if (l->dataset->residence == NULL)
        hw_row_blocks_free(blocks); /* else the dataset has them */
    HAWSER_TRY(status);
    hw_residence_report_to(l->dataset->residence, l->job->messages, l->self);
    return hw_source_keep(l, l->dataset, false, error);
}

hawser_status hw_loading_turn_block(const struct hw_row_blocks *from, struct hw_row_blocks *to, const hw_cache_part *part,
                                    hawser_dataset *columns, hawser_error *error)
{
    const hawser_matrix *A = &columns->matrix;
    const hw_shard_facts whole = {.rows = part->whole.rows,
                                  .cols = part->whole.cols,
                                  .stored = part->whole.stored,
                                  .layout = hw_is_dense(A) ? HAWSER_DENSE_ROWS : HAWSER_CSR,
                                  .type = A->type};
    uint64_t *offsets = NULL;
    hw_bytes piece = {0};
    hawser_status status = HAWSER_OK;
    if (!hw_is_dense(A))
        status = HW_NEW(&offsets, A->rows + 2, "entries of rows", error);
    if (status == HAWSER_OK && offsets != NULL) {
        hw_turned_count(A, offsets + 1);
        for (size_t i = 0; i < A->rows; i++)
            offsets[i + 1] += offsets[i];
    }
    if (status == HAWSER_OK)
        status = hw_turned_begin(to, &whole, offsets, error);
    if (status == HAWSER_OK)
        status = hw_turned_pack(from, A, 0, 1, &piece, error);
    if (status == HAWSER_OK)
        status = hw_turned_fill(to, &whole, &piece, 1, error);
    free(piece.data);
    free(offsets);
    HAWSER_TRY(status);
    HAWSER_TRY(hw_turned_end(to, error));
    return hw_row_blocks_take(to, columns, error);
}
