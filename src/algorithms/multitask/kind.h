/* kind.h - what the frame of linear models needs of the multi-task lasso. */
#ifndef HW_ALGORITHMS_MULTITASK_KIND_H
#define HW_ALGORITHMS_MULTITASK_KIND_H

#include "algorithms/glm/problem.h"

extern const hw_linear_kind hw_multitask_kind;

#endif
