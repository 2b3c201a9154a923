#include "algorithms/lda/asked.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/lda/documents.h"

static hawser_status mark(const hawser_dataset *documents, size_t words, uint8_t **asked, hawser_error *error)
{
    *asked = calloc(words + 1, sizeof **asked);
    if (*asked == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu words", words);
    if (documents == NULL)
        return HAWSER_OK;
    const hawser_matrix *X = hawser_dataset_matrix(documents);
    HAWSER_TRY(hw_documents_check(X, words, error));
    for (uint64_t e = 0; X->layout == HAWSER_CSR && e < X->offsets[X->rows]; e++)
        (*asked)[X->indices[e]] = 1;
    if (X->layout != HAWSER_CSR)
        memset(*asked, 1, words);
    return HAWSER_OK;
}

hawser_status hw_asked_words(hawser_job *job, const hw_early *early, size_t words, uint8_t **asked, hawser_error *error)
{
    if (!early->validated)
        return HAWSER_OK;
    HAWSER_TRY(hawser_job_agree(job, mark(early->data, words, asked, error), error));
    return hawser_job_broadcast(job, *asked, words, error);
}
