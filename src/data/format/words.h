/* words.h - finds where the words of a chunk end, a piece ahead of the parser. */
#ifndef HW_DATA_WORDS_H
#define HW_DATA_WORDS_H

#include <stdbool.h>

#include "base/marks.h"

/* Bytes that are searched at a time, and bytes that must precede a word which is read from its end. */
enum { HW_WORDS_PIECE = 4096, HW_WORDS_FRONT = 32 };

/* Ends are offsets from the chunk's begin; places[at] is the next. The array is not cleared, because only found ends are
 * read. */
typedef struct hw_words {
    const char *begin, *next, *end; /* the chunk; the rest that was not searched yet */
    size_t at, count;
    char separator; /* ends a word, in addition to blanks and control characters */
    uint32_t places[HW_WORDS_PIECE + 2 * HW_MARK_BLOCK];
} hw_words;

static inline void hw_words_begin(hw_words *words, const char *begin, const char *end, char separator)
{
    words->begin = words->next = begin;
    words->end = end;
    words->at = words->count = 0;
    words->separator = separator;
}

/* Searches the next piece. At most HW_MARK_BLOCK ends are left over. */
static inline void hw_words_more(hw_words *words)
{
    size_t left = words->count - words->at, some = (size_t)(words->end - words->next);
    for (size_t k = 0; k < left; k++)
        words->places[k] = words->places[words->at + k];
    some = (some < HW_WORDS_PIECE ? some + HW_MARK_BLOCK - 1 : HW_WORDS_PIECE) / HW_MARK_BLOCK;
    words->at = 0;
    words->count =
        left + hw_marks(words->next, some, words->separator, (uint32_t)(words->next - words->begin), words->places + left);
    words->next += some * HW_MARK_BLOCK;
}

/* Returns whether that many ends (at most HW_MARK_BLOCK) are known; false near the chunk's end. */
static inline bool hw_words_ahead(hw_words *words, size_t many)
{
    while (words->count - words->at < many) {
        if (words->next >= words->end)
            return false;
        hw_words_more(words);
    }
    return true;
}

/* Skips ends before `at`. Returns false near the chunk's end. */
static inline bool hw_words_reach(hw_words *words, const char *at)
{
    while (hw_words_ahead(words, 1)) {
        if (words->begin + words->places[words->at] >= at)
            return true;
        words->at++;
    }
    return false;
}

#endif
