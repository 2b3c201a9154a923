/* select.c - hawser_dataset_select: some columns of a sparse dataset, which shares with it what need not be copied. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/layout.h"
#include "base/memory.h"
#include "base/type.h"
#include "data/column_set.h"
#include "data/dataset.h"
#include "data/residence.h"
#include "data/share/blocks.h"

/* A matrix of some columns. Arrays that are NULL are the other one's. */
typedef struct selection {
    hawser_matrix matrix;
    uint64_t *offsets;
    uint32_t *indices;
    void *values;
} selection;

static void selection_free(selection *s)
{
    free(s->offsets);
    free(s->indices);
    free(s->values);
    *s = (selection){0};
}

/* Returns how many entries of A are in the columns. */
static uint64_t count_entries(const hawser_matrix *A, const hw_column_set *set)
{
    uint64_t count = 0;
    for (size_t j = 0; A->layout == HAWSER_CSC && j < A->cols; j++)
        count += hw_column_set_has(set, (uint32_t)j) ? A->offsets[j + 1] - A->offsets[j] : 0;
    for (uint64_t e = A->offsets[0]; A->layout == HAWSER_CSR && e < A->offsets[A->rows]; e++)
        count += hw_column_set_has(set, A->indices[e]);
    return count;
}

static void copy_value(const hawser_matrix *A, uint64_t from, void *values, uint64_t to)
{
    size_t size = hw_type_size(A->type);
    memcpy((char *)values + to * size, (const char *)A->values + from * size, size);
}

/* Rows: the numbers of the columns change; values and offsets are copied only if entries are left out, or do not begin at
 * 0. */
static void fill_rows(const hawser_matrix *A, const hw_column_set *set, selection *s)
{
    uint64_t at = 0;
    for (size_t i = 0; i < A->rows; i++) {
        for (uint64_t e = A->offsets[i]; e < A->offsets[i + 1]; e++) {
            if (!hw_column_set_has(set, A->indices[e]))
                continue;
            if (s->values != NULL)
                copy_value(A, e, s->values, at);
            s->indices[at++] = hw_column_set_number(set, A->indices[e]);
        }
        if (s->offsets != NULL)
            s->offsets[i + 1] = at;
    }
}

/* Columns: offsets change; entries are copied only if some are left out. */
static void fill_columns(const hawser_matrix *A, const hw_column_set *set, selection *s)
{
    size_t k = 0;
    for (size_t j = 0; j < A->cols; j++) {
        if (!hw_column_set_has(set, (uint32_t)j))
            continue;
        uint64_t first = A->offsets[j], count = A->offsets[j + 1] - first;
        for (uint64_t e = 0; s->values != NULL && e < count; e++) {
            copy_value(A, first + e, s->values, s->offsets[k] + e);
            s->indices[s->offsets[k] + e] = A->indices[first + e];
        }
        s->offsets[k + 1] = s->offsets[k] + count;
        k++;
    }
}

/* Makes the columns of A that are in the set. A has its entries on this node. */
static hawser_status select_from(const hawser_matrix *A, const hw_column_set *set, size_t count, selection *s,
                                 hawser_error *error)
{
    bool by_row = A->layout == HAWSER_CSR;
    size_t lines = by_row ? A->rows : count;
    uint64_t stored = hw_lines(A) > 0 ? count_entries(A, set) : 0;
    bool whole = hw_lines(A) > 0 && A->offsets[0] == 0 && stored == A->offsets[hw_lines(A)];
    *s = (selection){.matrix = *A};
    if (!by_row || !whole)
        HAWSER_TRY(HW_NEW(&s->offsets, lines + 1, "some columns", error));
    if (by_row || !whole)
        HAWSER_TRY(HW_NEW(&s->indices, stored + 1, "some columns", error));
    if (!whole)
        HAWSER_TRY(hw_new_array(&s->values, stored + 1, hw_type_size(A->type), "some columns", error));
    if (by_row)
        fill_rows(A, set, s);
    else
        fill_columns(A, set, s);
    s->matrix.cols = count;
    s->matrix.stored = stored;
    s->matrix.offsets = s->offsets != NULL ? s->offsets : A->offsets;
    s->matrix.indices = s->indices != NULL ? s->indices : A->indices;
    s->matrix.values = s->values != NULL ? s->values : A->values;
    s->matrix.residence = NULL;
    return HAWSER_OK;
}

/* ---- what belongs to columns ---- */

