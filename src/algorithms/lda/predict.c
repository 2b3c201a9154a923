#include "algorithms/lda/predict.h"

#include <math.h>
#include <stdlib.h>

#include "algorithms/lda/fold_in.h"
#include "algorithms/lda/perplexity.h"
#include "algorithms/measures/measure.h"

/* Draws depend on the seed of the training. */
static uint64_t seed_of(const hawser_model *model)
{
    const char *seed = hawser_model_text(model, "options.seed");
    return seed != NULL ? strtoull(seed, NULL, 10) : 1;
}

/* ---- topics of documents ---- */

/* What the documents of one call share. */
typedef struct folding {
    hw_topics topics;
    hw_fold_in fold;
    hw_counted_word *words;
    double *probabilities; /* of a document */
} folding;

static void end(folding *f)
{
    hw_fold_in_free(&f->fold);
    free(f->words);
    free(f->probabilities);
}

/* The caller calls end, also after a failure. */
static hawser_status begin(folding *f, const hawser_model *model, const hawser_matrix *X, hawser_error *error)
{
    *f = (folding){.words = NULL};
    HAWSER_TRY(hw_topics_of(model, &f->topics, error));
    HAWSER_TRY(hw_documents_check(X, f->topics.words, error));
    HAWSER_TRY(hw_fold_in_new(&f->fold, &f->topics, seed_of(model), error));
    size_t most = 1;
    for (size_t i = 0; i < X->rows; i++)
        most = hw_document_room(X, i) > most ? hw_document_room(X, i) : most;
    f->words = calloc(most, sizeof *f->words);
    f->probabilities = calloc(f->topics.topics, sizeof *f->probabilities);
    if (f->words == NULL || f->probabilities == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a document of %zu words and %zu topics", most,
                           f->topics.topics);
    return HAWSER_OK;
}

static hawser_status fold_in(folding *f, const hawser_matrix *X, size_t row, double *probabilities, hawser_error *error)
{
    size_t count = hw_document_words(X, row, f->words);
    return hw_fold_in_document(&f->fold, f->words, count, X->first + row, probabilities, error);
}

static hawser_status predict(const hawser_model *model, const hawser_dataset *data, double *values, hawser_error *error)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    folding f;
    hawser_status status = begin(&f, model, X, error);
    for (size_t i = 0; status == HAWSER_OK && i < X->rows; i++) {
        size_t best = 0;
        status = fold_in(&f, X, i, f.probabilities, error);
        for (size_t k = 1; k < f.topics.topics; k++)
            best = f.probabilities[k] > f.probabilities[best] ? k : best;
        values[i] = (double)best;
    }
    end(&f);
    return status;
}

static size_t topics_of(const hawser_model *model)
{
    size_t dims[2] = {0};
    return hawser_model_get(model, "alpha", NULL, dims) != NULL ? dims[0] : 0;
}

static hawser_status probabilities(const hawser_model *model, const hawser_dataset *data, double *values,
                                   hawser_error *error)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    folding f;
    hawser_status status = begin(&f, model, X, error);
    for (size_t i = 0; status == HAWSER_OK && i < X->rows; i++)
        status = fold_in(&f, X, i, values + i * f.topics.topics, error);
    end(&f);
    return status;
}

/* ---- their perplexity ---- */

static size_t two(const hawser_model *model)
{
    (void)model;
    return 2;
}

/* Stores the log probability and the tokens of the second half of each document. */
static hawser_status complete(const hawser_model *model, const hawser_dataset *data, double *values, hawser_error *error)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    hw_topics topics;
    if (hawser_dataset_weights(data) != NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--weights: lda has no weights of rows; leave it out");
    HAWSER_TRY(hw_topics_of(model, &topics, error));
    hw_second_half *halves = calloc(X->rows + 1, sizeof *halves);
    if (halves == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the perplexity of %zu rows", X->rows);
    hawser_status status = hw_topics_complete(&topics, seed_of(model), X, halves, error);
    for (size_t i = 0; status == HAWSER_OK && i < X->rows; i++) {
        values[2 * i] = halves[i].log_probability;
        values[2 * i + 1] = halves[i].tokens;
    }
    free(halves);
    return status;
}

hawser_status hw_lda_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error)
{
    double log_probability = 0.0, tokens = 0.0, documents = 0.0;
    (void)error;
    for (size_t i = 0; i < input->rows; i++) {
        const double *row = input->scored + 4 * i; /* log probability, target, tokens, target */
        log_probability += row[0];
        tokens += row[2];
        documents += row[2] > 0.0 ? 1.0 : 0.0;
    }
    hw_measure_number(measures, "perplexity", tokens > 0.0 ? exp(-log_probability / tokens) : NAN,
                      "no document has two words that the model knows");
    hw_measure_number(measures, "documents", documents, NULL);
    hw_measure_number(measures, "tokens", tokens, NULL);
    return HAWSER_OK;
}

const hawser_head hw_lda_heads[] = {{.name = "prediction", .compute = predict},
                                    {.name = "probabilities", .width = topics_of, .compute = probabilities},
                                    {.name = "scores", .width = two, .compute = complete},
                                    {0}};

const hawser_measure_row hw_lda_measures[] = {
    {"perplexity", "exp(-mean log probability of a word of the second halves): the seed deals the words of each document to "
                   "two halves, of "
                   "which the first gives the topics of the document"},
    {"documents", "rows that have words in their second half: at least two that the model knows"},
    {"tokens", "words of all second halves"},
    {NULL, NULL}};
