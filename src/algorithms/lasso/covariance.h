/*
 * covariance.h - certificates of a path on tall data without reading its rows. With the Gram matrix G of all columns and the
 * products c of the columns with the target, both centred, a point w has
 *     correlations g = c - G w,   T = z'z - c'w,   R = T - g'w
 * (certificate.h; z is the centred target). All sums have rounding errors in proportion to the sizes of the columns and not
 * to that of the residual. A bound of these errors is part of the certificate, and where it is not far below the tolerance,
 * the rows are read instead.
 */
#ifndef HW_ALGORITHMS_LASSO_COVARIANCE_H
#define HW_ALGORITHMS_LASSO_COVARIANCE_H

#include "algorithms/glm/linear.h"
#include "algorithms/solve/gram.h"
#include "algorithms/solve/scan.h"
#include "algorithms/solve/solver.h"

typedef struct hw_lasso_covariance {
    double *target; /* c, by column; NULL: certificates read the rows */
    bool known;     /* c, the mean and the square are those of this fold */
    bool rough;     /* a column is so far from zero that its products have lost their digits */
    double mean;    /* of the target; 0 without an intercept */
    double square;  /* z'z / W */
    double blur;    /* what rounding may have added to the objective or taken from the gap; 0: rows were read */
} hw_lasso_covariance;

/* Returns whether the Gram matrix of all columns costs less than the rows that certificates of the path would read. */
bool hw_lasso_covariance_pays(const hw_linear *lasso);
/* Computes c from the rows. `u` is scratch by row. */
void hw_lasso_covariance_begin(hw_lasso_covariance *covariance, const hw_linear_columns *columns, const double *target,
                               double *u);
/* Returns false if rounding errors of products at a point would matter for a gap of `tolerance`. */
bool hw_lasso_covariance_suffices(const hw_lasso_covariance *covariance, const hw_linear_columns *columns,
                                  const double *alpha, double lambda, double tolerance);
/* Makes the certificate's sums of such a point, and its correlations in `scan`. Returns false if the errors matter after
 * all, by the scale of the dual point. */
bool hw_lasso_covariance_measure(hw_lasso_covariance *covariance, const hw_linear_gram *gram,
                                 const hw_linear_columns *columns, const double *alpha, double lambda, double tolerance,
                                 hw_linear_scan *scan, hw_linear_sums *sums);

#endif
