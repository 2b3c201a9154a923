/* finish.h - the result of a training, on node 0. */
#ifndef HW_ALGORITHMS_SOFTMAX_FINISH_H
#define HW_ALGORITHMS_SOFTMAX_FINISH_H

#include "algorithms/softmax/problem.h"

/* Chooses the lambda, and fills in the training's model, facts, notes and closing lines. Its run and stop_reason are set. */
hawser_status hw_softmax_finish(const hw_softmax *softmax, const hawser_training_input *input, hawser_training *training,
                                hawser_error *error) HAWSER_MUST_USE;

#endif
