#include "algorithms/logistic/kkt.h"

#include <math.h>

#include "algorithms/solve/entries.h"

size_t hw_logistic_kkt(const hw_newton_block *block, const double *alpha, double lambda, bool filter, bool *active)
{
    const hw_linear_columns *columns = &block->columns;
    const double *gradient = block->scan.gradient;
    double worst = 0.0;
    size_t left_out = 0;
    for (size_t j = 0; j < columns->X.cols; j++)
        worst = fmax(worst, hw_linear_violation(gradient[j], alpha[j], hw_linear_term_at(columns, j, lambda)));
    for (size_t j = 0; j < columns->X.cols; j++) {
        active[j] = !filter || alpha[j] != 0.0 || fabs(gradient[j]) >= hw_linear_term_at(columns, j, lambda).l1 - worst;
        left_out += !active[j];
    }
    return left_out;
}
