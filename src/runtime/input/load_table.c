/* load_table.c - words and labels: all nodes agree on the kinds and levels of the columns before words become columns. */
#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "base/memory.h"
#include "data/load.h"
#include "data/table/exact.h"
#include "data/table/schema.h"
#include "data/table/table.h"
#include "runtime/input/loading.h"

/* Adds the labels that a node has met, each ended by zero. */
static hawser_status add_labels(hw_levels *words, const hw_bytes *in, hawser_error *error)
{
    uint32_t number;
    const char *at = in->data, *end = at + in->length;
    for (const char *stop; at < end; at = stop + 1) {
        stop = memchr(at, '\0', (size_t)(end - at));
        if (stop == NULL)
            return hawser_fail(error, HAWSER_INTERNAL, "a node sent labels that are cut off");
        HAWSER_TRY(hw_levels_put(words, at, (size_t)(stop - at), &number, error));
    }
    return HAWSER_OK;
}

/* Writes the labels that this node has met, each ended by zero. */
static hawser_status pack_labels(const hw_levels *labels, hw_bytes *out, hawser_error *error)
{
    size_t length = 0;
    char *text = NULL;
    for (size_t k = 0; labels != NULL && k < labels->count; k++)
        length += strlen(labels->texts[k]) + 1;
    HAWSER_TRY(HW_NEW(&text, length + 1, "labels", error));
    *out = (hw_bytes){text, 0};
    for (size_t k = 0; labels != NULL && k < labels->count; k++) {
        size_t size = strlen(labels->texts[k]) + 1;
        memcpy(text + out->length, labels->texts[k], size);
        out->length += size;
    }
    return HAWSER_OK;
}

/* Gives the labels of rows without a table the numbers that they have among those of all nodes. Collective. */
static hawser_status agree_on_labels(hw_loading *l, hawser_error *error)
{
    hw_bytes own = {0}, *in = NULL;
    hawser_status status = pack_labels(l->rows->labels, &own, error);
    HAWSER_THEN(status, HW_NEW(&l->words, 1, "labels", error));
    status = hw_loading_gather(l, status, own.data, own.length, &in, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++)
        status = add_labels(l->words, &in[i], error);
    HAWSER_THEN(status, hw_levels_sort(l->words, hw_levels_by_value, error));
    if (status == HAWSER_OK && l->rows->labels != NULL && l->rows->target != NULL)
        hw_exact_renumber(l->rows->labels, l->words, (double *)(uintptr_t)l->rows->target, l->rows->matrix.rows);
    hw_bytes_free(in, l->nodes);
    free(own.data);
    return hw_loading_agree(l, status, error);
}

/* Adds up the surveys of all nodes, in their order. */
static hawser_status gather_surveys(hw_loading *l, hw_survey **whole, hawser_error *error)
{
    const struct hw_table *table = l->rows->table;
    hw_bytes own = {0}, *in = NULL;
    hawser_status status = hw_survey_pack(table->survey, &own, error);
    status = hw_loading_gather(l, status, own.data, own.length, &in, error);
    HAWSER_THEN(status, hw_survey_new(table->rules.width, whole, error));
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++) {
        hw_survey *part = NULL;
        status = hw_survey_unpack(&in[i], table->rules.width, &part, error);
        HAWSER_THEN(status, hw_survey_add(*whole, part, error));
        hw_survey_free(part);
    }
    hw_bytes_free(in, l->nodes);
    free(own.data);
    return status;
}

hawser_status hw_loading_weights(hw_loading *l, bool in_rows, hawser_dataset **side, const double **weights,
                                 hawser_error *error)
{
    const uint64_t own = l->rows->matrix.rows;
    uint64_t *read = NULL, first = 0, rows = 0;
    *weights = l->rows->weights;
    if (in_rows || l->load->weights == NULL)
        return HAWSER_OK;
    hawser_status status = HW_COLLECT(l, &own, &read, error);
    for (uint32_t i = 0; status == HAWSER_OK && i < l->nodes; i++) {
        first += i < l->self ? read[i] : 0;
        rows += read[i];
    }
    free(read);
    HAWSER_THEN(status, hw_dataset_new(side, error));
    HAWSER_THEN(status, hw_load_weights_of(*side, l->load, l->limit, rows, error));
    if (status == HAWSER_OK && (*side)->weights != NULL)
        *weights = (*side)->weights + first;
    return hw_loading_agree(l, status, error);
}

hawser_status hw_loading_settle(hw_loading *l, hawser_schema *schema, hawser_error *error)
{
    struct hw_table *table = l->rows->table;
    hw_table_wishes wishes = {.type = l->load->type,
                              .by_row = true,
                              .dense_rows = true,
                              .keep_missing = true,
                              .threads = l->load->threads != 0 ? l->load->threads : hw_machine_processors()};
    l->rows->schema = schema;
    hawser_status status = hw_table_settle(table, schema, &wishes, l->rows, error);
    if (status == HAWSER_OK && schema != NULL && l->rows->figures.text_rules == 0)
        status = hw_dataset_name_columns(l->rows, schema, error);
    hw_table_free(table);
    l->rows->table = NULL;
    return status;
}

/* Weights of a file of their own say which words of the table are levels. Rows that were dropped make the file useless, and
 * an error follows. */
static hawser_status weigh_table(hw_loading *l, hawser_error *error)
{
    struct hw_table *table = l->rows->table;
    hawser_dataset *side = NULL;
    const double *weights = NULL;
    bool in_rows = table->weights_field < table->rules.width || table->rules.missing_number == HW_DROP;
    hawser_status status = hw_loading_weights(l, in_rows, &side, &weights, error);
    HAWSER_THEN(status, hw_table_weigh(table, weights, error));
    hawser_dataset_free(side);
    return hw_loading_agree(l, status, error);
}

static hawser_status settle_table(hw_loading *l, hawser_error *error)
{
    hw_survey *whole = NULL;
    hawser_schema *schema = NULL;
    hawser_status status = weigh_table(l, error);
    HAWSER_THEN(status, gather_surveys(l, &whole, error));
    HAWSER_THEN(status, hw_table_judge(&l->rows->table->rules, l->rows->table->input, whole, &schema, error));
    hw_survey_free(whole);
    HAWSER_THEN(status, hw_loading_settle(l, schema, error));
    return hw_loading_agree(l, status, error);
}

/* Stores whether some node has met words, or labels that must be words. A node that has met none reads its part again, now
 * as a table. */
static hawser_status find_words(hw_loading *l, hawser_error *error)
{
    const bool table = l->rows->table != NULL, labels = l->rows->labels_as_words;
    uint64_t met[2] = {table, labels};
    hawser_status status = hw_loading_add(l, met, 2, error);
    HAWSER_TRY(status);
    l->as_table = met[0] != 0;
    l->labels = l->labels || met[1] != 0;
    if (table != (met[0] != 0) || labels != (met[1] != 0)) {
        hawser_dataset_free(l->rows);
        l->rows = NULL;
        status = hw_loading_read(l, true, error);
    }
    return hw_loading_agree(l, status, error);
}

hawser_status hw_loading_agree_on_words(hw_loading *l, hawser_error *error)
{
    HAWSER_TRY(find_words(l, error));
    if (l->as_table)
        return settle_table(l, error);
    return l->labels ? agree_on_labels(l, error) : HAWSER_OK;
}
