#include "algorithms/lda/optimise.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/lda/gamma.h"
#include "algorithms/lda/parts.h"

/* Steps each time: the counts change until the next time, so more gain little. */
enum { STEPS = 5 };
/* No parameter falls lower: a topic that no document has keeps a chance. */
static const double LEAST = 1e-6;

/* What one step adds up over all blocks: the numerator of each alpha, the denominator that they share, and the numerator of
 * beta. */
typedef struct prior_sums {
    double *alpha, *documents, *beta;
} prior_sums;

static void add_documents(const hw_lda_block *b, const double *prior, const prior_sums *s)
{
    double alpha = 0.0;
    for (size_t k = 0; k < b->lda->topics; k++)
        alpha += prior[k];
    for (size_t i = 0; i < b->rows; i++) {
        *s->documents += hw_psi_rising(alpha, b->length[i]);
        for (size_t e = 0; e < b->lists.lists[i].length; e++) {
            size_t topic;
            uint32_t count;
            hw_document_topic(&b->lists, i, e, &topic, &count);
            s->alpha[topic] += hw_psi_rising(prior[topic], count);
        }
    }
}

static double at_least(double value)
{
    return value > LEAST ? value : LEAST;
}

/* Goes a step, from the sums of all blocks. */
static void go(const hw_lda *lda, const int64_t *totals, const prior_sums *s, double *prior)
{
    double *beta = &prior[lda->topics], words = (double)lda->words, denominator = 0.0;
    for (size_t k = 0; k < lda->topics; k++) {
        prior[k] = at_least(prior[k] * s->alpha[k] / *s->documents);
        denominator += hw_psi_rising(words * *beta, (double)totals[k]);
    }
    *beta = at_least(*beta * *s->beta / (words * denominator));
}

static hawser_status fit(hawser_context *context, const hw_lda_block *b, const int64_t *totals, double *prior,
                         double *numbers)
{
    const hw_lda *lda = b->lda;
    hawser_moving_part parts[HW_LDA_PARTS];
    prior_sums s = {.alpha = numbers, .documents = numbers + lda->topics, .beta = numbers + lda->topics + 1};
    HAWSER_TRY(hw_lda_parts(context, parts));
    for (int step = 0; step < STEPS; step++) {
        memset(numbers, 0, (lda->topics + 2) * sizeof *numbers);
        add_documents(b, prior, &s);
        for (int p = 0; p < HW_LDA_PARTS; p++)
            *s.beta += hw_lda_sum_counts(lda, &parts[p], hw_psi_rising, prior[lda->topics]);
        HAWSER_TRY(hawser_allreduce(context, numbers, lda->topics + 2, HAWSER_SUM));
        go(lda, totals, &s, prior);
    }
    return HAWSER_OK;
}

hawser_status hw_lda_fit_prior(hawser_context *context, const hw_lda_block *b, const int64_t *totals)
{
    const size_t size = b->lda->topics + 1;
    size_t first = 0, share = hawser_part(context, "prior", &first);
    HAWSER_READ(context, double, prior);
    double *fitted = malloc((2 * size + 1) * sizeof *fitted), *own;
    if (fitted == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for %zu topics", b->lda->topics);
    memcpy(fitted, prior, size * sizeof *fitted);
    hawser_status status = fit(context, b, totals, fitted, fitted + size);
    if (status == HAWSER_OK && share > 0)
        status = hawser_write(context, "prior", &own);
    if (status == HAWSER_OK && share > 0)
        memcpy(own, fitted + first, share * sizeof *own);
    free(fitted);
    return status;
}
