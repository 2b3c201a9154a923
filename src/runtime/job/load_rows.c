/* load_rows.c - what a load by row does once the nodes agree on the sizes of the whole: cuts the rows into blocks, and sends each row to the node of
 * its block. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/memory.h"
#include "base/wide.h"
#include "data/label.h"
#include "data/layout/assemble.h"
#include "data/load.h"
#include "data/residence.h"
#include "data/share/array_rows.h"
#include "data/share/balance.h"
#include "data/share/blocks.h"
#include "data/source/budget.h"
#include "data/table/table.h"
#include "runtime/job/loading.h"
#include "runtime/job/source.h"

/* ------------------------------------------------------------------------------------------------------ the cut ---- */

/* Returns the rows before those of a node, and the entries. */
static hw_line_range lines_of(const hw_loading *l)
{
    static const uint64_t none[1];
    const hawser_matrix *A = &l->rows->matrix;
    hw_line_range lines = {.offsets = A->rows != 0 && A->offsets != NULL ? A->offsets : none, .count = A->rows};
    for (uint32_t i = 0; i < l->self; i++) {
        lines.first += l->all[i].rows;
        lines.before += l->all[i].stored;
    }
    return lines;
}

/* Each node finds the cuts that fall into its rows. */
static hawser_status find_cuts(const hw_loading *l, uint32_t blocks, size_t *bounds, hawser_error *error)
{
    hw_line_range lines = lines_of(l);
    hw_bytes *in = NULL;
    hw_balance_find(&lines, l->whole.rows, l->whole.stored, blocks, bounds);
    hawser_status status = hw_loading_gather(l, bounds, blocks * sizeof *bounds, &in, error);
    for (uint32_t p = 1; status == HAWSER_OK && p < blocks; p++) {
        bounds[p] = SIZE_MAX;
        for (uint32_t i = 0; i < l->nodes; i++) {
            size_t cut = in[i].length == blocks * sizeof cut ? ((const size_t *)in[i].data)[p] : SIZE_MAX;
            bounds[p] = cut < bounds[p] ? cut : bounds[p];
        }
        if (bounds[p] > l->whole.rows)
            status = hawser_fail(error, HAWSER_INTERNAL, "no node has found cut %u of %u of the rows", p, blocks);
    }
    hw_bytes_free(in, l->nodes);
    return status;
}

/* Entries of Matrix Market are in any order, so every node adds up how many each row has. */
static hawser_status cut_scattered(const hw_loading *l, uint32_t blocks, size_t *bounds, hawser_error *error)
{
    const hawser_matrix *A = &l->rows->matrix;
    uint64_t *counts = NULL, *offsets = NULL;
    hawser_status status = HW_NEW(&counts, l->whole.rows, "entries of rows", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&offsets, l->whole.rows + 1, "entries of rows", error);
    status = hw_cluster_agree(l->cluster, status, error);
    for (size_t i = 0; status == HAWSER_OK && i < A->rows; i++)
        counts[i] = A->offsets[i + 1] - A->offsets[i];
    if (status == HAWSER_OK)
        status = hw_loading_sum(l, l->whole.rows, counts, offsets, error);
    free(counts);
    uint64_t sum = 0;
    for (size_t i = 0; status == HAWSER_OK && i <= l->whole.rows; i++) {
        uint64_t count = i < l->whole.rows ? offsets[i] : 0;
        offsets[i] = sum;
        sum += count;
    }
    if (status == HAWSER_OK) {
        hawser_matrix shape = {
            .rows = l->whole.rows, .cols = l->whole.cols, .stored = sum, .layout = HAWSER_CSR, .offsets = offsets};
        hawser_balance(&shape, blocks, bounds);
    }
    free(offsets);
    return status;
}

/* Cuts the rows as the plan of one node does: dense ones evenly, others by hawser_balance. */
static hawser_status cut_rows(const hw_loading *l, uint32_t blocks, size_t *bounds, hawser_error *error)
{
    if (l->whole.layout == HAWSER_DENSE_ROWS) {
        hw_balance_even(l->whole.rows, blocks, bounds);
        return HAWSER_OK;
    }
    if (l->whole.scattered)
        return cut_scattered(l, blocks, bounds, error);
    if (l->whole.stored == 0)
        for (uint32_t p = 1; p < blocks; p++)
            bounds[p] = (size_t)hw_share_of(l->whole.rows, p, blocks);
    else
        HAWSER_TRY(find_cuts(l, blocks, bounds, error));
    hw_balance_fit(l->whole.rows, blocks, bounds);
    return HAWSER_OK;
}

