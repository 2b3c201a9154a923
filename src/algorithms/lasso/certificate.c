#include "algorithms/lasso/certificate.h"

#include <float.h>

double hw_lasso_scale(const hw_lasso_sums *sums)
{
    double square = sums->square + sums->curved;
    double best = square > 0.0 ? sums->target / square : 1.0;
    double most = sums->ratio > 0.0 ? 1.0 / sums->ratio : best;
    return best < 0.0 ? 0.0 : best > most ? most : best; /* one-sided bounds constrain one direction only: no s < 0 */
}

double hw_lasso_dual(const hw_lasso_sums *sums, double scale, double conjugate)
{
    return scale * sums->target - 0.5 * scale * scale * sums->square - conjugate;
}

double hw_lasso_gap(const hw_lasso_sums *sums, double conjugate, double plain, double magnitude)
{
    double dual = hw_lasso_dual(sums, hw_lasso_scale(sums), conjugate);
    if (sums->curved > 0.0 || sums->ratio <= 1.0) { /* with an L2 part any point is feasible */
        double other = hw_lasso_dual(sums, 1.0, plain);
        dual = other > dual ? other : dual;
    }
    double gap = hw_lasso_primal(sums) - dual;
    return (gap > 0.0 ? gap : 0.0) + 16.0 * DBL_EPSILON * magnitude;
}
