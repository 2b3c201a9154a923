#include "base/option_value.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/distance.h"
#include "base/memory.h"

/* A bound of an interval is open or closed; long double represents every 64-bit integer. */
typedef struct interval {
    long double low, high;
    bool low_open, high_open;
} interval;

/* Reads a number; leading blanks, which strtod skips, are refused. */
static bool read_double(const char *text, double *value, const char **end)
{
    if (isspace((unsigned char)text[0]))
        return false;
    *end = hawser_read_number(text, value);
    return *end != NULL;
}

static bool read_number(const char *text, double *value)
{
    const char *end;
    return read_double(text, value, &end) && *end == '\0' && isfinite(*value);
}

static bool read_integer(const char *text, int64_t *value)
{
    if (!isdigit((unsigned char)text[0]) && text[0] != '-' && text[0] != '+')
        return false;
    char *end;
    errno = 0;
    long long read = strtoll(text, &end, 10);
    *value = read;
    return end != text && *end == '\0' && errno == 0;
}

/* Returns the power of 1024 of a suffix ("", "B", "k", "K", "kB", "KiB", ...), or -1. */
static int bytes_power(const char *suffix)
{
    static const char letters[] = "kmgtpe";
    if (*suffix == '\0' || strcmp(suffix, "B") == 0)
        return 0;
    const char *found = strchr(letters, tolower((unsigned char)*suffix));
    if (found == NULL)
        return -1;
    suffix++;
    if (*suffix == 'i')
        suffix++;
    if (*suffix == 'B')
        suffix++;
    return *suffix == '\0' ? (int)(found - letters) + 1 : -1;
}

static bool read_bytes(const char *text, uint64_t *value)
{
    if (!isdigit((unsigned char)text[0]) && text[0] != '.')
        return false;
    char *end;
    errno = 0;
    unsigned long long whole = strtoull(text, &end, 10); /* exact if there is no fraction */
    bool exact = errno == 0 && *end != '.' && *end != 'e' && *end != 'E' && *end != 'x' && *end != 'X';
    double number = (double)whole;
    const char *suffix = end;
    if (!exact && !read_double(text, &number, &suffix))
        return false;
    int power = bytes_power(suffix);
    if (power < 0 || !(number >= 0) || ldexp(number, 10 * power) >= 0x1p64)
        return false;
    *value = exact ? (uint64_t)whole << (10 * power) : (uint64_t)ldexp(number, 10 * power);
    return true;
}

static bool read_seconds(const char *text, double *value)
{
    static const struct {
        const char *suffix;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}};
    const char *end;
    if (!read_double(text, value, &end) || !isfinite(*value))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].suffix) == 0) {
            *value *= units[i].seconds;
            return isfinite(*value) && *value >= 0;
        }
    return false;
}

/* ----------------------------------------------------------------------------------------------------- bounds ---- */

