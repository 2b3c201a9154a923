#include "algorithms/solve/certificate.h"

#include <float.h>
#include <math.h>

double hw_linear_scale(const hw_linear_sums *sums)
{
    double square = sums->square + sums->curved;
    double best = square > 0.0 ? sums->target / square : 1.0;
    double most = sums->ratio > 0.0 ? 1.0 / sums->ratio : best;
    return best < 0.0    ? 0.0
           : best > most ? most
                         : best; /* s must not be negative: one-sided bounds constrain only one direction */
}

double hw_linear_dual(const hw_linear_sums *sums, double scale, double conjugate)
{
    return scale * sums->target - 0.5 * scale * scale * sums->square - conjugate;
}

double hw_linear_gap(const hw_linear_sums *sums, double conjugate, double plain, double magnitude)
{
    double dual = hw_linear_dual(sums, hw_linear_scale(sums), conjugate);
    if (sums->curved > 0.0 || sums->ratio <= 1.0) { /* with an L2 part any point is feasible */
        double other = hw_linear_dual(sums, 1.0, plain);
        dual = other > dual ? other : dual;
    }
    return hw_linear_gap_of(hw_linear_primal(sums) - dual, magnitude);
}

double hw_linear_gap_of(double difference, double magnitude)
{
    return (difference <= 0.0 ? 0.0 : difference) + 16.0 * DBL_EPSILON * magnitude; /* NaN stays NaN */
}

void hw_linear_refuse_infinite(double *objective, double *gap)
{
    if (!isfinite(*objective) || !isfinite(*gap))
        *objective = *gap = INFINITY;
}
