/* finish.h - the result of a training, on node 0. */
#ifndef HW_ALGORITHMS_SVM_FINISH_H
#define HW_ALGORITHMS_SVM_FINISH_H

#include "algorithms/svm/problem.h"

/* Chooses C, and fills model, facts, notes and closing lines of a training whose run and stop_reason are set. */
hawser_status hw_svm_finish(const hw_svm *svm, const hawser_training_input *input, hawser_training *training,
                            hawser_error *error) HAWSER_MUST_USE;

#endif
