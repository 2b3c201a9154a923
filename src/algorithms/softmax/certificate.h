/* certificate.h - a lower bound of the optimum, from a point of the dual problem. Pure. */
#ifndef HW_ALGORITHMS_SOFTMAX_CERTIFICATE_H
#define HW_ALGORITHMS_SOFTMAX_CERTIFICATE_H

#include "algorithms/softmax/block.h"

/* Raises memory.bound to the lower bound of the objective's minimum that gradient and entropy of block->W give, and bounds
 * the rounding errors of both. Uses block->trial and block->intercepts as memory. */
void hw_softmax_certify(hw_softmax_block *block);

#endif
