/* fits.c - whether what data and options contribute to a model's facts fits into the header of its file. */
#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "base/option_value.h"
#include "data/model/model.h"

/* Bytes of JSON around each name or word of a schema, and those reserved for all other facts. */
enum { AROUND = 64, OTHERS = 10000000 };

/* What has been counted, and the longest text of it. */
typedef struct header_bytes {
    const char *longest,
        *of; /* `of`: the column that the longest word belongs to; "" if it has no name, NULL: it is no word */
    const char *kind;
    size_t bytes, most;
} header_bytes;

/* Returns the bytes of a character of a text in JSON, or in JSON that is a text of JSON itself, as a schema is. */
static size_t json_bytes(unsigned char c, bool twice)
{
    bool named = c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f';
    if (c == '"' || c == '\\')
        return twice ? 4 : 2;
    return (c >= 0x20 ? 1 : named ? 2 : 6) + (twice && c < 0x20 ? 1 : 0);
}

static void add(header_bytes *counted, const char *text, const char *kind, const char *of, bool twice)
{
    size_t bytes = 0;
    for (const char *c = text; c != NULL && *c != '\0'; c++)
        bytes += json_bytes((unsigned char)*c, twice);
    counted->bytes += bytes + (twice ? AROUND : 2);
    if (bytes < counted->most)
        return;
    counted->most = bytes;
    counted->longest = text;
    counted->kind = kind;
    counted->of = of;
}

static void add_schema(header_bytes *counted, const hawser_schema *schema)
{
    hawser_schema_column column;
    size_t words = 0;
    const char *const *target = hawser_schema_target(schema, &words);
    for (size_t j = 0; hawser_schema_at(schema, j, &column); j++) {
        add(counted, column.name, "the name of a column", NULL, true);
        for (size_t k = 0; column.levels != NULL && k < column.count; k++)
            add(counted, column.levels[k], "a word of column", column.name, true);
    }
    for (size_t k = 0; target != NULL && k < words; k++)
        add(counted, target[k], "a class of the target", NULL, true);
}

static void add_data(header_bytes *counted, const hawser_dataset *dataset)
{
    const hawser_schema *schema = hawser_dataset_schema(dataset);
    size_t columns = hawser_dataset_matrix(dataset)->cols;
    const char *numbers = hawser_dataset_numbers(dataset);
    if (schema != NULL)
        add_schema(counted, schema);
    for (size_t j = 0; schema == NULL && hawser_dataset_column(dataset, 0) != NULL && j < columns; j++)
        add(counted, hawser_dataset_column(dataset, j), "the name of a column", NULL, false);
    for (size_t o = 0; o < hawser_dataset_outputs(dataset); o++)
        for (int k = 0; k < 2 && hawser_dataset_output_name(dataset, o) != NULL; k++) /* by comma and by line */
            add(counted, hawser_dataset_output_name(dataset, o), "the name of a target", NULL, false);
    counted->bytes += numbers != NULL ? strlen(numbers) : 0;
}

hawser_status hawser_model_fits(const hawser_dataset *dataset, const hawser_options *options, hawser_error *error)
{
    HW_GIVEN(dataset);
    header_bytes counted = {.kind = "no name"};
    char longest[100] = "", column[100] = "";
    add_data(&counted, dataset);
    for (size_t k = 0; options != NULL && hawser_options_row(options, k) != NULL; k++) {
        const char *key = hawser_options_row(options, k)->key;
        add(&counted, hw_option_text(options, key), "the text of option", key, false);
    }
    if (counted.bytes <= HW_MODEL_MOST_HEADER - OTHERS)
        return HAWSER_OK;
    (void)hawser_escape(counted.longest, longest, sizeof longest);
    if (counted.of != NULL && hawser_escape(counted.of, longest, sizeof longest) > 0) {
        (void)snprintf(column, sizeof column, " '%.90s'", longest);
        (void)hawser_escape(counted.longest, longest, sizeof longest);
    }
    return hawser_fail(
        error, HAWSER_BAD_INPUT,
        "names and words of the data have %zu bytes, and a model's file holds %d: the longest is %s%s, '%.60s%s', of "
        "%zu bytes; shorten it, or leave its column out",
        counted.bytes, HW_MODEL_MOST_HEADER - OTHERS, counted.kind, column, longest,
        counted.longest != NULL && strlen(counted.longest) > 60 ? "..." : "", counted.most);
}
