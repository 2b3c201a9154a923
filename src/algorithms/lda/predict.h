/* predict.h - what a topic model computes for documents. */
#ifndef HW_ALGORITHMS_LDA_PREDICT_H
#define HW_ALGORITHMS_LDA_PREDICT_H

#include "hawser/algorithm.h"

/* The likeliest topic of a document, from 0; the probability of each topic; and its second half (perplexity.h). */
extern const hawser_head hw_lda_heads[];
extern const hawser_measure_row hw_lda_measures[];

/* Adds up the second halves. */
hawser_status hw_lda_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error);

#endif