static bool read_end(const hawser_option *row, const char *text, size_t length, long double *value)
{
    char copy[64];
    if (length == 0 || length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (strcmp(copy, "inf") == 0 || strcmp(copy, "-inf") == 0) {
        *value = copy[0] == '-' ? -INFINITY : INFINITY;
        return true;
    }
    uint64_t bytes;
    int64_t integer;
    double number;
    bool read = row->kind == HAWSER_BYTES     ? read_bytes(copy, &bytes)
                : row->kind == HAWSER_SECONDS ? read_seconds(copy, &number)
                                              : read_number(copy, &number);
    if (!read)
        return false;
    if (row->kind == HAWSER_BYTES)
        *value = bytes;
    else
        *value = row->kind == HAWSER_INTEGER && read_integer(copy, &integer) ? (long double)integer : number;
    return true;
}

static bool read_interval(const hawser_option *row, interval *bounds)
{
    const char *text = row->bounds;
    size_t length = strlen(text);
    const char *comma = strchr(text, ',');
    if (length < 5 || comma == NULL || (text[0] != '[' && text[0] != '(') ||
        (text[length - 1] != ']' && text[length - 1] != ')'))
        return false;
    bounds->low_open = text[0] == '(';
    bounds->high_open = text[length - 1] == ')';
    return read_end(row, text + 1, (size_t)(comma - text) - 1, &bounds->low) &&
           read_end(row, comma + 1, (size_t)(text + length - 1 - comma) - 1, &bounds->high) && bounds->low <= bounds->high;
}

static bool within(const hawser_option *row, long double value)
{
    interval bounds;
    if (row->bounds == NULL || !read_interval(row, &bounds))
        return true;
    return (bounds.low_open ? value > bounds.low : value >= bounds.low) &&
           (bounds.high_open ? value < bounds.high : value <= bounds.high);
}

hawser_status hw_option_bounds_check(const hawser_option *row, hawser_error *error)
{
    interval bounds;
    bool good;
    switch (row->kind) {
    case HAWSER_WORD: good = row->bounds != NULL && row->bounds[0] != '\0'; break;
    case HAWSER_FLAG:
    case HAWSER_TEXT:
    case HAWSER_PATH: good = row->bounds == NULL; break;
    default: good = row->bounds == NULL || read_interval(row, &bounds); break;
    }
    if (!good)
        return hawser_fail(error, HAWSER_INTERNAL, "option row '%s' has bounds '%s', which its kind cannot have", row->key,
                           row->bounds == NULL ? "" : row->bounds);
    return HAWSER_OK;
}

static hawser_status check_within(const hawser_option *row, long double value, const char *text, const char *where,
                                  hawser_error *error)
{
    if (within(row, value))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION, "%s: '%s' is not within %s", where, text, row->bounds);
}

static hawser_status refuse(const char *where, const char *text, const char *expected, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_OPTION, "%s: '%s' is not %s", where, text, expected);
}

/* ------------------------------------------------------------------------------------------------------ kinds ---- */

/* Returns whether a word matches an entry of the bounds: "ssp:N" matches "ssp:" and a decimal number of 32 bits. */
static bool word_matches(const char *entry, size_t length, const char *text)
{
    if (length > 2 && entry[length - 2] == ':' && entry[length - 1] == 'N') {
        if (strncmp(text, entry, length - 1) != 0 || !isdigit((unsigned char)text[length - 1]))
            return false;
        int64_t number;
        return read_integer(text + length - 1, &number) && number <= UINT32_MAX;
    }
    return strlen(text) == length && strncmp(text, entry, length) == 0;
}

static hawser_status read_word(const hawser_option *row, const char *text, const char *where, hawser_error *error)
{
    char nearest[64] = "";
    size_t nearest_distance = SIZE_MAX;
    for (const char *entry = row->bounds;; entry++) {
        size_t length = strcspn(entry, "|");
        if (word_matches(entry, length, text))
            return HAWSER_OK;
        char copy[64] = "";
        if (length < sizeof copy)
            memcpy(copy, entry, length);
        size_t distance = hw_distance_typed(text, copy);
        if (distance < nearest_distance) {
            nearest_distance = distance;
            memcpy(nearest, copy, sizeof nearest);
        }
        entry += length;
        if (*entry == '\0')
            break;
    }
    if (nearest_distance <= 2)
        return hawser_fail(error, HAWSER_BAD_OPTION, "%s: '%s' is not one of %s; did you mean '%s'?", where, text,
                           row->bounds, nearest);
    return hawser_fail(error, HAWSER_BAD_OPTION, "%s: '%s' is not one of %s", where, text, row->bounds);
}

static hawser_status read_flag(const char *text, const char *where, bool *flag, hawser_error *error)
{
    *flag = strcmp(text, "yes") == 0 || strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    if (*flag || strcmp(text, "no") == 0 || strcmp(text, "false") == 0 || strcmp(text, "0") == 0)
        return HAWSER_OK;
    return refuse(where, text, "yes or no (true, false, 1 and 0 do as well)", error);
}

