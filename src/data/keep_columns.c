/* keep_columns.c - takes columns out of sparse data, or gives them other numbers. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/type.h"
#include "data/layout/assemble.h"
#include "data/table/schema.h"
#include "data/vocabulary.h"

typedef struct keeping {
    hawser_matrix *matrix;
    const uint32_t *map;
    int shift;
    uint64_t *offsets; /* the old arrays, or new ones if the old ones cannot be written */
    uint32_t *indices;
    char *values;
    size_t size; /* of a value */
} keeping;

static uint32_t place_of(const keeping *k, size_t column)
{
    return k->map[(int64_t)column + k->shift];
}

static void move_entry(const keeping *k, uint64_t to, uint64_t from, uint32_t index)
{
    k->indices[to] = index;
    memmove(k->values + to * k->size, (const char *)k->matrix->values + from * k->size, k->size);
}

/* Keeps the entries of each row. What is written never overtakes what is read. */
static uint64_t keep_rows(const keeping *k)
{
    const hawser_matrix *A = k->matrix;
    uint64_t to = 0, begin = A->offsets[0];
    for (size_t i = 0; i < A->rows; i++) {
        const uint64_t end = A->offsets[i + 1];
        for (uint64_t e = begin; e < end; e++) {
            const uint32_t place = place_of(k, A->indices[e]);
            if (place != HW_NO_COLUMN)
                move_entry(k, to++, e, place);
        }
        begin = end;
        k->offsets[i + 1] = to;
    }
    k->offsets[0] = 0;
    return to;
}

/* Keeps whole columns, whose new numbers ascend. */
static uint64_t keep_ascending(const keeping *k, size_t cols)
{
    const hawser_matrix *A = k->matrix;
    uint64_t to = 0, begin = A->offsets[0];
    size_t next = 0;
    k->offsets[0] = 0;
    for (size_t j = 0; j < A->cols; j++) {
        const uint64_t end = A->offsets[j + 1];
        const uint32_t place = place_of(k, j);
        for (uint64_t e = begin; place != HW_NO_COLUMN && e < end; e++)
            move_entry(k, to++, e, A->indices[e]);
        for (; place != HW_NO_COLUMN && next <= place; next++)
            k->offsets[next + 1] = next == place ? to : k->offsets[next];
        begin = end;
    }
    for (; next < cols; next++)
        k->offsets[next + 1] = to;
    return to;
}

/* Keeps whole columns in a new order, in new arrays. */
static uint64_t keep_mixed(const keeping *k, size_t cols)
{
    const hawser_matrix *A = k->matrix;
    memset(k->offsets, 0, (cols + 1) * sizeof *k->offsets);
    for (size_t j = 0; j < A->cols; j++)
        if (place_of(k, j) != HW_NO_COLUMN)
            k->offsets[place_of(k, j) + 1] = A->offsets[j + 1] - A->offsets[j];
    for (size_t j = 0; j < cols; j++)
        k->offsets[j + 1] += k->offsets[j];
    for (size_t j = 0; j < A->cols; j++) {
        const uint32_t place = place_of(k, j);
        for (uint64_t e = A->offsets[j], to = place != HW_NO_COLUMN ? k->offsets[place] : 0;
             place != HW_NO_COLUMN && e < A->offsets[j + 1]; e++)
            move_entry(k, to++, e, A->indices[e]);
    }
    return k->offsets[cols];
}

static hawser_status sort_rows(const keeping *k, hawser_error *error)
{
    hw_sorter sorter = {0};
    hawser_status status = HAWSER_OK;
    for (size_t i = 0; i < k->matrix->rows && status == HAWSER_OK; i++) {
        uint32_t twice;
        status = hw_sort_entries(k->indices + k->offsets[i], k->values + k->offsets[i] * k->size,
                                 k->matrix->type == HAWSER_F32, k->offsets[i + 1] - k->offsets[i], &sorter, &twice, error);
    }
    free(sorter.pairs);
    return status;
}

static bool owns(const hawser_dataset *dataset, const void *memory)
{
    for (size_t i = 0; i < dataset->owned_count; i++)
        if (memory != NULL && dataset->owned[i] == memory)
            return true;
    return false;
}

/* Uses the dataset's arrays, or makes new ones. */
static hawser_status take_arrays(keeping *k, const hawser_dataset *dataset, hw_budget *budget, size_t cols, bool mixed,
                                 bool *fresh, hawser_error *error)
{
    const hawser_matrix *A = k->matrix;
    const bool by_row = A->layout == HAWSER_CSR;
    *fresh = !owns(dataset, A->offsets) || (A->stored > 0 && (!owns(dataset, A->indices) || !owns(dataset, A->values))) ||
             (mixed && !by_row) || (!by_row && cols > A->cols);
    k->offsets = (uint64_t *)(uintptr_t)A->offsets;
    k->indices = (uint32_t *)(uintptr_t)A->indices;
    k->values = (char *)(uintptr_t)A->values;
    if (!*fresh)
        return HAWSER_OK;
    k->offsets = NULL, k->indices = NULL, k->values = NULL;
    HAWSER_TRY(
        hw_budget_array(budget, (void **)&k->offsets, (by_row ? A->rows : cols) + 1, sizeof *k->offsets, "offsets", error));
    HAWSER_TRY(hw_budget_array(budget, (void **)&k->indices, A->stored, sizeof *k->indices, "indices", error));
    return hw_budget_array(budget, (void **)&k->values, A->stored, k->size, "values", error);
}

