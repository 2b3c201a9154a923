/*
 * descent.h - coordinate descent inside a working set, in either space. It moves the members' coefficients x towards the
 * minimum of -g.(x - start) + sigma'/2 ||X (x - start)||^2 / W + sum h(x). Once signs settle, conjugate gradients finish
 * (face.h). hw_linear_gram_pays chooses the cheaper space.
 */
#ifndef HW_ALGORITHMS_SOLVE_DESCENT_H
#define HW_ALGORITHMS_SOLVE_DESCENT_H

#include "algorithms/solve/space.h"

/* Reserves memory for `needed` members. The contents of the arrays are lost if they grow. */
hawser_status hw_linear_members_reserve(hw_linear_members *members, size_t needed, hawser_error *error) HAWSER_MUST_USE;
void hw_linear_members_free(hw_linear_members *members);

/* Runs until the local gap is small beside round->gap or at most round->tolerance, round->steps are used up, or floating
 * point allows no progress. `gram` covers the members; if it is NULL, the descent is in residual space and uses
 * round->residual as scratch. With round->part several blocks run the same steps, and each computes its part of the
 * products. */
hawser_status hw_linear_descend(hw_linear_members *members, const hw_linear_gram *gram, const hw_linear_round *round,
                                hawser_error *error) HAWSER_MUST_USE;

#endif
