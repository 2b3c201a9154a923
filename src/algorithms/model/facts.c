#include "algorithms/model/facts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds a text as a fact, unless it is NULL. */
static hawser_status model_text_fact(hawser_model *model, const char *key, const char *value, hawser_error *error)
{
    return value == NULL ? HAWSER_OK : hawser_model_fact(model, key, value, error);
}

hawser_status hw_model_number_fact(hawser_model *model, const char *key, double value, hawser_error *error)
{
    char text[40];
    if (isnan(value))
        return HAWSER_OK;
    (void)hawser_print_number(text, sizeof text, value);
    return hawser_model_fact(model, key, text, error);
}

/* Adds the column names, one per line, or the schema. They fit: hawser_train has called hawser_model_fits. */
static hawser_status fact_names(hawser_model *model, const hawser_dataset *data, hawser_error *error)
{
    size_t columns = hawser_dataset_matrix(data)->cols, length = 1;
    const hawser_schema *schema = hawser_dataset_schema(data);
    if (columns == 0 || hawser_dataset_column(data, 0) == NULL)
        return HAWSER_OK;
    if (schema != NULL) {
        char *json = NULL;
        HAWSER_TRY(hawser_schema_write(schema, &json, error));
        hawser_status status = hawser_model_fact(model, "schema", json, error);
        free(json);
        return status;
    }
    for (size_t j = 0; j < columns; j++)
        length += strlen(hawser_dataset_column(data, j)) + 1;
    char *text = malloc(length), *at = text;
    if (text == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu column names", columns);
    for (size_t j = 0; j < columns; j++) {
        size_t n = strlen(hawser_dataset_column(data, j));
        memcpy(at, hawser_dataset_column(data, j), n);
        at += n;
        *at++ = '\n';
    }
    at[-1] = '\0';
    hawser_status status = hawser_model_fact(model, "names", text, error);
    free(text);
    return status;
}

/* Adds the names of the targets, separated by commas as --target takes them, and of several one per line. */
static hawser_status fact_targets(hawser_model *model, const hawser_dataset *data, hawser_error *error)
{
    size_t outputs = hawser_dataset_outputs(data), length = 1, at = 0;
    if (outputs < 2)
        return model_text_fact(model, "target", hawser_dataset_target_name(data), error);
    for (size_t o = 0; o < outputs; o++) {
        if (hawser_dataset_output_name(data, o) == NULL)
            return HAWSER_OK;
        length += strlen(hawser_dataset_output_name(data, o)) + 1;
    }
    char *text = calloc(length, 1);
    if (text == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the names of %zu targets", outputs);
    for (size_t o = 0; o < outputs; o++)
        at += (size_t)snprintf(text + at, length - at, "%s%s", o > 0 ? "\n" : "", hawser_dataset_output_name(data, o));
    hawser_status status = hawser_model_fact(model, "outputs", text, error);
    for (char *c = text; *c != '\0'; c++)
        *c = *c == '\n' ? ',' : *c;
    HAWSER_THEN(status, hawser_model_fact(model, "target", text, error));
    free(text);
    return status;
}

hawser_status hw_model_data_facts(hawser_model *model, const char *algorithm, const hawser_dataset *data,
                                  hawser_error *error)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    const hawser_load_figures *figures = hawser_dataset_figures(data);
    HAWSER_TRY(model_text_fact(model, "algorithm", algorithm, error));
    HAWSER_TRY(model_text_fact(model, "hawser_version", hawser_version(), error));
    HAWSER_TRY(hw_model_number_fact(model, "rows", (double)X->rows, error));
    HAWSER_TRY(hw_model_number_fact(model, "columns", (double)X->cols, error));
    HAWSER_TRY(hw_model_number_fact(model, "index_base", figures != NULL ? figures->index_base : -1, error));
    if (figures != NULL && figures->text_rules != 0) {
        HAWSER_TRY(hw_model_number_fact(model, "text_rules", figures->text_rules, error));
        HAWSER_TRY(hw_model_number_fact(model, "text_length", figures->text_length, error));
    }
    HAWSER_TRY(fact_targets(model, data, error));
    if (figures != NULL && figures->target_column > 0 && hawser_dataset_outputs(data) <= 1)
        HAWSER_TRY(hw_model_number_fact(model, "target_column", (double)figures->target_column - 1.0, error));
    HAWSER_TRY(model_text_fact(model, "target_from", figures != NULL && figures->target_file ? "file" : "input", error));
    HAWSER_TRY(model_text_fact(model, "column_numbers", hawser_dataset_numbers(data), error));
    return fact_names(model, data, error);
}

hawser_status hw_model_option_facts(hawser_model *model, const hawser_options *options, hawser_error *error)
{
    for (size_t k = 0; hawser_options_row(options, k) != NULL; k++) {
        const char *key = hawser_options_row(options, k)->key;
        char name[80];
        snprintf(name, sizeof name, "options.%s", key);
        HAWSER_TRY(model_text_fact(model, name, hawser_options_text(options, key), error));
    }
    return HAWSER_OK;
}

double hw_model_number(const hawser_model *model, const char *key, double otherwise)
{
    const char *text = hawser_model_text(model, key);
    double value = otherwise;
    if (text != NULL)
        (void)hawser_read_number(text, &value);
    return value;
}

void hw_note(hawser_training *training, const char *format, ...)
{
    size_t k = 0;
    va_list arguments;
    while (training != NULL && k < HAWSER_NOTES && training->notes[k][0] != '\0')
        k++;
    if (training == NULL || k == HAWSER_NOTES)
        return;
    va_start(arguments, format);
    vsnprintf(training->notes[k], sizeof training->notes[k], format, arguments);
    va_end(arguments);
}
