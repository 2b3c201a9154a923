/* frequency.h - how often all documents together have each word. */
#ifndef HW_ALGORITHMS_LDA_FREQUENCY_H
#define HW_ALGORITHMS_LDA_FREQUENCY_H

#include "hawser/algorithm.h"

/* Checks that all entries are counts, and stores the sum of each word in *frequency, which the caller frees, and of all in
 * *tokens, by a short program over the rows. Collective. */
hawser_status hw_count_words(hawser_job *job, const hawser_matrix *documents, int64_t **frequency, double *tokens,
                             hawser_error *error) HAWSER_MUST_USE;

#endif
