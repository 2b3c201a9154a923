/* units.h - the units of a training of topics. */
#ifndef HW_ALGORITHMS_LDA_UNITS_H
#define HW_ALGORITHMS_LDA_UNITS_H

#include "algorithms/lda/validate.h"

/* Why the training ended: the metric "ended". */
typedef enum hw_lda_end { HW_LDA_GOES_ON = 0, HW_LDA_PASSES, HW_LDA_EARLY } hw_lda_end;

/* Gives the tokens of the block's parts their first topics. */
hawser_status hw_lda_first(hawser_context *context);
/* Draws new topics for the tokens of the block's parts. */
hawser_status hw_lda_sample(hawser_context *context);
/* Measures the model, where that is due: in the loop, and behind it. */
hawser_status hw_lda_measure(hawser_context *context);
hawser_status hw_lda_measure_last(hawser_context *context);
/* Fits alpha and beta to the counts before a rotation, where that is due. So a model is measured with those that it has. */
hawser_status hw_lda_optimise(hawser_context *context);

/* Returns how many numbers the units reduce at a time. */
static inline size_t hw_lda_reduces(const hw_lda *lda)
{
    size_t gathered = lda->asked != NULL ? hw_lda_gathered(lda) : 0, sums = lda->topics + 2;
    return gathered > sums ? gathered : sums;
}

#endif
