/* load.c - reads an input on all nodes together: each reads a share of the rows and keeps the columns of its own blocks. An input that
 * cannot be read in parts is read by every node (a cache is mapped, and only the needed pages are read). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/argument.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/type.h"
#include "data/load.h"
#include "data/residence.h"
#include "data/share/array.h"
#include "data/share/shard.h"
#include "data/source/budget.h"
#include "data/source/claims.h"
#include "data/source/input.h"
#include "data/table/exact.h"
#include "data/table/schema.h"
#include "data/table/table.h"
#include "data/trim.h"
#include "runtime/job/loading.h"

hawser_status hw_loading_gather(const hw_loading *l, const void *data, size_t length, hw_bytes **in, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(in, l->nodes, "reports of the nodes", error));
    return hw_cluster_allgather(l->cluster, (hw_bytes){(void *)(uintptr_t)data, length}, *in, error);
}

hawser_status hw_loading_read(hw_loading *l, bool as_table, hawser_error *error)
{
    hawser_load part = *l->load;
    l->limit = hw_loading_limit(l);
    part.part = hw_loading_has_own_rows(l) ? HW_PART_OWN : l->self;
    part.parts = l->nodes;
    part.labels = l->labels ? HW_LABELS_AS_WORDS : part.labels;
    if (part.split == HAWSER_BY_ROW) {
        part.rows_layout = 1;
        part.like = NULL; /* the cut follows the reading */
    }
    return as_table ? hw_load_as_table(l->paths, l->path_count, &part, l->limit, l->quoted, &l->rows, error)
                    : hw_load_part(l->paths, l->path_count, &part, l->limit, &l->quoted, &l->rows, error);
}

/* Reads the part of this node. A quoted line end that one node meets may begin before the parts of others, which then read theirs again, whatever they
 * have found. Collective. */
static hawser_status read_parts(hw_loading *l, hawser_error *error)
{
    hawser_status status = hw_loading_read(l, false, error);
    const bool own = l->quoted;
    HAWSER_TRY(hw_cluster_agree_marked(l->cluster, status, own, &l->quoted, error));
    if (!l->quoted)
        return HAWSER_OK;
    if (!own) {
        hawser_dataset_free(l->rows);
        l->rows = NULL;
        status = hw_loading_read(l, false, error);
    }
    return hw_cluster_agree(l->cluster, status, error);
}

/* ---- tables: all nodes agree on the kinds and levels of the columns before words become columns ---- */

/* Stores whether some node has met words, or labels that must be words. A node that has met none reads its part again, now as a table. */
static hawser_status agree_on_words(hw_loading *l, bool *words, hawser_error *error)
{
    unsigned char own = (unsigned char)((l->rows->table != NULL) + 2 * (l->rows->labels_as_words));
    hw_bytes *in = NULL;
    hawser_status status = hw_loading_gather(l, &own, sizeof own, &in, error);
    unsigned char all = 0;
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++)
        all |= in[i].length == 1 ? *(const unsigned char *)in[i].data : 0;
    hw_bytes_free(in, l->nodes);
    HAWSER_TRY(status);
    *words = (all & 1) != 0;
    l->labels = l->labels || all > 1;
    if (own != all) {
        hawser_dataset_free(l->rows);
        l->rows = NULL;
        status = hw_loading_read(l, true, error);
    }
    return hw_cluster_agree(l->cluster, status, error);
}

/* Adds the labels that a node has met, each ended by zero. */
static hawser_status add_labels(hw_levels *words, const hw_bytes *in, hawser_error *error)
{
    uint32_t number;
    const char *at = in->data, *end = at + in->length;
    for (const char *stop; at < end; at = stop + 1) {
        stop = memchr(at, '\0', (size_t)(end - at));
        if (stop == NULL)
            return hawser_fail(error, HAWSER_INTERNAL, "a node sent labels that are cut off");
        HAWSER_TRY(hw_levels_put(words, at, (size_t)(stop - at), &number, error));
    }
    return HAWSER_OK;
}

