/* csv_equal.c - the columns that have had one value in all rows so far (data/equal.h), by field. */
#include <math.h>

#include "data/format/csv.h"
#include "data/layout/assemble.h"
#include "data/table/cells.h"

/* Returns whether a field has numbers of a column or of a target. */
static bool is_seen(const hw_csv *csv, size_t field)
{
    unsigned role = csv->rules.roles[field];
    bool text = csv->rules.texts != NULL && csv->rules.texts[field] != HW_TEXT_AUTO;
    return !text && (role == HW_FEATURE || role == HW_TARGET || (role >= HW_FURTHER && role < HW_UNSEEN));
}

/* Begins with the columns of the first row. */
static hawser_status begin(const hw_csv *csv, hw_equals *list, const double *row, hawser_error *error)
{
    uint32_t word;
    list->begun = true;
    for (size_t j = 0; j < csv->rules.width; j++)
        if (is_seen(csv, j) && !hw_cell_word(row[j], &word))
            HAWSER_TRY(hw_equals_add(list, (uint32_t)j, row[j], HW_EQUAL_UNKNOWN, error));
    return HAWSER_OK;
}

/* Compares numbers, and leaves the columns of which none is another one. */
static void see_numbers(const hw_csv *csv, hw_equals *list, const double *row, hawser_type type)
{
    size_t kept = 0;
    uint32_t word;
    for (size_t k = 0; k < list->count; k++) {
        hw_equal item = list->items[k];
        double value = row[item.column];
        bool missing = isnan(value) && !hw_cell_word(value, &word), feature = csv->rules.roles[item.column] == HW_FEATURE;
        uint64_t digits = isnan(item.value) ? HW_EQUAL_UNKNOWN : item.digits;
        if (missing || hw_equal_see(&item, value, digits, feature ? type : HAWSER_F64))
            list->items[kept++] = item;
    }
    list->count = kept;
}

/* Compares digits that doubles do not hold. Where no field is `lengthy` there are none; zeros have none either. */
static void see_digits(const hw_csv *csv, const hw_chunk *chunk, hw_equals *list, const double *row, const char *text,
                       bool lengthy)
{
    const char *at = text, *begin = at, *stop = at;
    size_t field = 0;
    for (size_t k = 0; k < list->count; k++) {
        hw_equal *item = &list->items[k];
        uint64_t digits = 0;
        if (isnan(row[item->column]))
            continue;
        if (lengthy && row[item->column] != 0) {
            for (; field <= item->column && at != NULL; field++)
                at = hw_csv_field(at + (field > 0), chunk->end, csv->delimiter, &begin, &stop);
            digits = at != NULL && stop - begin >= HW_EQUAL_DIGITS ? hw_equal_digits(begin, stop) : 0;
        }
        item->digits = item->digits == HW_EQUAL_UNKNOWN ? digits : item->digits;
        item->differ = item->differ || item->digits != digits;
    }
}

hawser_status hw_csv_see(const hw_csv *csv, const hw_reading *reading, const hw_chunk *chunk, hw_text_part *part,
                         const double *row, const char *text, bool lengthy, hawser_error *error)
{
    if (csv->weights > 0 && !(row[csv->weights - 1] > 0))
        return HAWSER_OK;
    if (!part->equals.begun)
        HAWSER_TRY(begin(csv, &part->equals, row, error));
    else
        see_numbers(csv, &part->equals, row, reading->load->type);
    see_digits(csv, chunk, &part->equals, row, text, lengthy);
    return HAWSER_OK;
}
