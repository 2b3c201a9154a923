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

/* Prepares for the load, with a reader for each thread. The caller calls hw_text_end also after a failure. */
hawser_status hw_text_begin(hw_reading *reading, hw_text_load *text, hawser_error *error) HAWSER_MUST_USE;
void hw_text_end(hw_text_load *text);
/* Estimates the memory of the load from the lines in the first bytes of the input; `more` is added. */
hawser_status hw_text_estimate(hw_reading *reading, const hw_text_load *text, uint64_t more,
                               hawser_error *error) HAWSER_MUST_USE;

/* Returns a load of the same words by one reader, whose memory is counted in `budget`; hw_text_reader_end frees it. */
hw_text_load hw_text_load_of(const hw_text_load *text, hw_text_reader *reader, hw_budget *budget);
void hw_text_reader_end(hw_text_reader *reader);

/* Returns the reader that parses a chunk. */
static inline hw_text_reader *hw_text_reader_of(const hw_text_load *text, const hw_reading *reading, const hw_chunk *chunk)
{
    return &text->readers[chunk->sequence % reading->input.readers];
}
/* Adds the words of some text of the chunk to the reader's current document. Bytes that are no UTF-8 are named by file and
 * line. */
hawser_status hw_text_cut(const hw_text_load *text, hw_text_reader *reader, const hw_chunk *chunk, const char *begin,
                          const char *end, hawser_error *error) HAWSER_MUST_USE;
/* Ends the current document, or leaves it out. */
hawser_status hw_text_end_row(hw_text_reader *reader, hawser_error *error) HAWSER_MUST_USE;
void hw_text_drop_row(hw_text_reader *reader);
/* Moves the finished documents to the part of their chunk. */
hawser_status hw_text_keep(hw_reading *reading, hw_text_reader *reader, hw_text_part *part,
                           hawser_error *error) HAWSER_MUST_USE;

/* A hw_parser for one document per line; the context is a hw_text_load. */
hawser_status hw_documents_parse(void *context, hw_reading *reading, const hw_chunk *chunk, hw_text_part *part,
                                 hawser_error *error) HAWSER_MUST_USE;

/* text_rows.c: makes the matrix, HAWSER_CSR, of all documents of a reading, and names its columns: by the model's words, or
 * by all words in the order of their bytes. Frees the parts' documents. */
hawser_status hw_text_assemble(hw_reading *reading, hw_text_load *text, hawser_dataset *dataset,
                               hawser_error *error) HAWSER_MUST_USE;

#endif
