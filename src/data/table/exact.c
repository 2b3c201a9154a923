#include "data/table/exact.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "data/table/schema.h"

bool hw_exact_is_wanted(const hw_reading *reading)
{
    const hawser_load *load = reading->load;
    if (load->schema != NULL)
        return hw_levels_are_labels(&load->schema->target);
    /* A pipe cannot be read again, and what it has is known at its end only. Pieces of rows are for a model, and have its
     * schema. */
    bool at_once = load->labels != 0 && reading->keeps_equals && !reading->input.all_mapped && load->parts <= 1;
    return at_once || load->labels == HW_LABELS_AS_WORDS;
}

static void free_labels(struct hw_levels *labels)
{
    hw_levels_free(labels);
    free(labels);
}

/* Stores the number of a text in the reading's set. */
static hawser_status put(hw_reading *reading, const char *text, uint32_t *number, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    pthread_mutex_lock(&reading->lock);
    reading->free_labels = free_labels;
    if (reading->labels == NULL)
        status = HW_NEW(&reading->labels, 1, "labels", error);
    HAWSER_THEN(status, hw_levels_put(reading->labels, text, strlen(text), number, error));
    pthread_mutex_unlock(&reading->lock);
    return status;
}

hawser_status hw_exact_text(hw_reading *reading, const char *name, const char *text, double *label, hawser_error *error)
{
    uint32_t number = 0;
    const hawser_load *load = reading->load;
    if (load->schema == NULL)
        HAWSER_TRY(put(reading, text, &number, error));
    else if (!hw_levels_find(&load->schema->target, text, strlen(text), &number) && !load->target_optional)
        return hawser_fail(error, HAWSER_BAD_INPUT, "%s: the label %s is none of the model's classes", name, text);
    *label = number;
    return HAWSER_OK;
}

hawser_status hw_exact_label(hw_reading *reading, const hw_chunk *chunk, const char *begin, const char *stop, double *label,
                             hawser_error *error)
{
    char text[HW_LABEL_TEXT];
    if (hw_label_read(begin, stop, text) == HW_LABEL_OUTSIDE)
        return hw_chunk_fail(chunk, begin, error, HW_LABEL_IS_OUTSIDE, "label");
    return hw_exact_text(reading, chunk->file->name, text, label, error);
}

void hw_exact_renumber(const hw_levels *labels, const hw_levels *sorted, double *target, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        uint32_t number = 0;
        const char *text = labels->texts[(size_t)target[i]];
        (void)hw_levels_find(sorted, text, strlen(text), &number);
        target[i] = number;
    }
}

hawser_status hw_exact_schema(hawser_dataset *dataset, const hw_levels *sorted, hawser_error *error)
{
    enum { MOST = 4000000 }; /* columns that a model file surely has room for */
    uint32_t number;
    hawser_schema *schema = NULL;
    if (dataset->matrix.cols > MOST)
        return hawser_fail(
            error, HAWSER_BAD_INPUT,
            "the label %s is beyond 2^53, and the file of a model with %zu columns has no room for the texts of "
            "labels; number the classes from 0",
            sorted->texts[sorted->count - 1], dataset->matrix.cols);
    hawser_status status = hw_schema_of_names(dataset, &schema, error);
    if (status == HAWSER_OK && schema == NULL) {
        status = hw_schema_new(dataset->matrix.cols, &schema, error);
        HAWSER_THEN(status, hw_schema_settle(schema, error));
    }
    for (size_t k = 0; k < sorted->count && status == HAWSER_OK; k++)
        status = hw_levels_put(&schema->target, sorted->texts[k], strlen(sorted->texts[k]), &number, error);
    if (status != HAWSER_OK) {
        hawser_schema_free(schema);
        return status;
    }
    dataset->schema = schema;
    dataset->labels_as_words = true;
    return hw_dataset_name_columns(dataset, schema, error);
}

static hawser_status take_words(const hw_levels *labels, hawser_dataset *dataset, hawser_error *error)
{
    hw_levels sorted = {0};
    uint32_t number;
    hawser_status status = HAWSER_OK;
    for (size_t k = 0; k < labels->count && status == HAWSER_OK; k++)
        status = hw_levels_put(&sorted, labels->texts[k], strlen(labels->texts[k]), &number, error);
    HAWSER_THEN(status, hw_levels_sort(&sorted, hw_levels_by_value, error));
    HAWSER_THEN(status, hw_exact_schema(dataset, &sorted, error));
    if (status == HAWSER_OK)
        hw_exact_renumber(labels, &sorted, (double *)(uintptr_t)dataset->target, dataset->matrix.rows);
    hw_levels_free(&sorted);
    return status;
}

hawser_status hw_exact_settle(hw_reading *reading, hawser_dataset *dataset, hawser_error *error)
{
    hw_levels *labels = reading->labels;
    double *target = (double *)(uintptr_t)dataset->target;
    if (reading->load->parts > 1) {
        dataset->labels = labels;
        dataset->free_labels = free_labels;
        reading->labels = NULL;
        return HAWSER_OK;
    }
    if (labels == NULL || target == NULL)
        return HAWSER_OK;
    if (hw_levels_are_labels(labels))
        return take_words(labels, dataset, error);
    for (size_t i = 0; i < dataset->matrix.rows; i++)
        target[i] = hw_number_strtod(labels->texts[(size_t)target[i]]);
    return HAWSER_OK;
}
