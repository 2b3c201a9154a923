/*
 * scan.h - correlations of a block's columns with a dual point, computed only for columns that may matter, and the screening
 * that follows from them. A dual point is an array u by row that includes the weights (u_i = w_i r_i), with its sum; g_j =
 * sum_i (x_ij - m_j) u_i / W.
 */
#ifndef HW_ALGORITHMS_SOLVE_SCAN_H
#define HW_ALGORITHMS_SOLVE_SCAN_H

#include "algorithms/model/arrays.h"
#include "algorithms/solve/certificate.h"
#include "algorithms/solve/grades.h"
#include "algorithms/solve/held.h"

typedef struct hw_linear_scan {
    /* exact; for a column that cannot matter, an upper bound of the magnitude with the sign of the last full scan */
    double *gradient;
    bool *screened; /* live columns that are proved to be zero at this lambda */
    double blur;    /* gradient[j] may be wrong by hw_linear_scan_error, as it comes from products; 0: from the rows */
    double screened_at;
    size_t screened_count;
    double *reference_dual, *reference_gradient; /* of the last full scan */
    bool referenced;
    double wasted; /* entries read since then for columns that did not matter */
    /* The live columns, ascending. Each other column is zero and stays inside the penalty's dead zone at this dual point; so
     * it does until the point is further than `live_far` from the reference, lambda is below live_lambda, or a column that
     * is not listed has left zero. */
    uint32_t *live;
    size_t live_count;
    double live_far, live_lambda; /* live_far < 0: there is no list */
    double *dual;                 /* of the last scan */
    double *copies;               /* memory for copies of both dual points */
    hw_linear_held *given;        /* the caller's: a scan of its values holds it in place of a copy; or NULL */
    hw_linear_held *held[2];      /* in place of copies: of the last full scan, and of the last scan */
    double far;                   /* its distance from the reference */
    uint32_t *computed;           /* the live columns whose correlation with it was computed */
    size_t computed_count;
    bool *exact; /* by column: it is one of them */
    hw_arrays arrays;
} hw_linear_scan;

hawser_status hw_linear_scan_new(hw_linear_scan *scan, const hawser_matrix *X, hawser_error *error) HAWSER_MUST_USE;
void hw_linear_scan_free(hw_linear_scan *scan);
/* Points both dual points to the memory for copies, without values. */
void hw_linear_scan_copy(hw_linear_scan *scan, size_t rows);
/* Returns a bound of the error of a column's correlation. */
static inline double hw_linear_scan_error(const hw_linear_scan *scan, const hw_linear_columns *columns, size_t j)
{
    return scan->blur > 0.0 ? scan->blur * sqrt(hw_linear_raw_square(columns, j)) : 0.0;
}
/* Takes correlations of all columns that the caller has written to `gradient`, in place of a scan. */
void hw_linear_scan_take(hw_linear_scan *scan, size_t columns, double blur);
/* Discards scans and screening, for another fold. */
void hw_linear_scan_reset(hw_linear_scan *scan);
/* Computes exact correlations of all columns. */
void hw_linear_scan_all(hw_linear_scan *scan, const hw_linear_columns *columns, const double *dual, double sum);
/* Computes correlations, except for columns that stay inside the penalty's dead zone by the triangle inequality from the
 * last full scan. Lists the live columns: only these matter to the functions below. */
void hw_linear_scan_run(hw_linear_scan *scan, const hw_linear_columns *columns, const double *dual, double sum,
                        const double *alpha, double lambda);
/* Returns the live columns, with their coefficients. */
hw_linear_candidates hw_linear_scan_candidates(const hw_linear_scan *scan, const double *alpha);
/* Returns the largest |g_j| / l1_j of columns that may move, the lambda at which the first of them moves; 0 if
 * all gradients may be rounding alone. After hw_linear_scan_all. */
double hw_linear_scan_most(const hw_linear_scan *scan, const hw_linear_columns *columns);
/* Returns a bound of |g_j| / (lambda l1_j) for the columns that are not live: at most 1. */
double hw_linear_scan_idle(const hw_linear_scan *scan, const hw_linear_columns *columns, double lambda);
/* Adds the block's columns to its share of a certificate's sums, whose penalty, curved and ratio are 0: after
 * hw_linear_scan_run for the same coefficients and lambda. Returns the number of nonzeros. */
size_t hw_linear_scan_sums(const hw_linear_scan *scan, const hw_linear_columns *columns, const double *alpha, double lambda,
                           hw_linear_sums *sums);
/* Computes sum_j h_j*(scale g_j), and the same at scale 1. */
void hw_linear_scan_conjugate(const hw_linear_scan *scan, const hw_linear_columns *columns, double lambda, double scale,
                              double *scaled, double *plain);
/* Marks live columns that are zero at the optimum: they are zero for every dual point within `radius` of scale * u. */
void hw_linear_scan_screen(hw_linear_scan *scan, const hw_linear_columns *columns, const double *alpha, double lambda,
                           double scale, double radius);

#endif