void hw_loading_cut(const hawser_matrix *A, uint32_t blocks, size_t *bounds)
{
    if (hw_is_dense(A))
        hw_balance_even(A->rows, blocks, bounds);
    else
        hawser_balance(A, blocks, bounds);
}

/* Refuses data that cannot have the cut of another dataset. */
static hawser_status check_like(const hw_loading *l, const size_t *cut, uint32_t blocks, const hawser_load_figures *figures,
                                size_t rows, hawser_error *error)
{
    const hawser_dataset *like = l->load->like;
    if (cut == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "hawser_load.like: the rows of that dataset have no cut; load it by hawser_job_load with split = "
                           "HAWSER_BY_ROW");
    if (blocks != l->job->settings.blocks)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "hawser_load.like: that dataset is cut for %u workers, and the job has %u; load both in one job",
                           blocks, l->job->settings.blocks);
    if (rows != like->matrix.rows)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: has %zu rows, and the dataset of hawser_load.like has %zu; data in its cut must have the "
                           "same rows",
                           l->paths[0], rows, like->matrix.rows);
    if (figures->rows_dropped != 0 || like->figures.rows_dropped != 0)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "%s: %llu rows with missing values were dropped here and %llu from the dataset of "
                           "hawser_load.like, so rows of the same number may differ; load both with hawser_load.missing = "
                           "\"zero\" or \"mean\"",
                           l->paths[0], (unsigned long long)figures->rows_dropped,
                           (unsigned long long)like->figures.rows_dropped);
    return HAWSER_OK;
}

/* Fails if the nodes have different bounds, because they have passed different datasets. Collective. */
static hawser_status compare_bounds(const hw_loading *l, const size_t *bounds, hawser_error *error)
{
    size_t bytes = (l->job->settings.blocks + 1) * sizeof *bounds;
    hw_bytes *in = NULL;
    hawser_status status = hw_loading_gather(l, bounds, bytes, &in, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++)
        if (in[i].length != bytes || memcmp(in[i].data, bounds, bytes) != 0)
            status = hawser_fail(error, HAWSER_BAD_ARGUMENT,
                                 "hawser_load.like: nodes %u and %u pass datasets with different cuts; pass the same one on "
                                 "every node",
                                 l->self, i);
    hw_bytes_free(in, l->nodes);
    return status;
}

hawser_status hw_loading_follow_like(const hw_loading *l, const hawser_load_figures *figures, size_t rows, size_t *bounds,
                                     hawser_error *error)
{
    uint32_t blocks = 0;
    hawser_status status = HAWSER_OK;
    if (l->load->like != NULL) {
        const size_t *cut = hawser_dataset_cut(l->load->like, &blocks);
        status = check_like(l, cut, blocks, figures, rows, error);
        if (status == HAWSER_OK)
            memcpy(bounds, cut, (blocks + 1) * sizeof *cut);
    }
    if (l->cluster == NULL)
        return status;
    status = hw_cluster_agree(l->cluster, status, error);
    return status == HAWSER_OK ? hw_cluster_agree(l->cluster, compare_bounds(l, bounds, error), error) : status;
}

/* ------------------------------------------------------------------------------------------------------ means ---- */

/* What is known of the columns' means after the rows of some nodes, added up in the order of the rows, as one process does. */
typedef struct running_means {
    double total, counted; /* hw_mean_weigh */
    hw_mean columns[];
} running_means;

static void set_value(const hawser_matrix *A, uint64_t e, double value)
{
    if (A->type == HAWSER_F32)
        ((float *)(uintptr_t)A->values)[e] = (float)value;
    else
        ((double *)(uintptr_t)A->values)[e] = value;
}

/* Visits each entry of these rows, row by row: adds it to its column's mean, or, with `means`, replaces it if it is missing. `weights` are those of
 * the rows, or NULL. */
