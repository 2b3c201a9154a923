/* data.c - rows that the nodes of a job have in memory, dealt out to its blocks as a load deals out the rows of a file
 * (hawser_job_data), and data that every node has whole (hawser_job_same). */
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/layout.h"
#include "base/memory.h"
#include "data/share/block_digest.h"
#include "hawser/job_data.h"
#include "runtime/input/node_rows.h"

/* The rows of this node, and what the nodes have agreed on. */
typedef struct dealing {
    const char *call;
    hw_loading l;
    hawser_load load;          /* only `split` is set */
    const hawser_dataset *own; /* NULL: this node has no rows */
    hw_node_rows *all;         /* by node */
    uint32_t some;             /* the first node that has rows */
    bool lacking;              /* some node has none */
} dealing;

static void begin(dealing *d, hawser_job *job)
{
    d->l = hw_loading_of(job, &d->load);
    d->l.limit = job->settings.memory;
    hw_job_cancellable(job, NULL);
    if (job->cluster != NULL)
        hw_cluster_set_phase(job->cluster, "dealing out the data");
}

/* Frees what the nodes have agreed on. After a failure there is no dataset. */
static hawser_status end(dealing *d, hawser_status status, hawser_dataset **dataset, hawser_error *error)
{
    status = hw_loading_agree(&d->l, status, error);
    if (status == HAWSER_OK && d->l.cluster != NULL)
        status = hw_loading_unite_equals(&d->l, d->own != NULL ? &d->own->equals : NULL, d->own != NULL, 0,
                                         &d->l.dataset->equals, error);
    status = hw_job_uncancellable(d->l.job, status);
    if (status == HAWSER_OK)
        *dataset = d->l.dataset;
    else
        hawser_dataset_free(d->l.dataset);
    free(d->all);
    hw_loading_free(&d->l);
    if (d->l.cluster != NULL)
        hw_cluster_set_phase(d->l.cluster, "between two runs");
    return status;
}

/* ------------------------------------------------------------------------------------------------ agreement ---- */

static hawser_status check(const dealing *d, hawser_error *error)
{
    if (d->load.split != HAWSER_BY_ROW && d->load.split != HAWSER_BY_COLUMN)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s: split is %d; pass HAWSER_BY_ROW or HAWSER_BY_COLUMN", d->call,
                           (int)d->load.split);
    if (d->own == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hawser_matrix_whole(&d->own->matrix, error));
    return hawser_dataset_intact(d->own, error);
}

static bool is_dense(const hw_node_rows *rows)
{
    return rows->layout == HAWSER_DENSE || rows->layout == HAWSER_DENSE_ROWS;
}

static hawser_layout layout_of(bool dense, bool by_row)
{
    return dense ? (by_row ? HAWSER_DENSE_ROWS : HAWSER_DENSE) : (by_row ? HAWSER_CSR : HAWSER_CSC);
}

/* Finds the same mistake on all nodes, because all compare the same reports. */
static hawser_status compare(dealing *d, hawser_error *error)
{
    d->some = d->l.nodes;
    for (uint32_t i = 0; i < d->l.nodes; i++) {
        const hw_node_rows *a = &d->all[i];
        if (a->split != d->all[0].split)
            return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                               "%s: node 0 passes HAWSER_BY_%s, and node %u HAWSER_BY_%s; pass the same on every node",
                               d->call, d->all[0].split == HAWSER_BY_ROW ? "ROW" : "COLUMN", i,
                               a->split == HAWSER_BY_ROW ? "ROW" : "COLUMN");
        d->lacking |= a->rows == 0;
        if (a->rows == 0)
            continue;
        d->some = d->some < i ? d->some : i;
        HAWSER_TRY(hw_node_rows_compare(d->call, &d->all[d->some], d->some, a, i, error));
    }
    return d->some < d->l.nodes ? HAWSER_OK : hawser_fail(error, HAWSER_BAD_ARGUMENT, "%s: no node has rows", d->call);
}

