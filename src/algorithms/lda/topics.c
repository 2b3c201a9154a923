#include "algorithms/lda/topics.h"

#include <math.h>

#include "algorithms/model/facts.h"

/* ---- a model file ---- */

hawser_status hw_topics_put(const hw_topics *topics, hawser_model *model, hawser_error *error)
{
    size_t counts = (size_t)topics->offsets[topics->words];
    HAWSER_TRY(hw_model_number_fact(model, "beta", topics->beta, error));
    HAWSER_TRY(hw_model_number_fact(model, "tokens", (double)topics->tokens, error));
    HAWSER_TRY(hawser_model_tensor(model, "alpha", HAWSER_F64, (const size_t[2]){topics->topics, 0}, topics->alpha, error));
    HAWSER_TRY(hawser_model_tensor(model, "word_offsets", HAWSER_I64, (const size_t[2]){topics->words + 1, 0},
                                   topics->offsets, error));
    HAWSER_TRY(hawser_model_tensor(model, "word_topics", HAWSER_I32, (const size_t[2]){counts, 0}, topics->topic, error));
    return hawser_model_tensor(model, "word_counts", HAWSER_I32, (const size_t[2]){counts, 0}, topics->count, error);
}

static hawser_status bad(const char *what, hawser_error *error)
{
    return hawser_fail(error, HAWSER_BAD_INPUT, "the model has no topics: %s; was it written by Hawser?", what);
}

/* Takes a tensor of one dimension. *count: its numbers, which are 0 if it is missing or has another type. */
static const void *take(const hawser_model *model, const char *name, hawser_type type, size_t *count)
{
    hawser_type has = type;
    size_t dims[2] = {0};
    const void *values = hawser_model_get(model, name, &has, dims);
    bool fits = values != NULL && has == type && dims[1] <= 1;
    *count = fits ? dims[0] : 0;
    return fits ? values : NULL;
}

static double number(const hawser_model *model, const char *key)
{
    const char *text = hawser_model_text(model, key);
    double value = NAN;
    if (text != NULL)
        (void)hawser_read_number(text, &value);
    return value;
}

static hawser_status check_parameters(const hw_topics *topics, hawser_error *error)
{
    if (topics->alpha == NULL || topics->topics < HW_TOPICS_LEAST || topics->topics > HW_TOPICS_MOST)
        return bad("the tensor alpha is not one number for each of 2 to 65535 topics", error);
    for (size_t k = 0; k < topics->topics; k++)
        if (!(topics->alpha[k] > 0.0) || !isfinite(topics->alpha[k]))
            return bad("a number of the tensor alpha is not above 0", error);
    if (!isfinite(hw_topics_alpha(topics)))
        return bad("the numbers of the tensor alpha are too large", error);
    if (!(topics->beta > 0.0) || !isfinite(topics->beta * (double)topics->words))
        return bad("the fact beta is not a number above 0", error);
    return HAWSER_OK;
}

/* Checks the counts of a word, and adds them to *tokens. */
static hawser_status check_word(const hw_topics *topics, size_t word, uint64_t *tokens, hawser_error *error)
{
    for (int64_t e = topics->offsets[word]; e < topics->offsets[word + 1]; e++) {
        if (topics->topic[e] < 0 || (size_t)topics->topic[e] >= topics->topics)
            return bad("the tensor word_topics has a topic that the tensor alpha has not", error);
        if (e > topics->offsets[word] && topics->topic[e - 1] >= topics->topic[e])
            return bad("the tensor word_topics does not ascend for each word", error);
        if (topics->count[e] <= 0)
            return bad("a number of the tensor word_counts is not above 0", error);
        *tokens += (uint64_t)topics->count[e];
    }
    return HAWSER_OK;
}

static hawser_status check_counts(const hw_topics *topics, size_t entries, double said, hawser_error *error)
{
    uint64_t tokens = 0;
    if (topics->offsets[0] != 0 || topics->offsets[topics->words] < 0 || (size_t)topics->offsets[topics->words] != entries)
        return bad("the tensor word_offsets does not go from 0 to the number of counts", error);
    for (size_t w = 0; w < topics->words; w++)
        if (topics->offsets[w] > topics->offsets[w + 1])
            return bad("the tensor word_offsets falls", error);
    for (size_t w = 0; w < topics->words; w++)
        HAWSER_TRY(check_word(topics, w, &tokens, error));
    if ((double)tokens != said)
        return bad("the fact tokens is not the sum of the tensor word_counts", error);
    return HAWSER_OK;
}

hawser_status hw_topics_of(const hawser_model *model, hw_topics *topics, hawser_error *error)
{
    size_t offsets, of_topics, of_counts;
    double tokens = number(model, "tokens");
    *topics = (hw_topics){.beta = number(model, "beta")};
    topics->alpha = take(model, "alpha", HAWSER_F64, &topics->topics);
    topics->offsets = take(model, "word_offsets", HAWSER_I64, &offsets);
    topics->topic = take(model, "word_topics", HAWSER_I32, &of_topics);
    topics->count = take(model, "word_counts", HAWSER_I32, &of_counts);
    topics->words = offsets > 0 ? offsets - 1 : 0;
    HAWSER_TRY(check_parameters(topics, error));
    if (topics->words == 0 || (double)topics->words != number(model, "columns"))
        return bad("the tensor word_offsets does not fit its columns", error);
    if (topics->topic == NULL || topics->count == NULL || of_topics != of_counts)
        return bad("the tensors word_topics and word_counts do not fit together", error);
    if (!(tokens >= 0.0 && tokens <= 0x1p53))
        return bad("the fact tokens is missing", error);
    topics->tokens = (uint64_t)tokens;
    return check_counts(topics, of_counts, tokens, error);
}

/* ---- what follows from the counts ---- */

void hw_topics_totals(const hw_topics *topics, double *totals)
{
    for (int64_t e = 0; e < topics->offsets[topics->words]; e++)
        totals[topics->topic[e]] += (double)topics->count[e];
}

double hw_topics_alpha(const hw_topics *topics)
{
    double sum = 0.0;
    for (size_t k = 0; k < topics->topics; k++)
        sum += topics->alpha[k];
    return sum;
}
