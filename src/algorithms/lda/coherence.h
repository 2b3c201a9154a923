/*
 * coherence.h - whether the likeliest words of topics occur in the same documents: normalised pointwise mutual information.
 *
 * A pair of words has log(p_ij / (p_i p_j)) / -log p_ij, where p are parts of the training's documents. It is -1 if the
 * words never meet, and 1 if all documents have both. A topic has the mean of the pairs of its ten likeliest words. Topics
 * of fewer than two words do not count.
 */
#ifndef HW_ALGORITHMS_LDA_COHERENCE_H
#define HW_ALGORITHMS_LDA_COHERENCE_H

#include "algorithms/lda/likeliest.h"

/* Stores the mean coherence of the topics; NaN: a signal or limit ended the run before, or no topic counts. `topics` is that
 * of node 0; other nodes pass NULL. The others are the same on all nodes. Collective. */
hawser_status hw_lda_coherence(hawser_job *job, const hawser_matrix *documents, const hw_topics *topics, size_t count,
                               double *coherence, hawser_error *error) HAWSER_MUST_USE;

#endif
