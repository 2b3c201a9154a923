/* kind.h - the differences of logistic regression from other linear models: two labels, the log loss, and its duality
 * gap. */
#ifndef HW_ALGORITHMS_LOGISTIC_KIND_H
#define HW_ALGORITHMS_LOGISTIC_KIND_H

#include "algorithms/glm/problem.h"

extern const hw_linear_kind hw_logistic_kind;

#endif
