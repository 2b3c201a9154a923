/*
 * descent.h - coordinate descent inside a working set, in either space. It moves the members' coefficients x towards the
 * minimum of -g.(x - start) + sigma'/2 ||X (x - start)||^2 / W + sum h(x); once signs settle, conjugate gradients finish
 * (face.h). Which space is cheaper depends on sizes: hw_linear_gram_pays.
 */
#ifndef HW_ALGORITHMS_SOLVE_DESCENT_H
#define HW_ALGORITHMS_SOLVE_DESCENT_H

#include "algorithms/solve/space.h"

/* Makes room for so many members; what the arrays held is lost when they have to grow. */
hawser_status hw_linear_members_reserve(hw_linear_members *members, size_t needed, hawser_error *error) HAWSER_MUST_USE;
void hw_linear_members_free(hw_linear_members *members);

typedef struct hw_linear_descent hw_linear_descent;

/* A descent that stops wherever it needs a product that several blocks share: all of them run it alike, each with its own part, and
 * go on with the sums of their shares. `part` NULL: there is one block. The members, the matrix, the part and round->residual have
 * to stay until it is freed; the rest of `round` is copied. Space and conditions as for hw_linear_descend. */
hawser_status hw_linear_descent_new(hw_linear_members *members, const hw_linear_gram *gram, const hw_linear_round *round,
                                    const hw_linear_part *part, hw_linear_descent **descent,
                                    hawser_error *error) HAWSER_MUST_USE;
/* Goes on; false: it is done. */
bool hw_linear_descent_go(hw_linear_descent *descent);
/* What this block adds to the sums. */
hw_linear_share hw_linear_descent_share(hw_linear_descent *descent);
/* Takes the sums, before it goes on. */
void hw_linear_descent_hear(hw_linear_descent *descent, const double *sums);
void hw_linear_descent_free(hw_linear_descent *descent);

/* Runs until the local gap is small beside round->gap or at most round->tolerance, round->steps are used up, or floating point
 * allows no progress. `gram` covers the members, or is NULL: in residual space, with round->residual as scratch. */
hawser_status hw_linear_descend(hw_linear_members *members, const hw_linear_gram *gram, const hw_linear_round *round,
                                hawser_error *error) HAWSER_MUST_USE;

#endif
