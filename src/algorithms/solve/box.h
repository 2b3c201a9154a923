/* box.h - least squares over a few columns within bounds, by their Gram matrix: coordinate descent, with conjugate gradients
 * over the coefficients that are not at a bound. */
#ifndef HW_ALGORITHMS_SOLVE_BOX_H
#define HW_ALGORITHMS_SOLVE_BOX_H

#include "algorithms/solve/conjugate.h"

/* The caller fills it after hw_linear_box_begin. Columns have length 1, so that rounding errors of the Gram matrix are
 * relative to 1 at any scale of the data. */
typedef struct hw_linear_box {
    hw_conjugate search; /* step: the coefficients, 0 at first; pull: the columns' products with the residual; count */
    double size;         /* the residual's square at the start, the scale of rounding errors */
    double *gram;        /* count x count */
    double *lower, *upper;
} hw_linear_box;

/* Returns how many doubles a box of at most so many columns needs. */
size_t hw_linear_box_numbers(size_t most);
/* Makes an empty box in that memory, which the caller keeps. */
void hw_linear_box_begin(hw_linear_box *box, double *memory, size_t most);
/* Finds the coefficients. */
void hw_linear_box_solve(hw_linear_box *box);

#endif
