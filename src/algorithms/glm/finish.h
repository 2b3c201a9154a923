/* finish.h - from the end of a run to a training: which lambda, its model, the facts. */
#ifndef HW_ALGORITHMS_GLM_FINISH_H
#define HW_ALGORITHMS_GLM_FINISH_H

#include "algorithms/glm/problem.h"

/* `early`: a limit, a signal or a failure ended the run before its tests did. */
hawser_status hw_linear_finish(hw_linear *linear, const hawser_training_input *input, bool early, hawser_training *training,
                               hawser_error *error) HAWSER_MUST_USE;

/* What a training that diverged or stalled fails with, once its best certified model is saved. */
void hw_linear_say_failure(const hw_linear *linear, const hawser_training_input *input, hawser_error *failure);

/* Keeps the certificate that a program has made of coefficients that a run left behind, for hw_linear_finish. */
void hw_linear_take_rest(hw_linear *linear, const hawser_run *run);

#endif