/* Writes the labels that this node has met, each ended by zero. */
static hawser_status pack_labels(const hw_levels *labels, hw_bytes *out, hawser_error *error)
{
    size_t length = 0;
    char *text = NULL;
    for (size_t k = 0; labels != NULL && k < labels->count; k++)
        length += strlen(labels->texts[k]) + 1;
    HAWSER_TRY(HW_NEW(&text, length + 1, "labels", error));
    *out = (hw_bytes){text, 0};
    for (size_t k = 0; labels != NULL && k < labels->count; k++) {
        size_t size = strlen(labels->texts[k]) + 1;
        memcpy(text + out->length, labels->texts[k], size);
        out->length += size;
    }
    return HAWSER_OK;
}

/* Gives the labels of rows without a table the numbers that they have among those of all nodes. Collective. */
static hawser_status agree_on_labels(hw_loading *l, hawser_error *error)
{
    hw_bytes own = {0}, *in = NULL;
    hawser_status status = pack_labels(l->rows->labels, &own, error);
    if (status == HAWSER_OK)
        status = HW_NEW(&l->words, 1, "labels", error);
    status = hw_cluster_agree(l->cluster, status, error);
    if (status == HAWSER_OK)
        status = hw_loading_gather(l, own.data, own.length, &in, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++)
        status = add_labels(l->words, &in[i], error);
    if (status == HAWSER_OK)
        status = hw_levels_sort(l->words, hw_levels_by_value, error);
    if (status == HAWSER_OK && l->rows->labels != NULL && l->rows->target != NULL)
        hw_exact_renumber(l->rows->labels, l->words, (double *)(uintptr_t)l->rows->target, l->rows->matrix.rows);
    hw_bytes_free(in, l->nodes);
    free(own.data);
    return hw_cluster_agree(l->cluster, status, error);
}

/* Adds up the surveys of all nodes, in their order. */
static hawser_status gather_surveys(hw_loading *l, hw_survey **whole, hawser_error *error)
{
    const struct hw_table *table = l->rows->table;
    hw_bytes own = {0}, *in = NULL;
    hawser_status status = hw_survey_pack(table->survey, &own, error);
    status = hw_cluster_agree(l->cluster, status, error);
    if (status == HAWSER_OK)
        status = hw_loading_gather(l, own.data, own.length, &in, error);
    if (status == HAWSER_OK)
        status = hw_survey_new(table->rules.width, whole, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++) {
        hw_survey *part = NULL;
        status = hw_survey_unpack(&in[i], table->rules.width, &part, error);
        if (status == HAWSER_OK)
            status = hw_survey_add(*whole, part, error);
        hw_survey_free(part);
    }
    hw_bytes_free(in, l->nodes);
    free(own.data);
    return status;
}

hawser_status hw_loading_weights(const hw_loading *l, bool in_rows, hawser_dataset **side, const double **weights,
                                 hawser_error *error)
{
    hw_bytes *in = NULL;
    uint64_t own = l->rows->matrix.rows, first = 0, rows = 0;
    *weights = l->rows->weights;
    if (in_rows || l->load->weights == NULL)
        return HAWSER_OK;
    hawser_status status = hw_loading_gather(l, &own, sizeof own, &in, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++) {
        uint64_t other = 0;
        memcpy(&other, in[i].data, in[i].length < sizeof other ? in[i].length : sizeof other);
        first += i < l->self ? other : 0;
        rows += other;
    }
    hw_bytes_free(in, l->nodes);
    if (status == HAWSER_OK)
        status = hw_dataset_new(side, error);
    if (status == HAWSER_OK)
        status = hw_load_weights_of(*side, l->load, l->limit, rows, error);
    if (status == HAWSER_OK && (*side)->weights != NULL)
        *weights = (*side)->weights + first;
    return hw_cluster_agree(l->cluster, status, error);
}

hawser_status hw_loading_settle(hw_loading *l, hawser_schema *schema, hawser_error *error)
{
    struct hw_table *table = l->rows->table;
    hw_table_wishes wishes = {.type = l->load->type,
                              .by_row = true,
                              .dense_rows = true,
                              .keep_missing = true,
                              .threads = l->load->threads != 0 ? l->load->threads : hw_machine_processors()};
    l->rows->schema = schema;
    hawser_status status = hw_table_settle(table, schema, &wishes, l->rows, error);
    if (status == HAWSER_OK && schema != NULL)
        status = hw_dataset_name_columns(l->rows, schema, error);
    hw_table_free(table);
    l->rows->table = NULL;
    return status;
}

