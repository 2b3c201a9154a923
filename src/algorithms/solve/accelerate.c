#include "algorithms/solve/accelerate.h"

#include <stdlib.h>
#include <string.h>

void hw_linear_accelerator_free(hw_linear_accelerator *accelerator)
{
    free(accelerator->residuals);
    free(accelerator->alphas);
    memset(accelerator, 0, sizeof *accelerator);
}

hawser_status hw_linear_accelerator_keep(hw_linear_accelerator *accelerator, const hw_linear_columns *columns,
                                         const uint32_t *members, size_t count, size_t at, const double *residual,
                                         const double *alpha, hawser_error *error)
{
    size_t n = columns->X.rows;
    if (accelerator->residuals == NULL) {
        accelerator->rows = n;
        accelerator->residuals = malloc((HW_LINEAR_HISTORY + 1) * (n + 1) * sizeof(double));
    }
    if (count > accelerator->capacity) {
        free(accelerator->alphas);
        accelerator->capacity = 2 * count;
        accelerator->alphas = malloc((HW_LINEAR_HISTORY + 2) * accelerator->capacity * sizeof(double));
    }
    if (accelerator->residuals == NULL || (count > 0 && accelerator->alphas == NULL)) {
        accelerator->capacity = 0;
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory to extrapolate over rounds of %zu rows", n);
    }
    accelerator->members = count;
    memcpy(accelerator->residuals + at * n, residual, n * sizeof(double));
    for (size_t k = 0; k < count; k++)
        accelerator->alphas[at * accelerator->capacity + k] = alpha[members[k]];
    accelerator->usable = at == HW_LINEAR_HISTORY;
    return HAWSER_OK;
}

static bool combination(const hw_linear_accelerator *accelerator, double *weights)
{
    size_t n = accelerator->rows;
    double U[HW_LINEAR_HISTORY][HW_LINEAR_HISTORY] = {{0}};
    const double *past = accelerator->residuals;
    for (size_t i = 0; i < n; i++) {
        double d[HW_LINEAR_HISTORY];
        for (size_t k = 0; k < HW_LINEAR_HISTORY; k++)
            d[k] = past[(k + 1) * n + i] - past[k * n + i];
        for (size_t a = 0; a < HW_LINEAR_HISTORY; a++)
            for (size_t b = 0; b <= a; b++)
                U[a][b] += d[a] * d[b];
    }
    for (size_t a = 0; a < HW_LINEAR_HISTORY; a++)
        for (size_t b = 0; b < a; b++)
            U[b][a] = U[a][b];
    return hw_linear_extrapolate(HW_LINEAR_HISTORY, U, weights);
}

/* sum w r^2 / 2W of the combined residuals. */
static double combined_loss(const hw_linear_accelerator *accelerator, const hw_linear_columns *columns,
                            const double *weights)
{
    size_t n = accelerator->rows;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        double u = 0.0, w = columns->weights != NULL ? columns->weights[i] : 1.0;
        for (size_t k = 0; k < HW_LINEAR_HISTORY; k++)
            u += weights[k] * accelerator->residuals[(k + 1) * n + i];
        sum += w > 0.0 ? u * u / w : 0.0;
    }
    return 0.5 * sum / columns->total;
}

double hw_linear_accelerator_propose(hw_linear_accelerator *accelerator, const hw_linear_columns *columns,
                                     const uint32_t *members, double lambda, const double *alpha, double *now)
{
    double weights[HW_LINEAR_HISTORY], penalty = 0.0;
    *now = 0.0;
    if (!accelerator->usable || !combination(accelerator, weights))
        return INFINITY;
    accelerator->usable = false;
    accelerator->loss = combined_loss(accelerator, columns, weights);
    double *candidate = accelerator->alphas + (HW_LINEAR_HISTORY + 1) * accelerator->capacity;
    for (size_t k = 0; k < accelerator->members; k++) {
        hw_linear_term term = hw_linear_term_at(columns, members[k], lambda);
        candidate[k] = 0.0;
        for (size_t h = 0; h < HW_LINEAR_HISTORY; h++)
            candidate[k] += weights[h] * accelerator->alphas[(h + 1) * accelerator->capacity + k];
        if (candidate[k] < term.lower || candidate[k] > term.upper)
            return INFINITY;
        penalty += hw_linear_penalty(candidate[k], term);
        *now += hw_linear_penalty(alpha[members[k]], term);
    }
    return penalty;
}

void hw_linear_accelerator_take(hw_linear_accelerator *accelerator, const hw_linear_columns *columns,
                                const uint32_t *members, double gain, double *alpha, double *image)
{
    double *candidate = accelerator->alphas + (HW_LINEAR_HISTORY + 1) * accelerator->capacity;
    for (size_t k = 0; k < accelerator->members; k++) {
        double step = candidate[k] - alpha[members[k]];
        alpha[members[k]] = candidate[k];
        candidate[k] = gain * step;
    }
    if (accelerator->members > 0)
        hawser_combine(&columns->X, members, candidate, accelerator->members, image);
}
