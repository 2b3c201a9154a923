#include "algorithms/lda/validate.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/lda/counts.h"
#include "algorithms/lda/perplexity.h"

/* Numbers that are collected at a time, if no word has more. */
enum { GATHERED = 1 << 16 };

size_t hw_lda_gathered(const hw_lda *lda)
{
    size_t all = lda->topics * lda->words;
    return lda->topics > GATHERED ? lda->topics : all < GATHERED ? all : GATHERED;
}

/* Adds a word's counts to K numbers, if the part has it. */
static void spread(const hw_lda *lda, const hawser_moving_part *part, size_t word, double *numbers)
{
    if (word < part->first_line || word >= part->first_line + part->lines)
        return;
    const int32_t *line = (const int32_t *)part->values + (lda->offsets[word] - part->first);
    size_t size = lda->offsets[word + 1] - lda->offsets[word];
    for (size_t e = 0; size < lda->topics && e < size && line[e + 1] > 0; e += 2)
        numbers[line[e]] = line[e + 1];
    for (size_t k = 0; size == lda->topics && k < size; k++)
        numbers[k] = line[k];
}

/* Adds the next word on block 0. A word that nobody asks for gets what is left of the totals, so that these are right. */
static hawser_status add_word(const hw_lda *lda, hw_lda_counts *counts, const double *numbers, int64_t *left,
                              hawser_error *error)
{
    HAWSER_TRY(hw_lda_counts_room(counts, lda->topics, error));
    for (size_t k = 0; k < lda->topics; k++) {
        int32_t count = numbers != NULL ? (int32_t)numbers[k] : left[k] < INT32_MAX ? (int32_t)left[k] : INT32_MAX;
        hw_lda_counts_add(counts, k, count);
        left[k] -= numbers != NULL ? 0 : count;
    }
    hw_lda_counts_end_word(counts, lda->words);
    return HAWSER_OK;
}

/* Takes the words from `first` to `end`, whose counts block 0 has in `numbers`: K for each that is asked for. */
static hawser_status add_words(const hw_lda *lda, hw_lda_counts *counts, size_t first, size_t end, const double *numbers,
                               int64_t *left, hawser_error *error)
{
    for (size_t w = first; w < end; w++) {
        HAWSER_TRY(add_word(lda, counts, lda->asked[w] ? numbers : NULL, left, error));
        numbers += lda->asked[w] ? lda->topics : 0;
    }
    return HAWSER_OK;
}

/* Collects the counts on block 0, some words at a time. left: n_k without the words that are asked for; it is used up. */
static hawser_status gather(hawser_context *context, const hw_lda *lda, const hawser_moving_part parts[HW_LDA_PARTS],
                            double *numbers, int64_t *left, hw_lda_counts *counts)
{
    hawser_error error = {0};
    size_t room = hw_lda_gathered(lda), k = lda->topics;
    for (size_t w = 0, end = 0; w < lda->words; w = end) {
        size_t used = 0;
        memset(numbers, 0, room * sizeof *numbers);
        for (; end < lda->words && (!lda->asked[end] || used + k <= room); end++) {
            for (int p = 0; p < HW_LDA_PARTS && lda->asked[end]; p++)
                spread(lda, &parts[p], end, numbers + used);
            used += lda->asked[end] ? k : 0;
        }
        if (used > 0)
            HAWSER_TRY(hawser_allreduce(context, numbers, used, HAWSER_SUM));
        if (hawser_block(context) == 0 && add_words(lda, counts, w, end, numbers, left, &error) != HAWSER_OK)
            return hawser_unit_fail(context, error.status, "%s", error.text);
    }
    return HAWSER_OK;
}

/* Adds up what the parts have of the words that nobody asks for, by topic: a sum over all blocks. */
static hawser_status sum_left(hawser_context *context, const hw_lda *lda, const hawser_moving_part parts[HW_LDA_PARTS],
                              double *numbers, int64_t *left)
{
    memset(numbers, 0, lda->topics * sizeof *numbers);
    for (int p = 0; p < HW_LDA_PARTS; p++)
        for (size_t w = parts[p].first_line; w < parts[p].first_line + parts[p].lines; w++) {
            const int32_t *line = (const int32_t *)parts[p].values + (lda->offsets[w] - parts[p].first);
            size_t size = lda->offsets[w + 1] - lda->offsets[w];
            bool pairs = size < lda->topics;
            for (size_t e = 0; !lda->asked[w] && e < size; e += pairs ? 2 : 1)
                numbers[pairs ? (size_t)line[e] : e] += line[pairs ? e + 1 : e];
        }
    HAWSER_TRY(hawser_allreduce(context, numbers, lda->topics, HAWSER_SUM));
    for (size_t k = 0; k < lda->topics; k++)
        left[k] = (int64_t)numbers[k];
    return HAWSER_OK;
}

hawser_status hw_lda_perplexity(hawser_context *context, const hw_lda *lda, const hawser_moving_part parts[HW_LDA_PARTS],
                                const double *prior, double *perplexity)
{
    hawser_error error = {0};
    hw_lda_counts counts = {0};
    double *numbers = malloc(hw_lda_gathered(lda) * sizeof *numbers);
    int64_t *left = malloc(lda->topics * sizeof *left);
    hawser_status status = HAWSER_OK;
    if (numbers == NULL || left == NULL)
        status = hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for the counts of %zu words", lda->words);
    if (status == HAWSER_OK && hawser_block(context) == 0 && hw_lda_counts_new(&counts, lda->words, &error) != HAWSER_OK)
        status = hawser_unit_fail(context, error.status, "%s", error.text);
    HAWSER_THEN(status, sum_left(context, lda, parts, numbers, left));
    HAWSER_THEN(status, gather(context, lda, parts, numbers, left, &counts));
    free(numbers);
    free(left);
    if (status == HAWSER_OK && hawser_block(context) == 0) {
        hw_topics topics = hw_lda_counts_topics(&counts, lda->topics, prior);
        if (hw_topics_perplexity(&topics, lda->seed, hawser_dataset_matrix(lda->early.data), perplexity, &error) !=
            HAWSER_OK)
            status = hawser_unit_fail(context, error.status, "%s", error.text);
    }
    hw_lda_counts_free(&counts);
    return status;
}