static void visit_entries(const hawser_dataset *rows, const double *weights, hw_mean *sums, const double *means)
{
    const hawser_matrix *A = &rows->matrix;
    bool dense = hw_is_dense(A);
    uint64_t count = A->rows == 0 ? 0 : A->stored;
    for (uint64_t k = 0, row = 0; k < count; k++) {
        size_t column = dense ? k % A->cols : A->indices[k];
        row = dense ? k / A->cols : row;
        while (!dense && k >= A->offsets[row + 1])
            row++;
        uint64_t e = dense ? k / A->cols * A->stride + column : k;
        double value = hw_value_at(A->values, A->type, e);
        if (means == NULL)
            hw_mean_add(&sums[column], value, weights != NULL ? weights[row] : 1);
        else if (isnan(value) && hw_schema_has_numbers(rows->schema, column))
            set_value(A, e, means[column]);
    }
}

void hw_loading_put_means(const hawser_dataset *rows, const double *means)
{
    visit_entries(rows, NULL, NULL, means);
}

/* Node after node adds its rows; the last one sends the sums to all. */
static hawser_status sum_columns(const hw_loading *l, const double *weights, running_means *sums, hawser_error *error)
{
    size_t bytes = sizeof *sums + l->whole.cols * sizeof *sums->columns;
    hawser_status status = HAWSER_OK;
    for (uint32_t turn = 0; turn < l->nodes && status == HAWSER_OK; turn++) {
        hw_bytes *in = NULL;
        if (turn == l->self) {
            hw_mean_weigh(weights, l->rows->matrix.rows, &sums->total, &sums->counted);
            visit_entries(l->rows, weights, sums->columns, NULL);
        }
        status = hw_loading_gather(l, sums, turn == l->self ? bytes : 0, &in, error);
        if (status == HAWSER_OK && in[turn].length == bytes && bytes != 0)
            memcpy(sums, in[turn].data, bytes);
        hw_bytes_free(in, l->nodes);
    }
    return status;
}

static hawser_status fill_means(const hw_loading *l, const char *name, hawser_error *error)
{
    running_means *sums = NULL;
    double *means = NULL;
    const double *weights = NULL;
    hawser_dataset *side = NULL;
    char text[HW_COLUMN_CALLED];
    hawser_status status =
        hw_new_array((void **)&sums, sizeof *sums + l->whole.cols * sizeof *sums->columns, 1, "the columns' means", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&means, l->whole.cols, "the columns' means", error);
    status = hw_cluster_agree(l->cluster, status, error);
    if (status == HAWSER_OK)
        status = hw_loading_weights(l, l->whole.has_weights, &side, &weights, error);
    if (status == HAWSER_OK)
        status = sum_columns(l, weights, sums, error);
    for (size_t j = 0; j < l->whole.cols && status == HAWSER_OK; j++) {
        if (!hw_schema_has_numbers(l->rows->schema, j))
            continue;
        means[j] = hw_mean_of(&sums->columns[j], sums->total, sums->counted);
        if (isnan(means[j]))
            status = hw_no_mean(name, hw_column_called(l->rows, j, text), error);
    }
    if (status == HAWSER_OK)
        visit_entries(l->rows, NULL, NULL, means);
    hawser_dataset_free(side);
    free(sums);
    hw_dataset_own(l->dataset, means);
    l->dataset->means = means;
    return status;
}

/* ------------------------------------------------------------------------------------------------ rows to their nodes ---- */

/* Stores the entries of each block, of which this node has counted its part. */
static hawser_status count_blocks(const hw_loading *l, const struct hw_row_blocks *blocks, size_t first, uint64_t *stored,
                                  hawser_error *error)
{
    const hawser_matrix *A = &l->rows->matrix;
    uint32_t count = blocks->view.blocks;
    hw_bytes *in = NULL;
    if (hw_loading_is_array(l)) {
        for (uint32_t b = 0; b < count; b++)
            stored[b] = (blocks->bounds[b + 1] - blocks->bounds[b]) * l->whole.cols;
        return HAWSER_OK;
    }
    for (uint32_t b = 0; b < count; b++)
        stored[b] = hw_row_blocks_entries(blocks, A, b, first);
    hawser_status status = hw_loading_gather(l, stored, count * sizeof *stored, &in, error);
    memset(stored, 0, count * sizeof *stored);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++)
        for (uint32_t b = 0; b < count && in[i].length == count * sizeof *stored; b++)
            stored[b] += ((const uint64_t *)in[i].data)[b];
    hw_bytes_free(in, l->nodes);
    return status;
}