/* Writes the numbers of the columns as runs, as hawser_dataset_numbers has them. */
static hawser_status number_columns(const uint32_t *columns, size_t count, char **numbers, hawser_error *error)
{
    size_t size = 0, length = 0, longest = sizeof "4294967295-4294967295,";
    for (size_t k = 0, end; k < count; k = end) {
        for (end = k + 1; end < count && columns[end] == columns[end - 1] + 1;)
            end++;
        HAWSER_TRY(HW_GROW(numbers, &size, length + longest, "the numbers of columns", error));
        length += (size_t)snprintf(*numbers + length, size - length, "%s%u", length > 0 ? "," : "", columns[k]);
        if (end > k + 1)
            length += (size_t)snprintf(*numbers + length, size - length, "-%u", columns[end - 1]);
    }
    return HAWSER_OK;
}

/* Leaves the columns of the set in a list, by their new numbers. Targets stay. */
static void select_equals(hw_equals *equals, const hw_column_set *set)
{
    size_t kept = 0;
    for (size_t k = 0; k < equals->count; k++) {
        hw_equal item = equals->items[k];
        bool target = hw_equal_is_target(item.column);
        if (!target && (item.column >= set->cols || !hw_column_set_has(set, item.column)))
            continue;
        item.column = target ? item.column : hw_column_set_number(set, item.column);
        equals->items[kept++] = item;
    }
    equals->count = kept;
}

static hawser_status select_beside(const hawser_dataset *from, const uint32_t *columns, size_t count,
                                   const hw_column_set *set, hawser_dataset *made, hawser_error *error)
{
    select_equals(&made->equals, set);
    if (made->numbers == NULL)
        HAWSER_TRY(number_columns(columns, count, &made->numbers, error));
    if (from->means != NULL) {
        double *means = NULL;
        HAWSER_TRY(HW_NEW(&means, count + 1, "the columns' means", error));
        hw_dataset_own(made, means);
        for (size_t k = 0; k < count; k++)
            means[k] = from->means[columns[k]];
        made->means = means;
    }
    if (from->columns != NULL) {
        const char **names = NULL;
        HAWSER_TRY(HW_NEW(&names, count + 1, "column names", error));
        hw_dataset_own(made, names);
        for (size_t k = 0; k < count; k++)
            names[k] = from->columns[columns[k]];
        made->columns = names;
    }
    return HAWSER_OK;
}

/* ---- columns on several nodes ---- */

/* Says which of the columns are on this node: those that are in `from`, whose entries both have. */
static hawser_status select_residence(const struct hawser_residence *from, const uint32_t *columns, size_t count,
                                      hawser_dataset *made, hawser_error *error)
{
    hw_owners owners = {.view = from->owners.view};
    owners.view.node = NULL;
    hawser_status status = HW_NEW(&owners.block, count + 1, "some columns", error);
    HAWSER_THEN(status, HW_NEW(&owners.view.node, owners.view.blocks, "some columns", error));
    if (status != HAWSER_OK) {
        hw_owners_free(&owners);
        return status;
    }
    memcpy(owners.view.node, from->owners.view.node, owners.view.blocks * sizeof *owners.view.node);
    for (size_t k = 0; k < count; k++)
        owners.block[k] = from->owners.block[columns[k]];
    HAWSER_TRY(hw_residence_new(&made->matrix, &owners, from->self, &made->residence, error));
    for (size_t k = 0; k < count; k++)
        if (hw_is_here(from, columns[k]))
            atomic_store_explicit(&made->residence->state[k], HW_HERE, memory_order_release);
    hw_residence_report_to(made->residence, from->presence.messages, from->presence.node);
    made->matrix.residence = made->residence;
    return HAWSER_OK;
}

/* ---- rows held by block ---- */

static hawser_status select_blocks(const struct hw_row_blocks *from, const hw_column_set *set, size_t count,
                                   struct hw_row_blocks **out, hawser_error *error)
{
    hw_view view = from->view;
    size_t *bounds = NULL;
    HAWSER_TRY(HW_NEW(&bounds, view.blocks + 1, "the blocks of the rows", error));
    memcpy(bounds, from->bounds, (view.blocks + 1) * sizeof *bounds);
    view.node = NULL;
    hawser_status status = HW_NEW(&view.node, view.blocks, "the blocks of the rows", error);
    if (status != HAWSER_OK) {
        free(bounds);
        return status;
    }
    memcpy(view.node, from->view.node, view.blocks * sizeof *view.node);
    HAWSER_TRY(hw_row_blocks_new(&view, from->self, bounds, out, error));
    (*out)->owned = from->owned;
    (*out)->lent = from->lent;
    (*out)->borrows = true;
    for (uint32_t b = 0; b < from->view.blocks && status == HAWSER_OK; b++) {
        hw_row_block *to = &(*out)->block[b];
        selection s = {.matrix = from->block[b].matrix};
        s.matrix.cols = count;
        if (hw_row_block_here(from, b))
            status = select_from(&from->block[b].matrix, set, count, &s, error);
        *to = (hw_row_block){.matrix = s.matrix, .offsets = s.offsets, .indices = s.indices, .values = s.values};
        memcpy(to->beside, from->block[b].beside, sizeof to->beside);
    }
    return status; /* the blocks own what was made */
}

