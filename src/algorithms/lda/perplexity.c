#include "algorithms/lda/perplexity.h"

#include <math.h>
#include <stdlib.h>

#include "algorithms/lda/draw.h"
#include "algorithms/lda/fold_in.h"

/* What the documents of one call share. */
typedef struct halves {
    hw_fold_in fold;
    hw_counted_word *words, *first; /* of a document, and of its first half, in one allocation */
    uint32_t *tokens;               /* the words of a document, each as often as it has it */
    size_t word_capacity, token_capacity;
    double *theta;
} halves;

static hawser_status word_room(halves *h, size_t count, hawser_error *error)
{
    if (count <= h->word_capacity)
        return HAWSER_OK;
    free(h->words);
    h->word_capacity = 0;
    h->words = calloc(2 * count, sizeof *h->words);
    if (h->words == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a document of %zu words", count);
    h->first = h->words + count;
    h->word_capacity = count;
    return HAWSER_OK;
}

static hawser_status token_room(halves *h, size_t count, hawser_error *error)
{
    if (count <= h->token_capacity)
        return HAWSER_OK;
    free(h->tokens);
    h->token_capacity = 0;
    h->tokens = malloc(count * sizeof *h->tokens);
    if (h->tokens == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a document of %zu tokens", count);
    h->token_capacity = count;
    return HAWSER_OK;
}

/* Expands a document to its tokens, and shuffles them. */
static hawser_status shuffle(halves *h, size_t count, uint64_t row, size_t *tokens, hawser_error *error)
{
    size_t all = 0, at = 0;
    hw_draws draws = hw_draws_of(h->fold.seed, HW_DRAW_HALVES, row);
    for (size_t w = 0; w < count; w++)
        all += h->words[w].count;
    HAWSER_TRY(token_room(h, all, error));
    for (size_t w = 0; w < count; w++)
        for (uint32_t t = 0; t < h->words[w].count; t++)
            h->tokens[at++] = (uint32_t)w;
    for (size_t t = all; t > 1; t--) {
        size_t other = hw_draw_below(&draws, t);
        uint32_t last = h->tokens[t - 1];
        h->tokens[t - 1] = h->tokens[other];
        h->tokens[other] = last;
    }
    *tokens = all;
    return HAWSER_OK;
}

/* Leaves the words of the second half in h->words, and stores those of the first in h->first. Either may have a word 0
 * times. */
static void deal(halves *h, size_t count, size_t tokens)
{
    for (size_t w = 0; w < count; w++)
        h->first[w] = (hw_counted_word){h->words[w].word, 0};
    for (size_t t = 0; t < tokens - tokens / 2; t++) {
        h->first[h->tokens[t]].count++;
        h->words[h->tokens[t]].count--;
    }
}

/* Returns the sum of the log probabilities of the words, of which the document has these topics. Overwrites theta. */
static double predict(const hw_fold_in *fold, const hw_counted_word *words, size_t count, double *theta)
{
    const hw_topics *topics = fold->topics;
    double unseen = 0.0, sum = 0.0;
    for (size_t k = 0; k < topics->topics; k++) {
        theta[k] *= fold->inverse[k];
        unseen += theta[k];
    }
    for (size_t w = 0; w < count; w++) {
        double probability = unseen * topics->beta;
        for (int64_t e = topics->offsets[words[w].word]; e < topics->offsets[words[w].word + 1]; e++)
            probability += theta[topics->topic[e]] * (double)topics->count[e];
        if (words[w].count > 0)
            sum += (double)words[w].count * log(probability);
    }
    return sum;
}

static hawser_status complete(halves *h, const hawser_matrix *documents, size_t i, hw_second_half *completion,
                              hawser_error *error)
{
    uint64_t row = documents->first + i;
    size_t tokens = 0;
    *completion = (hw_second_half){0.0, 0.0};
    HAWSER_TRY(word_room(h, hw_document_room(documents, i), error));
    size_t count = hw_document_words(documents, i, h->words);
    HAWSER_TRY(shuffle(h, count, row, &tokens, error));
    if (tokens < 2)
        return HAWSER_OK;
    deal(h, count, tokens);
    HAWSER_TRY(hw_fold_in_document(&h->fold, h->first, count, row, h->theta, error));
    *completion = (hw_second_half){predict(&h->fold, h->words, count, h->theta), (double)(tokens / 2)};
    return HAWSER_OK;
}

hawser_status hw_topics_complete(const hw_topics *topics, uint64_t seed, const hawser_matrix *documents,
                                 hw_second_half *completions, hawser_error *error)
{
    halves h = {0};
    HAWSER_TRY(hw_documents_check(documents, topics->words, error));
    hawser_status status = hw_fold_in_new(&h.fold, topics, seed, error);
    h.theta = calloc(topics->topics, sizeof *h.theta);
    if (status == HAWSER_OK && h.theta == NULL)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu topics", topics->topics);
    for (size_t i = 0; i < documents->rows && status == HAWSER_OK; i++)
        status = complete(&h, documents, i, &completions[i], error);
    hw_fold_in_free(&h.fold);
    free(h.words);
    free(h.tokens);
    free(h.theta);
    return status;
}

hawser_status hw_topics_perplexity(const hw_topics *topics, uint64_t seed, const hawser_matrix *documents,
                                   double *perplexity, hawser_error *error)
{
    hw_second_half *all = calloc(documents->rows + 1, sizeof *all), sum = {0.0, 0.0};
    if (all == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the perplexity of %zu rows", documents->rows);
    hawser_status status = hw_topics_complete(topics, seed, documents, all, error);
    for (size_t i = 0; i < documents->rows && status == HAWSER_OK; i++) {
        sum.log_probability += all[i].log_probability;
        sum.tokens += all[i].tokens;
    }
    free(all);
    *perplexity = sum.tokens > 0.0 ? exp(-sum.log_probability / sum.tokens) : NAN;
    return status;
}
