#include "algorithms/lda/frequency.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/lda/documents.h"

static hawser_status add_up(hawser_context *context)
{
    hawser_error error = {0};
    HAWSER_READ(context, hawser_matrix, X);
    HAWSER_WRITE(context, int64_t, frequency);
    if (hw_documents_check(X, X->cols, &error) != HAWSER_OK)
        return hawser_unit_fail(context, error.status, "%s", error.text);
    for (size_t i = 0; i < X->rows; i++)
        for (uint64_t e = X->offsets[i]; e < X->offsets[i + 1]; e++)
            frequency[X->indices[e]] +=
                (int64_t)(X->type == HAWSER_F32 ? (double)((const float *)X->values)[e] : ((const double *)X->values)[e]);
    return HAWSER_OK;
}

/* Copies the sums of words, and adds them up. */
static hawser_status take(const int64_t *sums, size_t words, int64_t **frequency, double *tokens, hawser_error *error)
{
    *frequency = calloc(words + 1, sizeof **frequency);
    if (*frequency == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the counts of %zu words", words);
    memcpy(*frequency, sums, words * sizeof *sums);
    for (size_t w = 0; w < words; w++) {
        *tokens += (double)sums[w];
        if (sums[w] > INT32_MAX)
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "word %zu occurs %lld times, and a word may occur 2147483647 times; leave it out, as a stop "
                               "word, or divide the documents",
                               w + 1, (long long)sums[w]);
    }
    return HAWSER_OK;
}

hawser_status hw_count_words(hawser_job *job, const hawser_matrix *documents, int64_t **frequency, double *tokens,
                             hawser_error *error)
{
    hawser_run *run = NULL;
    const int64_t *sums = NULL;
    hawser_program *program = hawser_program_new("words", NULL);
    hawser_state *X = HAWSER_STATE(program, "X", HAWSER_DATA, .matrix = documents, .split = HAWSER_BY_ROW);
    hawser_state *state =
        HAWSER_STATE(program, "frequency", HAWSER_REPLICATED, .type = HAWSER_I64, .rows = documents->cols, .filter = "none");
    HAWSER_UNIT(hawser_root(program), "count", add_up, .reads = {X}, .updates = {state});
    hawser_observe(job, NULL, NULL);
    hawser_status status = hawser_run_program(job, program, &run, error);
    hawser_program_free(program);
    if (status == HAWSER_STOP)
        status = hawser_fail(error, HAWSER_STOP, "the training ended before its words were counted; no model is kept");
    HAWSER_THEN(status, hawser_result(run, "frequency", &sums, NULL, error));
    HAWSER_THEN(status, take(sums, documents->cols, frequency, tokens, error));
    hawser_run_free(run);
    return hawser_job_agree(job, status, error);
}