/* Weights of a file of their own say which words of the table are levels. Rows that were dropped make the file useless, and an error follows. */
static hawser_status weigh_table(hw_loading *l, hawser_error *error)
{
    struct hw_table *table = l->rows->table;
    hawser_dataset *side = NULL;
    const double *weights = NULL;
    bool in_rows = table->weights_field < table->rules.width || table->rules.missing_number == HW_DROP;
    hawser_status status = hw_loading_weights(l, in_rows, &side, &weights, error);
    if (status == HAWSER_OK)
        status = hw_table_weigh(table, weights, error);
    hawser_dataset_free(side);
    return hw_cluster_agree(l->cluster, status, error);
}

static hawser_status settle_table(hw_loading *l, hawser_error *error)
{
    hw_survey *whole = NULL;
    hawser_schema *schema = NULL;
    hawser_status status = weigh_table(l, error);
    if (status == HAWSER_OK)
        status = gather_surveys(l, &whole, error);
    if (status == HAWSER_OK)
        status = hw_table_judge(&l->rows->table->rules, l->rows->table->input, whole, &schema, error);
    hw_survey_free(whole);
    if (status == HAWSER_OK)
        status = hw_loading_settle(l, schema, error);
    return hw_cluster_agree(l->cluster, status, error);
}

hawser_status hw_loading_agree_facts(hw_loading *l, hw_shard_facts own, hawser_error *error)
{
    hw_shard_facts *all = NULL;
    hw_bytes *in = NULL;
    hawser_status status = hw_loading_gather(l, &own, sizeof own, &in, error);
    if (status == HAWSER_OK)
        status = HW_NEW(&all, l->nodes, "what the nodes have read", error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++) {
        if (in[i].length != sizeof own)
            status = hawser_fail(error, HAWSER_INTERNAL, "node %u reported what it has read in %zu bytes", i, in[i].length);
        else
            memcpy(&all[i], in[i].data, sizeof own);
    }
    if (status == HAWSER_OK)
        status = hw_shard_agree(all, l->nodes, &l->whole, error);
    if (status == HAWSER_OK)
        l->rows->array.first = hw_shard_before(all, l->self);
    l->all = all;
    hw_bytes_free(in, l->nodes);
    return status;
}

/* Checks the number of columns, of which one index far away makes billions. */
hawser_status hw_loading_check_columns(const hw_loading *l, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    if (l->whole.layout == HAWSER_DENSE || l->whole.layout == HAWSER_DENSE_ROWS)
        return HAWSER_OK;
    if (l->rows->widest != NULL)
        status = hw_check_claim(l->rows->widest, l->whole.cols, "columns", l->whole.bytes_text, l->load->memory_limit != 0,
                                error);
    /* the line of the largest index is known on the node that read it */
    return l->whole.cols > HW_CLAIMS_FREE ? hw_cluster_agree(l->cluster, status, error) : status;
}

/* Returns the bytes of a stored entry. */
static uint64_t entry_bytes(const hw_loading *l)
{
    return hw_type_size((hawser_type)l->whole.type) + (l->whole.layout == HAWSER_DENSE ? 0 : sizeof(uint32_t));
}

/* Checks the memory that a column takes on every node, before any of it is allocated. */
static hawser_status afford_columns(hw_loading *l, hawser_error *error)
{
    /* For the whole run: its offset and its owner. For a while: its count here, the counts of other nodes in this node's slice, and
     * their sums; later its rank and its places. */
    const uint64_t each = 4 * sizeof *l->offsets + 2 * sizeof *l->owners.block;
    const hawser_matrix *rows = &l->rows->matrix;
    hw_budget budget;
    if (l->whole.layout == HAWSER_DENSE)
        return HAWSER_OK;
    HAWSER_TRY(hw_loading_check_columns(l, error));
    hw_budget_init(&budget, l->limit);
    l->estimate = l->whole.cols * each + rows->rows * sizeof *l->offsets;
    if (l->turned)
        return HAWSER_OK; /* checked with the entries, of which some are sent at a time */
    return hw_cluster_agree(l->cluster, hw_budget_estimate(&budget, l->estimate + rows->stored * entry_bytes(l), error),
                            error);
}

