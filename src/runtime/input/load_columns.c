/* load_columns.c - what a load by column does once the nodes agree on the sizes of the whole: cuts the columns into blocks,
 * and sends each entry to the node of its column's block. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/type.h"
#include "data/load.h"
#include "data/residence.h"
#include "data/share/array.h"
#include "runtime/input/loading.h"

/* Returns the bytes of a stored entry. */
static uint64_t entry_bytes(hw_loading *l)
{
    return hw_type_size((hawser_type)l->whole.type) + (l->whole.layout == HAWSER_DENSE ? 0 : sizeof(uint32_t));
}

/* Checks the memory that a column takes on every node, before any of it is allocated. One that is left out has an offset, an
 * owner and a state in the end. */
static hawser_status afford_columns(hw_loading *l, hawser_error *error)
{
    /* For the whole run: its offset and its owner. For a while: its count here, the counts of other nodes in this node's
     * slice, and their sums; later its rank and its places. */
    const uint64_t each = 4 * sizeof *l->offsets + 2 * sizeof *l->owners.block,
                   left_out = sizeof *l->offsets + sizeof *l->owners.block + 1;
    const hawser_matrix *rows = &l->rows->matrix;
    if (l->whole.layout == HAWSER_DENSE)
        return HAWSER_OK;
    l->estimate = l->whole.cols * each + (l->width - l->whole.cols) * left_out + hw_column_set_bytes(&l->occurring) +
                  rows->rows * sizeof *l->offsets;
    if (l->turned)
        return HAWSER_OK; /* checked with the entries, of which some are sent at a time */
    return hw_loading_afford(l, l->estimate + rows->stored * entry_bytes(l), error);
}

/* Counts the entries of all columns, of which each node has those in its rows, and makes their offsets. */
static hawser_status make_offsets(hw_loading *l, hawser_error *error)
{
    if (l->whole.layout == HAWSER_DENSE)
        return HAWSER_OK;
    HAWSER_TRY(hw_loading_agree(l, HW_NEW(&l->counts, l->whole.cols, "counts", error), error));
    hw_shard_count(l->rows, &l->whole, l->counts);
    HAWSER_TRY(hw_loading_offsets(l, l->whole.cols, l->counts, &l->offsets, error));
    l->whole.stored = l->offsets[l->whole.cols];
    return HAWSER_OK;
}

/* Assigns the columns to blocks as the plan will. */
static hawser_status find_owners(hw_loading *l, hawser_error *error)
{
    uint32_t blocks = l->job->settings.blocks;
    hawser_matrix shape = {.rows = l->whole.rows,
                           .cols = l->whole.cols,
                           .stored = l->whole.stored,
                           .layout = l->whole.layout == HAWSER_DENSE ? HAWSER_DENSE : HAWSER_CSC,
                           .type = (hawser_type)l->whole.type,
                           .offsets = l->offsets,
                           .stride = l->whole.rows};
    size_t *bounds = NULL;
    HAWSER_TRY(hw_view_first(blocks, l->nodes, &l->owners.view, error));
    HAWSER_TRY(HW_NEW(&l->owners.block, l->whole.cols, "owners of columns", error));
    HAWSER_TRY(HW_NEW(&bounds, blocks + 1, "owners of columns", error));
    hawser_balance(&shape, blocks, bounds);
    for (uint32_t b = 0; b < blocks; b++)
        for (size_t j = bounds[b]; j < bounds[b + 1]; j++)
            l->owners.block[j] = b;
    free(bounds);
    return HAWSER_OK;
}

/* Returns in how many rounds entries are sent. Little is in flight at a time; scattered entries are not in the order of
 * rows, and are sent at once. */
static uint32_t count_rounds(hw_loading *l)
{
    enum { MOST = 32 };
    const uint64_t share = l->whole.stored * entry_bytes(l) / l->nodes, least = (uint64_t)1 << 20, count = share / least;
    return l->whole.scattered || count < 1 ? 1 : count < MOST ? (uint32_t)count : MOST;
}

/* Checks the memory of own columns, of rows that have not been sent, which are released as own columns grow, and of what is
 * in flight: as pieces, as messages, and as what has arrived. Collective. */
