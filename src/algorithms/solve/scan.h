/*
 * scan.h - correlations of a block's columns with a dual point, at the price of the columns that may matter, and what they
 * prove. A dual point is an array u by row that carries the weights (u_i = w_i r_i) with its sum; g_j = sum_i (x_ij - m_j) u_i / W.
 */
#ifndef HW_ALGORITHMS_SOLVE_SCAN_H
#define HW_ALGORITHMS_SOLVE_SCAN_H

#include "algorithms/solve/grades.h"

typedef struct hw_linear_scan {
    double *gradient; /* exact, or for a column that cannot matter an upper bound of its magnitude with its sign */
    bool *screened;   /* proved to be zero at this lambda */
    double screened_at;
    size_t screened_count;
    double *reference_dual, *reference_gradient; /* of the last full scan */
    uint32_t *wanted;                            /* room for the columns that a scan touches */
    bool referenced;
    double grades[HW_LINEAR_GRADES]; /* of the gradient, as hw_linear_report_grades reported them last */
} hw_linear_scan;

hawser_status hw_linear_scan_new(hw_linear_scan *scan, const hawser_matrix *X, hawser_error *error) HAWSER_MUST_USE;
void hw_linear_scan_free(hw_linear_scan *scan);
/* Another fold: what was seen and proved is of no use any more. */
void hw_linear_scan_reset(hw_linear_scan *scan);
/* Exact correlations of all columns. */
void hw_linear_scan_all(hw_linear_scan *scan, const hw_linear_columns *columns, const double *dual, double sum);
/* The same, but columns for which the triangle inequality shows, from the last full scan, that they stay inside the penalty's dead
 * zone are not touched. */
void hw_linear_scan_run(hw_linear_scan *scan, const hw_linear_columns *columns, const double *dual, double sum,
                        const double *alpha, double lambda);
/* The largest |g_j| / l1_j of columns that may move: the lambda at which the first of them does. */
double hw_linear_scan_most(const hw_linear_scan *scan, const hw_linear_columns *columns);
/* sum_j h_j*(scale g_j), and the same at scale 1. */
void hw_linear_scan_conjugate(const hw_linear_scan *scan, const hw_linear_columns *columns, double lambda, double scale,
                              double *scaled, double *plain);
/* Marks columns that are zero at the optimum, since no dual point within `radius` of scale * u lets them be anything else. */
void hw_linear_scan_screen(hw_linear_scan *scan, const hw_linear_columns *columns, const double *alpha, double lambda,
                           double scale, double radius);

#endif
