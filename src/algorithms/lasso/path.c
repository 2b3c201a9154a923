/* path.c - which lambdas, and which of them to keep. */
#include <math.h>
#include <string.h>

#include "algorithms/lasso/problem.h"

size_t hw_lasso_grid_size(const hw_lasso_settings *settings)
{
    return settings->path_count > 0 ? settings->path_count : 1;
}

static void sort_falling(double *values, size_t count)
{
    for (size_t k = 1; k < count; k++) {
        double value = values[k];
        size_t at = k;
        for (; at > 0 && values[at - 1] < value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

void hw_lasso_grid(hw_lasso *lasso, double lambda_max)
{
    const hw_lasso_settings *settings = &lasso->settings;
    size_t count = lasso->lambda_count;
    lasso->lambda_max = lambda_max;
    if (settings->path_list != NULL) {
        memcpy(lasso->lambdas, settings->path_list, count * sizeof(double));
        sort_falling(lasso->lambdas, count);
        return;
    }
    if (settings->path_count == 0) {
        lasso->lambdas[0] = settings->lambda >= 0.0 ? settings->lambda : settings->lambda_ratio * lambda_max;
        return;
    }
    double least = settings->lambda_min_ratio;
    if (least <= 0.0) /* glmnet's choice */
        least = lasso->X->rows < lasso->X->cols ? 1e-2 : 1e-4;
    for (size_t k = 0; k < count; k++)
        lasso->lambdas[k] = lambda_max * pow(least, count > 1 ? (double)k / (double)(count - 1) : 0.0);
}

/* Mean over the folds, weighted by their rows, and its standard error, as glmnet has them. */
static void fold_errors(hw_lasso *lasso)
{
    uint32_t folds = lasso->settings.folds;
    for (size_t l = 0; l < lasso->lambda_count; l++) {
        double weight = 0.0, mean = 0.0, spread = 0.0;
        for (uint32_t f = 0; f < folds; f++) {
            weight += lasso->fold_weights[f];
            mean += lasso->fold_weights[f] * lasso->errors[f * lasso->lambda_count + l];
        }
        mean /= weight;
        for (uint32_t f = 0; f < folds; f++) {
            double d = lasso->errors[f * lasso->lambda_count + l] - mean;
            spread += lasso->fold_weights[f] / weight * d * d;
        }
        lasso->rows[l].error = mean;
        lasso->rows[l].standard_error = sqrt(spread / (folds - 1));
    }
}

size_t hw_lasso_select(hw_lasso *lasso)
{
    size_t done = 0, best = 0;
    while (done < lasso->lambda_count && lasso->rows[done].done)
        done++;
    if (done == 0)
        return 0;
    bool folds = lasso->settings.folds > 0 && lasso->fold_at == lasso->settings.folds && lasso->at == lasso->lambda_count;
    if (folds)
        fold_errors(lasso);
    else if (lasso->settings.folds > 0 || isnan(lasso->rows[0].error))
        return done - 1;
    for (size_t l = 1; l < done; l++)
        if (lasso->rows[l].error < lasso->rows[best].error)
            best = l;
    if (!folds || !lasso->settings.one_standard_error)
        return best;
    for (size_t l = 0; l < best; l++)
        if (lasso->rows[l].error <= lasso->rows[best].error + lasso->rows[best].standard_error)
            return l;
    return best;
}