/* Each node adds up the counts of a slice of the lines and sends the sums to all. */
hawser_status hw_loading_sum(const hw_loading *l, size_t cols, const uint64_t *counts, uint64_t *sums, hawser_error *error)
{
    hw_bytes *out = NULL, *in = NULL;
    hawser_status status = HW_NEW(&out, l->nodes, "counts", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&in, l->nodes, "counts", error);
    size_t begin = cols * l->self / l->nodes, length = cols * (l->self + 1) / l->nodes - begin;
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++) {
        size_t first = cols * i / l->nodes;
        out[i].data = (void *)(uintptr_t)(counts + first);
        out[i].length = (cols * (i + 1) / l->nodes - first) * sizeof *counts;
    }
    if (status == HAWSER_OK)
        status = hw_cluster_alltoall(l->cluster, out, in, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++)
        if (in[i].length != length * sizeof *counts)
            status = hw_share_misfit(i, error);
        else
            for (size_t j = 0; j < length; j++)
                sums[begin + j] += ((const uint64_t *)in[i].data)[j];
    hw_bytes_free(in, l->nodes);
    in = NULL;
    free(out);
    if (status == HAWSER_OK)
        status = hw_loading_gather(l, sums + begin, length * sizeof *sums, &in, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++) {
        size_t first = cols * i / l->nodes, bytes = (cols * (i + 1) / l->nodes - first) * sizeof *sums;
        if (in[i].length != bytes)
            status = hw_share_misfit(i, error);
        else if (bytes != 0)
            memcpy(sums + first, in[i].data, bytes);
    }
    hw_bytes_free(in, l->nodes);
    return status;
}

