#include "algorithms/lda/counts.h"

#include <stdlib.h>

hawser_status hw_lda_counts_new(hw_lda_counts *counts, size_t words, hawser_error *error)
{
    *counts = (hw_lda_counts){.offsets = calloc(words + 2, sizeof *counts->offsets)};
    return counts->offsets != NULL ? hw_lda_counts_room(counts, 1, error)
                                   : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the counts of %zu words", words);
}

void hw_lda_counts_free(hw_lda_counts *counts)
{
    free(counts->offsets);
    free(counts->topic);
    free(counts->count);
    *counts = (hw_lda_counts){0};
}

hawser_status hw_lda_counts_room(hw_lda_counts *counts, size_t more, hawser_error *error)
{
    size_t needed = (size_t)counts->offsets[counts->words] + more;
    if (needed <= counts->capacity)
        return HAWSER_OK;
    size_t capacity = needed + needed / 4;
    int32_t *topic = realloc(counts->topic, capacity * sizeof *topic);
    counts->topic = topic != NULL ? topic : counts->topic;
    int32_t *count = realloc(counts->count, capacity * sizeof *count);
    counts->count = count != NULL ? count : counts->count;
    if (topic == NULL || count == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu counts of words in topics", capacity);
    counts->capacity = capacity;
    return HAWSER_OK;
}

hw_topics hw_lda_counts_topics(const hw_lda_counts *counts, size_t topics, const double *prior)
{
    return (hw_topics){.topics = topics,
                       .words = counts->words,
                       .alpha = prior,
                       .beta = prior[topics],
                       .tokens = counts->tokens,
                       .offsets = counts->offsets,
                       .topic = counts->topic,
                       .count = counts->count};
}
