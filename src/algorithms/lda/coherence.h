/*
 * coherence.h - whether the likeliest words of topics occur in the same documents: normalised pointwise mutual information.
 *
 * A pair of words has log(p_ij / (p_i p_j)) / -log p_ij, where p are parts of the training's documents. It is -1 if the words
 * never meet, and 1 if all documents have both. A topic has the mean of the pairs of its ten likeliest words. Topics of fewer
 * than two words do not count.
 */
#ifndef HW_ALGORITHMS_LDA_COHERENCE_H
#define HW_ALGORITHMS_LDA_COHERENCE_H

#include "algorithms/lda/likeliest.h"

enum { HW_COHERENCE_WORDS = 10, HW_COHERENCE_PAIRS = HW_COHERENCE_WORDS * (HW_COHERENCE_WORDS - 1) / 2 };

/* Stores the mean coherence of the topics; NaN: a signal or limit ended the run before, or no topic counts. `topics` is that
 * of node 0; other nodes pass NULL. The others are the same on all nodes. Collective. */
hawser_status hw_lda_coherence(hawser_job *job, const hawser_matrix *documents, const hw_topics *topics, size_t count,
                               double *coherence, hawser_error *error) HAWSER_MUST_USE;

/* Returns the coherence of topics from how many documents have each of their words, and each pair. `met` has
 * HW_COHERENCE_WORDS numbers for each topic, then HW_COHERENCE_PAIRS for each. */
double hw_coherence_of(const int64_t *met, size_t topics, double documents);

#endif
