/* text.h - text as counts of words: each document is cut into words, which are numbered, and the rows are made once the
 * whole input has been read. */
#ifndef HW_DATA_TEXT_H
#define HW_DATA_TEXT_H

#include "data/format/lexicon.h"
#include "data/format/text_word.h"
#include "data/source/parse.h"

/* The documents that one reader has cut since the last chunk, and its words. */
typedef struct hw_text_reader {
    hw_cutter cutter;
    hw_lexicon words;  /* unless the words are known */
    uint64_t *ends;    /* of each finished document: numbers up to its end; pages */
    uint32_t *numbers; /* of the words, one after the other; pages */
    size_t rows, count, ends_bytes, numbers_bytes;
    uint64_t unknown; /* words that the model does not have, of all chunks */
} hw_text_reader;

typedef struct hw_text_load {
    bool has_words;     /* those of a model: others are counted and left out */
    hw_lexicon lexicon; /* has_words: by number of the model's column */
    uint32_t least;
    hw_text_reader *readers;
    uint32_t count; /* of readers */
} hw_text_load;

/* text_rows.c: makes the matrix, HAWSER_CSR, of all documents of a reading, and names its columns: by the model's words, or
 * by all words in the order of their bytes. Frees the parts' documents. */
hawser_status hw_text_assemble(hw_reading *reading, hw_text_load *text, hawser_dataset *dataset,
                               hawser_error *error) HAWSER_MUST_USE;

#endif
