/* newton.h - one step of Newton's method within an orthant. */
#ifndef HW_ALGORITHMS_SOFTMAX_NEWTON_H
#define HW_ALGORITHMS_SOFTMAX_NEWTON_H

#include "algorithms/softmax/block.h"

/* Subtracts from each column of a model the number, the same for all classes, that makes the penalty least. The loss does
 * not depend on it, so steps could find it only by the slight slope of the penalty. Only with an L1 part. */
void hw_softmax_shift(hw_softmax_block *block, double *model);
/* Returns the penalty of a model. */
double hw_softmax_penalty(const hw_softmax_block *block, const double *model);
/* Looks at `model` on all blocks: stores loss, entropy and objective in `memory`, and leaves the gradient in
 * block->reduced. */
hawser_status hw_softmax_evaluate(hawser_context *context, hw_softmax_block *block, const double *model,
                                  hw_softmax_memory *memory) HAWSER_MUST_USE;
/* Moves block->W to a smaller objective. *moved is false if no such point was found along the direction. */
hawser_status hw_softmax_newton(hawser_context *context, hw_softmax_block *block, bool *moved) HAWSER_MUST_USE;

#endif
