/*
 * fold_in.h - the topics of documents that a model was not trained on: Gibbs sampling with fixed words.
 *
 * In each of 50 sweeps every token gets a new topic, drawn with probability proportional to (n_dk + alpha_k) (n_wk + beta) /
 * (n_k + V beta), where n_dk counts the document's other tokens. In the first sweep these are the tokens before it. The
 * result is the mean of the last 25 sweeps.
 */
#ifndef HW_ALGORITHMS_LDA_FOLD_IN_H
#define HW_ALGORITHMS_LDA_FOLD_IN_H

#include "algorithms/lda/documents.h"
#include "algorithms/lda/topics.h"

enum { HW_FOLD_SWEEPS = 50, HW_FOLD_KEPT = 25 };

/* Of one thread. */
typedef struct hw_fold_in {
    const hw_topics *topics;
    uint64_t seed;
    double alpha;    /* the sum */
    double *inverse; /* by topic: 1 / (n_k + V beta) */
    double *prior;   /* by topic: the sums of alpha_k inverse_k up to it */
    /* of the document that is drawn, by topic: its tokens, (tokens + alpha_k) inverse_k, and its tokens summed over the kept
     * sweeps */
    uint32_t *tokens;
    double *share;
    uint64_t *kept;
    uint16_t *present, *place; /* the topics that it has, in no order, and where each of them is in this list */
    size_t topics_present;
    double *sums;       /* space of a draw */
    uint16_t *assigned; /* by token */
    size_t capacity;    /* of assigned */
} hw_fold_in;

/* Makes what all documents share. The caller calls hw_fold_in_free, also after a failure. `topics` must outlive it. */
hawser_status hw_fold_in_new(hw_fold_in *fold, const hw_topics *topics, uint64_t seed, hawser_error *error) HAWSER_MUST_USE;
void hw_fold_in_free(hw_fold_in *fold);

/* Stores the probability of each topic in the document with these words, which is row `row` of the whole data. Without words
 * it is the prior. */
hawser_status hw_fold_in_document(hw_fold_in *fold, const hw_counted_word *words, size_t count, uint64_t row,
                                  double *probabilities, hawser_error *error) HAWSER_MUST_USE;

#endif
