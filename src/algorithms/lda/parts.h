/* parts.h - all parts of the counts that a block has outside of the rotation. */
#ifndef HW_ALGORITHMS_LDA_PARTS_H
#define HW_ALGORITHMS_LDA_PARTS_H

#include "algorithms/lda/problem.h"
#include "hawser/moving.h"

enum { HW_LDA_PARTS = 2 }; /* of each block */

/* Stores the block's parts. */
hawser_status hw_lda_parts(hawser_context *context, hawser_moving_part parts[HW_LDA_PARTS]) HAWSER_MUST_USE;

/* Adds f(count) over all counts above 0 in a part, in the order of words and topics. */
double hw_lda_sum_counts(const hw_lda *lda, const hawser_moving_part *part, double (*f)(double beta, double count),
                         double beta);

#endif
