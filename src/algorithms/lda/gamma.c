#include "algorithms/lda/gamma.h"

#include <math.h>

/* Differences of fewer steps are made of these steps. */
static const double STEPS = 12.0;

double hw_log_rising(double a, double n)
{
    if (n > STEPS) {
        int sign;
        return lgamma_r(a + n, &sign) - lgamma_r(a, &sign);
    }
    double product = 1.0;
    for (double i = 0.0; i < n; i++)
        product *= a + i;
    return log(product);
}

/* psi, from its asymptotic series at x >= 10, where the next term is below 1e-13. */
static double psi(double x)
{
    double below = 0.0;
    for (; x < 10.0; x++)
        below += 1.0 / x;
    double square = 1.0 / (x * x);
    double series = square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square * (1.0 / 240 - square / 132))));
    return log(x) - 0.5 / x - series - below;
}

double hw_psi_rising(double a, double n)
{
    if (n > STEPS)
        return psi(a + n) - psi(a);
    double sum = 0.0;
    for (double i = 0.0; i < n; i++)
        sum += 1.0 / (a + i);
    return sum;
}
