/* outcome.h - the result of a training with members, on node 0. */
#ifndef HW_ALGORITHMS_LEARNER_OUTCOME_H
#define HW_ALGORITHMS_LEARNER_OUTCOME_H

#include "algorithms/learner/method.h"

/* Stores the error of a model's numbers on the validation data, and what else the method measures. Node 0 only. */
hawser_status hw_member_error(const hw_row_path *path, const double *numbers, double values[2],
                              hawser_error *error) HAWSER_MUST_USE;
/* Returns the number that is reported of this error. */
double hw_member_shown(const hw_row_path *path, double error);
/* Runs the program of a training, which it frees, and makes the result: chooses a member, and fills run, model, facts, notes
 * and closing lines. Fails if not even one iteration ended. If the loss of a node ends the run, node 0 has a model of the
 * finished members of a path. Collective. */
hawser_status hw_members_run(hawser_program *program, hw_row_path *path, hawser_job *job, const hawser_training_input *input,
                             hawser_training *training, hawser_error *error) HAWSER_MUST_USE;

#endif
