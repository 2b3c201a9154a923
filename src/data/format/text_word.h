/* text_word.h - cuts UTF-8 text into words, in lower case. */
#ifndef HW_DATA_TEXT_WORD_H
#define HW_DATA_TEXT_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawser/status.h"

/* Changes with the table of lower-case letters or of separators: a model keeps it, because its words depend on it. */
enum { HW_TEXT_RULES = 1 };
/* Characters of a word at least, unless a load says otherwise. */
enum { HW_TEXT_LEAST = 2 };

/* Text that is being cut. Initialise it with zeros, apart from `at`, `end` and `least`; the owner frees `word`. */
typedef struct hw_cutter {
    const char *at, *end; /* the rest of the text */
    uint32_t least;       /* characters of a word */
    char *word;           /* the last word, in lower case and ended by zero; from malloc */
    size_t length, capacity;
    uint64_t hash;   /* of the word */
    const char *bad; /* where the text is no UTF-8; or NULL */
} hw_cutter;

/* Cuts the next word of at least `least` characters. *found is false at the end of the text, and also before bytes that are
 * no UTF-8, where `bad` then points. HAWSER_NO_MEMORY. */
hawser_status hw_cut_word(hw_cutter *cutter, bool *found, hawser_error *error) HAWSER_MUST_USE;

/* Returns the hash that hw_cut_word gives a word. */
uint64_t hw_word_hash(const char *text, size_t length);

/* Returns the lower-case letter of a letter, and any other character as it is. */
uint32_t hw_lower(uint32_t character);
/* Copies a text in lower case; bytes that are no UTF-8 stay as they are. `to` has room for `length` bytes. Returns the bytes
 * that were written, without a terminating zero. */
size_t hw_lower_text(const char *text, size_t length, char *to);

#endif
