#include "algorithms/lda/likeliest.h"

#include <stdlib.h>

/* ---- counts by topic ---- */

static int by_count(const void *a, const void *b)
{
    const struct hw_topic_count *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->word < y->word ? -1 : x->word > y->word;
}

hawser_status hw_topic_counts_of(const hw_topics *topics, hw_topic_counts *counts, hawser_error *error)
{
    size_t all = (size_t)topics->offsets[topics->words], k = topics->topics;
    *counts = (hw_topic_counts){.totals = calloc(k, sizeof *counts->totals),
                                .offsets = calloc(k + 2, sizeof *counts->offsets),
                                .counts = calloc(all + 1, sizeof *counts->counts)};
    if (counts->totals == NULL || counts->offsets == NULL || counts->counts == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the words of %zu topics", k);
    hw_topics_totals(topics, counts->totals);
    for (size_t e = 0; e < all; e++)
        counts->offsets[topics->topic[e] + 2]++;
    for (size_t t = 2; t <= k; t++)
        counts->offsets[t] += counts->offsets[t - 1];
    for (size_t w = 0; w < topics->words; w++)
        for (int64_t e = topics->offsets[w]; e < topics->offsets[w + 1]; e++)
            counts->counts[counts->offsets[topics->topic[e] + 1]++] = (struct hw_topic_count){w, topics->count[e]};
    for (size_t t = 0; t < k; t++)
        qsort(counts->counts + counts->offsets[t], counts->offsets[t + 1] - counts->offsets[t], sizeof *counts->counts,
              by_count);
    return HAWSER_OK;
}

void hw_topic_counts_free(hw_topic_counts *counts)
{
    free(counts->totals);
    free(counts->offsets);
    free(counts->counts);
    *counts = (hw_topic_counts){0};
}

/* ---- their probabilities ---- */

static hawser_status fill(const hw_topics *topics, const hw_topic_counts *counts, uint64_t most, hawser_topic_words *words,
                          hawser_error *error)
{
    size_t all = counts->offsets[topics->topics], k = topics->topics;
    *words = (hawser_topic_words){.topics = k,
                                  .share = calloc(k, sizeof *words->share),
                                  .offsets = calloc(k + 1, sizeof *words->offsets),
                                  .columns = calloc(all + 1, sizeof *words->columns),
                                  .probability = calloc(all + 1, sizeof *words->probability)};
    if (words->share == NULL || words->offsets == NULL || words->columns == NULL || words->probability == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the words of %zu topics", k);
    for (size_t t = 0, at = 0; t < k; t++) {
        double total = counts->totals[t], of_words = (double)topics->words * topics->beta;
        size_t first = counts->offsets[t], own = counts->offsets[t + 1] - first;
        words->share[t] = topics->tokens > 0 ? total / (double)topics->tokens : 0.0;
        for (size_t e = 0; e < own && e < most; e++, at++) {
            words->columns[at] = counts->counts[first + e].word;
            words->probability[at] = ((double)counts->counts[first + e].count + topics->beta) / (total + of_words);
        }
        words->offsets[t + 1] = at;
    }
    return HAWSER_OK;
}

static void release(hawser_topic_words *words)
{
    free(words->share);
    free(words->offsets);
    free(words->columns);
    free(words->probability);
    *words = (hawser_topic_words){0};
}

hawser_status hw_lda_topic_words(const hawser_model *model, uint64_t most, hawser_topic_words *words, hawser_error *error)
{
    hw_topics topics;
    hw_topic_counts counts;
    *words = (hawser_topic_words){0};
    HAWSER_TRY(hw_topics_of(model, &topics, error));
    hawser_status status = hw_topic_counts_of(&topics, &counts, error);
    HAWSER_THEN(status, fill(&topics, &counts, most, words, error));
    hw_topic_counts_free(&counts);
    if (status != HAWSER_OK)
        release(words);
    return status;
}

hawser_status hw_lda_print(const hawser_model *model, uint64_t most, FILE *out, hawser_error *error)
{
    hawser_topic_words words;
    hawser_schema *schema = NULL;
    HAWSER_TRY(hw_lda_topic_words(model, most, &words, error));
    hawser_status status = hawser_model_schema(model, &schema, error);
    for (size_t t = 0; status == HAWSER_OK && t < words.topics; t++) {
        fprintf(out, "topic %zu: share %.4g\n", t, words.share[t]);
        for (size_t w = words.offsets[t]; w < words.offsets[t + 1]; w++) {
            char name[200];
            (void)hawser_model_label(model, schema, words.columns[w], name, sizeof name);
            fprintf(out, "  %-30s %.10g\n", name, words.probability[w]);
        }
    }
    hawser_schema_free(schema);
    release(&words);
    return status;
}