static hawser_status afford_trade(hw_loading *l, hawser_error *error)
{
    enum { IN_FLIGHT = 3 };
    const uint32_t rounds = count_rounds(l);
    const uint64_t entry = entry_bytes(l), read = l->rows->matrix.stored * entry;
    uint64_t own = 0;
    for (size_t j = 0; j < l->whole.cols; j++)
        if (hw_owner(&l->owners, j) == l->self)
            own += (l->whole.layout == HAWSER_DENSE ? l->whole.rows : l->offsets[j + 1] - l->offsets[j]) * entry;
    const uint64_t in_flight = IN_FLIGHT * (own > read ? own : read) / rounds;
    if (l->turned)
        return hw_loading_afford_turn(l, l->estimate + own, in_flight, error);
    l->estimate += in_flight + (hw_loading_rows_stay(l)                          ? own
                                : l->whole.layout != HAWSER_DENSE || rounds == 1 ? own + read
                                : own > read                                     ? own
                                                                                 : read);
    return hw_loading_afford(l, l->estimate, error);
}

/* Entries of columns that are dealt out. */
typedef struct column_deal {
    hw_loading *l;
    uint32_t rounds;
    hw_shard_places places;
} column_deal;

static hawser_status pack_counts(void *user, uint32_t round, hw_bytes *out, hawser_error *error)
{
    hw_loading *l = ((column_deal *)user)->l;
    (void)round;
    return hw_shard_pack_counts(l->counts, &l->whole, &l->owners, l->nodes, out, error);
}

static hawser_status place_counts(void *user, uint32_t round, hw_bytes *in, hawser_error *error)
{
    column_deal *d = user;
    hw_loading *l = d->l;
    (void)round;
    return hw_shard_places_new(&l->whole, l->offsets, &l->owners, l->self, in, l->nodes, &d->places, error);
}

/* Finds where the entries of own columns are stored. Collective. */
static hawser_status find_places(column_deal *d, hawser_error *error)
{
    hw_loading *l = d->l;
    hawser_status status = HAWSER_OK;
    if (l->whole.layout == HAWSER_DENSE)
        return HAWSER_OK;
    if (d->rounds > 1)
        status = hw_loading_deal(l, &(hw_deal){1, d, pack_counts, place_counts}, error);
    else
        status = hw_loading_agree(l, place_counts(d, 0, NULL, error), error);
    free(l->counts);
    l->counts = NULL;
    return status;
}

static hawser_status pack_entries(void *user, uint32_t number, hw_bytes *out, hawser_error *error)
{
    const column_deal *d = user;
    hw_loading *l = d->l;
    const hw_shard_round round = {number, d->rounds};
    const hawser_status status = hw_shard_pack(l->rows, &l->whole, &l->owners, round, l->nodes, out, error);
    if (!hw_loading_rows_stay(l))
        hw_shard_release(l->rows, round);
    if (number + 1 == d->rounds)
        hw_dataset_drop_entries(l->rows);
    return status;
}

static hawser_status place_entries(void *user, uint32_t number, hw_bytes *in, hawser_error *error)
{
    column_deal *d = user;
    hw_loading *l = d->l;
    return hw_shard_fill(l->dataset, &l->whole, l->all, &l->owners, (hw_shard_round){number, d->rounds}, l->self, &d->places,
                         in, l->nodes, error);
}

static hawser_status deal_entries(column_deal *d, hawser_error *error)
{
    hw_loading *l = d->l;
    HAWSER_TRY(find_places(d, error));
    const hawser_status made = hw_shard_new(&l->whole, l->offsets, &l->dataset, error);
    l->offsets = NULL; /* the dataset owns them, or they are freed */
    HAWSER_TRY(hw_loading_agree(l, made, error));
    HAWSER_TRY(hw_loading_deal(l, &(hw_deal){d->rounds, d, pack_entries, place_entries}, error));
    const bool filled = d->places.nodes == 0 || hw_shard_is_filled(&d->places, l->dataset->matrix.offsets);
    return hw_loading_agree(l, filled ? HAWSER_OK : hw_share_misfit(l->self, error), error);
}

static hawser_status gather_vector(hw_loading *l, const double *own, const double **out, hawser_error *error)
{
    hw_bytes *in;
    if (own == NULL && l->rows->matrix.rows != 0)
        return HAWSER_OK;
    hawser_status status = hw_loading_gather(l, HAWSER_OK, own, l->rows->matrix.rows * sizeof *own, &in, error);
    HAWSER_THEN(status, hw_shard_vector(l->dataset, in, l->nodes, out, error));
    hw_bytes_free(in, l->nodes);
    return status;
}

