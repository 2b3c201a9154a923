#include "data/table/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/memory.h"

hawser_status hw_schema_new(size_t count, hawser_schema **schema, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(schema, 1, "the columns of a table", error));
    hawser_status status = HW_NEW(&(*schema)->columns, count, "the columns of a table", error);
    if (status != HAWSER_OK) {
        free(*schema);
        *schema = NULL;
        return status;
    }
    (*schema)->count = count;
    for (size_t k = 0; k < count; k++)
        (*schema)->columns[k].shape = (hawser_schema_column){.name = "", .count = 1};
    return HAWSER_OK;
}

hawser_status hw_schema_name(hawser_schema *schema, size_t column, const char *name, hawser_error *error)
{
    hw_schema_column *to = &schema->columns[column];
    free(to->name);
    to->name = NULL;
    to->shape.name = "";
    HAWSER_TRY(hw_copy_text(&to->name, name, error));
    to->shape.name = to->name;
    return HAWSER_OK;
}

hawser_status hw_schema_of_names(const hawser_dataset *dataset, hawser_schema **schema, hawser_error *error)
{
    size_t columns = hawser_dataset_matrix(dataset)->cols;
    *schema = NULL;
    if (hawser_dataset_column(dataset, 0) == NULL)
        return HAWSER_OK;
    hawser_status status = hw_schema_new(columns, schema, error);
    for (size_t k = 0; k < columns && status == HAWSER_OK; k++)
        status = hw_schema_name(*schema, k, hawser_dataset_column(dataset, k), error);
    HAWSER_THEN(status, hw_schema_settle(*schema, error));
    if (status != HAWSER_OK) {
        hawser_schema_free(*schema);
        *schema = NULL;
    }
    return status;
}

static hawser_status copy_levels(const hw_levels *from, hw_levels *to, hawser_error *error)
{
    uint32_t number;
    for (size_t k = 0; k < from->count; k++)
        HAWSER_TRY(hw_levels_put(to, from->texts[k], strlen(from->texts[k]), &number, error));
    return HAWSER_OK;
}

static hawser_status copy_columns(const hawser_schema *from, hawser_schema *to, hawser_error *error)
{
    for (size_t k = 0; k < from->count; k++) {
        to->columns[k].shape.kind = from->columns[k].shape.kind;
        to->columns[k].shape.count = from->columns[k].shape.count;
        if (from->columns[k].name != NULL)
            HAWSER_TRY(hw_schema_name(to, k, from->columns[k].name, error));
        HAWSER_TRY(copy_levels(&from->columns[k].levels, &to->columns[k].levels, error));
    }
    HAWSER_TRY(copy_levels(&from->target, &to->target, error));
    return hw_schema_settle(to, error);
}

hawser_status hw_schema_copy(const hawser_schema *schema, hawser_schema **copy, hawser_error *error)
{
    HAWSER_TRY(hw_schema_new(schema->count, copy, error));
    hawser_status status = copy_columns(schema, *copy, error);
    if (status != HAWSER_OK) {
        hawser_schema_free(*copy);
        *copy = NULL;
    }
    return status;
}

int hw_levels_by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b); /* as unsigned bytes, whatever the locale */
}

hawser_status hw_levels_sort(hw_levels *levels, int (*order)(const void *a, const void *b), hawser_error *error)
{
    hw_levels sorted = {0};
    hawser_status status = HAWSER_OK;
    if (levels->count > 1)
        qsort(levels->texts, levels->count, sizeof *levels->texts, order);
    for (size_t k = 0; k < levels->count && status == HAWSER_OK; k++) {
        uint32_t number;
        status = hw_levels_put(&sorted, levels->texts[k], strlen(levels->texts[k]), &number, error);
    }
    hw_levels_free(status == HAWSER_OK ? levels : &sorted);
    if (status == HAWSER_OK)
        *levels = sorted;
    return status;
}

hawser_status hw_schema_settle(hawser_schema *schema, hawser_error *error)
{
    uint64_t width = 0;
    for (size_t k = 0; k < schema->count; k++) {
        hw_schema_column *column = &schema->columns[k];
        hawser_schema_column *shape = &column->shape;
        if (shape->kind == HAWSER_CATEGORY) {
            shape->count = column->levels.count;
            shape->levels = (const char *const *)column->levels.texts;
        }
        shape->first = width;
        width += shape->count;
        if (width >= UINT32_MAX)
            return hawser_fail(error, HAWSER_BAD_INPUT, "the levels of the table's words make more than 4294967294 columns");
    }
    schema->width = width;
    return HAWSER_OK;
}

