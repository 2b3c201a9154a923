/* validate.h - the perplexity of validation documents while a model trains. */
#ifndef HW_ALGORITHMS_LDA_VALIDATE_H
#define HW_ALGORITHMS_LDA_VALIDATE_H

#include "algorithms/lda/parts.h"

/* Stores the perplexity on block 0: collects the counts of the words that the documents have. `prior` has alpha and beta.
 * Collective over the blocks of a unit that reduces hw_lda_gathered(lda) numbers. */
hawser_status hw_lda_perplexity(hawser_context *context, const hw_lda *lda, const hawser_moving_part parts[HW_LDA_PARTS],
                                const double *prior, double *perplexity) HAWSER_MUST_USE;

/* Returns how many numbers are collected at a time. */
size_t hw_lda_gathered(const hw_lda *lda);

#endif
