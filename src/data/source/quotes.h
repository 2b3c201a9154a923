/* quotes.h - where rows of CSV end: a line end within a quoted field ends no row. A quote opens a field only where the field
 * begins, so the text must be read from the start of a row. */
#ifndef HW_DATA_SOURCE_QUOTES_H
#define HW_DATA_SOURCE_QUOTES_H

#include <stdbool.h>
#include <stddef.h>

#include "hawser/data.h"

/* Bytes that a quoted field may have. A quote that is not closed by then is taken for one that nothing closes. */
enum { HW_QUOTED_MOST = 64 << 20 };

/* Returns whether the character separates fields. Delimiter 0: it is not known yet, so any that is detected does. */
static inline bool hw_csv_splits(char c, char delimiter)
{
    if (delimiter == HAWSER_BLANKS)
        return c == ' ' || c == '\t' || c == '\r';
    return delimiter != '\0' ? c == delimiter : c == ',' || c == ';' || c == '\t';
}

/* Returns the first start of a row at or after `least` (at < least <= end), in text whose first row starts at `at`; `end` if
 * none does before it. *open: the quote of a field that is not closed before `end` or within HW_QUOTED_MOST bytes, so that
 * no row starts after it; or NULL. */
const char *hw_row_after(const char *at, const char *least, const char *end, char delimiter, const char **open);
/* Returns the last start of a row in the text, or its end if that follows a line end that ends a row. *open is as in
 * hw_row_after. */
const char *hw_row_last(const char *at, const char *end, char delimiter, const char **open);
/* Returns the start of the next line that is neither empty nor begins with '#'; `end` if there is none. */
const char *hw_csv_pass_comments(const char *at, const char *end);

#endif
