/* label.c - what people call a column: its name, or its number as the input counts columns. */
#include "data/label.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "data/layout/assemble.h"
#include "data/model/model.h"
#include "data/table/schema.h"

enum { LONGEST_LABEL = 1024 }; /* with control characters */

/* Finds the end of a run of features that begins at `from`. */
static size_t run_end(const unsigned char *roles, size_t width, size_t from)
{
    while (from < width && roles[from] == HW_FEATURE)
        from++;
    return from;
}

/* Finds the next feature from `from` on. */
static size_t next_feature(const unsigned char *roles, size_t width, size_t from)
{
    while (from < width && roles[from] != HW_FEATURE)
        from++;
    return from;
}

hawser_status hw_keep_numbers(hawser_dataset *dataset, const unsigned char *roles, size_t width, hawser_error *error)
{
    char *text = NULL;
    size_t size = 0, length = 0, longest = sizeof "18446744073709551615-18446744073709551615,";
    for (size_t j = 0, end; j < width; j = end + 1) {
        end = run_end(roles, width, j);
        if (j == 0 && next_feature(roles, width, end) == width)
            return HAWSER_OK; /* the features come first, and count as the input's columns do */
        if (end == j)
            continue;
        if (length + longest > size) {
            hawser_status status = HW_GROW(&text, &size, length + longest, "the numbers of columns", error);
            if (status != HAWSER_OK) {
                free(text);
                return status;
            }
        }
        length += (size_t)snprintf(text + length, size - length, "%s%zu", length > 0 ? "," : "", j);
        if (end > j + 1)
            length += (size_t)snprintf(text + length, size - length, "-%zu", end - 1);
    }
    dataset->numbers = text;
    return HAWSER_OK;
}

/* Reads a whole number at *at, and moves it behind the number. */
static size_t read_whole(const char **at)
{
    char *end;
    unsigned long long value = strtoull(*at, &end, 10);
    *at = end;
    return (size_t)value;
}

size_t hw_column_number(const char *numbers, size_t feature)
{
    size_t before = 0;
    for (const char *at = numbers; at != NULL && *at >= '0' && *at <= '9'; at += *at == ',') {
        size_t first = read_whole(&at), last = first;
        if (*at == '-' && at[1] >= '0' && at[1] <= '9') {
            at++;
            last = read_whole(&at);
        }
        if (last < first)
            break;
        if (feature - before <= last - first)
            return first + (feature - before);
        before += last - first + 1;
    }
    return feature;
}

/* Writes the number in place of a name that is missing, before what the schema adds to it. */
static size_t print_label(const hawser_schema *schema, const char *numbers, int base, size_t column, char *text, size_t size)
{
    size_t table = hw_schema_find(schema, column), length = 0;
    hawser_schema_column shape = {.name = ""};
    bool found = hawser_schema_at(schema, table, &shape);
    if (size > 0)
        text[0] = '\0';
    if (schema != NULL && !found)
        return 0;
    if (shape.name[0] == '\0')
        length = (size_t)snprintf(text, size, "%zu", hw_column_number(numbers, found ? table : column) + (base == 1));
    if (!found)
        return length;
    size_t at = length < size ? length : size;
    return length + hawser_schema_print(schema, column, size > at ? text + at : NULL, size - at);
}

static size_t label_of(const hawser_dataset *dataset, size_t column, char *text, size_t size)
{
    if (dataset->schema == NULL && dataset->columns != NULL && dataset->columns[column][0] != '\0')
        return (size_t)snprintf(text, size, "%s", dataset->columns[column]);
    return print_label(dataset->schema, dataset->numbers, dataset->figures.index_base, column, text, size);
}

const char *hw_column_called(const hawser_dataset *dataset, size_t column, char text[HW_COLUMN_CALLED])
{
    char label[HW_COLUMN_CALLED - 16];
    (void)label_of(dataset, column, label, sizeof label);
    bool number = label[strspn(label, "0123456789")] == '\0';
    (void)snprintf(text, HW_COLUMN_CALLED, number ? "column %s" : "column '%s'", label);
    return text;
}

size_t hawser_escape(const char *from, char *text, size_t size)
{
    size = text != NULL ? size : 0;
    return hw_escape(text, size, from != NULL ? from : "");
}

/* Takes the part of a character off the end of a text that was cut. */
static void drop_part(char *text, size_t length)
{
    size_t first = length;
    while (first > 0 && ((unsigned char)text[first - 1] & 0xc0) == 0x80)
        first--;
    first -= first > 0 && (unsigned char)text[first - 1] >= 0xc0;
    if (first < length && !hw_is_utf8(text + first))
        text[first] = '\0';
}

/* Escapes a label in place. `length` is that of the whole, of which the text may be a part. Returns the length of what is
 * printed. */
static size_t escape_label(size_t length, char *text, size_t size)
{
    char plain[LONGEST_LABEL];
    if (size == 0)
        return length;
    if (length >= size)
        drop_part(text, size - 1);
    if (hw_is_utf8(text) && !hw_has_control(text))
        return length;
    (void)snprintf(plain, sizeof plain, "%s", text);
    size_t escaped = hw_escape(text, size, plain);
    return escaped > length ? escaped : length;
}

size_t hawser_dataset_label(const hawser_dataset *dataset, size_t column, char *text, size_t size)
{
    size = text != NULL ? size : 0;
    if (size > 0)
        text[0] = '\0';
    if (dataset == NULL || column >= dataset->matrix.cols)
        return 0;
    return escape_label(label_of(dataset, column, text, size), text, size);
}

size_t hawser_model_label(const hawser_model *model, const hawser_schema *schema, size_t column, char *text, size_t size)
{
    size = text != NULL ? size : 0;
    if (size > 0)
        text[0] = '\0';
    if (model == NULL)
        return 0;
    const char *base = hawser_model_text(model, "index_base");
    return escape_label(print_label(schema, hawser_model_text(model, HW_MODEL_NUMBERS),
                                    base != NULL && strcmp(base, "1") == 0, column, text, size),
                        text, size);
}

const char *hawser_dataset_numbers(const hawser_dataset *dataset)
{
    return dataset != NULL ? dataset->numbers : NULL;
}
