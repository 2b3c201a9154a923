/* documents.h - documents as rows of word counts, in any layout by rows. */
#ifndef HW_ALGORITHMS_LDA_DOCUMENTS_H
#define HW_ALGORITHMS_LDA_DOCUMENTS_H

#include "hawser/algorithm.h"

/* The largest count of a word in a document. */
#define HW_COUNT_MOST 2147483647.0

/* A word of a document, and how often the document has it. */
typedef struct hw_counted_word {
    uint32_t word, count;
} hw_counted_word;

/* Fails if there are more columns than the model has words, or if an entry is no count: a whole number from 0 to
 * HW_COUNT_MOST. The error has row, column and value. A reader, which knows file and line, refuses it before. */
hawser_status hw_documents_check(const hawser_matrix *documents, size_t words, hawser_error *error) HAWSER_MUST_USE;

/* Stores the words that document `row` has, ascending, and returns how many. Entries are counts.
 * `words` has room for hw_document_room words. */
size_t hw_document_words(const hawser_matrix *documents, size_t row, hw_counted_word *words);
/* Returns for how many words that needs room. */
size_t hw_document_room(const hawser_matrix *documents, size_t row);

#endif
