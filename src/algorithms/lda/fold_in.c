#include "algorithms/lda/fold_in.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/lda/draw.h"

/* ---- memory ---- */

static hawser_status allocate(hw_fold_in *fold, hawser_error *error)
{
    size_t k = fold->topics->topics;
    fold->inverse = calloc(k, sizeof *fold->inverse);
    fold->prior = calloc(k, sizeof *fold->prior);
    fold->tokens = calloc(k, sizeof *fold->tokens);
    fold->share = calloc(k, sizeof *fold->share);
    fold->kept = calloc(k, sizeof *fold->kept);
    fold->present = calloc(k, sizeof *fold->present);
    fold->place = calloc(k, sizeof *fold->place);
    fold->sums = calloc(k, sizeof *fold->sums);
    if (fold->inverse == NULL || fold->prior == NULL || fold->tokens == NULL || fold->share == NULL || fold->kept == NULL ||
        fold->present == NULL || fold->place == NULL || fold->sums == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the topics of a document (%zu topics)", k);
    return HAWSER_OK;
}

hawser_status hw_fold_in_new(hw_fold_in *fold, const hw_topics *topics, uint64_t seed, hawser_error *error)
{
    double sum = 0.0, words = (double)topics->words * topics->beta;
    *fold = (hw_fold_in){.topics = topics, .seed = seed, .alpha = hw_topics_alpha(topics)};
    HAWSER_TRY(allocate(fold, error));
    hw_topics_totals(topics, fold->inverse);
    for (size_t k = 0; k < topics->topics; k++) {
        fold->inverse[k] = 1.0 / (fold->inverse[k] + words);
        fold->prior[k] = sum += topics->alpha[k] * fold->inverse[k];
    }
    return HAWSER_OK;
}

void hw_fold_in_free(hw_fold_in *fold)
{
    free(fold->inverse);
    free(fold->prior);
    free(fold->tokens);
    free(fold->share);
    free(fold->kept);
    free(fold->present);
    free(fold->place);
    free(fold->sums);
    free(fold->assigned);
    *fold = (hw_fold_in){0};
}

static hawser_status make_room(hw_fold_in *fold, size_t tokens, hawser_error *error)
{
    if (tokens <= fold->capacity)
        return HAWSER_OK;
    free(fold->assigned);
    fold->capacity = 0;
    fold->assigned = malloc(tokens * sizeof *fold->assigned);
    if (fold->assigned == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a document of %zu tokens", tokens);
    fold->capacity = tokens;
    return HAWSER_OK;
}

/* ---- one document ---- */

static void set_share(hw_fold_in *fold, size_t topic)
{
    fold->share[topic] = ((double)fold->tokens[topic] + fold->topics->alpha[topic]) * fold->inverse[topic];
}

static void add_token(hw_fold_in *fold, size_t topic)
{
    if (fold->tokens[topic]++ == 0) {
        fold->place[topic] = (uint16_t)fold->topics_present;
        fold->present[fold->topics_present++] = (uint16_t)topic;
    }
    set_share(fold, topic);
}

static void take_token(hw_fold_in *fold, size_t topic)
{
    if (--fold->tokens[topic] == 0) {
        uint16_t last = fold->present[--fold->topics_present];
        fold->present[fold->place[topic]] = last;
        fold->place[last] = fold->place[topic];
    }
    set_share(fold, topic);
}

/* Returns the first of `count` ascending sums that is above `at`, or the last. */
static size_t find(const double *sums, size_t count, double at)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sums[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Draws a topic for a token of this word, which the document's counts leave out. The probabilities are made of three parts:
 * (n_dk + alpha_k) n_wk, n_dk beta and alpha_k beta, each divided by n_k + V beta. */
static size_t draw_topic(hw_fold_in *fold, uint32_t word, double uniform)
{
    const hw_topics *topics = fold->topics;
    const int32_t *topic = topics->topic + topics->offsets[word], *count = topics->count + topics->offsets[word];
    size_t counts = (size_t)(topics->offsets[word + 1] - topics->offsets[word]);
    double of_word = 0.0, of_document = 0.0, of_prior = fold->prior[topics->topics - 1];
    for (size_t e = 0; e < counts; e++)
        fold->sums[e] = of_word += fold->share[topic[e]] * (double)count[e];
    for (size_t p = 0; p < fold->topics_present; p++)
        of_document += (double)fold->tokens[fold->present[p]] * fold->inverse[fold->present[p]];
    double at = uniform * (of_word + topics->beta * (of_document + of_prior));
    if (at < of_word)
        return (size_t)topic[find(fold->sums, counts, at)];
    at = (at - of_word) / topics->beta;
    for (size_t p = 0; p < fold->topics_present; p++) {
        at -= (double)fold->tokens[fold->present[p]] * fold->inverse[fold->present[p]];
        if (at < 0.0)
            return fold->present[p];
    }
    return find(fold->prior, topics->topics, at);
}

static void sweep(hw_fold_in *fold, const hw_counted_word *words, size_t count, bool first, hw_draws *draws)
{
    size_t token = 0;
    for (size_t w = 0; w < count; w++)
        for (uint32_t t = 0; t < words[w].count; t++, token++) {
            if (!first)
                take_token(fold, fold->assigned[token]);
            size_t topic = draw_topic(fold, words[w].word, hw_draw_uniform(draws));
            fold->assigned[token] = (uint16_t)topic;
            add_token(fold, topic);
        }
}

static void begin(hw_fold_in *fold)
{
    memset(fold->tokens, 0, fold->topics->topics * sizeof *fold->tokens);
    memset(fold->kept, 0, fold->topics->topics * sizeof *fold->kept);
    fold->topics_present = 0;
    for (size_t k = 0; k < fold->topics->topics; k++)
        set_share(fold, k);
}

hawser_status hw_fold_in_document(hw_fold_in *fold, const hw_counted_word *words, size_t count, uint64_t row,
                                  double *probabilities, hawser_error *error)
{
    size_t tokens = 0;
    hw_draws draws = hw_draws_of(fold->seed, HW_DRAW_TOPICS, row);
    for (size_t w = 0; w < count; w++)
        tokens += words[w].count;
    if (tokens > UINT32_MAX)
        return hawser_fail(error, HAWSER_BAD_INPUT, "row %llu has %zu tokens; a document has at most 2^32 - 1",
                           (unsigned long long)row + 1, tokens);
    HAWSER_TRY(make_room(fold, tokens, error));
    begin(fold);
    for (int s = 0; s < HW_FOLD_SWEEPS && tokens > 0; s++) {
        sweep(fold, words, count, s == 0, &draws);
        for (size_t p = 0; s >= HW_FOLD_SWEEPS - HW_FOLD_KEPT && p < fold->topics_present; p++)
            fold->kept[fold->present[p]] += fold->tokens[fold->present[p]];
    }
    for (size_t k = 0; k < fold->topics->topics; k++)
        probabilities[k] = ((double)fold->kept[k] / HW_FOLD_KEPT + fold->topics->alpha[k]) / ((double)tokens + fold->alpha);
    return HAWSER_OK;
}