hawser_status hw_schema_check_names(const hawser_schema *schema, const char *input, hawser_error *error)
{
    hw_levels met = {0};
    char *text = NULL;
    size_t size = 0, named = 0;
    hawser_status status = HAWSER_OK;
    for (size_t j = 0; j < schema->width && status == HAWSER_OK; j++) {
        uint32_t number;
        const char *name = schema->columns[hw_schema_find(schema, j)].shape.name;
        size_t length = hawser_schema_print(schema, j, NULL, 0);
        if (name[0] == '\0') /* columns without names are told apart by their numbers */
            continue;
        status = HW_GROW(&text, &size, length + 1, "a column's name", error);
        if (status == HAWSER_OK) {
            (void)hawser_schema_print(schema, j, text, size);
            status = hw_levels_put(&met, text, length, &number, error);
        }
        if (status == HAWSER_OK && number != named++)
            status =
                hawser_fail(error, HAWSER_BAD_INPUT,
                            "%s: a column and a level, or two of them, would both be called '%.100s' in the model; rename "
                            "the column, or leave one out with --ignore",
                            input, text);
    }
    free(text);
    hw_levels_free(&met);
    return status;
}

bool hw_schema_is_plain(const hawser_schema *schema)
{
    for (size_t k = 0; k < schema->count; k++)
        if (schema->columns[k].shape.kind != HAWSER_NUMERIC)
            return false;
    return true;
}

void hawser_schema_free(hawser_schema *schema)
{
    if (schema == NULL)
        return;
    for (size_t k = 0; k < schema->count; k++) {
        free(schema->columns[k].name);
        hw_levels_free(&schema->columns[k].levels);
    }
    hw_levels_free(&schema->target);
    free(schema->columns);
    free(schema);
}

size_t hawser_schema_count(const hawser_schema *schema)
{
    return schema != NULL ? schema->count : 0;
}

bool hawser_schema_at(const hawser_schema *schema, size_t column, hawser_schema_column *out)
{
    if (schema == NULL || out == NULL || column >= schema->count)
        return false;
    *out = schema->columns[column].shape;
    return true;
}

const char *const *hawser_schema_target(const hawser_schema *schema, size_t *count)
{
    if (count != NULL)
        *count = schema != NULL ? schema->target.count : 0;
    return schema != NULL && schema->target.count > 0 ? (const char *const *)schema->target.texts : NULL;
}

size_t hw_schema_find(const hawser_schema *schema, size_t column)
{
    size_t low = 0, high = hawser_schema_count(schema);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const hawser_schema_column *shape = &schema->columns[middle].shape;
        if (column < shape->first)
            high = middle;
        else if (column >= shape->first + shape->count)
            low = middle + 1;
        else
            return middle;
    }
    return low;
}

bool hw_schema_has_numbers(const hawser_schema *schema, size_t column)
{
    size_t at = schema != NULL ? hw_schema_find(schema, column) : 0;
    return schema == NULL || at == schema->count || schema->columns[at].shape.kind == HAWSER_NUMERIC;
}

static size_t print_date(const char *name, size_t part, char *text, size_t size)
{
    if (part == 0)
        return (size_t)snprintf(text, size, "%s:days", name);
    if (--part < HW_DATE_MONTHS)
        return (size_t)snprintf(text, size, "%s:month=%zu", name, part + 1);
    part -= HW_DATE_MONTHS;
    if (part < HW_DATE_WEEKDAYS)
        return (size_t)snprintf(text, size, "%s:weekday=%zu", name, part + 1);
    return (size_t)snprintf(text, size, "%s:hour=%zu", name, part - HW_DATE_WEEKDAYS);
}

size_t hawser_schema_print(const hawser_schema *schema, size_t column, char *text, size_t size)
{
    size_t at = schema != NULL ? hw_schema_find(schema, column) : 0;
    if (size > 0 && text != NULL)
        text[0] = '\0';
    if (schema == NULL || at == schema->count)
        return 0;
    if (text == NULL)
        size = 0;
    const hawser_schema_column *shape = &schema->columns[at].shape;
    size_t part = column - shape->first;
    if (shape->kind == HAWSER_NUMERIC)
        return (size_t)snprintf(text, size, "%s", shape->name);
    if (shape->kind == HAWSER_DATE)
        return print_date(shape->name, part, text, size);
    return (size_t)snprintf(text, size, "%s=%s", shape->name, shape->levels[part]);
}
