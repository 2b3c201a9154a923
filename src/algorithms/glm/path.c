/* path.c - which lambdas, and which of them to keep. */
#include <math.h>
#include <string.h>

#include "algorithms/glm/problem.h"

size_t hw_linear_grid_size(const hw_linear_settings *settings)
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

double hw_linear_one_lambda(const hw_linear *linear, double lambda_max)
{
    const hw_linear_settings *settings = &linear->settings;
    if (settings->cost > 0.0)
        return 1.0 / (settings->cost * linear->total);
    return settings->lambda >= 0.0 ? settings->lambda : settings->lambda_ratio * lambda_max;
}

void hw_linear_grid(hw_linear *linear, double lambda_max)
{
    const hw_linear_settings *settings = &linear->settings;
    size_t count = linear->lambda_count;
    linear->lambda_max = lambda_max;
    if (settings->path_list != NULL) {
        memcpy(linear->lambdas, settings->path_list, count * sizeof(double));
        sort_falling(linear->lambdas, count);
        return;
    }
    if (settings->path_count == 0) {
        linear->lambdas[0] = hw_linear_one_lambda(linear, lambda_max);
        return;
    }
    double least = settings->lambda_min_ratio;
    if (least <= 0.0) /* glmnet's choice */
        least = linear->X->rows < linear->X->cols ? 1e-2 : 1e-4;
    for (size_t k = 0; k < count; k++)
        linear->lambdas[k] = lambda_max * pow(least, count > 1 ? (double)k / (double)(count - 1) : 0.0);
}

/* Mean over the folds, weighted by their rows, and its standard error, as glmnet has them. */
static void fold_errors(hw_linear *linear)
{
    uint32_t folds = linear->settings.folds;
    for (size_t l = 0; l < linear->lambda_count; l++) {
        double weight = 0.0, mean = 0.0, spread = 0.0;
        for (uint32_t f = 0; f < folds; f++) {
            weight += linear->fold_weights[f];
            mean += linear->fold_weights[f] * linear->errors[f * linear->lambda_count + l];
        }
        mean /= weight;
        for (uint32_t f = 0; f < folds; f++) {
            double d = linear->errors[f * linear->lambda_count + l] - mean;
            spread += linear->fold_weights[f] / weight * d * d;
        }
        linear->rows[l].error = mean;
        linear->rows[l].standard_error = sqrt(spread / (folds - 1));
    }
}

bool hw_linear_folds_done(const hw_linear *linear)
{
    return linear->fold_at == linear->settings.folds && linear->at == linear->lambda_count;
}

size_t hw_linear_select(hw_linear *linear)
{
    size_t done = 0, best = 0;
    while (done < linear->lambda_count && linear->rows[done].done)
        done++;
    if (done == 0)
        return 0;
    bool folds = linear->settings.folds > 0 && hw_linear_folds_done(linear);
    if (folds)
        fold_errors(linear);
    else if (linear->settings.folds > 0 || isnan(linear->rows[0].error))
        return done - 1;
    for (size_t l = 1; l < done; l++)
        if (linear->rows[l].error < linear->rows[best].error)
            best = l;
    if (!folds || !linear->settings.one_standard_error)
        return best;
    for (size_t l = 0; l < best; l++)
        if (linear->rows[l].error <= linear->rows[best].error + linear->rows[best].standard_error)
            return l;
    return best;
}
