/* svmlight_equal.c - the columns that have had one value in all rows so far (data/equal.h), by index as it is written. */
#include "data/format/svmlight.h"

/* A row that is read: its entries, and the rest of their text. */
typedef struct row_text {
    const uint32_t *indices;
    uint64_t count, passed; /* entries; those whose colon is before `at` */
    const char *at, *end;
} row_text;

static uint64_t digits_of(const char *begin, const char *end)
{
    return end - begin >= HW_EQUAL_DIGITS ? hw_equal_digits(begin, end) : 0;
}

/* Returns the text of an entry's value, which is behind those that were found before. Each entry has one colon, and they are
 * counted from the nearer end. */
static const char *text_of(row_text *row, uint64_t number)
{
    if (number > row->passed + (row->count - number)) {
        const char *at = row->end;
        for (uint64_t k = number; k < row->count; k++)
            while (*--at != ':')
                ;
        return at + 1;
    }
    for (; row->passed <= number; row->passed++)
        while (*row->at++ != ':')
            ;
    return row->at;
}

/* Reads the value of an entry again. */
static double value_of(row_text *row, uint64_t number, uint64_t *digits)
{
    double value = 0;
    const char *text = text_of(row, number), *end = hw_number(text, &value);
    *digits = end != NULL ? digits_of(text, end) : 0;
    return value;
}

/* Returns the number of the first entry of that index or a larger one. */
static uint64_t find_entry(const row_text *row, uint64_t from, uint32_t index)
{
    uint64_t low = from, high = row->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (row->indices[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static hawser_status begin(hw_equals *list, row_text *row, hawser_error *error)
{
    uint64_t digits;
    list->begun = true;
    for (uint64_t e = 0; e < row->count; e++) {
        double value = value_of(row, e, &digits);
        HAWSER_TRY(hw_equals_add(list, row->indices[e], value, digits, error));
    }
    return HAWSER_OK;
}

/* Leaves the columns that this row has with the same stored value. */
static void see(hw_equals *list, row_text *row, hawser_type type)
{
    size_t kept = 0;
    uint64_t entry = 0, digits;
    for (size_t k = 0; k < list->count; k++) {
        hw_equal item = list->items[k];
        if (hw_equal_is_target(item.column)) {
            list->items[kept++] = item;
            continue;
        }
        entry = find_entry(row, entry, item.column);
        if (entry == row->count || row->indices[entry] != item.column)
            continue;
        double value = value_of(row, entry, &digits);
        if (hw_equal_see(&item, value, digits, type))
            list->items[kept++] = item;
    }
    list->count = kept;
}

/* The target is the last item. */
static hawser_status see_target(hw_equals *list, bool first, double value, const char *text, hawser_error *error)
{
    double again;
    const char *end = hw_number(text, &again);
    uint64_t digits = end != NULL ? digits_of(text, end) : 0;
    if (first)
        return hw_equals_add(list, HW_EQUAL_TARGET(0), value, digits, error);
    hw_equal *last = list->count > 0 ? &list->items[list->count - 1] : NULL;
    if (last != NULL && last->column == HW_EQUAL_TARGET(0) && !hw_equal_see(last, value, digits, HAWSER_F64))
        list->count--;
    return HAWSER_OK;
}

hawser_status hw_svmlight_see(const hw_reading *reading, hw_text_part *part, uint64_t row, const char *text,
                              const char *entries, const char *end, hawser_error *error)
{
    uint64_t before = row > 0 ? part->ends[row - 1] : 0;
    row_text r = {.indices = part->indices + before, .count = part->ends[row] - before, .at = entries, .end = end};
    bool first = !part->equals.begun;
    if (first)
        HAWSER_TRY(begin(&part->equals, &r, error));
    else
        see(&part->equals, &r, reading->load->type);
    return hw_svmlight_no_target(reading->load) ? HAWSER_OK
                                                : see_target(&part->equals, first, part->target[row], text, error);
}

void hw_svmlight_take_equals(hw_reading *reading, hawser_dataset *dataset)
{
    hw_equals *list = &reading->equals;
    for (size_t k = 0; k < list->count; k++)
        if (!hw_equal_is_target(list->items[k].column))
            list->items[k].column -= (uint32_t)dataset->figures.index_base;
    if (list->begun)
        hw_equals_take(&dataset->equals, list);
}
