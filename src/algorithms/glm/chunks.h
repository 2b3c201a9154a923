/* chunks.h - the sum of the chunks of a stored state, for units. */
#ifndef HW_ALGORITHMS_GLM_CHUNKS_H
#define HW_ALGORITHMS_GLM_CHUNKS_H

#include "hawser/hawser.h"

/* Stores the sum of the first `count` numbers of all chunks of a state. They are added in the order of blocks, so that the
 * bits do not depend on arrival; a chunk that arrives before its turn is copied. Returns what hawser_next_chunk returns. */
hawser_status hw_linear_sum_chunks(hawser_context *context, const char *state, size_t count, double *sum) HAWSER_MUST_USE;

#endif
