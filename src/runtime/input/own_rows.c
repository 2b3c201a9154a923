/* own_rows.c - rows that the nodes of a job have already, in arrays or from files of their own. They stay where they are:
 * the blocks of a node are cut within its rows. */
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/layout.h"
#include "base/memory.h"
#include "data/residence.h"
#include "data/table/schema.h"
#include "hawser/job_data.h"
#include "runtime/input/node_rows.h"

/* The rows of this node, and what the nodes have agreed on. */
typedef struct owning {
    hw_loading l;
    const hawser_dataset *own; /* NULL: this node has no rows */
    hw_node_rows *all;         /* by node */
    const hw_node_rows *some;  /* of the first node that has rows */
    size_t rows;               /* of the whole */
    size_t first;              /* of this node */
    size_t *bounds;
    uint64_t *stored;
    struct hw_row_blocks *blocks;
} owning;

/* ------------------------------------------------------------------------------------------------ agreement ---- */

static hawser_status check_own(const hawser_dataset *own, hawser_error *error)
{
    if (own == NULL)
        return HAWSER_OK;
    const hawser_matrix *A = &own->matrix;
    HAWSER_TRY(hawser_matrix_whole(A, error));
    if (A->layout != HAWSER_CSR && A->layout != HAWSER_DENSE_ROWS)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "hawser_job_own_rows: the matrix has its columns side by side; make it in layout HAWSER_CSR or "
                           "HAWSER_DENSE_ROWS, or load it with split = HAWSER_BY_ROW");
    return HAWSER_OK;
}

/* Refuses rows that are on no node or on two. `before` rows are on the nodes before node i. */
static hawser_status compare_places(const hw_node_rows *a, uint32_t i, uint64_t whole, uint64_t before, hawser_error *error)
{
    if (a->whole != whole)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "hawser_job_own_rows: node %u declares %llu rows of the whole, and node 0 declares %llu", i,
                           (unsigned long long)a->whole, (unsigned long long)whole);
    if (whole == 0 || a->rows == 0 || a->first == before)
        return HAWSER_OK;
    if (a->first > before)
        return hawser_fail(
            error, HAWSER_BAD_ARGUMENT,
            "hawser_job_own_rows: the rows of node %u begin at row %llu, but those of the nodes before it end "
            "at row %llu: rows are missing, or not in the order of the nodes",
            i, (unsigned long long)a->first, (unsigned long long)before);
    return hawser_fail(
        error, HAWSER_BAD_ARGUMENT,
        "hawser_job_own_rows: the rows of node %u begin at row %llu, but the nodes before it have the rows up "
        "to row %llu: rows are on two nodes, or not in the order of the nodes",
        i, (unsigned long long)a->first, (unsigned long long)before);
}

/* All nodes find the same mistake, because all compare the same facts. */
static hawser_status compare(owning *o, hawser_error *error)
{
    uint64_t before = 0, whole = o->all[0].whole;
    uint32_t first = 0;
    for (uint32_t i = 0; i < o->l.nodes; i++) {
        const hw_node_rows *a = &o->all[i];
        if (a->rows != 0 && o->some == NULL) {
            o->some = a;
            first = i;
        }
        if (a->rows != 0)
            HAWSER_TRY(hw_node_rows_compare("hawser_job_own_rows", o->some, first, a, i, error));
        HAWSER_TRY(compare_places(a, i, whole, before, error));
        o->first = i == o->l.self ? before : o->first;
        before += a->rows;
    }
    if (o->some == NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_job_own_rows: no node has rows");
    if (whole != 0 && before != whole)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "hawser_job_own_rows: the nodes have %llu rows, and the whole is declared to have %llu",
                           (unsigned long long)before, (unsigned long long)whole);
    if (before > UINT32_MAX)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_job_own_rows: %llu rows; at most 4294967295 fit a matrix",
                           (unsigned long long)before);
    o->rows = before;
    return HAWSER_OK;
}

static hawser_status agree(owning *o, size_t first, size_t rows, hawser_error *error)
{
    hw_node_rows own = hw_node_rows_of(o->own);
    own.first = first;
    own.whole = rows;
    HAWSER_TRY(hw_loading_agree(&o->l, check_own(o->own, error), error));
    HAWSER_TRY(HW_COLLECT(&o->l, &own, &o->all, error));
    return compare(o, error);
}

/* ------------------------------------------------------------------------------------------------ blocks ---- */

/* Cuts the rows of this node into its blocks, whose rows are views of the caller's matrix. */
static hawser_status cut_own(owning *o, const hw_view *view, hawser_error *error)
{
    const uint32_t self = o->l.self, count = hw_view_count(view, self);
    size_t *cut = NULL;
    if (count == 0 && o->own != NULL)
        return hawser_fail(
            error, HAWSER_BAD_ARGUMENT,
            "hawser_job_own_rows: node %u has rows, but no worker; set --workers to the number of nodes, %u, or more", self,
            o->l.nodes);
    HAWSER_TRY(HW_NEW(&cut, count + 1, "the cut of the rows", error));
    if (o->own != NULL)
        hw_loading_cut(&o->own->matrix, count, cut);
    uint32_t k = 0;
    for (uint32_t b = hw_view_next(view, self, 0); b < view->blocks; b = hw_view_next(view, self, b + 1), k++) {
        o->bounds[b] = o->first + cut[k];
        const hawser_matrix rows =
            o->own != NULL ? hawser_matrix_rows(&o->own->matrix, cut[k], cut[k + 1]) : (hawser_matrix){0};
        o->stored[b] = rows.rows == 0       ? 0
                       : hw_is_dense(&rows) ? rows.rows * rows.cols
                                            : rows.offsets[rows.rows] - rows.offsets[0];
    }
    free(cut);
    return HAWSER_OK;
}

