#include "algorithms/lda/block.h"

#include <stdlib.h>

static uint64_t count_at(const hawser_matrix *X, uint64_t e)
{
    return (uint64_t)(X->type == HAWSER_F32 ? (double)((const float *)X->values)[e] : ((const double *)X->values)[e]);
}

static hawser_status count_tokens(hw_lda_block *b, const hawser_matrix *X, hawser_error *error)
{
    for (size_t i = 0; i < X->rows; i++) {
        uint64_t tokens = 0;
        for (uint64_t e = X->offsets[i]; e < X->offsets[i + 1]; e++) {
            tokens += count_at(X, e);
            b->start[X->indices[e] + 1] += count_at(X, e);
        }
        if (tokens > INT32_MAX)
            return hawser_fail(error, HAWSER_BAD_INPUT, "row %zu has %llu words; a document may have 2147483647",
                               X->first + i + 1, (unsigned long long)tokens);
        b->length[i] = (uint32_t)tokens;
    }
    return HAWSER_OK;
}

/* Lists the documents of each word. `start` has the tokens of word w at w + 1, and at last those before word w + 1. */
static void list_documents(hw_lda_block *b, const hawser_matrix *X)
{
    uint64_t before = 0;
    for (size_t w = 0; w < X->cols; w++) { /* where the next token of word w goes, at w + 1 */
        uint64_t own = b->start[w + 1];
        b->start[w + 1] = before;
        before += own;
    }
    for (size_t i = 0; i < X->rows; i++)
        for (uint64_t e = X->offsets[i]; e < X->offsets[i + 1]; e++)
            for (uint64_t left = count_at(X, e); left > 0; left--)
                b->document[b->start[X->indices[e] + 1]++] = (uint32_t)i;
}

static hawser_status make(hw_lda_block *b, const hw_lda *lda, const hawser_matrix *X, hawser_error *error)
{
    uint64_t tokens = 0;
    b->rows = X->rows;
    b->known = HW_LDA_UNKNOWN;
    b->lda = lda;
    b->length = calloc(X->rows + 1, sizeof *b->length);
    b->start = calloc(X->cols + 1, sizeof *b->start);
    if (b->length == NULL || b->start == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu documents and %zu words", X->rows, X->cols);
    HAWSER_TRY(count_tokens(b, X, error));
    for (size_t w = 0; w < X->cols; w++)
        tokens += b->start[w + 1];
    b->document = calloc(tokens + 1, sizeof *b->document);
    if (b->document == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %llu tokens", (unsigned long long)tokens);
    list_documents(b, X);
    HAWSER_TRY(hw_sampler_new(&b->sampler, lda->topics, lda->words, error));
    return hw_document_topics_new(&b->lists, b->length, b->rows, lda->topics, error);
}

hawser_status hw_lda_block_open(hawser_context *context, hw_lda_block **block)
{
    hawser_error error = {0};
    *block = hawser_scratch(context);
    if ((*block)->lda != NULL)
        return HAWSER_OK;
    HAWSER_READ(context, hawser_matrix, X);
    if (make(*block, hawser_user(context), X, &error) != HAWSER_OK)
        return hawser_unit_fail(context, error.status, "%s", error.text);
    return HAWSER_OK;
}

void hw_lda_block_know(hw_lda_block *b, const int32_t *z, int64_t clocks)
{
    if (b->known == clocks)
        return;
    hw_document_topics_clear(&b->lists);
    for (uint64_t t = 0; t < b->start[b->lda->words]; t++)
        hw_document_topics_add(&b->lists, b->document[t], (size_t)z[t]);
    b->known = clocks;
}

void hw_lda_block_visit(hawser_record *record, hawser_context *context)
{
    hw_lda_block *b = hawser_scratch(context);
    hawser_record_bytes(record, &b->early, sizeof b->early);
}

void hw_lda_block_release(void *scratch)
{
    hw_lda_block *b = scratch;
    free(b->length);
    free(b->start);
    free(b->document);
    hw_sampler_free(&b->sampler);
    hw_document_topics_free(&b->lists);
}

uint64_t hw_lda_block_bytes(const hw_lda *lda)
{
    uint64_t tokens = (uint64_t)lda->tokens / lda->blocks + 1, rows = lda->X->rows / lda->blocks + 1;
    return tokens * sizeof(uint32_t) + rows * sizeof(uint32_t) + (lda->words + 1) * sizeof(uint64_t) +
           hw_sampler_bytes(lda->topics) + hw_document_topics_bytes(tokens, rows, lda->topics);
}