/* Checks the memory for the rows that were read, those of own blocks, and what is between them while they are sent. */
static hawser_status afford_rows(hw_loading *l, const struct hw_row_blocks *blocks, const uint64_t *stored, size_t first,
                                 hawser_error *error)
{
    const hawser_matrix *A = &l->rows->matrix;
    bool dense = l->whole.layout == HAWSER_DENSE_ROWS;
    uint64_t entry = hw_type_size(l->whole.type) + (dense ? 0 : sizeof *A->indices), own = 0;
    uint64_t row = (4 + l->whole.further) * sizeof(double) + (dense ? 0 : sizeof *A->offsets), leaving = 0;
    hw_budget budget;
    for (uint32_t b = 0; b < blocks->view.blocks; b++)
        if (hw_row_block_here(blocks, b))
            own += stored[b] * entry + (blocks->bounds[b + 1] - blocks->bounds[b]) * row;
        else if (!l->whole.scattered)
            leaving += hw_row_blocks_entries(blocks, A, b, first) * entry;
    uint64_t read = A->stored * entry + A->rows * row;
    hw_budget_init(&budget, l->limit);
    /* Rows that stay are moved to their block a run at a time; those that leave or arrive are once more in messages. */
    uint64_t most = read > own ? read : own;
    l->estimate = l->whole.scattered ? 2 * most : own + 2 * (leaving + hw_row_blocks_leaving(blocks, first, A->rows) * row);
    return hw_cluster_agree(l->cluster, hw_budget_estimate(&budget, l->estimate, error), error);
}

/* Returns in how many rounds rows are sent. Rows that were read are sent at once. Rows in memory may all be on one node, so that most of them are sent. */
static uint32_t count_rounds(const hw_loading *l)
{
    enum { MOST = 16 };
    const uint64_t entries = l->whole.stored / l->whole.rows * l->dataset->figures.rows_moved, least = (uint64_t)1 << 20;
    const uint64_t rounds = entries * hw_type_size(l->whole.type) / least;
    return l->paths != NULL || rounds < 2 ? 1 : rounds < MOST ? (uint32_t)rounds : MOST;
}

static hawser_status trade_round(hw_loading *l, struct hw_row_blocks *blocks, const uint64_t *stored, size_t first,
                                 const char *name, hw_bytes *out, hw_bytes *in, hawser_error *error)
{
    hawser_status status = hw_loading_is_array(l) ? hw_array_pack_rows(l->rows, blocks, out, error)
                                                  : hw_row_blocks_pack(blocks, l->rows, &l->whole, first, out, error);
    if (l->whole.scattered)
        hw_dataset_drop_entries(l->rows); /* all of them are in pieces */
    status = hw_cluster_agree(l->cluster, status, error);
    if (status == HAWSER_OK)
        status = hw_cluster_hand_over(l->cluster, out, in, error);
    if (status == HAWSER_OK && hw_loading_is_array(l))
        status = hw_array_fill_rows(blocks, &l->whole, in, l->nodes, error);
    else if (status == HAWSER_OK)
        status = l->whole.scattered ? hw_row_blocks_merge(blocks, &l->whole, in, l->nodes, name, error)
                                    : hw_row_blocks_fill(blocks, &l->whole, stored, in, l->nodes, l->rows, first, error);
    return hw_cluster_agree(l->cluster, status, error);
}

static hawser_status trade_rows(hw_loading *l, struct hw_row_blocks *blocks, const uint64_t *stored, size_t first,
                                const char *name, hawser_error *error)
{
    hw_bytes *out = NULL, *in = NULL;
    hawser_status status = HW_NEW(&out, l->nodes, "rows for other nodes", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&in, l->nodes, "rows from other nodes", error);
    status = hw_cluster_agree(l->cluster, status, error);
    blocks->rounds = count_rounds(l);
    for (blocks->round = 0; blocks->round < blocks->rounds && status == HAWSER_OK; blocks->round++)
        status = trade_round(l, blocks, stored, first, name, out, in, error);
    blocks->round = blocks->rounds = 0;
    hw_bytes_free(out, l->nodes);
    hw_bytes_free(in, l->nodes);
    hw_dataset_drop_entries(l->rows);
    return status;
}

