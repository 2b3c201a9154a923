/* kind.h - the functions of the lasso as a kind of linear model. */
#ifndef HW_ALGORITHMS_LASSO_KIND_H
#define HW_ALGORITHMS_LASSO_KIND_H

#include "algorithms/glm/problem.h"

extern const hw_linear_kind hw_lasso_kind;

#endif
