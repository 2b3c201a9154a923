#include "algorithms/lda/result.h"

#include <stdlib.h>

#include "algorithms/model/facts.h"

/* Numbers that are fetched at a time, if no line has more. */
enum { PIECE = 1 << 18 };

/* ---- the counts ---- */

/* Adds the counts of a word. There is room. */
static void take_line(const hw_lda *lda, hw_lda_counts *counts, const int32_t *line, size_t size)
{
    bool pairs = size < lda->topics;
    for (size_t e = 0; e < size; e += pairs ? 2 : 1)
        hw_lda_counts_add(counts, pairs ? (size_t)line[e] : e, line[pairs ? e + 1 : e]);
    hw_lda_counts_end_word(counts, lda->words);
}

static hawser_status take_lines(const hw_lda *lda, const hawser_run *run, hw_lda_counts *counts, int32_t *numbers,
                                size_t room, hawser_error *error)
{
    for (size_t w = 0, end; w < lda->words; w = end) {
        for (end = w + 1; end < lda->words && lda->offsets[end + 1] - lda->offsets[w] <= room;)
            end++;
        size_t first = lda->offsets[w], count = lda->offsets[end] - first;
        HAWSER_TRY(hw_lda_counts_room(counts, count, error));
        if (count > 0)
            HAWSER_TRY(hawser_result_range(run, "n_wk", first, count, numbers, error));
        for (size_t v = w; v < end; v++)
            take_line(lda, counts, numbers + (lda->offsets[v] - first), lda->offsets[v + 1] - lda->offsets[v]);
    }
    return HAWSER_OK;
}

hawser_status hw_lda_result(const hw_lda *lda, const hawser_run *run, hw_lda_counts *counts, hawser_error *error)
{
    size_t room = lda->topics > PIECE ? lda->topics : PIECE;
    HAWSER_TRY(hw_lda_counts_new(counts, lda->words, error));
    int32_t *numbers = malloc(room * sizeof *numbers);
    hawser_status status = numbers != NULL ? take_lines(lda, run, counts, numbers, room, error)
                                           : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the counts of words");
    free(numbers);
    if (status == HAWSER_OK && (double)counts->tokens != lda->tokens)
        status = hawser_fail(error, HAWSER_STOP, "the training ended before each word had a topic; no model is kept");
    return status;
}

/* ---- the model ---- */

static hawser_status fill(const hw_topics *topics, const hawser_run *run, const hawser_training_input *input,
                          double coherence, hawser_model *model, hawser_error *error)
{
    static const char *const metrics[] = {"log_likelihood", "iterations", "perplexity"};
    HAWSER_TRY(hw_model_data_facts(model, "lda", input->data, error));
    HAWSER_TRY(hw_model_number_fact(model, "topics", (double)topics->topics, error));
    for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++)
        HAWSER_TRY(hw_model_number_fact(model, metrics[k], hawser_result_metric(run, metrics[k]), error));
    HAWSER_TRY(hw_model_number_fact(model, "coherence", coherence, error));
    HAWSER_TRY(hw_model_option_facts(model, input->options, error));
    return hw_topics_put(topics, model, error);
}

hawser_status hw_lda_model_make(const hw_topics *topics, const hawser_run *run, const hawser_training_input *input,
                                double coherence, hawser_model **model, hawser_error *error)
{
    HAWSER_TRY(hawser_model_new(model, error));
    hawser_status status = fill(topics, run, input, coherence, *model, error);
    if (status != HAWSER_OK) {
        hawser_model_free(*model);
        *model = NULL;
    }
    return status;
}
