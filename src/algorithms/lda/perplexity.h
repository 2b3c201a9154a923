/*
 * perplexity.h - how well a model predicts documents, by document completion.
 *
 * The tokens of each document are shuffled and dealt to two halves, of which the first has one more if they are odd. The
 * first half gives the document's topics (fold_in.h), by which the second half is predicted: token w has the probability
 * sum_k theta_k (n_wk + beta) / (n_k + V beta). A document whose second half is empty does not count.
 */
#ifndef HW_ALGORITHMS_LDA_PERPLEXITY_H
#define HW_ALGORITHMS_LDA_PERPLEXITY_H

#include "algorithms/lda/topics.h"

/* Of second halves. */
typedef struct hw_second_half {
    double log_probability; /* the sum over the tokens */
    double tokens;
} hw_second_half;

/* Stores what the second half of each document has. Rows are counted from documents->first. */
hawser_status hw_topics_complete(const hw_topics *topics, uint64_t seed, const hawser_matrix *documents,
                                 hw_second_half *completions, hawser_error *error) HAWSER_MUST_USE;

/* Stores the perplexity of the documents: exp(-mean log probability of a token). NaN: no document counts. */
hawser_status hw_topics_perplexity(const hw_topics *topics, uint64_t seed, const hawser_matrix *documents,
                                   double *perplexity, hawser_error *error) HAWSER_MUST_USE;

#endif
