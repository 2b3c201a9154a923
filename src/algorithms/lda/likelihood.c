#include "algorithms/lda/likelihood.h"

#include "algorithms/lda/gamma.h"

static double of_documents(const hw_lda_block *b, const double *prior)
{
    double sum = 0.0, alpha = 0.0;
    for (size_t k = 0; k < b->lda->topics; k++)
        alpha += prior[k];
    for (size_t i = 0; i < b->rows; i++) {
        double own = -hw_log_rising(alpha, b->length[i]);
        for (size_t e = 0; e < b->lists.lists[i].length; e++) {
            size_t topic;
            uint32_t count;
            hw_document_topic(&b->lists, i, e, &topic, &count);
            own += hw_log_rising(prior[topic], count);
        }
        sum += own;
    }
    return sum;
}

hawser_status hw_lda_likelihood(hawser_context *context, const hw_lda_block *b, const hawser_moving_part parts[HW_LDA_PARTS],
                                const double *prior, const int64_t *totals, double *likelihood)
{
    const hw_lda *lda = b->lda;
    double beta = prior[lda->topics];
    *likelihood = of_documents(b, prior);
    for (int p = 0; p < HW_LDA_PARTS; p++)
        *likelihood += hw_lda_sum_counts(lda, &parts[p], hw_log_rising, beta);
    for (size_t k = 0; k < lda->topics && hawser_block(context) == 0; k++)
        *likelihood -= hw_log_rising(beta * (double)lda->words, (double)totals[k]);
    return hawser_allreduce(context, likelihood, 1, HAWSER_SUM);
}
