#include "algorithms/solve/extrapolate.h"

#include <math.h>

bool hw_linear_extrapolate(size_t differences, double U[HW_LINEAR_HISTORY][HW_LINEAR_HISTORY], double *weights)
{
    size_t k = differences;
    double trace = 0.0, sum = 0.0;
    for (size_t a = 0; a < k; a++) {
        trace += U[a][a];
        weights[a] = 1.0;
    }
    if (!(trace > 0.0) || !isfinite(trace))
        return false;
    for (size_t a = 0; a < k; a++)
        U[a][a] += 1e-12 * trace;    /* near the limit the differences become parallel */
    for (size_t a = 0; a < k; a++) { /* Gaussian elimination; U is positive definite */
        if (!(U[a][a] > 0.0))
            return false;
        for (size_t b = a + 1; b < k; b++) {
            double factor = U[b][a] / U[a][a];
            for (size_t c = a; c < k; c++)
                U[b][c] -= factor * U[a][c];
            weights[b] -= factor * weights[a];
        }
    }
    for (size_t a = k; a-- > 0;) {
        for (size_t b = a + 1; b < k; b++)
            weights[a] -= U[a][b] * weights[b];
        weights[a] /= U[a][a];
        sum += weights[a];
    }
    if (!isfinite(sum) || fabs(sum) < 1e-300)
        return false;
    for (size_t a = 0; a < k; a++)
        weights[a] /= sum;
    return true;
}