static hawser_status fill_blocks(const hawser_dataset *from, const hw_column_set *set, size_t count, hawser_dataset *made,
                                 hawser_error *error)
{
    struct hw_row_blocks *blocks = NULL;
    hawser_matrix shape = from->matrix;
    shape.cols = count;
    shape.residence = NULL;
    hawser_status status = select_blocks(from->residence->rows, set, count, &blocks, error);
    HAWSER_THEN(status, hw_row_blocks_settle(blocks, made, &shape, error));
    if (status != HAWSER_OK)
        hw_row_blocks_free(blocks);
    made->outputs_by_block = from->outputs_by_block;
    return status;
}

/* ---- the call ---- */

static hawser_status fill(const hawser_dataset *from, const uint32_t *columns, size_t count, const hw_column_set *set,
                          hawser_dataset *made, hawser_error *error)
{
    HAWSER_TRY(select_beside(from, columns, count, set, made, error));
    if (from->residence != NULL && from->residence->rows != NULL)
        return fill_blocks(from, set, count, made, error);
    selection s;
    hawser_status status = select_from(&from->matrix, set, count, &s, error);
    if (status != HAWSER_OK) {
        selection_free(&s);
        return status;
    }
    hw_dataset_own(made, s.offsets);
    hw_dataset_own(made, s.indices);
    hw_dataset_own(made, s.values);
    made->matrix = s.matrix;
    made->cut = from->cut;
    made->cut_blocks = from->cut_blocks;
    return from->residence != NULL ? select_residence(from->residence, columns, count, made, error) : HAWSER_OK;
}

/* Returns whether the columns are all that have entries. */
static bool has_all_entries(const hawser_matrix *A, const uint32_t *columns, size_t count)
{
    uint64_t entries = 0;
    for (size_t k = 0; k < count; k++)
        entries += A->offsets[columns[k] + 1] - A->offsets[columns[k]];
    return entries == A->offsets[A->cols] - A->offsets[0];
}

static hawser_status check(const hawser_dataset *dataset, const uint32_t *columns, size_t count, hawser_error *error)
{
    const hawser_matrix *A = &dataset->matrix;
    if (hw_is_dense(A) || dataset->schema != NULL)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "hawser_dataset_select: the dataset %s; only sparse columns of numbers "
                           "are selected",
                           hw_is_dense(A) ? "is dense" : "has columns of words or dates");
    for (size_t k = 0; k < count; k++)
        if (columns[k] >= A->cols || (k > 0 && columns[k] <= columns[k - 1]))
            return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                               "hawser_dataset_select: columns[%zu] is %u; expected ascending numbers below %zu", k,
                               columns[k], A->cols);
    const bool by_column = A->residence != NULL && A->residence->rows == NULL;
    return by_column && !has_all_entries(A, columns, count) ? hawser_matrix_whole(A, error) : HAWSER_OK;
}

hawser_status hawser_dataset_select(const hawser_dataset *dataset, const uint32_t *columns, size_t count,
                                    hawser_dataset **selected, hawser_error *error)
{
    HW_GIVEN(dataset);
    HW_GIVEN(selected);
    if (count > 0)
        HW_GIVEN(columns);
    *selected = NULL;
    HAWSER_TRY(check(dataset, columns, count, error));
    hawser_dataset *made = NULL;
    hw_column_set set = {0};
    HAWSER_TRY(hw_dataset_lend(dataset, &made, error));
    hawser_status status = hw_column_set_new(dataset->matrix.cols, &set, error);
    for (size_t k = 0; status == HAWSER_OK && k < count; k++)
        hw_column_set_add(&set, columns[k]);
    if (status == HAWSER_OK) {
        (void)hw_column_set_count(&set);
        status = fill(dataset, columns, count, &set, made, error);
    }
    hw_column_set_free(&set);
    if (status != HAWSER_OK) {
        hawser_dataset_free(made);
        return status;
    }
    *selected = made;
    return HAWSER_OK;
}
