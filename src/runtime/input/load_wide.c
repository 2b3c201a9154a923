/* load_wide.c - an input by column of which most columns have no entry: the nodes deal out the others side by side, and the
 * dataset gets all columns back. Until then no node has an array with a place for every column, except for a bit each. */
#include <stdlib.h>

#include "base/layout.h"
#include "base/memory.h"
#include "data/share/balance.h"
#include "runtime/input/loading.h"
#include "runtime/input/occurring.h"

/* Stores the columns that have entries on some node. Collective. */
static hawser_status find_occurring(hw_loading *l, hw_column_set *set, hawser_error *error)
{
    const hawser_matrix *A = &l->rows->matrix;
    const uint32_t shift = (uint32_t)(l->rows->figures.index_base - l->whole.index_base);
    hawser_status status = hw_column_set_new(l->whole.cols, set, error);
    for (uint64_t e = 0; status == HAWSER_OK && A->rows != 0 && e < A->stored; e++)
        hw_column_set_add(set, A->indices[e] + shift);
    HAWSER_TRY(hw_loading_agree(l, status, error));
    return hw_occurring_unite(l, set, error);
}

/* Gives the entries of this node's rows the numbers of their columns among those with entries. Rows of the caller stay as
 * they are. */
static hawser_status renumber(hw_loading *l, hawser_error *error)
{
    hawser_matrix *A = &l->rows->matrix;
    const uint32_t shift = (uint32_t)(l->rows->figures.index_base - l->whole.index_base), *from = A->indices;
    uint32_t *to = (uint32_t *)(uintptr_t)from;
    if (A->rows == 0)
        return HAWSER_OK;
    if (hw_loading_rows_stay(l)) {
        HAWSER_TRY(HW_NEW(&to, A->stored + 1, "new numbers of columns", error));
        hw_dataset_own(l->rows, to);
        A->indices = to;
    }
    for (uint64_t e = 0; e < A->stored; e++)
        to[e] = hw_column_set_number(&l->occurring, from[e] + shift);
    return HAWSER_OK;
}

hawser_status hw_loading_leave_out(hw_loading *l, hawser_error *error)
{
    l->width = l->whole.cols;
    l->base = l->rows->figures.index_base;
    if (l->whole.layout == HAWSER_DENSE || l->whole.stored == 0 || !hw_leaves_out(l->width, l->whole.stored))
        return HAWSER_OK;
    HAWSER_TRY(find_occurring(l, &l->occurring, error));
    const size_t count = hw_column_set_count(&l->occurring);
    if (!hw_leaves_out(l->width - count, l->whole.stored)) {
        hw_column_set_free(&l->occurring);
        return HAWSER_OK;
    }
    HAWSER_TRY(hw_loading_agree(l, renumber(l, error), error));
    l->rows->figures.index_base = l->whole.index_base;
    l->whole.cols = count;
    return HAWSER_OK;
}

hawser_status hw_loading_put_back(hw_loading *l, hawser_error *error)
{
    const hw_column_set *set = &l->occurring;
    hawser_matrix *A = &l->dataset->matrix;
    const uint64_t *from = A->offsets;
    uint32_t *owner = NULL;
    uint64_t *to = NULL;
    if (set->bits == NULL)
        return HAWSER_OK;
    hawser_status status = HW_NEW(&to, l->width + 1, "offsets", error);
    hw_dataset_own(l->dataset, to);
    HAWSER_THEN(status, HW_NEW(&owner, l->width, "owners of columns", error));
    status = hw_loading_agree(l, status, error);
    if (status != HAWSER_OK) {
        free(owner);
        return status;
    }
    /* The block before a column without entries gets it, as hawser_balance does. */
    for (size_t j = 0, k = 0; j < l->width; j++) {
        to[j] = from[k];
        k += hw_column_set_has(set, (uint32_t)j);
        owner[j] = l->owners.block[k > 0 ? k - 1 : 0];
    }
    to[l->width] = from[A->cols];
    free(l->owners.block);
    l->owners.block = owner;
    A->offsets = to;
    hw_dataset_disown(l->dataset, from);
    A->cols = l->whole.cols = l->width;
    l->rows->figures.index_base = l->base;
    return HAWSER_OK;
}
