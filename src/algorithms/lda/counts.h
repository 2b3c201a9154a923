/* counts.h - counts of words in topics, above 0 alone, while they are collected. */
#ifndef HW_ALGORITHMS_LDA_COUNTS_H
#define HW_ALGORITHMS_LDA_COUNTS_H

#include "algorithms/lda/topics.h"

typedef struct hw_lda_counts {
    size_t words; /* that have been added */
    int64_t *offsets;
    int32_t *topic, *count;
    size_t capacity;
    uint64_t tokens;
} hw_lda_counts;

/* Makes counts without words, for at most so many. The caller calls hw_lda_counts_free, also after a failure. */
hawser_status hw_lda_counts_new(hw_lda_counts *counts, size_t words, hawser_error *error) HAWSER_MUST_USE;
void hw_lda_counts_free(hw_lda_counts *counts);

/* Makes room for so many more counts. */
hawser_status hw_lda_counts_room(hw_lda_counts *counts, size_t more, hawser_error *error) HAWSER_MUST_USE;
/* Adds a count of the next word, if it is above 0; topics ascend. There is room. */
static inline void hw_lda_counts_add(hw_lda_counts *counts, size_t topic, int32_t count)
{
    int64_t *at = &counts->offsets[counts->words + 1];
    if (count <= 0)
        return;
    counts->topic[*at] = (int32_t)topic;
    counts->count[(*at)++] = count;
    counts->tokens += (uint64_t)count;
}
/* Ends the next word. */
static inline void hw_lda_counts_end_word(hw_lda_counts *counts, size_t words)
{
    counts->words++;
    if (counts->words < words)
        counts->offsets[counts->words + 1] = counts->offsets[counts->words];
}

/* Returns the model of all words; `prior` is alpha of each topic, then beta. Arrays are borrowed. */
hw_topics hw_lda_counts_topics(const hw_lda_counts *counts, size_t topics, const double *prior);

#endif
