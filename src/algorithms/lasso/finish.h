/* finish.h - from the end of a run to a training: which lambda, its model, the facts. */
#ifndef HW_ALGORITHMS_LASSO_FINISH_H
#define HW_ALGORITHMS_LASSO_FINISH_H

#include "algorithms/lasso/problem.h"

/* `early`: a limit or signal ended the run before its tests did. */
hawser_status hw_lasso_finish(hw_lasso *lasso, const hawser_training_input *input, bool early, hawser_training *training,
                              hawser_error *error) HAWSER_MUST_USE;

/* Keeps the certificate that a program has made of what an early end left behind, for hw_lasso_finish. */
void hw_lasso_take_rest(hw_lasso *lasso, const hawser_run *run);

#endif
