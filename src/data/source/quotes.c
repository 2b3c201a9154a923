#include "data/source/quotes.h"

#include <string.h>

/* Returns whether a field begins at a quote, before which blanks may stand. `floor`: how far the text was read; `fresh`: a
 * field begins there. */
static bool opens(const char *quote, const char *floor, bool fresh, char delimiter)
{
    while (quote > floor) {
        char before = *--quote;
        if (before == '\n' || hw_csv_splits(before, delimiter))
            return true;
        if (before != ' ' && before != '\t' && before != '\r')
            return false;
    }
    return fresh;
}

/* Returns the quote that closes a field whose text begins at `at`, or NULL. Doubled quotes do not. */
static const char *closing(const char *at, const char *end)
{
    const char *most = end - at > HW_QUOTED_MOST ? at + HW_QUOTED_MOST : end;
    for (; at < most; at += 2) {
        at = memchr(at, '"', (size_t)(most - at));
        if (at == NULL || at + 1 >= end || at[1] != '"')
            return at;
    }
    return NULL;
}

const char *hw_row_after(const char *at, const char *least, const char *end, char delimiter, const char **open)
{
    const char *stop = at; /* the line end that is judged, or the end */
    *open = NULL;
    for (bool fresh = true;; fresh = false) {
        if (stop < at || fresh) {
            const char *from = least - 1 > at ? least - 1 : at;
            stop = memchr(from, '\n', (size_t)(end - from));
            stop = stop != NULL ? stop : end;
        }
        const char *quote = memchr(at, '"', (size_t)(stop - at));
        if (quote == NULL)
            return stop < end ? stop + 1 : end;
        const char *shut = quote;
        if (opens(quote, at, fresh, delimiter) && (shut = closing(quote + 1, end)) == NULL) {
            *open = quote;
            return end;
        }
        at = shut + 1;
    }
}

const char *hw_row_last(const char *at, const char *end, char delimiter, const char **open)
{
    *open = NULL;
    if (memchr(at, '"', (size_t)(end - at)) == NULL) {
        const char *last = memrchr(at, '\n', (size_t)(end - at));
        return last != NULL ? last + 1 : at;
    }
    while (at < end) {
        const char *next = hw_row_after(at, at + 1, end, delimiter, open);
        if (*open != NULL || (next == end && end[-1] != '\n'))
            return at;
        at = next;
    }
    return at;
}

const char *hw_csv_pass_comments(const char *at, const char *end)
{
    while (at < end && (*at == '#' || *at == '\n' || *at == '\r')) {
        const char *stop = *at == '#' ? memchr(at, '\n', (size_t)(end - at)) : at;
        at = stop != NULL ? stop + 1 : end;
    }
    return at;
}
