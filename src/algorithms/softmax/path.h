/* path.h - one model after the other: the lambdas of a path, and the folds (glm/row_path.h). */
#ifndef HW_ALGORITHMS_SOFTMAX_PATH_H
#define HW_ALGORITHMS_SOFTMAX_PATH_H

#include "algorithms/softmax/block.h"

/* Begins a fold with its first lambda: measures its rows, makes the first model and looks at it. */
hawser_status hw_softmax_begin_fold(hawser_context *context, hw_softmax_block *block) HAWSER_MUST_USE;
/* Goes on to the next model if the last one is finished. */
hawser_status hw_softmax_next_member(hawser_context *context, hw_softmax_block *block) HAWSER_MUST_USE;
/* Finishes a model: writes the block's shares of it. *ended becomes GOES_ON if another model follows, else the end that weighs most. */
hawser_status hw_softmax_end_member(hawser_context *context, hw_softmax_block *block, hw_row_end *ended) HAWSER_MUST_USE;
/* Writes the block's shares of the fields of W, which is the result so far (hw_row_keep). */
void hw_softmax_keep(hawser_context *context, const hw_softmax_block *block);
/* Returns W as the result has it, for rows as they are: intercepts, and coefficients of a column unless that raises the penalty, add up to zero over the
 * classes. It is in block->trial. */
const double *hw_softmax_result_model(hw_softmax_block *block);
/* Returns the duality gap: the objective is at most this far above its optimum. */
double hw_softmax_gap(const hw_softmax_block *block);

#endif
