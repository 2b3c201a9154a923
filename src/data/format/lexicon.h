/* lexicon.h - the words of text, numbered in the order of their first use, in memory that is counted. */
#ifndef HW_DATA_LEXICON_H
#define HW_DATA_LEXICON_H

#include <stdbool.h>

#include "data/source/budget.h"

/* What is known of a word. */
typedef struct hw_lexicon_word {
    uint64_t at;     /* of its text among the bytes */
    uint64_t place;  /* of its last entry, for whoever counts words; 0: none */
    uint32_t length; /* of the text, which is ended by zero */
    uint32_t hash;   /* low bits of hw_word_hash */
} hw_lexicon_word;

/* Initialise it with zeros, apart from the budget. One thread at a time, except for hw_lexicon_find. */
typedef struct hw_lexicon {
    hw_budget *budget;
    char *bytes;
    hw_lexicon_word *words;
    uint32_t *slots; /* number + 1 of the word whose hash leads there; 0: free */
    size_t used, count, slot_count;
    size_t bytes_size, words_size, slots_size; /* bytes of pages */
} hw_lexicon;

/* Stores the number of a word, which is added if it is new. `hash` is that of hw_word_hash. HAWSER_NO_MEMORY. */
hawser_status hw_lexicon_put(hw_lexicon *lexicon, const char *text, size_t length, uint64_t hash, uint32_t *number,
                             hawser_error *error) HAWSER_MUST_USE;
/* Returns whether the lexicon has the word, and stores its number. Thread-safe while no thread adds words. */
bool hw_lexicon_find(const hw_lexicon *lexicon, const char *text, size_t length, uint64_t hash, uint32_t *number);
void hw_lexicon_free(hw_lexicon *lexicon);

static inline const char *hw_lexicon_text(const hw_lexicon *lexicon, uint32_t number)
{
    return lexicon->bytes + lexicon->words[number].at;
}

/* Stores the numbers of all words in the order of their texts' bytes; order[k] is that of word k. `order` has room for all
 * words, and the memory is the caller's. HAWSER_NO_MEMORY. */
hawser_status hw_lexicon_sort(const hw_lexicon *lexicon, uint32_t *order, hawser_error *error) HAWSER_MUST_USE;

#endif