/* Counts the entries of all columns, and makes their offsets. `together`: each node has some of the rows. */
static hawser_status make_offsets(hw_loading *l, bool together, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    if (l->whole.layout == HAWSER_DENSE)
        return HAWSER_OK;
    status = HW_NEW(&l->offsets, l->whole.cols + 1, "offsets", error);
    if (!together) {
        HAWSER_TRY(status);
        hw_shard_count(l->rows, &l->whole, l->offsets);
    } else {
        if (status == HAWSER_OK)
            status = HW_NEW(&l->counts, l->whole.cols, "counts", error);
        HAWSER_TRY(hw_cluster_agree(l->cluster, status, error));
        hw_shard_count(l->rows, &l->whole, l->counts);
        status = hw_loading_sum(l, l->whole.cols, l->counts, l->offsets, error);
    }
    for (uint64_t j = 0, sum = 0; status == HAWSER_OK && j <= l->whole.cols; j++) {
        uint64_t count = l->offsets[j];
        l->offsets[j] = sum;
        sum += j < l->whole.cols ? count : 0;
        l->whole.stored = sum;
    }
    return status;
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

/* Returns the first round in which entries are sent. Little is in flight at a time; scattered entries are not in the order of rows, and are sent at once. */
static hw_shard_round first_round(const hw_loading *l)
{
    enum { MOST = 32 };
    const uint64_t share = l->whole.stored * entry_bytes(l) / l->nodes, least = (uint64_t)1 << 20, count = share / least;
    return (hw_shard_round){.count = l->whole.scattered || count < 1 ? 1 : count < MOST ? (uint32_t)count : MOST};
}

/* Returns whether the rows that this node has read stay until they are sent: they are the caller's, or pages of a cache. */
static bool rows_stay(const hw_loading *l)
{
    return l->paths == NULL || l->turned;
}

/* Checks the memory of own columns, of rows that have not been sent, which are released as own columns grow, and of what is in flight: as pieces, as
 * messages, and as what has arrived. Collective. */
static hawser_status afford_trade(hw_loading *l, hawser_error *error)
{
    enum { IN_FLIGHT = 3 };
    const hw_shard_round round = first_round(l);
    const uint64_t entry = entry_bytes(l), read = l->rows->matrix.stored * entry;
    uint64_t own = 0;
    for (size_t j = 0; j < l->whole.cols; j++)
        if (hw_owner(&l->owners, j) == l->self)
            own += (l->whole.layout == HAWSER_DENSE ? l->whole.rows : l->offsets[j + 1] - l->offsets[j]) * entry;
    const uint64_t in_flight = IN_FLIGHT * (own > read ? own : read) / round.count;
    if (l->turned)
        return hw_loading_afford_turn(l, l->estimate + own, in_flight, error);
    hw_budget budget;
    hw_budget_init(&budget, l->limit);
    l->estimate += in_flight + (rows_stay(l)                                          ? own
                                : l->whole.layout != HAWSER_DENSE || round.count == 1 ? own + read
                                : own > read                                          ? own
                                                                                      : read);
    return hw_cluster_agree(l->cluster, hw_budget_estimate(&budget, l->estimate, error), error);
}

/* Finds where the entries of own columns are stored. Collective. */
static hawser_status find_places(hw_loading *l, hw_shard_round round, hw_shard_places *places, hw_bytes *out, hw_bytes *in,
                                 hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    if (l->whole.layout == HAWSER_DENSE)
        return HAWSER_OK;
    if (round.count > 1) {
        status = hw_shard_pack_counts(l->counts, &l->whole, &l->owners, l->nodes, out, error);
        status = hw_cluster_agree(l->cluster, status, error);
        if (status == HAWSER_OK)
            status = hw_cluster_hand_over(l->cluster, out, in, error);
    }
    free(l->counts);
    l->counts = NULL;
    if (status == HAWSER_OK)
        status = hw_shard_places_new(&l->whole, l->offsets, &l->owners, l->self, round.count > 1 ? in : NULL, l->nodes,
                                     places, error);
    for (uint32_t i = 0; i < l->nodes; i++) {
        free(in[i].data);
        in[i] = (hw_bytes){0};
    }
    return hw_cluster_agree(l->cluster, status, error);
}

static hawser_status trade_round(hw_loading *l, hw_shard_round round, hw_shard_places *places, hw_bytes *out, hw_bytes *in,
                                 hawser_error *error)
{
    hawser_status status = hw_shard_pack(l->rows, &l->whole, &l->owners, round, l->nodes, out, error);
    if (!rows_stay(l))
        hw_shard_release(l->rows, round);
    if (round.number + 1 == round.count)
        hw_dataset_drop_entries(l->rows);
    status = hw_cluster_agree(l->cluster, status, error);
    if (status == HAWSER_OK)
        status = hw_cluster_hand_over(l->cluster, out, in, error);
    if (status == HAWSER_OK)
        status = hw_shard_fill(l->dataset, &l->whole, l->all, &l->owners, round, l->self, places, in, l->nodes, error);
    return hw_cluster_agree(l->cluster, status, error);
}

static hawser_status trade_entries(hw_loading *l, hawser_error *error)
{
    hw_bytes *out = NULL, *in = NULL;
    hw_shard_places places = {0};
    hw_shard_round round = first_round(l);
    hawser_status status = HW_NEW(&out, l->nodes, "parts of the input", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&in, l->nodes, "parts of the input", error);
    status = hw_cluster_agree(l->cluster, status, error);
    if (status == HAWSER_OK)
        status = find_places(l, round, &places, out, in, error);
    if (status == HAWSER_OK) {
        status = hw_shard_new(&l->whole, l->offsets, &l->dataset, error);
        l->offsets = NULL; /* the dataset owns them, or they are freed */
        status = hw_cluster_agree(l->cluster, status, error);
    }
    for (; round.number < round.count && status == HAWSER_OK; round.number++)
        status = trade_round(l, round, &places, out, in, error);
    if (status == HAWSER_OK && places.nodes != 0) {
        bool filled = hw_shard_is_filled(&places, l->dataset->matrix.offsets);
        status = hw_cluster_agree(l->cluster, filled ? HAWSER_OK : hw_share_misfit(l->self, error), error);
    }
    hw_shard_places_free(&places);
    hw_bytes_free(out, l->nodes);
    hw_bytes_free(in, l->nodes);
    return status;
}

static hawser_status gather_vector(hw_loading *l, const double *own, const double **out, hawser_error *error)
{
    hw_bytes *in = NULL;
    if (own == NULL && l->rows->matrix.rows != 0)
        return HAWSER_OK;
    hawser_status status = hw_loading_gather(l, own, l->rows->matrix.rows * sizeof *own, &in, error);
    if (status == HAWSER_OK)
        status = hw_shard_vector(l->dataset, in, l->nodes, out, error);
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

hawser_status hw_loading_count(hw_loading *l, hawser_error *error)
{
    hw_bytes *in = NULL;
    uint64_t own = l->rows->scattered ? l->rows->found : l->rows->matrix.rows, *read = NULL;
    hawser_status status = hw_loading_gather(l, &own, sizeof own, &in, error);
    if (status == HAWSER_OK)
        status = HW_NEW(&read, l->nodes, "figures", error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++)
        memcpy(&read[i], in[i].data, in[i].length < sizeof own ? in[i].length : sizeof own);
    hw_bytes_free(in, l->nodes);
    if (status != HAWSER_OK)
        return status;
    hw_dataset_own(l->dataset, read);
    l->dataset->figures.readers = l->nodes;
    l->dataset->figures.rows_read = read;
    l->dataset->figures.bytes_here = l->rows->figures.bytes_read;
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

/* Computes means over all rows, as one process does: a column's owner computes and fills it, and sends the mean to the others. */
static hawser_status fill_means(hw_loading *l, const char *name, hawser_error *error)
{
    double *means = NULL;
    hw_bytes *in = NULL;
    HAWSER_TRY(HW_NEW(&means, l->whole.cols, "the columns' means", error));
    hw_dataset_own(l->dataset, means);
    hawser_status status = hw_load_weights_of(l->dataset, l->load, l->limit, l->whole.rows, error);
    if (status == HAWSER_OK)
        status = hw_shard_means(l->dataset, &l->owners, l->self, name, means, error);
    status = hw_cluster_agree(l->cluster, status, error);
    if (status == HAWSER_OK)
        status = hw_loading_gather(l, means, l->whole.cols * sizeof *means, &in, error);
    for (size_t j = 0; status == HAWSER_OK && j < l->whole.cols; j++) {
        const hw_bytes *from = &in[hw_owner(&l->owners, j)];
        if (from->length == l->whole.cols * sizeof *means)
            means[j] = ((const double *)from->data)[j];
    }
    hw_bytes_free(in, l->nodes);
    l->dataset->means = means;
    return status;
}

bool hw_loading_fills(const hw_loading *l)
{
    const hawser_load *load = l->load;
    return load->missing != NULL && strncmp(load->missing, "mean", 4) == 0 && load->means == NULL &&
           hw_shard_lacks_values(&l->whole);
}

/* Leaves out columns that only rows of weight 0 have, before the nodes agree on the number of columns. */
static hawser_status trim_columns(hw_loading *l, hawser_error *error)
{
    hawser_dataset *side = NULL;
    const double *weights = NULL;
    hawser_status status = hw_loading_weights(l, false, &side, &weights, error);
    if (status == HAWSER_OK)
        hw_trim_columns(l->rows, weights);
    hawser_dataset_free(side);
    return status;
}

/* Agrees on the columns and sizes of the whole. */
static hawser_status agree(hw_loading *l, const char *name, hawser_error *error)
{
    HAWSER_TRY(agree_on_words(l, &l->as_table, error));
    if (l->as_table)
        HAWSER_TRY(settle_table(l, error));
    else if (l->labels)
        HAWSER_TRY(agree_on_labels(l, error));
    if (hw_trims_columns(l->load, l->rows->figures.format))
        HAWSER_TRY(trim_columns(l, error));
    hw_shard_facts own = hw_shard_facts_of(l->rows);
    if (l->load->split != HAWSER_BY_ROW && own.layout == HAWSER_DENSE_ROWS)
        own.layout = HAWSER_DENSE; /* what the rows become */
    HAWSER_TRY(hw_loading_agree_facts(l, own, error));
    return hw_shard_complete(&l->whole, name, error);
}

void hw_loading_note_memory(hw_loading *l)
{
    const hawser_load_figures *read = &l->rows->figures;
    hawser_load_figures *figures = &l->dataset->figures;
    figures->memory_estimate = read->memory_estimate > l->estimate ? read->memory_estimate : l->estimate;
    figures->memory_taken = read->memory_taken > l->estimate ? read->memory_taken : l->estimate;
}

hawser_status hw_loading_by_column(hw_loading *l, const char *name, hawser_error *error)
{
    HAWSER_TRY(afford_columns(l, error));
    HAWSER_TRY(make_offsets(l, true, error));
    HAWSER_TRY(find_owners(l, error));
    HAWSER_TRY(afford_trade(l, error));
    HAWSER_TRY(trade_entries(l, error));
    if (l->whole.scattered && l->whole.layout != HAWSER_DENSE)
        HAWSER_TRY(hw_cluster_agree(l->cluster, hw_shard_sort(l->dataset, &l->owners, l->self, name, error), error));
    HAWSER_TRY(hw_cluster_agree(l->cluster, hw_loading_take_names(l, error), error));
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
    HAWSER_TRY(make_offsets(l, false, error));
    HAWSER_TRY(find_owners(l, error));
    hawser_status status = hw_shard_new(&l->whole, l->offsets, &l->dataset, error);
    l->offsets = NULL; /* the dataset owns them, or they are freed */
    if (status == HAWSER_OK)
        status = hw_shard_take(l->dataset, l->rows, &l->owners, l->self, error);
    return status == HAWSER_OK ? settle(l, error) : status;
}

static hawser_status load_shares(hw_loading *l, const char *name, hawser_error *error)
{
    if (l->turned && l->load->split == HAWSER_BY_ROW)
        return hw_loading_turn_columns(l, error);
    HAWSER_TRY(agree(l, name, error));
    return l->load->split == HAWSER_BY_ROW ? hw_loading_by_row(l, name, error) : hw_loading_by_column(l, name, error);
}

void hw_loading_free(hw_loading *l)
{
    free(l->all);
    hawser_dataset_free(l->rows);
    free(l->offsets);
    if (l->words != NULL)
        hw_levels_free(l->words);
    free(l->words);
    free(l->counts);
    hw_owners_free(&l->owners);
}

static hawser_status check_paths(const hawser_job *job, const char *const *paths, size_t count, hawser_error *error)
{
    for (size_t i = 0; i < count && hawser_job_nodes(job) > 1; i++)
        if (strcmp(paths[i], "-") == 0)
            return hawser_fail(
                error, HAWSER_BAD_OPTION,
                "- is the standard input of one process, and each of %u nodes reads its share of the input: name "
                "a file",
                hawser_job_nodes(job));
    return HAWSER_OK;
}

enum { INPUT_PATH = 200, INPUT_TEXT = INPUT_PATH + 100 };

/* What a node reports about the input that it reads. */
typedef struct input_report {
    uint64_t bytes; /* of all files; 0: unknown, as of a pipe */
    uint64_t files;
    uint64_t own;           /* the input has rows of this node's own */
    char first[INPUT_PATH]; /* the path of the first file, or its end */
} input_report;

static input_report report_of(const char *const *paths, size_t count, bool own_rows)
{
    input_report own = {.files = count, .own = own_rows};
    size_t length = strlen(paths[0]), most = sizeof own.first - 1;
    memcpy(own.first, paths[0] + (length > most ? length - most : 0), length > most ? most : length);
    for (size_t i = 0; i < count; i++) {
        struct stat file;
        if (stat(paths[i], &file) != 0 || !S_ISREG(file.st_mode)) {
            own.bytes = 0;
            break;
        }
        own.bytes += (uint64_t)file.st_size;
    }
    return own;
}

static const char *describe(const input_report *report, char text[INPUT_TEXT])
{
    if (report->files == 1)
        snprintf(text, INPUT_TEXT, "'%s' (%" PRIu64 " bytes)", report->first, report->bytes);
    else
        snprintf(text, INPUT_TEXT, "%" PRIu64 " files, '%s' first (%" PRIu64 " bytes in all)", report->files, report->first,
                 report->bytes);
    return text;
}

/* Fails if the files of two nodes have different sizes: each node would read its part of another whole. A copy may have another path. Collective. */
static hawser_status compare_inputs(const hw_loading *l, hawser_error *error)
{
    input_report own = report_of(l->paths, l->path_count, hw_loading_has_own_rows(l)), known = {0}, other;
    hw_bytes *in = NULL;
    char texts[2][INPUT_TEXT];
    uint32_t first = 0;
    hawser_status status = hw_loading_gather(l, &own, sizeof own, &in, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++) {
        other = (input_report){0};
        if (in[i].length == sizeof other)
            memcpy(&other, in[i].data, sizeof other);
        if (other.own != own.own)
            status = hawser_fail(error, HAWSER_BAD_ARGUMENT,
                                 "node %u and node %u do not both read rows of their own; pass the same hawser_load.parts",
                                 l->self, i);
        else if (own.own)
            continue;
        if (known.bytes != 0 && other.bytes != 0 && (other.bytes != known.bytes || other.files != known.files))
            status =
                hawser_fail(error, HAWSER_BAD_INPUT, "node %u reads %s, and node %u reads %s; give all nodes the same input",
                            first, describe(&known, texts[0]), i, describe(&other, texts[1]));
        if (known.bytes == 0) {
            known = other;
            first = i;
        }
    }
    hw_bytes_free(in, l->nodes);
    return hw_cluster_agree(l->cluster, status, error);
}

/* A share of the lines of a cache has what the file says of all rows. Collective. */
static hawser_status unite_equals(const hw_loading *l, hawser_error *error)
{
    const hawser_dataset *rows = l->rows;
    if (l->turned)
        return hw_cluster_agree(l->cluster, hw_equals_copy(&l->dataset->equals, &rows->equals, error), error);
    int shift =
        rows->figures.index_base >= 0 && l->whole.index_base >= 0 ? rows->figures.index_base - l->whole.index_base : 0;
    return hw_loading_unite_equals(l, &rows->equals, rows->matrix.rows > 0, shift, &l->dataset->equals, error);
}

static hawser_status load_on_all(hawser_job *job, const char *const *paths, size_t count, const hawser_load *load,
                                 hawser_dataset **dataset, hawser_error *error)
{
    HAWSER_TRY(check_paths(job, paths, count, error));
    if (load->split == HAWSER_BY_ROW && job->cluster == NULL)
        return hw_load_rows_alone(job, paths, count, load, dataset, error);
    if (job->cluster == NULL || (load->rows_layout != 0 && load->split != HAWSER_BY_ROW))
        return hw_load_within(paths, count, load, load->memory_limit != 0 ? load->memory_limit : job->settings.memory,
                              dataset, error);
    hw_loading l = {.cluster = job->cluster,
                    .job = job,
                    .load = load,
                    .paths = paths,
                    .path_count = count,
                    .nodes = hw_cluster_nodes(job->cluster),
                    .self = hw_cluster_self(job->cluster)};
    hw_cluster_set_phase(l.cluster, "reading the input");
    hawser_status status = compare_inputs(&l, error);
    if (status == HAWSER_OK && hw_loading_has_own_rows(&l) && load->format != HAWSER_CSV)
        status = hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_job_load: parts is 1, which is for the format HAWSER_CSV");
    if (status == HAWSER_OK)
        status = hw_loading_read_cache(&l, error);
    if (status == HAWSER_OK && !l.turned)
        status = read_parts(&l, error);
    bool whole = status == HAWSER_OK && !l.rows->figures.parted; /* all nodes agree, because it is one input */
    if (status == HAWSER_OK && !whole)
        status = hw_cluster_agree(l.cluster, load_shares(&l, paths[0], error), error);
    if (status == HAWSER_OK && l.words != NULL)
        status = hw_cluster_agree(l.cluster, hw_exact_schema(l.dataset, l.words, error), error);
    if (status == HAWSER_OK && !whole)
        status = unite_equals(&l, error);
    if (whole && load->split == HAWSER_BY_ROW)
        status = hw_cluster_agree(l.cluster, hw_loading_cut_whole(&l, error), error);
    if (status == HAWSER_OK) {
        *dataset = whole ? l.rows : l.dataset;
        l.rows = whole ? NULL : l.rows;
    } else {
        hawser_dataset_free(l.dataset);
    }
    hw_cluster_set_phase(l.cluster, "between two runs");
    hw_loading_free(&l);
    return status;
}

void hawser_job_loaded(hawser_job *job, const hawser_dataset *dataset)
{
    if (job != NULL && dataset != NULL && dataset->figures.memory_taken > job->settings.loaded)
        job->settings.loaded = dataset->figures.memory_taken;
}

hawser_status hawser_job_load(hawser_job *job, const char *const *paths, size_t count, const hawser_load *load,
                              hawser_dataset **dataset, hawser_error *error)
{
    HW_GIVEN_JOB(job);
    HW_GIVEN(paths);
    HW_GIVEN(load);
    HW_GIVEN(dataset);
    *dataset = NULL;
    hawser_load own = *load;
    if (own.cancellation == NULL)
        own.cancellation = job->cancellation;
    hw_job_cancellable(job, own.cancellation);
    hawser_status status = hw_job_uncancellable(job, load_on_all(job, paths, count, &own, dataset, error));
    hawser_job_loaded(job, *dataset);
    return status;
}
