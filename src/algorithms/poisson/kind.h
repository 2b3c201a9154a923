/* kind.h - what makes a linear model a Poisson regression. */
#ifndef HW_ALGORITHMS_POISSON_KIND_H
#define HW_ALGORITHMS_POISSON_KIND_H

#include "algorithms/glm/problem.h"

extern const hw_linear_kind hw_poisson_kind;

#endif
