/* rows.h - tables whose rows are written once, as a macro: LIST(ROW) calls ROW(ID, word, help, ...) for each row. ID is the
 * end of its enumerator's name, and `word` is what users write. Enumerators, options, parsing and help are made from the
 * same rows. */
#ifndef HW_BASE_ROWS_H
#define HW_BASE_ROWS_H

#include <stdbool.h>
#include <string.h>

/* The bounds of an option that takes one of the words: "none|random|...". */
#define HW_ROW_OR_WORD(id, word, ...) "|" word
#define HW_ROWS_BOUNDS(list)          (&("" list(HW_ROW_OR_WORD))[1])
/* The same, and other words: "none|random|...|more". */
#define HW_ROWS_BOUNDS_AND(list, more) (&("" list(HW_ROW_OR_WORD) "|" more)[1])

#define HW_ROW_COUNT(...)   +1
#define HW_ROWS_COUNT(list) (0 list(HW_ROW_COUNT))

/* Returns how many characters of a word are its name: all, or those before ":N". */
static inline size_t hw_word_length(const char *word)
{
    return strcspn(word, ":");
}

/* Returns whether `text`, which the options have checked, is the word; "ssp:2" is "ssp:N". */
static inline bool hw_word_is(const char *word, const char *text)
{
    size_t length = hw_word_length(word);
    return text != NULL && strncmp(word, text, length) == 0 && text[length] == word[length];
}

#endif
