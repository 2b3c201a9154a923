/* schema.c - the columns of a model: by its schema, or by the names of older models and of tables without words, one per
 * line. */
#include <string.h>

#include "base/argument.h"
#include "base/memory.h"
#include "data/model/model.h"
#include "data/table/schema.h"

static hawser_status schema_of_names(const char *names, hawser_schema **schema, hawser_error *error)
{
    char *copy;
    size_t count = 1, k = 0;
    for (const char *at = names; *at != '\0'; at++)
        count += *at == '\n';
    HAWSER_TRY(hw_copy_text(&copy, names, error));
    hawser_status status = hw_schema_new(count, schema, error);
    for (char *at = copy, *end; k < count && status == HAWSER_OK; k++, at = end + 1) {
        end = at + strcspn(at, "\n");
        *end = '\0';
        status = hw_schema_name(*schema, k, at, error);
    }
    HAWSER_THEN(status, hw_schema_settle(*schema, error));
    free(copy);
    return status;
}

hawser_status hawser_model_schema(const hawser_model *model, hawser_schema **schema, hawser_error *error)
{
    HW_GIVEN(model);
    HW_GIVEN(schema);
    const char *text = hawser_model_text(model, HW_MODEL_SCHEMA), *names = hawser_model_text(model, "names");
    *schema = NULL;
    if (text != NULL)
        return hawser_schema_read(text, schema, error);
    if (names == NULL)
        return HAWSER_OK;
    hawser_status status = schema_of_names(names, schema, error);
    if (status != HAWSER_OK) {
        hawser_schema_free(*schema);
        *schema = NULL;
    }
    return status;
}
