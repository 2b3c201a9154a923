/*
 * certificate.c - the dual problem of softmax regression maximises over probabilities p_i of the rows
 *     sum_i w_i H(p_i) - sum_jc max(|V_jc| - l1_j, 0)^2 / (2 l2_j)
 *     with V = sum_i w_i x_i (p_i - y_i) and sum_i w_i (p_i - y_i) = 0,
 * where w_i are example weights that add up to 1, H is the entropy, and y_i has a 1 at the row's class. The last condition
 * is that of free intercepts. Without a squared penalty |V_jc| <= l1_j.
 *
 * The model's probabilities, whose V is the gradient, are made feasible by mixing twice. First one distribution s is mixed
 * into all rows, until each class has its share; then y, which has no entropy and V = 0. The entropy of a mixture is at
 * least the mixture of the entropies.
 */
#include "algorithms/softmax/certificate.h"

#include <math.h>
#include <string.h>

#include "algorithms/model/rounding.h"
#include "algorithms/newton/exponential.h"
#include "algorithms/softmax/pass.h"

enum { TRIES = 16 };

/* Finds the least part of the common distribution, which is stored in block->rank. */
static double find_common(hw_softmax_block *b)
{
    size_t k = b->softmax->path.classes;
    const double *share = b->sums + b->X.cols * k, *over = b->gradient + b->X.cols * k;
    double least = 1.0;
    memset(b->rank, 0, k * sizeof *b->rank);
    if (!b->softmax->path.intercept)
        return 0.0;
    for (size_t c = 0; c < k; c++)
        if (over[c] > 0.0)
            least = fmin(least, share[c] / (share[c] + over[c]));
    double part = 1.0 - least, sum = 0.0;
    if (!(part > 0.0))
        return 0.0;
    for (size_t c = 0; c < k; c++) {
        b->rank[c] = fmax(0.0, (share[c] - least * (share[c] + over[c])) / part);
        sum += b->rank[c];
    }
    for (size_t c = 0; c < k; c++)
        b->rank[c] /= sum;
    return sum > 0.0 ? part : 1.0;
}

/* Stores V of the first mixture in block->trial. Returns its entropy. */
static double mix(hw_softmax_block *b)
{
    size_t k = b->softmax->path.classes;
    double part = find_common(b), common = 0.0;
    for (size_t c = 0; c < k; c++)
        common -= b->rank[c] > 1e-300 ? b->rank[c] * hw_logarithm(b->rank[c]) : 0.0;
    for (size_t j = 0; j < b->X.cols; j++) {
        const double *sums = b->sums + j * k, *gradient = b->gradient + j * k;
        double column = 0.0;
        for (size_t c = 0; c < k; c++)
            column += sums[c];
        for (size_t c = 0; c < k; c++)
            b->trial[j * k + c] = (1.0 - part) * gradient[c] + part * (column * b->rank[c] - sums[c]);
    }
    return (1.0 - part) * b->memory.entropy + part * common;
}

/* Returns the largest factor at which no |V| of a column is above its l1; with `hard`, of columns without a squared penalty
 * only. */
static double largest_factor(const hw_softmax_block *b, bool hard)
{
    size_t k = b->softmax->path.classes;
    double factor = 1.0;
    for (size_t j = 0; j < b->X.cols; j++) {
        double l1 = hw_softmax_l1(b, j);
        if (hard && hw_softmax_l2(b, j) > 0.0)
            continue;
        for (size_t e = j * k; e < (j + 1) * k; e++)
            if (fabs(b->trial[e]) * factor > l1)
                factor = l1 / fabs(b->trial[e]);
    }
    return factor;
}

static double dual(const hw_softmax_block *b, double entropy, double factor)
{
    size_t k = b->softmax->path.classes;
    double sum = 0.0;
    for (size_t j = 0; j < b->X.cols; j++) {
        double l1 = hw_softmax_l1(b, j), l2 = hw_softmax_l2(b, j), squares = 0.0;
        if (!(l2 > 0.0))
            continue;
        for (size_t e = j * k; e < (j + 1) * k; e++) {
            double over = fabs(factor * b->trial[e]) - l1;
            squares += over > 0.0 ? over * over : 0.0;
        }
        sum += squares / (2.0 * l2);
    }
    return factor * entropy - sum;
}

/* Returns a bound of the rounding error of the objective, without sums over rows: a linear predictor is a sum over columns,
 * and the weighted mean of |x_ij| is at most the root of that of the squares. */
static double error_of_objective(hw_softmax_block *b)
{
    size_t k = b->softmax->path.classes, d = b->X.cols;
    double size = 0.0;
    hw_softmax_uncentre(b, b->W);
    for (size_t j = 0; j < d; j++) {
        double root = sqrt(b->squares[j]);
        for (size_t e = j * k; e < (j + 1) * k; e++)
            if (b->W[e] != 0.0)
                size += fabs(b->W[e]) * root;
    }
    for (size_t c = 0; c < k; c++)
        size += fabs(b->intercepts[c]);
    return 2.0 * hw_rounding((double)d + 8.0) * (size + b->memory.objective);
}

/* Returns how much the dual objective can change if V of the first mixture does by `share` of the root of each column's mean
 * square. */
static double error_of_dual(const hw_softmax_block *b, double entropy, double share)
{
    size_t k = b->softmax->path.classes;
    double smooth = 0.0, hard = 0.0;
    for (size_t j = 0; j < b->X.cols; j++) {
        double l1 = hw_softmax_l1(b, j), l2 = hw_softmax_l2(b, j), size = sqrt(b->squares[j]);
        if (!(l2 > 0.0))
            hard = fmax(hard, l1 > 0.0 ? size / l1 : 0.0);
        for (size_t e = j * k; l2 > 0.0 && e < (j + 1) * k; e++)
            smooth += size * fmax(0.0, fabs(b->trial[e]) + share * size - l1) / l2;
    }
    return share * (smooth + hard * entropy);
}

void hw_softmax_certify(hw_softmax_block *b)
{
    double entropy = mix(b), least = largest_factor(b, false), best = -INFINITY;
    double most = b->softmax->share < 1.0 ? largest_factor(b, true) : least;
    double rows = hw_rounding((double)b->softmax->path.X->rows), share = 2.0 * (rows + hw_rounding(8.0));
    for (size_t k = 0; k <= TRIES; k++)
        best = fmax(best, dual(b, entropy, least + (most - least) * ((double)k / TRIES)));
    b->memory.error = error_of_objective(b) + rows * b->memory.objective;
    double error = error_of_dual(b, entropy, share) + share * entropy;
    if (!(error < best)) /* no objective is below 0 */
        best = error = 0.0;
    if (!(best > b->memory.bound))
        return;
    b->memory.bound = best;
    b->memory.bound_error = error;
}
