#include "data/equal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Returns a number in text, or one as large that overflows no sum. */
static int64_t exponent_of(const char *text)
{
    const int64_t most = INT64_C(1) << 30, exponent = strtol(text, NULL, 10);
    return exponent > most ? most : exponent < -most ? -most : exponent;
}

/* The hash is that of the digits between the first and the last that are not 0, and of the power of ten of the last. */
uint64_t hw_equal_digits(const char *begin, const char *end)
{
    const char *at = begin + (begin < end && (*begin == '-' || *begin == '+')), *first = NULL, *last = NULL, *point = NULL;
    for (; at < end && ((*at >= '0' && *at <= '9') || *at == '.'); at++) {
        point = *at == '.' ? at : point;
        if (*at == '.' || *at == '0')
            continue;
        first = first != NULL ? first : at;
        last = at;
    }
    if (first == NULL || last - first + 1 < HW_EQUAL_DIGITS)
        return 0;
    uint64_t hash = *begin == '-' ? UINT64_C(0xcbf29ce484222325) : UINT64_C(0x84222325cbf29ce4), count = 0; /* FNV-1a */
    for (const char *digit = first; digit <= last; digit++)
        if (digit != point) {
            hash = (hash ^ (unsigned char)*digit) * UINT64_C(0x100000001b3);
            count++;
        }
    int64_t power = point == NULL || point == at ? at - last : point > last ? point - last : point - last + 1;
    if (at < end && (*at | 32) == 'e')
        power += exponent_of(at + 1);
    hash = (hash ^ (uint64_t)power) * UINT64_C(0x100000001b3);
    return count < HW_EQUAL_DIGITS ? 0 : hash != 0 ? hash : 1;
}

hawser_status hw_equals_add(hw_equals *list, uint32_t column, double value, uint64_t digits, hawser_error *error)
{
    HAWSER_TRY(HW_GROW(&list->items, &list->capacity, list->count + 1, "columns of one value", error));
    list->items[list->count++] = (hw_equal){.column = column, .value = value, .digits = digits};
    return HAWSER_OK;
}

bool hw_equal_see(hw_equal *item, double value, uint64_t digits, hawser_type type)
{
    if (isnan(item->value)) {
        item->value = value;
        item->digits = digits;
        return true;
    }
    bool single = type == HAWSER_F32 && !hw_equal_is_target(item->column);
    if (single ? (float)value != (float)item->value : value != item->value)
        return false;
    item->differ = item->differ || value != item->value || digits != item->digits;
    return true;
}

void hw_equals_meet(hw_equals *to, const hw_equals *from, hawser_type type)
{
    size_t kept = 0;
    for (size_t a = 0, b = 0; a < to->count; a++) {
        hw_equal item = to->items[a];
        while (b < from->count && from->items[b].column < item.column)
            b++;
        bool both = b < from->count && from->items[b].column == item.column;
        if (!both ||
            (!isnan(from->items[b].value) && !hw_equal_see(&item, from->items[b].value, from->items[b].digits, type)))
            continue;
        item.differ = item.differ || from->items[b].differ;
        to->items[kept++] = item;
    }
    to->count = kept;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = ((const hw_equal *)a)->column, y = ((const hw_equal *)b)->column;
    return (x > y) - (x < y);
}

void hw_equals_take(hw_equals *to, hw_equals *from)
{
    free(to->items);
    *to = *from;
    *from = (hw_equals){0};
    if (to->count > 1)
        qsort(to->items, to->count, sizeof *to->items, compare);
}

hawser_status hw_equals_copy(hw_equals *to, const hw_equals *from, hawser_error *error)
{
    HAWSER_TRY(HW_GROW(&to->items, &to->capacity, from->count, "columns of one value", error));
    if (from->count > 0)
        memcpy(to->items, from->items, from->count * sizeof *to->items);
    to->count = from->count;
    to->begun = from->begun;
    return HAWSER_OK;
}

const hw_equal *hw_equals_find(const hw_equals *list, uint32_t column)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle].column < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->count && list->items[low].column == column ? &list->items[low] : NULL;
}

void hw_equals_free(hw_equals *list)
{
    free(list->items);
    *list = (hw_equals){0};
}
