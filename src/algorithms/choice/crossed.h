/* crossed.h - the result of a cross-validation, for the model file and as notes. */
#ifndef HW_ALGORITHMS_CHOICE_CROSSED_H
#define HW_ALGORITHMS_CHOICE_CROSSED_H

#include "algorithms/choice/fit.h"

/* Adds to the model, if all folds are done, the errors of the folds as tensors, and the fact "cv", a JSON object: folds,
 * metric and rule; lambda_min and lambda_1se, the two choices; and for each finished lambda `lambda`, `error`,
 * `standard_error` and `nonzeros`. If they are not, the facts "cv.planned" and "cv.ended" say how many there are, and why
 * the training was ended. */
hawser_status hw_crossed_put(const hw_fit *fit, hawser_model *model, hawser_error *error) HAWSER_MUST_USE;
/* Adds facts from place `at` on: the error of the chosen member as `name`, or, if not all folds are done, how many are.
 * Makes the closing lines, both choices with their errors, if all folds are done. Notes members and folds that are not, a
 * choice at the end of a path, and a choice without columns, and what to change. */
void hw_crossed_describe(const hw_fit *fit, const char *name, hawser_training *training, size_t at);

#endif
