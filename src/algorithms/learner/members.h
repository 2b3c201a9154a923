/*
 * members.h - the program of trainings that fit one model or several by rows (method.h).
 *
 * It has the states X, "model" (the numbers of the last model of all rows), "table" and "path" (learner/row_path.h). The
 * unit "prepare" begins the first model. Then a clock of the loop "iterations" is one step.
 */
#ifndef HW_ALGORITHMS_LEARNER_MEMBERS_H
#define HW_ALGORITHMS_LEARNER_MEMBERS_H

#include "algorithms/learner/method.h"

/* Builds the program of a training whose struct begins with `path`. */
hawser_program *hw_members_build(hw_row_path *path, const struct hw_member_method *method, const hawser_job *job);

#endif
