/* likeliest.h - the words of each topic, the likeliest ones first. */
#ifndef HW_ALGORITHMS_LDA_LIKELIEST_H
#define HW_ALGORITHMS_LDA_LIKELIEST_H

#include "algorithms/lda/topics.h"

/* The counts above 0 of each topic, the largest first; of equal ones the first word. */
typedef struct hw_topic_counts {
    double *totals;  /* by topic */
    size_t *offsets; /* topics + 1 */
    struct hw_topic_count {
        size_t word;
        int32_t count;
    } * counts;
} hw_topic_counts;

/* The caller calls hw_topic_counts_free, also after a failure. */
hawser_status hw_topic_counts_of(const hw_topics *topics, hw_topic_counts *counts, hawser_error *error) HAWSER_MUST_USE;
void hw_topic_counts_free(hw_topic_counts *counts);

/* Members of hawser_algorithm. */
hawser_status hw_lda_topic_words(const hawser_model *model, uint64_t most, hawser_topic_words *words, hawser_error *error);
hawser_status hw_lda_print(const hawser_model *model, uint64_t most, FILE *out, hawser_error *error);

#endif