static hawser_status fill_block(const owning *o, uint32_t b, hawser_error *error)
{
    const struct hw_row_blocks *blocks = o->blocks;
    hw_row_block *block = &o->blocks->block[b];
    size_t rows = blocks->bounds[b + 1] - blocks->bounds[b], skip = blocks->bounds[b] - o->first;
    if (o->own == NULL) {
        const hw_shard_facts shape = {.cols = o->some->cols, .layout = o->some->layout, .type = o->some->type};
        return hw_row_block_new(o->blocks, b, &shape, 0, error);
    }
    block->matrix = hawser_matrix_rows(&o->own->matrix, skip, skip + rows);
    block->matrix.first = blocks->bounds[b];
    for (unsigned k = 0; k < HW_BESIDE_MOST; k++) {
        const double *all = hw_dataset_beside_of(o->own, k);
        if (all == NULL)
            continue;
        HAWSER_TRY(HW_NEW(&block->beside[k], rows, "what belongs to a block's rows", error));
        memcpy(block->beside[k], all + skip, rows * sizeof *all);
    }
    return HAWSER_OK;
}

static hawser_status name_columns(const owning *o, hawser_dataset *dataset, hawser_error *error)
{
    const hawser_dataset *own = o->own;
    dataset->outputs_by_block = (o->some->kinds & 1U << HW_BESIDE_TARGET) != 0 ? 1 + o->some->further : 0;
    dataset->figures.index_base = o->some->index_base;
    if (own == NULL)
        return HAWSER_OK;
    dataset->figures.format = own->figures.format;
    dataset->columns = own->columns;
    dataset->target_name = own->target_name;
    dataset->means = own->means;
    memcpy(dataset->further_names, own->further_names, sizeof dataset->further_names);
    return own->schema != NULL ? hw_schema_copy(own->schema, &dataset->schema, error) : HAWSER_OK;
}

/* Finds the cut, which all nodes agree on. */
static hawser_status find_cut(owning *o, hw_view *view, hawser_error *error)
{
    uint32_t count = o->l.job->settings.blocks;
    hawser_status status = hw_view_first(count, o->l.nodes, view, error);
    HAWSER_THEN(status, HW_NEW(&o->bounds, count + 1, "the cut of the rows", error));
    HAWSER_THEN(status, HW_NEW(&o->stored, count, "the entries of blocks", error));
    HAWSER_THEN(status, cut_own(o, view, error));
    HAWSER_TRY(hw_loading_agree(&o->l, status, error));
    HAWSER_TRY(hw_loading_by_block(&o->l, view, o->bounds, error));
    o->bounds[count] = o->rows;
    return hw_loading_by_block(&o->l, view, o->stored, error);
}

static hawser_status make(owning *o, hawser_dataset *dataset, hawser_error *error)
{
    hw_view view = {0};
    hawser_status status = find_cut(o, &view, error);
    if (status != HAWSER_OK) {
        hw_view_free(&view);
        free(o->bounds);
        return status;
    }
    HAWSER_TRY(hw_row_blocks_new(&view, o->l.self, o->bounds, &o->blocks, error));
    o->blocks->owned = true;
    hawser_matrix shape = {.rows = o->rows,
                           .cols = o->some->cols,
                           .layout = (hawser_layout)o->some->layout,
                           .type = (hawser_type)o->some->type};
    for (uint32_t b = 0; b < o->blocks->view.blocks; b++) {
        shape.stored += o->stored[b];
        if (hw_row_block_here(o->blocks, b))
            HAWSER_TRY(fill_block(o, b, error));
    }
    hw_row_blocks_shape(o->blocks, &shape, o->stored);
    HAWSER_TRY(name_columns(o, dataset, error));
    return hw_row_blocks_settle(o->blocks, dataset, &shape, error);
}

hawser_status hawser_job_own_rows(hawser_job *job, const hawser_dataset *own, size_t first, size_t rows,
                                  hawser_dataset **dataset, hawser_error *error)
{
    HW_GIVEN_JOB(job);
    HW_GIVEN(dataset);
    *dataset = NULL;
    if (own != NULL && own->matrix.rows == 0)
        own = NULL;
    hw_job_cancellable(job, NULL);
    owning o = {.l = hw_loading_of(job, NULL), .own = own};
    hawser_dataset *made = NULL;
    hawser_status status = agree(&o, first, rows, error);
    HAWSER_THEN(status, hw_dataset_new(&made, error));
    HAWSER_THEN(status, make(&o, made, error));
    status = hw_job_uncancellable(job, hw_loading_agree(&o.l, status, error));
    free(o.all);
    free(o.stored);
    if (made == NULL || made->residence == NULL)
        hw_row_blocks_free(o.blocks); /* else the dataset has them */
    if (status != HAWSER_OK) {
        hawser_dataset_free(made);
        return status;
    }
    hw_residence_report_to(made->residence, job->messages, o.l.self);
    *dataset = made;
    return HAWSER_OK;
}
