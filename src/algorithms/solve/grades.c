#include "algorithms/solve/grades.h"

void hw_linear_grade(const hw_linear_columns *columns, const hw_linear_candidates *candidates, double lambda, double scale,
                     double counts[HW_LINEAR_GRADES])
{
    const double *alpha = candidates->alpha, *gradient = candidates->gradient;
    for (int g = 0; g < HW_LINEAR_GRADES; g++)
        counts[g] = 0.0;
    for (size_t k = 0; k < candidates->count; k++) {
        uint32_t j = candidates->list[k];
        double edge = lambda * columns->l1[j];
        if (alpha[j] != 0.0 || columns->norm[j] <= 0.0 || columns->l1[j] == 0.0 || (edge > 0.0 && fabs(gradient[j]) <= edge))
            continue;
        double promise = hw_linear_promise(columns, j, gradient[j], lambda);
        int exponent = 0;
        if (!(promise > 0.0))
            continue;
        if (!isinf(promise)) /* it is infinite at lambda 0 */
            (void)frexp(promise / scale, &exponent);
        int grade = exponent > 0 ? 0 : -exponent / 2;
        counts[grade < HW_LINEAR_GRADES ? grade : HW_LINEAR_GRADES - 1] += 1.0;
    }
}

size_t hw_linear_entering(const double own[HW_LINEAR_GRADES], const double all[HW_LINEAR_GRADES], double most)
{
    double entering = 0.0;
    for (int g = 0; g < HW_LINEAR_GRADES && most > 0.0; g++) {
        if (all[g] > 0.0) /* if a grade does not fit, each block takes its share of it, rounded up */
            entering += all[g] <= most ? own[g] : ceil(own[g] * most / all[g]);
        most -= all[g];
    }
    return (size_t)entering;
}

size_t hw_linear_within_share(size_t entering, size_t support, size_t share)
{
    size_t left = share > support ? share - support : 0;
    return entering <= left || 2 * left < support ? entering : left;
}
