/* optimise.h - alpha for each topic and one beta, fitted to the counts by Minka's fixed point (Wallach 2009). */
#ifndef HW_ALGORITHMS_LDA_OPTIMISE_H
#define HW_ALGORITHMS_LDA_OPTIMISE_H

#include "algorithms/lda/block.h"

/* Goes some steps of the fixed point from the values of the state "prior", and writes the block's share of it. Collective
 * over the blocks of a unit that reduces. */
hawser_status hw_lda_fit_prior(hawser_context *context, const hw_lda_block *block, const int64_t *totals) HAWSER_MUST_USE;

#endif