/* Adds up how many rows the nodes have sent, or entries of Matrix Market. */
static hawser_status count_moved(const hw_loading *l, const struct hw_row_blocks *blocks, size_t first, hawser_error *error)
{
    const hawser_matrix *A = &l->rows->matrix;
    uint64_t own = 0, moved = 0;
    hw_bytes *in = NULL;
    if (hw_loading_is_array(l))
        own = hw_array_leaving(l->rows, blocks);
    else if (!l->whole.scattered)
        own = hw_row_blocks_leaving(blocks, first, A->rows);
    else
        for (uint32_t b = 0; b < blocks->view.blocks; b++)
            own += hw_row_block_here(blocks, b) ? 0 : hw_row_blocks_entries(blocks, A, b, first);
    hawser_status status = hw_loading_gather(l, &own, sizeof own, &in, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++)
        moved += in[i].length == sizeof own ? *(const uint64_t *)in[i].data : 0;
    hw_bytes_free(in, l->nodes);
    l->dataset->figures.rows_moved = moved;
    return status;
}

/* What the nodes do after they have agreed on the cut. */
static hawser_status distribute(hw_loading *l, struct hw_row_blocks *blocks, const char *name, uint64_t *stored,
                                hawser_error *error)
{
    size_t first = l->whole.scattered ? 0 : lines_of(l).first;
    uint64_t entries = 0;
    HAWSER_TRY(count_blocks(l, blocks, first, stored, error));
    HAWSER_TRY(afford_rows(l, blocks, stored, first, error));
    HAWSER_TRY(count_moved(l, blocks, first, error));
    if (!l->whole.scattered && hw_loading_fills(l))
        HAWSER_TRY(fill_means(l, name, error));
    hawser_status status = hw_check_weights(name, l->rows->weights, l->rows->matrix.rows, first, error);
    HAWSER_TRY(hw_cluster_agree(l->cluster, status, error));
    HAWSER_TRY(trade_rows(l, blocks, stored, first, name, error));
    for (uint32_t b = 0; b < blocks->view.blocks; b++)
        entries += stored[b];
    const hawser_matrix shape = {.rows = l->whole.rows,
                                 .cols = l->whole.cols,
                                 .stored = entries,
                                 .layout = (hawser_layout)l->whole.layout,
                                 .type = (hawser_type)l->whole.type};
    hw_row_blocks_shape(blocks, &shape, stored);
    l->dataset->outputs_by_block = l->whole.has_target ? 1 + l->whole.further : 0;
    return hw_row_blocks_settle(blocks, l->dataset, &shape, error);
}

hawser_status hw_loading_new_blocks(const hw_loading *l, size_t *bounds, struct hw_row_blocks **blocks, hawser_error *error)
{
    hw_view view = {0};
    hawser_status status = hw_view_first(l->job->settings.blocks, l->nodes, &view, error);
    if (status != HAWSER_OK) {
        hw_view_free(&view);
        free(bounds);
        return status;
    }
    HAWSER_TRY(hw_row_blocks_new(&view, l->self, bounds, blocks, error));
    (*blocks)->lent = l->paths == NULL;
    return HAWSER_OK;
}

/* The readers keep rows side by side, as the load asks. */
static hawser_status check_layout(hawser_layout layout, hawser_error *error)
{
    return layout == HAWSER_CSR || layout == HAWSER_DENSE_ROWS
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_INTERNAL, "an input that is loaded by row was read in layout %d", (int)layout);
}

hawser_status hw_loading_by_row(hw_loading *l, const char *name, hawser_error *error)
{
    uint32_t count = l->job->settings.blocks;
    struct hw_row_blocks *blocks = NULL;
    uint64_t *stored = NULL;
    size_t *bounds = NULL;
    if (l->whole.scattered && l->whole.layout == HAWSER_DENSE)
        l->whole.layout = HAWSER_DENSE_ROWS; /* a range of an array's values has no layout yet */
    HAWSER_TRY(check_layout((hawser_layout)l->whole.layout, error));
    HAWSER_TRY(hw_loading_check_columns(l, error));
    HAWSER_TRY(hw_dataset_new(&l->dataset, error));
    l->dataset->figures = hw_shard_figures(&l->whole);
    HAWSER_TRY(HW_NEW(&bounds, count + 1, "the cut of the rows", error));
    hawser_status status = cut_rows(l, count, bounds, error);
    if (status == HAWSER_OK)
        status = hw_loading_follow_like(l, &l->dataset->figures, l->whole.rows, bounds, error);
    if (status != HAWSER_OK) {
        free(bounds);
        return status;
    }
    HAWSER_TRY(hw_loading_new_blocks(l, bounds, &blocks, error));
    status = HW_NEW(&stored, count, "the entries of blocks", error);
    if (status == HAWSER_OK)
        status = distribute(l, blocks, name, stored, error);
    free(stored);
    if (l->dataset->residence == NULL)
        hw_row_blocks_free(blocks); /* else the dataset has them */
    HAWSER_TRY(status);
    hw_residence_report_to(l->dataset->residence, l->job->messages, l->self);
    hw_dataset_take_names(l->dataset, l->rows);
    HAWSER_TRY(hw_loading_count(l, error));
    l->dataset->figures.parted = true;
    l->dataset->figures.seconds = l->rows->figures.seconds;
    hw_loading_note_memory(l);
    HAWSER_TRY(hw_cluster_agree(l->cluster, hw_loading_sides(l, blocks, error), error));
    return hw_source_keep(l, l->dataset, true, error);
}

