/* crossed.h - the result of a cross-validation, for the model file and as notes. */
#ifndef HW_ALGORITHMS_GLM_CROSSED_H
#define HW_ALGORITHMS_GLM_CROSSED_H

#include "algorithms/glm/driver.h"

/* Adds to the model, if all folds are done, the errors of the folds as tensors, and the fact "cv", a JSON object: folds, metric and rule; lambda_min and lambda_1se, the two choices; and for each finished lambda
 * `lambda`, `error`, `standard_error` and `nonzeros`. */
hawser_status hw_linear_crossed_put(const hw_linear_fit *fit, hawser_model *model, hawser_error *error) HAWSER_MUST_USE;
/* Makes the training's closing lines: both choices with their errors, if all folds are done. */
void hw_linear_crossed_lines(const hw_linear_fit *fit, hawser_training *training);
/* Notes a choice at the end of a path and a choice without columns, and what to change. */
void hw_linear_note_choice(const hw_linear_fit *fit, const hw_linear_settings *settings, hawser_training *training);

#endif
