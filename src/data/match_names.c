/* match_names.c - matches the columns of sparse data, whose names are in a file, with those of a model: by name. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/type.h"
#include "data/load.h"
#include "data/source/input.h"
#include "data/table/schema.h"
#include "data/vocabulary.h"

bool hw_names_are_matched(const hawser_load *load)
{
    return load->schema != NULL && load->names != NULL && load->parts <= 1 && hw_schema_is_plain(load->schema);
}

hawser_status hw_names_count(const char *path, hw_budget *budget, size_t *count, hawser_error *error)
{
    enum { MOST = 1 << 30 };
    hw_input input;
    const char *text;
    void *buffer = NULL;
    size_t bytes, capacity = 0;
    *count = 0;
    hawser_status status = hw_input_open(&input, &path, 1, budget, error);
    HAWSER_THEN(status, hw_input_whole(&input, 0, MOST, &text, &bytes, &buffer, &capacity, error));
    for (size_t at = 0; status == HAWSER_OK && at < bytes; at++)
        *count += text[at] == '\n' || at + 1 == bytes;
    hw_pages_free(budget, buffer, capacity);
    hw_input_close(&input);
    return status;
}

static bool are_same(const hawser_schema *schema, const hawser_dataset *dataset)
{
    bool same = schema->count == dataset->matrix.cols;
    for (size_t j = 0; same && j < schema->count; j++)
        same = strcmp(schema->columns[j].shape.name, dataset->columns[j]) == 0;
    return same;
}

/* map[j]: the model's column of the name of column j. names: of all of the model's columns. */
static hawser_status find_columns(const hawser_schema *schema, const hawser_dataset *dataset, hw_levels *known,
                                  uint32_t *map, const char **names, hawser_error *error)
{
    uint32_t number;
    for (size_t k = 0; k < schema->count; k++) {
        names[k] = schema->columns[k].shape.name;
        HAWSER_TRY(hw_levels_put(known, names[k], strlen(names[k]), &number, error));
        if (number != k)
            return hawser_fail(error, HAWSER_BAD_INPUT, "two columns of the model have the name '%.100s'", names[k]);
    }
    for (size_t j = 0; j < dataset->matrix.cols; j++)
        map[j] = hw_levels_find(known, dataset->columns[j], strlen(dataset->columns[j]), &number) ? number : HW_NO_COLUMN;
    return HAWSER_OK;
}

/* Adds up what is left out: counts as they are, other values as one each. */
static uint64_t count_unknown(const hawser_matrix *A, const uint32_t *map)
{
    const bool by_row = A->layout == HAWSER_CSR;
    uint64_t sum = 0;
    for (size_t line = 0; A->stored > 0 && line < (by_row ? A->rows : A->cols); line++)
        for (uint64_t e = A->offsets[line]; e < A->offsets[line + 1]; e++) {
            const double value = hw_value_at(A->values, A->type, e);
            if (map[by_row ? A->indices[e] : line] == HW_NO_COLUMN)
                sum += value >= 0 && value < 0x1p53 && floor(value) == value ? (uint64_t)value : 1;
        }
    return sum;
}

hawser_status hw_names_match(const hawser_schema *schema, hw_budget *budget, hawser_dataset *dataset, hawser_error *error)
{
    hw_levels known = {0};
    uint32_t *map = NULL;
    const char **names = NULL;
    if (are_same(schema, dataset))
        return HAWSER_OK;
    hawser_status status = HW_NEW(&map, dataset->matrix.cols + 1, "the columns of a model", error);
    HAWSER_THEN(status, HW_NEW(&names, schema->count, "the columns of a model", error));
    HAWSER_THEN(status, find_columns(schema, dataset, &known, map, names, error));
    if (status == HAWSER_OK) {
        dataset->figures.unknown_words += count_unknown(&dataset->matrix, map);
        status = hw_columns_keep(dataset, budget, map, 0, schema->count, true, error);
    }
    HAWSER_THEN(status, hw_columns_name(dataset, names, schema->count, NULL, schema->count, error));
    hw_levels_free(&known);
    free(names);
    free(map);
    return status;
}