hawser_status hw_loading_cut_whole(hw_loading *l, hawser_error *error)
{
    const hawser_matrix shape = l->rows->matrix;
    uint32_t count = l->job->settings.blocks;
    struct hw_row_blocks *blocks = NULL;
    uint64_t *stored = NULL;
    size_t *bounds = NULL;
    HAWSER_TRY(check_layout(shape.layout, error));
    HAWSER_TRY(HW_NEW(&bounds, count + 1, "the cut of the rows", error));
    hw_loading_cut(&shape, count, bounds);
    hawser_status status = hw_loading_follow_like(l, &l->rows->figures, shape.rows, bounds, error);
    if (status != HAWSER_OK) {
        free(bounds);
        return status;
    }
    HAWSER_TRY(hw_loading_new_blocks(l, bounds, &blocks, error));
    status = HW_NEW(&stored, count, "the entries of blocks", error);
    for (uint32_t b = 0; status == HAWSER_OK && b < count; b++)
        stored[b] = hw_row_blocks_entries(blocks, &shape, b, 0);
    if (status == HAWSER_OK)
        status = hw_row_blocks_cut(blocks, l->rows, error);
    if (status == HAWSER_OK)
        status = hw_row_blocks_take(blocks, l->rows, error);
    if (status == HAWSER_OK) {
        hw_row_blocks_shape(blocks, &shape, stored);
        status = hw_row_blocks_settle(blocks, l->rows, &shape, error);
    }
    free(stored);
    if (l->rows->residence == NULL)
        hw_row_blocks_free(blocks);
    HAWSER_TRY(hw_cluster_agree(l->cluster, status, error));
    hw_residence_report_to(l->rows->residence, l->job->messages, l->self);
    return hw_source_keep(l, l->rows, false, error);
}

hawser_status hw_loading_keep_cut(hawser_dataset *dataset, uint32_t blocks, hawser_error *error)
{
    size_t *bounds = NULL;
    HAWSER_TRY(HW_NEW(&bounds, blocks + 1, "the cut of the rows", error));
    hw_dataset_own(dataset, bounds);
    hw_loading_cut(&dataset->matrix, blocks, bounds);
    dataset->cut = bounds;
    dataset->cut_blocks = blocks;
    return HAWSER_OK;
}

hawser_status hw_load_rows_alone(hawser_job *job, const char *const *paths, size_t count, const hawser_load *load,
                                 hawser_dataset **dataset, hawser_error *error)
{
    hawser_load by_row = *load;
    by_row.rows_layout = 1;
    by_row.like = NULL;
    HAWSER_TRY(hw_load_within(paths, count, &by_row, load->memory_limit != 0 ? load->memory_limit : job->settings.memory,
                              dataset, error));
    hw_loading l = {.job = job, .load = load, .paths = paths, .path_count = count, .nodes = 1, .rows = *dataset};
    hawser_status status = load->like != NULL ? hw_loading_cut_whole(&l, error) : HAWSER_OK;
    if (status == HAWSER_OK && load->like != NULL)
        return HAWSER_OK; /* held by block: a plan of one node would cut it by its own entries */
    if (status == HAWSER_OK)
        status = hw_loading_keep_cut(*dataset, job->settings.blocks, error);
    if (status == HAWSER_OK)
        status = hw_source_keep(&l, *dataset, false, error);
    if (status != HAWSER_OK) {
        hawser_dataset_free(*dataset);
        *dataset = NULL;
    }
    return status;
}
