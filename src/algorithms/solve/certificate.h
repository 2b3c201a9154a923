/*
 * certificate.h - the duality gap from a few sums, so that blocks can add up their shares. Pure.
 *
 * With r the residual, any multiple s r that respects the constraints gives a lower bound of the optimum,
 *     D(s) = s T - s^2 R / 2 - sum_j h_j*(s g_j),   R = sum w r^2 / W,  T = sum w r z / W,  g_j = sum_i w_i (x_ij - m_j) r_i / W.
 * Columns with an L2 part have no constraint but a conjugate; s = 1 is then a candidate too.
 */
#ifndef HW_ALGORITHMS_SOLVE_CERTIFICATE_H
#define HW_ALGORITHMS_SOLVE_CERTIFICATE_H

#include <stdbool.h>

typedef struct hw_linear_sums {
    double loss;    /* half of R at the point itself; R is of the dual point's residual */
    double square;  /* R */
    double target;  /* T */
    double penalty; /* sum_j h_j(alpha_j) */
    double curved;  /* sum_j l2_j alpha_j^2 */
    double ratio;   /* max_j hw_linear_ratio: the scaling is at most its inverse */
} hw_linear_sums;

/* The scaling for which the sums alone give the best feasible bound. */
double hw_linear_scale(const hw_linear_sums *sums);

/* D(s), given sum_j h_j*(s g_j). */
double hw_linear_dual(const hw_linear_sums *sums, double scale, double conjugate);

/* The gap by the better of the two dual points, given their conjugates (scaled, and at s = 1), and an allowance for rounding in
 * sums of the size of `magnitude`. */
double hw_linear_gap(const hw_linear_sums *sums, double conjugate, double plain, double magnitude);

/* A difference of objective and dual as a gap, with that allowance. */
double hw_linear_gap_of(double difference, double magnitude);

/* A certificate with a number that overflowed certifies nothing: both become infinite. */
void hw_linear_refuse_infinite(double *objective, double *gap);

static inline double hw_linear_primal(const hw_linear_sums *sums)
{
    return sums->loss + sums->penalty;
}

#endif
