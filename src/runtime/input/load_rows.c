/* load_rows.c - what a load by row does once the nodes agree on the sizes of the whole: cuts the rows into blocks, and sends
 * each row to the node of its block. */
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
#include "data/share/balance.h"
#include "data/table/table.h"
#include "runtime/input/loading.h"
#include "runtime/input/row_router.h"
#include "runtime/input/source.h"

/* ------------------------------------------------------------------------------------------------------ the cut ---- */

/* Returns the rows before those of a node, and the entries. */
static hw_line_range lines_of(hw_loading *l)
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
static hawser_status find_cuts(hw_loading *l, uint32_t blocks, size_t *bounds, hawser_error *error)
{
    hw_line_range lines = lines_of(l);
    size_t *all = NULL;
    hw_balance_find(&lines, l->whole.rows, l->whole.stored, blocks, bounds);
    hawser_status status = hw_loading_collect(l, bounds, blocks * sizeof *bounds, (void **)&all, error);
    for (uint32_t p = 1; status == HAWSER_OK && p < blocks; p++) {
        bounds[p] = SIZE_MAX;
        for (uint32_t i = 0; i < l->nodes; i++)
            bounds[p] = all[(size_t)i * blocks + p] < bounds[p] ? all[(size_t)i * blocks + p] : bounds[p];
        if (bounds[p] > l->whole.rows)
            status = hawser_fail(error, HAWSER_INTERNAL, "no node has found cut %u of %u of the rows", p, blocks);
    }
    free(all);
    return status;
}

/* Entries of Matrix Market are in any order, so every node adds up how many each row has. */
static hawser_status cut_scattered(hw_loading *l, uint32_t blocks, size_t *bounds, hawser_error *error)
{
    const hawser_matrix *A = &l->rows->matrix;
    uint64_t *counts = NULL, *offsets = NULL;
    hawser_status status = HW_NEW(&counts, l->whole.rows, "entries of rows", error);
    for (size_t i = 0; status == HAWSER_OK && i < A->rows; i++)
        counts[i] = A->offsets[i + 1] - A->offsets[i];
    status = hw_loading_agree(l, status, error);
    HAWSER_THEN(status, hw_loading_offsets(l, l->whole.rows, counts, &offsets, error));
    if (status == HAWSER_OK)
        hawser_balance(&(hawser_matrix){.rows = l->whole.rows,
                                        .cols = l->whole.cols,
                                        .stored = offsets[l->whole.rows],
                                        .layout = HAWSER_CSR,
                                        .offsets = offsets},
                       blocks, bounds);
    free(counts);
    free(offsets);
    return status;
}

