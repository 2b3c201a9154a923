/* stop_words.h - words that are left out of texts: those of a list here, or of a file. */
#ifndef HW_DATA_STOP_WORDS_H
#define HW_DATA_STOP_WORDS_H

#include <stdint.h>

#include "data/table/levels.h"

/* Puts the words of --stop-words in lower case into an empty set: "english", or a file with one word per line. `cut`: the
 * columns are words of text, so that lines are cut into words as the text is, of any length. */
hawser_status hw_stop_words(const char *spec, bool cut, hw_levels *words, hawser_error *error) HAWSER_MUST_USE;
/* Returns whether a column has such a name, in lower case. *text and *size: memory to work in, initially zero; the caller
 * frees it. */
hawser_status hw_is_stop_word(const hw_levels *words, const char *name, char **text, size_t *size, bool *is,
                              hawser_error *error) HAWSER_MUST_USE;

#endif
