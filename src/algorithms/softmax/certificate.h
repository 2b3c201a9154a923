/* certificate.h - a lower bound of the optimum, from a point of the dual problem. Pure. */
#ifndef HW_ALGORITHMS_SOFTMAX_CERTIFICATE_H
#define HW_ALGORITHMS_SOFTMAX_CERTIFICATE_H

#include "algorithms/softmax/block.h"

/* Returns a lower bound of the objective's minimum, from gradient and entropy of block->W. Uses block->trial as memory. */
double hw_softmax_bound(hw_softmax_block *block);

#endif