/* `digest` is that of all numbers, or 0. */
static hawser_status agree(dealing *d, uint64_t digest, hawser_error *error)
{
    HAWSER_TRY(hw_loading_agree(&d->l, check(d, error), error));
    hw_node_rows own = hw_node_rows_of(d->own);
    own.split = d->load.split;
    own.digest = digest;
    if (d->own != NULL) /* rows in the other layout are turned */
        own.layout = layout_of(hw_is_dense(&d->own->matrix), d->load.split == HAWSER_BY_ROW);
    HAWSER_TRY(HW_COLLECT(&d->l, &own, &d->all, error));
    return compare(d, error);
}

/* Makes the rows that a load would have read, in a layout: a view of the caller's, or a turned copy. A node without rows has
 * none. */
static hawser_status take_own(dealing *d, hawser_layout wanted, hawser_error *error)
{
    const hw_node_rows *some = &d->all[d->some];
    if (d->own == NULL) {
        HAWSER_TRY(hw_dataset_new(&d->l.rows, error));
        d->l.rows->matrix = (hawser_matrix){.cols = some->cols, .layout = wanted, .type = (hawser_type)some->type};
        return HAWSER_OK;
    }
    return d->own->matrix.layout == wanted ? hw_dataset_lend(d->own, &d->l.rows, error)
                                           : hawser_dataset_turn(d->own, &d->l.rows, error);
}

/* Sends names and means to the nodes without rows, if there are such nodes; others have those of their own rows.
 * Collective. */
static hawser_status share_names(dealing *d, hawser_error *error)
{
    hw_loading *l = &d->l;
    hw_bytes own = {0}, *in;
    hawser_status status = HAWSER_OK;
    if (d->own != NULL)
        l->dataset->means = d->own->means;
    if (!d->lacking)
        return HAWSER_OK;
    if (l->self == d->some)
        status = hw_node_rows_pack_names(d->own, &own, error);
    status = hw_loading_gather(l, status, own.data, own.length, &in, error);
    free(own.data);
    if (status == HAWSER_OK && d->own == NULL)
        status = hw_node_rows_take_names(&in[d->some], d->some, d->all[d->some].means != 0, l->dataset, error);
    hw_bytes_free(in, l->nodes);
    return status;
}

/* ----------------------------------------------------------------------------------------------- hawser_job_data ---- */

/* Makes the dataset of a job of one node, which has all rows. */
static hawser_status keep_all(dealing *d, hawser_error *error)
{
    d->l.dataset = d->l.rows;
    d->l.rows = NULL;
    return d->load.split == HAWSER_BY_ROW ? hw_loading_keep_cut(d->l.dataset, d->l.job->settings.blocks, error) : HAWSER_OK;
}

/* Returns the layout that this node's rows must have before they are dealt out. For columns, dense rows are packed from
 * either layout, and sparse ones row by row. */
static hawser_layout layout_before(const dealing *d)
{
    const bool by_row = d->load.split == HAWSER_BY_ROW, dense = is_dense(&d->all[d->some]);
    if (by_row || d->l.nodes == 1)
        return layout_of(dense, by_row);
    return dense && d->own != NULL ? d->own->matrix.layout : layout_of(dense, true);
}

/* Describes rows as what they become. */
static hw_shard_facts facts_of(const dealing *d)
{
    hw_shard_facts facts = hw_shard_facts_of(d->l.rows);
    facts.format = HAWSER_GUESS; /* files of different formats may have rows of one matrix */
    if (is_dense(&d->all[d->some]))
        facts.layout = layout_of(true, d->load.split == HAWSER_BY_ROW);
    return facts;
}

static hawser_status deal_out(dealing *d, hawser_error *error)
{
    hw_loading *l = &d->l;
    HAWSER_TRY(hw_loading_agree(l, take_own(d, layout_before(d), error), error));
    if (l->nodes == 1)
        return keep_all(d, error);
    HAWSER_TRY(hw_loading_agree_facts(l, facts_of(d), error));
    if (d->load.split == HAWSER_BY_ROW)
        HAWSER_TRY(hw_loading_by_row(l, d->call, error));
    else
        HAWSER_TRY(hw_loading_by_column(l, d->call, error));
    return share_names(d, error);
}

