/* result.h - the model of a training, on node 0. */
#ifndef HW_ALGORITHMS_LDA_RESULT_H
#define HW_ALGORITHMS_LDA_RESULT_H

#include "algorithms/lda/counts.h"
#include "algorithms/lda/problem.h"

/* Takes the counts of a run. HAWSER_STOP: not every token has a topic yet. The caller frees them, also after a failure. */
hawser_status hw_lda_result(const hw_lda *lda, const hawser_run *run, hw_lda_counts *counts,
                            hawser_error *error) HAWSER_MUST_USE;

/* Makes the model. */
hawser_status hw_lda_model_make(const hw_topics *topics, const hawser_run *run, const hawser_training_input *input,
                                double coherence, hawser_model **model, hawser_error *error) HAWSER_MUST_USE;

#endif