/* Replaces the arrays of the dataset by new ones. */
static void own_arrays(const keeping *k, hawser_dataset *dataset)
{
    hw_dataset_drop_entries(dataset);
    hw_dataset_own(dataset, k->offsets);
    hw_dataset_own(dataset, k->indices);
    hw_dataset_own(dataset, k->values);
}

/* Gives the columns of one value their new numbers. */
static void keep_equals(hw_equals *list, const keeping *k, bool mixed)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        hw_equal item = list->items[i];
        const uint32_t place = hw_equal_is_target(item.column) ? item.column : place_of(k, item.column);
        item.column = place;
        if (place != HW_NO_COLUMN || hw_equal_is_target(list->items[i].column))
            list->items[count++] = item;
    }
    list->count = count;
    if (mixed) {
        hw_equals sorted = {0};
        hw_equals_take(&sorted, list);
        *list = sorted;
    }
}

hawser_status hw_columns_keep(hawser_dataset *dataset, hw_budget *budget, const uint32_t *map, int shift, size_t cols,
                              bool mixed, hawser_error *error)
{
    hawser_matrix *A = &dataset->matrix;
    keeping k = {.matrix = A, .map = map, .shift = shift, .size = hw_type_size(A->type)};
    const bool by_row = A->layout == HAWSER_CSR;
    bool fresh = false;
    hawser_status status = take_arrays(&k, dataset, budget, cols, mixed, &fresh, error);
    uint64_t stored = 0;
    if (status == HAWSER_OK)
        stored = by_row ? keep_rows(&k) : mixed ? keep_mixed(&k, cols) : keep_ascending(&k, cols);
    if (status == HAWSER_OK && by_row && mixed)
        status = sort_rows(&k, error);
    if (status != HAWSER_OK && fresh) {
        free(k.offsets);
        free(k.indices);
        free(k.values);
    }
    HAWSER_TRY(status);
    keep_equals(&dataset->equals, &k, mixed);
    if (fresh)
        own_arrays(&k, dataset);
    A->offsets = k.offsets;
    A->indices = k.indices;
    A->values = k.values;
    A->stored = stored;
    A->cols = cols;
    return HAWSER_OK;
}

/* ---------------------------------------------------------------------------------------------------------- names ---- */

/* Makes the schema of the columns again, if the target has words. */
static hawser_status rename_schema(hawser_dataset *dataset, hawser_error *error)
{
    hawser_schema *schema = NULL, *old = dataset->schema;
    if (old == NULL)
        return HAWSER_OK;
    dataset->schema = NULL;
    hawser_status status = hw_schema_of_names(dataset, &schema, error);
    if (status == HAWSER_OK && schema != NULL) {
        schema->target = old->target;
        old->target = (hw_levels){0};
    }
    dataset->schema = schema;
    hawser_schema_free(old);
    return status;
}

static void move_name(const char **name, char **at)
{
    if (*name == NULL)
        return;
    const size_t length = strlen(*name) + 1;
    memmove(*at, *name, length);
    *name = *at;
    *at += length;
}

hawser_status hw_columns_name(hawser_dataset *dataset, const char *const *names, size_t total, const uint32_t *map,
                              size_t count, hawser_error *error)
{
    char **block;
    size_t bytes = dataset->target_name != NULL ? strlen(dataset->target_name) + 1 : 0;
    const void *old = dataset->columns != NULL ? (const void *)dataset->columns : dataset->target_block;
    for (size_t o = 0; o < HW_FURTHER_TARGETS; o++)
        bytes += dataset->further_names[o] != NULL ? strlen(dataset->further_names[o]) + 1 : 0;
    for (size_t j = 0; j < total; j++)
        bytes += map == NULL || map[j] != HW_NO_COLUMN ? strlen(names[j]) + 1 : 0;
    HAWSER_TRY(hw_new_array((void **)&block, count * sizeof *block + bytes + 1, 1, "column names", error));
    char *at = (char *)(block + count);
    for (size_t j = 0; j < total; j++) {
        const char *name = names[j];
        if (map != NULL && map[j] == HW_NO_COLUMN)
            continue;
        move_name(&name, &at);
        block[map != NULL ? map[j] : j] = (char *)(uintptr_t)name;
    }
    move_name(&dataset->target_name, &at);
    for (size_t o = 0; o < HW_FURTHER_TARGETS; o++)
        move_name(&dataset->further_names[o], &at);
    hw_dataset_disown(dataset, old); /* which `names` may be */
    hw_dataset_own(dataset, block);
    dataset->columns = (const char *const *)block;
    dataset->target_block = NULL;
    free(dataset->numbers);
    dataset->numbers = NULL;
    return rename_schema(dataset, error);
}
