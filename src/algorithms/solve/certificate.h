/*
 * certificate.h - the duality gap from a few sums, which blocks can add up from their shares. Pure.
 *
 * With the residual r, any multiple s r that satisfies the constraints gives a lower bound of the optimum,
 *     D(s) = s T - s^2 R / 2 - sum_j h_j*(s g_j),   R = sum w r^2 / W,  T = sum w r z / W,  g_j = sum_i w_i (x_ij - m_j) r_i
 *     / W.
 * Columns with an L2 part have no constraint but a conjugate; s = 1 is then a candidate too.
 */
#ifndef HW_ALGORITHMS_SOLVE_CERTIFICATE_H
#define HW_ALGORITHMS_SOLVE_CERTIFICATE_H

#include <stdbool.h>

typedef struct hw_linear_sums {
    double loss;    /* half of R at the point itself; R may be that of another residual, the dual point */
    double square;  /* R */
    double target;  /* T */
    double penalty; /* sum_j h_j(alpha_j) */
    double curved;  /* sum_j l2_j alpha_j^2 */
    double ratio;   /* max_j hw_linear_ratio; the scaling is at most its inverse */
} hw_linear_sums;

/* Returns the scaling for which the sums give the best feasible bound. */
double hw_linear_scale(const hw_linear_sums *sums);

/* Returns D(s), given sum_j h_j*(s g_j). */
double hw_linear_dual(const hw_linear_sums *sums, double scale, double conjugate);

/* Returns the gap by the better of the two dual points, given their conjugates (scaled, and at s = 1), plus an allowance for
 * rounding in sums of the size of `magnitude`. */
double hw_linear_gap(const hw_linear_sums *sums, double conjugate, double plain, double magnitude);

/* Returns the gap of a difference of objective and dual, with that allowance. */
double hw_linear_gap_of(double difference, double magnitude);

/* Makes objective and gap infinite if either has overflowed, because they then certify nothing. */
void hw_linear_refuse_infinite(double *objective, double *gap);

static inline double hw_linear_primal(const hw_linear_sums *sums)
{
    return sums->loss + sums->penalty;
}

#endif
