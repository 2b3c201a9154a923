/* schema_json.c - a schema as JSON: {"columns": [{"name": "age"}, {"name": "sky", "levels": ["clear", "rain"]}, {"name":
 * "day", "date": "days"}, {"name": "at", "date": "hours"}], "target": ["no", "yes"]}. */
#include <jansson.h>
#include <string.h>

#include "base/argument.h"
#include "base/memory.h"
#include "data/table/schema.h"

static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static json_t *json_of_levels(const hw_levels *levels)
{
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t k = 0; ok && k < levels->count; k++)
        ok = json_array_append_new(list, json_string(levels->texts[k])) == 0;
    if (!ok) {
        json_decref(list);
        return NULL;
    }
    return list;
}

static json_t *json_of_column(const hw_schema_column *column)
{
    const hawser_schema_column *shape = &column->shape;
    json_t *object = json_object();
    bool hours = shape->count > 1 + HW_DATE_MONTHS + HW_DATE_WEEKDAYS;
    bool ok = object != NULL && put(object, "name", json_string(shape->name));
    if (shape->kind == HAWSER_CATEGORY)
        ok = ok && put(object, "levels", json_of_levels(&column->levels));
    if (shape->kind == HAWSER_DATE)
        ok = ok && put(object, "date", json_string(hours ? "hours" : "days"));
    if (!ok) {
        json_decref(object);
        return NULL;
    }
    return object;
}

hawser_status hawser_schema_write(const hawser_schema *schema, char **text, hawser_error *error)
{
    HW_GIVEN(schema);
    HW_GIVEN(text);
    json_t *whole = json_object(), *columns = json_array();
    bool ok = columns != NULL;
    for (size_t k = 0; ok && k < schema->count; k++)
        ok = json_array_append_new(columns, json_of_column(&schema->columns[k])) == 0;
    ok = whole != NULL && put(whole, "columns", columns) && ok;
    if (schema->target.count > 0)
        ok = ok && put(whole, "target", json_of_levels(&schema->target));
    *text = ok ? json_dumps(whole, JSON_COMPACT) : NULL;
    json_decref(whole);
    return *text != NULL ? HAWSER_OK
                         : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the names of %zu columns", schema->count);
}

static hawser_status unfit(const char *what, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_INPUT, "the schema of the columns %s; was it written by Hawser?", what);
}

/* `bytes`: the levels must be in the order of their bytes. Labels that are numbers are in the order of these. */
static hawser_status read_levels(const json_t *list, bool bytes, hw_levels *levels, hawser_error *error)
{
    if (!json_is_array(list))
        return unfit("has levels that are no list", error);
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *item = json_array_get(list, k);
        uint32_t number;
        if (!json_is_string(item))
            return unfit("has a level that is no text", error);
        HAWSER_TRY(hw_levels_put(levels, json_string_value(item), strlen(json_string_value(item)), &number, error));
        if (number != k)
            return unfit("has a level twice", error);
        if (bytes && k > 0 && strcmp(levels->texts[k - 1], levels->texts[k]) > 0)
            return unfit("has levels that are not in the order of their bytes", error);
    }
    return HAWSER_OK;
}

static hawser_status read_column(const json_t *object, hawser_schema *schema, size_t k, hawser_error *error)
{
    hw_schema_column *column = &schema->columns[k];
    const json_t *name = json_object_get(object, "name"), *levels = json_object_get(object, "levels");
    const char *date = json_string_value(json_object_get(object, "date"));
    if (!json_is_string(name))
        return unfit("has a column without a name", error);
    HAWSER_TRY(hw_schema_name(schema, k, json_string_value(name), error));
    if (levels != NULL) {
        column->shape.kind = HAWSER_CATEGORY;
        HAWSER_TRY(read_levels(levels, true, &column->levels, error));
    } else if (date != NULL) {
        bool hours = strcmp(date, "hours") == 0;
        if (!hours && strcmp(date, "days") != 0)
            return unfit("has a date that is neither days nor hours", error);
        column->shape.kind = HAWSER_DATE;
        column->shape.count = 1 + HW_DATE_MONTHS + HW_DATE_WEEKDAYS + (hours ? HW_DATE_HOURS : 0);
    }
    return HAWSER_OK;
}

static hawser_status read_schema(const json_t *whole, hawser_schema **schema, hawser_error *error)
{
    const json_t *columns = json_object_get(whole, "columns"), *target = json_object_get(whole, "target");
    if (!json_is_array(columns))
        return unfit("has no list of columns", error);
    HAWSER_TRY(hw_schema_new(json_array_size(columns), schema, error));
    for (size_t k = 0; k < (*schema)->count; k++)
        HAWSER_TRY(read_column(json_array_get(columns, k), *schema, k, error));
    if (target != NULL)
        HAWSER_TRY(read_levels(target, false, &(*schema)->target, error));
    return hw_schema_settle(*schema, error);
}

hawser_status hawser_schema_read(const char *text, hawser_schema **schema, hawser_error *error)
{
    HW_GIVEN(text);
    HW_GIVEN(schema);
    *schema = NULL;
    json_error_t why;
    json_t *whole = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    hawser_status status = json_is_object(whole) ? read_schema(whole, schema, error) : unfit("is no JSON object", error);
    json_decref(whole);
    if (status != HAWSER_OK) {
        hawser_schema_free(*schema);
        *schema = NULL;
    }
    return status;
}
