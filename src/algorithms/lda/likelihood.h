/* likelihood.h - the joint log likelihood of words and topics, log p(w, z | alpha, beta). */
#ifndef HW_ALGORITHMS_LDA_LIKELIHOOD_H
#define HW_ALGORITHMS_LDA_LIKELIHOOD_H

#include "algorithms/lda/block.h"
#include "algorithms/lda/parts.h"

/* Stores it on every block. `parts` are the block's, `prior` has alpha and beta, `totals` n_k. Collective over the blocks of
 * a unit that reduces. */
hawser_status hw_lda_likelihood(hawser_context *context, const hw_lda_block *block,
                                const hawser_moving_part parts[HW_LDA_PARTS], const double *prior, const int64_t *totals,
                                double *likelihood) HAWSER_MUST_USE;

#endif