static hawser_status read_numbers(const hawser_option *row, const char *text, const char *where, hw_option_value *value,
                                  hawser_error *error)
{
    size_t capacity = 0;
    for (const char *rest = text; *rest != '\0';) {
        HAWSER_TRY(HW_GROW(&value->numbers, &capacity, value->count + 1, "an option's numbers", error));
        const char *end;
        double number;
        if (!read_double(rest, &number, &end) || !isfinite(number) || (*end != '\0' && (*end != ',' || end[1] == '\0')))
            return refuse(where, text, "a list of numbers separated by commas", error);
        HAWSER_TRY(check_within(row, number, text, where, error));
        value->numbers[value->count++] = number;
        rest = *end == ',' ? end + 1 : end;
    }
    return HAWSER_OK;
}

bool hw_is_auto(const char *text)
{
    return text != NULL && strncmp(text, "auto", 4) == 0 && (text[4] == '\0' || text[4] == ':');
}

static bool unit_ends(const hawser_option *row, const char *end)
{
    size_t length = row->unit != NULL ? strlen(row->unit) : 0, most = strlen(end);
    return length >= most && strcmp(row->unit + length - most, end) == 0;
}

/* Returns the text that sets the value of the start: "2" of "auto:2", the default of "auto", else the text itself. */
static const char *text_of_start(const hawser_option *row, const char *text)
{
    const bool from = unit_ends(row, HW_OR_AUTO_FROM);
    if (!hw_is_auto(text) || !(from || unit_ends(row, HW_OR_AUTO)) || (text[4] == ':' && !from))
        return text;
    return text[4] == ':' ? text + 5 : row->value;
}

static hawser_status read_kind(const hawser_option *row, const char *given, const char *where, hw_option_value *value,
                               hawser_error *error)
{
    const char *text = text_of_start(row, given);
    switch (row->kind) {
    case HAWSER_FLAG: return read_flag(text, where, &value->flag, error);
    case HAWSER_INTEGER:
        if (!read_integer(text, &value->integer))
            return refuse(where, text, "a whole number", error);
        return check_within(row, value->integer, text, where, error);
    case HAWSER_NUMBER:
        if (!read_number(text, &value->number))
            return refuse(where, text,
                          unit_ends(row, HW_OR_AUTO_FROM) ? "a finite number, auto or auto:H" : "a finite number", error);
        return check_within(row, value->number, text, where, error);
    case HAWSER_BYTES:
        if (!read_bytes(text, &value->bytes))
            return refuse(where, text,
                          unit_ends(row, HW_OR_AUTO) ? "a size such as 4096, 64k, 1.5M or 2GiB, or auto"
                                                     : "a size such as 4096, 64k, 1.5M or 2GiB",
                          error);
        return check_within(row, value->bytes, text, where, error);
    case HAWSER_SECONDS:
        if (!read_seconds(text, &value->number))
            return refuse(where, text, "a duration such as 90, 90s, 5m or 2h", error);
        return check_within(row, value->number, text, where, error);
    case HAWSER_WORD: return read_word(row, text, where, error);
    case HAWSER_TEXT: return HAWSER_OK;
    case HAWSER_PATH: return text[0] != '\0' ? HAWSER_OK : refuse(where, text, "a file name", error);
    case HAWSER_NUMBERS: return read_numbers(row, text, where, value, error);
    }
    return hawser_fail(error, HAWSER_INTERNAL, "option row '%s' is of an unknown kind", row->key);
}

/* ------------------------------------------------------------------------------------------------ per state ---- */

bool hw_option_by_state(const hawser_option *row)
{
    return row->unit != NULL && strncmp(row->unit, HW_BY_STATE, strlen(HW_BY_STATE)) == 0;
}

hawser_status hw_option_item_read(const hawser_option *row, const char *text, const char *where, hw_option_item *item,
                                  const char **rest, hawser_error *error)
{
    size_t length = strcspn(text, ",");
    const char *equals = memrchr(text, '=', length); /* the last one: no value contains it */
    const char *value = equals != NULL ? equals + 1 : text, *end = text + length;
    *item = (hw_option_item){.state = text, .length = equals != NULL ? (size_t)(equals - text) : 0};
    if (equals == text)
        return refuse(where, text, "a list of VALUE or STATE=VALUE: a state has no name", error);
    if ((size_t)(end - value) >= sizeof item->text || (*end == ',' && end[1] == '\0'))
        return refuse(where, text, "a list of VALUE or STATE=VALUE, separated by commas", error);
    memcpy(item->text, value, (size_t)(end - value));
    *rest = *end == ',' ? end + 1 : end;
    return read_kind(row, item->text, where, &item->value, error);
}