hawser_status hawser_job_data(hawser_job *job, const hawser_dataset *own, hawser_split split, hawser_dataset **dataset,
                              hawser_error *error)
{
    HW_GIVEN_JOB(job);
    HW_GIVEN(dataset);
    *dataset = NULL;
    dealing d = {.call = "hawser_job_data", .load = {.split = split}, .own = own};
    begin(&d, job);
    hawser_status status = agree(&d, 0, error);
    HAWSER_THEN(status, deal_out(&d, error));
    return end(&d, status, dataset, error);
}

/* ----------------------------------------------------------------------------------------------- hawser_job_same ---- */

static uint64_t digest_of(const hawser_dataset *own)
{
    const double *beside[HW_BESIDE_MOST];
    for (unsigned k = 0; k < HW_BESIDE_MOST; k++)
        beside[k] = hw_dataset_beside_of(own, k);
    return hw_rows_digest(&own->matrix, beside);
}

/* Refuses data that are not the same on every node. */
static hawser_status compare_all(const dealing *d, hawser_error *error)
{
    const hw_node_rows *a = &d->all[0];
    for (uint32_t i = 1; i < d->l.nodes; i++) {
        const hw_node_rows *b = &d->all[i];
        if (a->rows != b->rows)
            return hawser_fail(
                error, HAWSER_BAD_ARGUMENT,
                "%s: node 0 has %llu rows, and node %u has %llu; pass the same data on every node, or each node's "
                "own rows to hawser_job_data",
                d->call, (unsigned long long)a->rows, i, (unsigned long long)b->rows);
        if (a->digest != b->digest)
            return hawser_fail(
                error, HAWSER_BAD_ARGUMENT,
                "%s: nodes 0 and %u have other numbers; pass the same data in the same layout on every node, or "
                "each node's own rows to hawser_job_data",
                d->call, i);
    }
    return HAWSER_OK;
}

/* Turns the columns of own blocks. What belongs to rows is the caller's. */
static hawser_status turn_own_columns(dealing *d, hawser_error *error)
{
    hw_loading *l = &d->l;
    HAWSER_TRY(hw_loading_own_columns(l, facts_of(d), error));
    const hawser_dataset *rows = l->rows;
    l->dataset->target = rows->target;
    memcpy(l->dataset->further, rows->further, sizeof rows->further);
    l->dataset->further_count = rows->further_count;
    l->dataset->weights = rows->weights;
    l->dataset->offset = rows->offset;
    l->dataset->groups = rows->groups;
    l->dataset->means = rows->means;
    hw_dataset_take_names(l->dataset, l->rows);
    return HAWSER_OK;
}

static hawser_status keep_share(dealing *d, hawser_error *error)
{
    hw_loading *l = &d->l;
    const bool by_row = d->load.split == HAWSER_BY_ROW, dense = hw_is_dense(&d->own->matrix);
    const bool turns = l->nodes > 1 && !by_row && hw_is_by_row(&d->own->matrix);
    HAWSER_TRY(compare_all(d, error));
    HAWSER_TRY(hw_loading_agree(l, take_own(d, layout_of(dense, by_row || turns), error), error));
    if (turns)
        return turn_own_columns(d, error);
    if (l->nodes == 1 || !by_row)
        return keep_all(d, error);
    HAWSER_TRY(hw_loading_cut_whole(l, error));
    l->dataset = l->rows;
    l->rows = NULL;
    return HAWSER_OK;
}

hawser_status hawser_job_same(hawser_job *job, const hawser_dataset *own, hawser_split split, hawser_dataset **dataset,
                              hawser_error *error)
{
    HW_GIVEN_JOB(job);
    HW_GIVEN(own);
    HW_GIVEN(dataset);
    *dataset = NULL;
    dealing d = {.call = "hawser_job_same", .load = {.split = split}, .own = own};
    begin(&d, job);
    bool compared = d.l.nodes > 1 && check(&d, NULL) == HAWSER_OK;
    hawser_status status = agree(&d, compared ? digest_of(own) : 0, error);
    HAWSER_THEN(status, keep_share(&d, error));
    return end(&d, status, dataset, error);
}
