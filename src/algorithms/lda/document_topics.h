/*
 * document_topics.h - how many tokens of each topic the documents of a block have: for each document a list of its topics,
 * ascending, with their counts.
 *
 * An entry takes 4 bytes: the topic, then 16 bits of count. If a document of the block has more tokens than these can count,
 * all entries take 8.
 */
#ifndef HW_ALGORITHMS_LDA_DOCUMENT_TOPICS_H
#define HW_ALGORITHMS_LDA_DOCUMENT_TOPICS_H

#include "hawser/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Where the list of a document begins, in entries, and how many it has. There is room for the fewer of its tokens and of all
 * topics. */
typedef struct hw_topic_list {
    uint64_t first;
    uint32_t length;
} hw_topic_list;

typedef struct hw_document_topics {
    size_t rows, topics;
    bool wide;
    hw_topic_list *lists; /* by document */
    uint32_t *entries;    /* narrow */
    uint64_t *entries8;   /* wide */
} hw_document_topics;

enum { HW_NARROW_COUNT = UINT16_MAX };

/* Makes empty lists for documents of these lengths. The caller frees them, also after a failure. */
hawser_status hw_document_topics_new(hw_document_topics *lists, const uint32_t *tokens, size_t rows, size_t topics,
                                     hawser_error *error) HAWSER_MUST_USE;
void hw_document_topics_free(hw_document_topics *lists);
static inline void hw_document_topics_clear(hw_document_topics *lists)
{
    for (size_t i = 0; i < lists->rows; i++)
        lists->lists[i].length = 0;
}
/* Adds a token of this topic. */
void hw_document_topics_add(hw_document_topics *lists, size_t row, size_t topic);
/* Returns entry `e` of a document. */
static inline void hw_document_topic(const hw_document_topics *lists, size_t row, size_t e, size_t *topic, uint32_t *count)
{
    size_t at = lists->lists[row].first + e;
    *topic = lists->wide ? lists->entries8[at] >> 32 : lists->entries[at] >> 16;
    *count = lists->wide ? (uint32_t)lists->entries8[at] : lists->entries[at] & UINT16_MAX;
}
/* Estimates the bytes of `tokens` tokens in `rows` documents. */
uint64_t hw_document_topics_bytes(uint64_t tokens, uint64_t rows, uint64_t topics);

#endif