/* Refuses a state, or the value for all other states, that the text has set before `item`. */
static hawser_status check_once(const hawser_option *row, const char *text, const char *where, const hw_option_item *item,
                                hawser_error *error)
{
    hw_option_item other;
    for (const char *rest = text; rest < item->state;) {
        HAWSER_TRY(hw_option_item_read(row, rest, where, &other, &rest, error));
        if (other.length == item->length && strncmp(other.state, item->state, item->length) == 0)
            return item->length == 0
                       ? hawser_fail(error, HAWSER_BAD_OPTION,
                                     "%s: '%s' has two values for all states, '%s' and '%s'; write STATE=VALUE "
                                     "for the value of one state",
                                     where, text, other.text, item->text)
                       : hawser_fail(error, HAWSER_BAD_OPTION, "%s: '%s' names state '%.*s' twice", where, text,
                                     (int)item->length, item->state);
    }
    return HAWSER_OK;
}

/* Returns the length of the name of a state at the start of an item STATE=FILE; 0 if it has none. */
static size_t state_of_item(const char *text)
{
    size_t length = strcspn(text, "=,/");
    return text[length] == '=' ? length : 0;
}

bool hw_option_next_path(const char **rest, hw_option_path *item)
{
    const char *text = *rest;
    if (*text == '\0')
        return false;
    *item = (hw_option_path){.state = text, .state_length = state_of_item(text)};
    item->path = text + item->state_length + (item->state_length > 0);
    const char *end = item->path;
    while (*end != '\0' && (*end != ',' || state_of_item(end + 1) == 0))
        end++;
    item->path_length = (size_t)(end - item->path);
    *rest = *end == ',' ? end + 1 : end;
    return true;
}

static hawser_status read_paths(const char *text, const char *where, hawser_error *error)
{
    hw_option_path item, other;
    if (*text == '\0')
        return refuse(where, text, "a file name", error);
    for (const char *rest = text; hw_option_next_path(&rest, &item);) {
        if (item.path_length == 0)
            return refuse(where, text, "FILE or STATE=FILE: a state has no file", error);
        for (const char *before = text; hw_option_next_path(&before, &other) && other.state < item.state;)
            if (other.state_length == item.state_length && strncmp(other.state, item.state, item.state_length) == 0)
                return hawser_fail(error, HAWSER_BAD_OPTION, "%s: '%s' names two files for %s%.*s; give one", where, text,
                                   item.state_length > 0 ? "state " : "the start of all states", (int)item.state_length,
                                   item.state);
    }
    return HAWSER_OK;
}

static hawser_status read_by_state(const hawser_option *row, const char *text, const char *where, hw_option_value *value,
                                   hawser_error *error)
{
    if (row->kind == HAWSER_PATH)
        return read_paths(text, where, error);
    HAWSER_TRY(read_kind(row, row->value, where, value, error));
    const char *rest = text;
    do {
        hw_option_item item;
        HAWSER_TRY(hw_option_item_read(row, rest, where, &item, &rest, error));
        HAWSER_TRY(check_once(row, text, where, &item, error));
        if (item.length == 0)
            *value = item.value;
    } while (*rest != '\0');
    return HAWSER_OK;
}

hawser_status hw_option_value_read(const hawser_option *row, const char *text, const char *where, hw_option_value *value,
                                   hawser_error *error)
{
    *value = (hw_option_value){0};
    hawser_status status =
        hw_option_by_state(row) ? read_by_state(row, text, where, value, error) : read_kind(row, text, where, value, error);
    if (status != HAWSER_OK)
        hw_option_value_clear(value);
    return status;
}

void hw_option_value_clear(hw_option_value *value)
{
    free(value->numbers);
    *value = (hw_option_value){0};
}
