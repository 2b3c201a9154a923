/* load_cache.c - a cache whose layout is not the one that the load wants. Each node reads a share of its lines
 * (data/cache/part.h) and sends entries to the nodes that need them: rows take the path of text that is loaded by column,
 * and columns become rows here. */
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/machine.h"
#include "base/type.h"
#include "data/cache/reader.h"
#include "data/load.h"
#include "data/residence.h"
#include "data/share/turned.h"
#include "runtime/input/loading.h"
#include "runtime/input/source.h"

/* ------------------------------------------------------------------------------------------------------ reading ---- */

/* What a node has found. */
typedef struct cache_report {
    uint64_t turned, digest;
} cache_report;

/* Fails if the nodes have opened different files. Copies have the same header, which has the checksums of everything.
 * Collective. */
static hawser_status compare(hw_loading *l, hawser_error *error)
{
    const cache_report own = {l->turned, l->turned ? l->cache.digest : 0};
    cache_report *all = NULL;
    hawser_status status = HW_COLLECT(l, &own, &all, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++)
        if (all[i].turned != own.turned || all[i].digest != own.digest)
            status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: nodes %u and %u have different files; give all the same",
                                 l->paths[0], l->self < i ? l->self : i, l->self < i ? i : l->self);
    free(all);
    return hw_loading_agree(l, status, error);
}

/* Computes the checksums of the file, one node after the other. Collective. */
static hawser_status check(hw_loading *l, hawser_error *error)
{
    hw_cache_progress progress = {0};
    hawser_status found = HAWSER_OK, status = HAWSER_OK;
    for (uint32_t turn = 0; turn < l->nodes && status == HAWSER_OK; turn++) {
        hw_bytes *in;
        if (turn == l->self)
            found = hw_cache_part_check(&l->cache, l->rows, l->paths[0], l->load->cancellation, &progress, error);
        status = hw_loading_gather(l, HAWSER_OK, &progress, turn == l->self ? sizeof progress : 0, &in, error);
        if (status == HAWSER_OK && in[turn].length == sizeof progress)
            memcpy(&progress, in[turn].data, sizeof progress);
        hw_bytes_free(in, l->nodes);
    }
    return status != HAWSER_OK ? status : hw_loading_agree(l, found, error);
}

hawser_status hw_loading_read_cache(hw_loading *l, hawser_error *error)
{
    hawser_load part = *l->load;
    part.part = l->self;
    part.parts = l->nodes;
    part.like = NULL; /* the cut follows the reading */
    const hawser_status status = hw_load_part_of_cache(l->paths, l->path_count, &part, &l->cache, &l->rows, error);
    HAWSER_TRY(hw_loading_agree(l, status, error));
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
    return hw_loading_agree(l, status, error);
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
        hw_turned_count(&l->rows->matrix, counts);
    status = hw_loading_agree(l, status, error);
    HAWSER_THEN(status, hw_loading_offsets(l, l->whole.rows, counts, &l->offsets, error));
    free(counts);
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
    return HAWSER_OK;
}

static uint64_t entries_of(hw_loading *l, const struct hw_row_blocks *blocks, uint32_t b)
{
    const size_t begin = blocks->bounds[b], end = blocks->bounds[b + 1];
    return l->offsets != NULL ? l->offsets[end] - l->offsets[begin] : (end - begin) * l->whole.cols;
}

/* Chooses the rounds, in each of which there is a pass over the columns, and checks the memory for own rows and what is in
 * flight. Collective. */
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

/* Columns that are dealt out as rows. */
typedef struct turned_deal {
    hw_loading *l;
    struct hw_row_blocks *blocks;
    uint64_t moved; /* entries that left this node */
} turned_deal;

static hawser_status pack(void *user, uint32_t round, hw_bytes *out, hawser_error *error)
{
    turned_deal *d = user;
    hw_loading *l = d->l;
    d->blocks->round = round;
    const hawser_status status = hw_turned_pack(d->blocks, &l->rows->matrix, l->cache.first, l->nodes, out, error);
    for (uint32_t i = 0; i < l->nodes; i++)
        d->moved += i != l->self ? hw_turned_entries(&out[i]) : 0;
    return status;
}

static hawser_status place(void *user, uint32_t round, hw_bytes *in, hawser_error *error)
{
    const turned_deal *d = user;
    (void)round;
    return hw_turned_fill(d->blocks, &d->l->whole, in, d->l->nodes, error);
}

static hawser_status deal_rows(turned_deal *d, hawser_error *error)
{
    hw_loading *l = d->l;
    HAWSER_TRY(hw_loading_agree(l, hw_turned_begin(d->blocks, &l->whole, l->offsets, error), error));
    const hawser_status status = hw_loading_deal(l, &(hw_deal){d->blocks->rounds, d, pack, place}, error);
    d->blocks->round = d->blocks->rounds = 0;
    return status == HAWSER_OK ? hw_turned_end(d->blocks, error) : status;
}

/* Adds up what the nodes have read and moved. Collective. */
static hawser_status add_up(hw_loading *l, uint64_t moved, hawser_error *error)
{
    uint64_t sums[2] = {l->rows->figures.bytes_here, moved};
    hawser_load_figures *figures = &l->dataset->figures;
    *figures = l->rows->figures;
    figures->memory_estimate = figures->memory_taken = l->estimate;
    HAWSER_TRY(hw_loading_add(l, sums, 2, error));
    figures->bytes_read = figures->bytes_text = sums[0];
    figures->rows_moved = sums[1];
    return HAWSER_OK;
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
    turned_deal d = {.l = l, .blocks = blocks};
    HAWSER_TRY(afford(l, blocks, error));
    HAWSER_TRY(hw_loading_agree(l, deal_rows(&d, error), error));
    HAWSER_TRY(add_up(l, d.moved, error));
    return hw_loading_agree(l, settle(l, blocks, error), error);
}

static hw_shard_facts facts_of(hw_loading *l)
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
    HAWSER_TRY(hw_loading_make_blocks(l, status, l->rows, l->whole.rows, bounds, &blocks, error));
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
        hw_turned_count(A, offsets);
        (void)hw_loading_begin_lines(offsets, A->rows);
    }
    HAWSER_THEN(status, hw_turned_begin(to, &whole, offsets, error));
    HAWSER_THEN(status, hw_turned_pack(from, A, 0, 1, &piece, error));
    HAWSER_THEN(status, hw_turned_fill(to, &whole, &piece, 1, error));
    free(piece.data);
    free(offsets);
    HAWSER_TRY(status);
    HAWSER_TRY(hw_turned_end(to, error));
    return hw_row_blocks_take(to, columns, error);
}
