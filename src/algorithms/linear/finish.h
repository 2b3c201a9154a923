/* finish.h - from the end of a run to a training: which lambda, its model, the facts. */
#ifndef HW_ALGORITHMS_LINEAR_FINISH_H
#define HW_ALGORITHMS_LINEAR_FINISH_H

#include "algorithms/linear/problem.h"

/* `early`: a limit or signal ended the run before its tests did. */
hawser_status hw_linear_finish(hw_linear *linear, const hawser_training_input *input, bool early, hawser_training *training,
                               hawser_error *error) HAWSER_MUST_USE;

/* Steps that led far above what weights of zero have, the objective `zero`, are no training: HAWSER_DIVERGED. A start of the user's may
 * lie there. */
hawser_status hw_linear_refuse_diverged(double objective, double zero, const hawser_training_input *input,
                                        hawser_error *error) HAWSER_MUST_USE;

/* Keeps the certificate that a program has made of what an early end left behind, for hw_linear_finish. */
void hw_linear_take_rest(hw_linear *linear, const hawser_run *run);

#endif