/* All nodes know which vectors exist, so all take part. */
static hawser_status gather_vectors(hw_loading *l, hawser_error *error)
{
    if (l->whole.has_target)
        HAWSER_TRY(gather_vector(l, l->rows->target, &l->dataset->target, error));
    if (l->whole.has_weights)
        HAWSER_TRY(gather_vector(l, l->rows->weights, &l->dataset->weights, error));
    if (l->whole.has_offset)
        HAWSER_TRY(gather_vector(l, l->rows->offset, &l->dataset->offset, error));
    if (l->whole.has_groups)
        HAWSER_TRY(gather_vector(l, l->rows->groups, &l->dataset->groups, error));
    for (uint32_t k = 0; k < l->whole.further; k++)
        HAWSER_TRY(gather_vector(l, l->rows->further[k], &l->dataset->further[k], error));
    l->dataset->further_count = l->whole.further;
    return HAWSER_OK;
}

/* From here on the matrix has which of its columns are on this node. */
static hawser_status settle(hw_loading *l, hawser_error *error)
{
    hawser_dataset *dataset = l->dataset;
    HAWSER_TRY(hw_residence_new(&dataset->matrix, &l->owners, l->self, &dataset->residence, error));
    dataset->matrix.residence = dataset->residence;
    return HAWSER_OK;
}

/* Computes means over all rows, as one process does: a column's owner computes and fills it, and sends the mean to the
 * others. */
static hawser_status fill_means(hw_loading *l, const char *name, hawser_error *error)
{
    double *means = NULL;
    HAWSER_TRY(HW_NEW(&means, l->whole.cols, "the columns' means", error));
    hw_dataset_own(l->dataset, means);
    hawser_status status = hw_load_weights_of(l->dataset, l->load, l->limit, l->whole.rows, error);
    HAWSER_THEN(status, hw_shard_means(l->dataset, &l->owners, l->self, name, means, error));
    status = hw_loading_by_owner(l, status, &l->owners, means, l->whole.cols, error);
    l->dataset->means = means;
    return status;
}

hawser_status hw_loading_by_column(hw_loading *l, const char *name, hawser_error *error)
{
    HAWSER_TRY(hw_loading_check_columns(l, error));
    HAWSER_TRY(hw_loading_leave_out(l, error));
    HAWSER_TRY(afford_columns(l, error));
    HAWSER_TRY(make_offsets(l, error));
    HAWSER_TRY(hw_loading_agree(l, find_owners(l, error), error));
    HAWSER_TRY(afford_trade(l, error));
    column_deal d = {.l = l, .rounds = count_rounds(l)};
    const hawser_status dealt = deal_entries(&d, error);
    hw_shard_places_free(&d.places);
    HAWSER_TRY(dealt);
    HAWSER_TRY(hw_loading_put_back(l, error));
    if (l->whole.scattered && l->whole.layout != HAWSER_DENSE)
        HAWSER_TRY(hw_loading_agree(l, hw_shard_sort(l->dataset, &l->owners, l->self, name, error), error));
    HAWSER_TRY(hw_loading_agree(l, hw_loading_take_names(l, error), error));
    HAWSER_TRY(gather_vectors(l, error));
    if (hw_loading_fills(l))
        HAWSER_TRY(fill_means(l, name, error));
    HAWSER_TRY(hw_loading_count(l, error));
    HAWSER_TRY(settle(l, error));
    l->dataset->figures.parted = true;
    l->dataset->figures.seconds = l->rows->figures.seconds;
    hw_loading_note_memory(l);
    return hw_load_sides(l->dataset, l->load, l->limit, error);
}

hawser_status hw_loading_own_columns(hw_loading *l, hw_shard_facts whole, hawser_error *error)
{
    l->whole = whole;
    if (whole.layout != HAWSER_DENSE) {
        HAWSER_TRY(HW_NEW(&l->offsets, whole.cols + 1, "offsets", error));
        hw_shard_count(l->rows, &whole, l->offsets);
        l->whole.stored = hw_loading_begin_lines(l->offsets, whole.cols);
    }
    HAWSER_TRY(find_owners(l, error));
    hawser_status status = hw_shard_new(&l->whole, l->offsets, &l->dataset, error);
    l->offsets = NULL; /* the dataset owns them, or they are freed */
    HAWSER_THEN(status, hw_shard_take(l->dataset, l->rows, &l->owners, l->self, error));
    return status == HAWSER_OK ? settle(l, error) : status;
}