/* Cuts the rows as the plan of one node does: dense ones evenly, others by hawser_balance. */
static hawser_status cut_rows(hw_loading *l, uint32_t blocks, size_t *bounds, hawser_error *error)
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
static hawser_status check_like(hw_loading *l, const size_t *cut, uint32_t blocks, const hawser_load_figures *figures,
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
static hawser_status compare_bounds(hw_loading *l, const size_t *bounds, hawser_error *error)
{
    const size_t count = l->job->settings.blocks + 1;
    size_t *all = NULL;
    hawser_status status = hw_loading_collect(l, bounds, count * sizeof *bounds, (void **)&all, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++)
        if (memcmp(all + i * count, bounds, count * sizeof *bounds) != 0)
            status = hawser_fail(error, HAWSER_BAD_ARGUMENT,
                                 "hawser_load.like: nodes %u and %u pass datasets with different cuts; pass the same one on "
                                 "every node",
                                 l->self, i);
    free(all);
    return status;
}

/* Replaces the bounds by those of hawser_load.like, if it is given. Collective. */
static hawser_status follow_like(hw_loading *l, const hawser_load_figures *figures, size_t rows, size_t *bounds,
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
    status = hw_loading_agree(l, status, error);
    return status == HAWSER_OK ? hw_loading_agree(l, compare_bounds(l, bounds, error), error) : status;
}

/* ------------------------------------------------------------------------------------------------------ means ---- */

/* What is known of the columns' means after the rows of some nodes, added up in the order of the rows, as one process
 * does. */
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

/* Visits each entry of these rows, row by row: adds it to its column's mean, or, with `means`, replaces it if it is missing.
 * `weights` are those of the rows, or NULL. */
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
static hawser_status sum_columns(hw_loading *l, const double *weights, running_means *sums, hawser_error *error)
{
    size_t bytes = sizeof *sums + l->whole.cols * sizeof *sums->columns;
    hawser_status status = HAWSER_OK;
    for (uint32_t turn = 0; turn < l->nodes && status == HAWSER_OK; turn++) {
        hw_bytes *in = NULL;
        if (turn == l->self) {
            hw_mean_weigh(weights, l->rows->matrix.rows, &sums->total, &sums->counted);
            visit_entries(l->rows, weights, sums->columns, NULL);
        }
        status = hw_loading_gather(l, HAWSER_OK, sums, turn == l->self ? bytes : 0, &in, error);
        if (status == HAWSER_OK && in[turn].length == bytes && bytes != 0)
            memcpy(sums, in[turn].data, bytes);
        hw_bytes_free(in, l->nodes);
    }
    return status;
}

static hawser_status fill_means(hw_loading *l, const char *name, hawser_error *error)
{
    running_means *sums = NULL;
    double *means = NULL;
    const double *weights = NULL;
    hawser_dataset *side = NULL;
    char text[HW_COLUMN_CALLED];
    hawser_status status =
        hw_new_array((void **)&sums, sizeof *sums + l->whole.cols * sizeof *sums->columns, 1, "the columns' means", error);
    HAWSER_THEN(status, HW_NEW(&means, l->whole.cols, "the columns' means", error));
    status = hw_loading_agree(l, status, error);
    HAWSER_THEN(status, hw_loading_weights(l, l->whole.has_weights, &side, &weights, error));
    HAWSER_THEN(status, sum_columns(l, weights, sums, error));
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

/* ---------------------------------------------------------------------------------------------- rows to their nodes ---- */

/* Stores the entries of each block, of which this node has counted its part. */
static hawser_status count_blocks(hw_loading *l, const struct hw_row_blocks *blocks, size_t first, uint64_t *stored,
                                  hawser_error *error)
{
    const bool array = hw_loading_is_array(l);
    for (uint32_t b = 0; b < blocks->view.blocks; b++)
        stored[b] = array ? (blocks->bounds[b + 1] - blocks->bounds[b]) * l->whole.cols
                          : hw_row_blocks_entries(blocks, &l->rows->matrix, b, first);
    return array ? HAWSER_OK : hw_loading_add(l, stored, blocks->view.blocks, error);
}

/* Returns in how many rounds rows are sent. Most of them are if one node has all, as of an archive, or of rows in memory.
 * Scattered entries are sent at once. */
static uint32_t count_rounds(hw_loading *l)
{
    enum { MOST = 16 };
    const uint64_t entries = l->whole.stored / l->whole.rows * l->dataset->figures.rows_moved, least = (uint64_t)1 << 20;
    const uint64_t rounds = entries * hw_type_size(l->whole.type) / least;
    return l->whole.scattered || rounds < 2 ? 1 : rounds < MOST ? (uint32_t)rounds : MOST;
}

/* Checks the memory for the rows that were read, those of own blocks, and what is between them while they are sent. */
static hawser_status afford_rows(hw_loading *l, const struct hw_row_blocks *blocks, const uint64_t *stored, size_t first,
                                 hawser_error *error)
{
    const hawser_matrix *A = &l->rows->matrix;
    const bool dense = l->whole.layout == HAWSER_DENSE_ROWS;
    const uint64_t entry = hw_type_size(l->whole.type) + (dense ? 0 : sizeof *A->indices),
                   row = (4 + l->whole.further) * sizeof(double) + (dense ? 0 : sizeof *A->offsets);
    uint64_t own = 0, staying = 0;
    for (uint32_t b = 0; b < blocks->view.blocks; b++) {
        if (!hw_row_block_here(blocks, b))
            continue;
        own += stored[b] * entry + (blocks->bounds[b + 1] - blocks->bounds[b]) * row;
        staying += l->whole.scattered ? 0 : hw_row_blocks_entries(blocks, A, b, first) * entry;
    }
    if (!l->whole.scattered)
        staying += (A->rows - hw_row_blocks_leaving(blocks, first, A->rows)) * row;
    const uint64_t read = A->stored * entry + A->rows * row, most = read > own ? read : own, leaving = read - staying,
                   arriving = own - staying, traded = leaving > arriving ? leaving : arriving;
    /* Rows that stay are moved to their block a run at a time. Those that leave or arrive in a round are once more in
     * pieces, and in messages. */
    l->estimate = l->whole.scattered ? 2 * most : most + 2 * traded / count_rounds(l);
    return hw_loading_afford(l, l->estimate, error);
}

/* Rows that are dealt out. */
typedef struct row_deal {
    hw_loading *l;
    struct hw_row_blocks *blocks;
    hw_row_router router;
    const uint64_t *stored; /* entries of each block */
    size_t first;           /* row of the whole of the first one that this node has read */
    const char *name;       /* of the input */
} row_deal;

static hawser_status pack(void *user, uint32_t round, hw_bytes *out, hawser_error *error)
{
    const row_deal *d = user;
    hw_loading *l = d->l;
    d->blocks->round = round;
    const hawser_status status = d->router.pack(d->blocks, l->rows, &l->whole, d->first, out, error);
    if (l->whole.scattered)
        hw_dataset_drop_entries(l->rows); /* all of them are in pieces */
    else
        hw_row_blocks_release(d->blocks, l->rows, d->first);
    return status;
}

static hawser_status place(void *user, uint32_t round, hw_bytes *in, hawser_error *error)
{
    const row_deal *d = user;
    hw_loading *l = d->l;
    (void)round;
    return d->router.place(d->blocks, &(hw_row_pieces){&l->whole, d->stored, in, l->nodes, l->rows, d->first, d->name},
                           error);
}

static hawser_status deal_rows(row_deal *d, hawser_error *error)
{
    d->blocks->rounds = count_rounds(d->l);
    const hawser_status status = hw_loading_deal(d->l, &(hw_deal){d->blocks->rounds, d, pack, place}, error);
    d->blocks->round = d->blocks->rounds = 0;
    hw_dataset_drop_entries(d->l->rows);
    return status;
}

/* Adds up how many rows the nodes have sent, or entries of Matrix Market. */
static hawser_status count_moved(hw_loading *l, const struct hw_row_blocks *blocks, size_t first, hawser_error *error)
{
    const hawser_matrix *A = &l->rows->matrix;
    uint64_t own = 0;
    if (hw_loading_is_array(l))
        own = hw_array_leaving(l->rows, blocks);
    else if (!l->whole.scattered)
        own = hw_row_blocks_leaving(blocks, first, A->rows);
    else
        for (uint32_t b = 0; b < blocks->view.blocks; b++)
            own += hw_row_block_here(blocks, b) ? 0 : hw_row_blocks_entries(blocks, A, b, first);
    HAWSER_TRY(hw_loading_add(l, &own, 1, error));
    l->dataset->figures.rows_moved = own;
    return HAWSER_OK;
}

/* What the nodes do after they have agreed on the cut. */
static hawser_status distribute(hw_loading *l, struct hw_row_blocks *blocks, const char *name, uint64_t *stored,
                                hawser_error *error)
{
    size_t first = l->whole.scattered ? 0 : lines_of(l).first;
    uint64_t entries = 0;
    HAWSER_TRY(count_blocks(l, blocks, first, stored, error));
    HAWSER_TRY(count_moved(l, blocks, first, error));
    HAWSER_TRY(afford_rows(l, blocks, stored, first, error));
    if (!l->whole.scattered && hw_loading_fills(l))
        HAWSER_TRY(fill_means(l, name, error));
    hawser_status status = hw_check_weights(name, l->rows->weights, l->rows->matrix.rows, first, error);
    HAWSER_TRY(hw_loading_agree(l, status, error));
    HAWSER_TRY(deal_rows(&(row_deal){l, blocks, hw_row_router_of(&l->whole), stored, first, name}, error));
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

hawser_status hw_loading_make_blocks(hw_loading *l, hawser_status cut, const hawser_dataset *dataset, size_t rows,
                                     size_t *bounds, struct hw_row_blocks **blocks, hawser_error *error)
{
    hw_view view = {0};
    HAWSER_THEN(cut, follow_like(l, &dataset->figures, rows, bounds, error));
    HAWSER_THEN(cut, hw_view_first(l->job->settings.blocks, l->nodes, &view, error));
    if (cut != HAWSER_OK) {
        hw_view_free(&view);
        free(bounds);
        return cut;
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
    HAWSER_TRY(hw_loading_make_blocks(l, status, l->dataset, l->whole.rows, bounds, &blocks, error));
    status = HW_NEW(&stored, count, "the entries of blocks", error);
    HAWSER_THEN(status, distribute(l, blocks, name, stored, error));
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
    HAWSER_TRY(hw_loading_agree(l, hw_loading_sides(l, blocks, error), error));
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
    HAWSER_TRY(hw_loading_make_blocks(l, HAWSER_OK, l->rows, shape.rows, bounds, &blocks, error));
    hawser_status status = HW_NEW(&stored, count, "the entries of blocks", error);
    for (uint32_t b = 0; status == HAWSER_OK && b < count; b++)
        stored[b] = hw_row_blocks_entries(blocks, &shape, b, 0);
    HAWSER_THEN(status, hw_row_blocks_cut(blocks, l->rows, error));
    HAWSER_THEN(status, hw_row_blocks_take(blocks, l->rows, error));
    if (status == HAWSER_OK) {
        hw_row_blocks_shape(blocks, &shape, stored);
        status = hw_row_blocks_settle(blocks, l->rows, &shape, error);
    }
    free(stored);
    if (l->rows->residence == NULL)
        hw_row_blocks_free(blocks);
    HAWSER_TRY(hw_loading_agree(l, status, error));
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
    hw_loading l = hw_loading_of(job, load);
    l.paths = paths;
    l.path_count = count;
    l.rows = *dataset;
    hawser_status status = load->like != NULL ? hw_loading_cut_whole(&l, error) : HAWSER_OK;
    if (status == HAWSER_OK && load->like != NULL)
        return HAWSER_OK; /* held by block: a plan of one node would cut it by its own entries */
    HAWSER_THEN(status, hw_loading_keep_cut(*dataset, job->settings.blocks, error));
    HAWSER_THEN(status, hw_source_keep(&l, *dataset, false, error));
    if (status != HAWSER_OK) {
        hawser_dataset_free(*dataset);
        *dataset = NULL;
    }
    return status;
}
