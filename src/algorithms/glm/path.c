#include "algorithms/glm/path.h"

#include <math.h>
#include <string.h>

double hw_linear_one_lambda(const hw_linear *linear, double lambda_max)
{
    const hw_linear_settings *settings = &linear->choices.settings;
    if (settings->cost > 0.0)
        return 1.0 / (settings->cost * linear->problem.total);
    return settings->lambda >= 0.0 ? settings->lambda : settings->lambda_ratio * lambda_max;
}

bool hw_linear_given_lambda(const hw_linear *linear)
{
    return linear->choices.settings.cost > 0.0 || linear->choices.settings.lambda >= 0.0;
}

bool hw_linear_vanishes(const hw_linear *linear, double lambda_max, double weakest)
{
    static const double least_of_squares = 1e-20; /* of a mean square: what rounding leaves of a gap is far larger */
    const hw_linear_settings *settings = &linear->choices.settings;
    bool list = settings->path_list != NULL;
    if (!list && !hw_linear_given_lambda(linear))
        return false;
    double least = list ? settings->path_list[settings->path_count - 1] : hw_linear_one_lambda(linear, lambda_max);
    if (settings->l1_ratio > 0.0)
        return least > 0.0 && least < 1e-12 * lambda_max;
    return least > 0.0 && weakest > 0.0 && least * weakest < least_of_squares;
}

void hw_linear_grid(const hw_linear *linear, double lambda_max, double *lambdas)
{
    const hw_linear_settings *settings = &linear->choices.settings;
    const hawser_matrix *X = linear->problem.X;
    size_t count = linear->choices.lambda_count, first = linear->choices.lambda_first;
    if (settings->path_list != NULL) {
        memcpy(lambdas, settings->path_list, count * sizeof(double));
        return;
    }
    if (settings->path_count == 0) {
        lambdas[0] = hw_linear_one_lambda(linear, lambda_max);
        return;
    }
    double least = settings->lambda_min_ratio;
    if (least <= 0.0) /* glmnet's choice */
        least = linear->problem.counted_rows < X->cols ? 1e-2 : 1e-4;
    for (size_t k = 0; k < count; k++)
        lambdas[k] = lambda_max * pow(least, first > 1 ? (double)k / (double)(first - 1) : 0.0);
}

/* Computes the mean over the folds, weighted by their rows, and its standard error, as glmnet does. */
static void fold_errors(hw_linear_record *record)
{
    uint32_t folds = record->folds;
    for (size_t l = 0; l < record->lambda_count; l++) {
        double weight = 0.0, mean = 0.0, spread = 0.0;
        for (uint32_t f = 0; f < folds; f++) {
            weight += record->fold_weights[f];
            mean += record->fold_weights[f] * record->errors[f * record->most + l];
        }
        mean /= weight;
        for (uint32_t f = 0; f < folds; f++) {
            double d = record->errors[f * record->most + l] - mean;
            spread += record->fold_weights[f] / weight * d * d;
        }
        record->rows[l].error = mean;
        record->rows[l].standard_error = sqrt(spread / (folds - 1));
    }
}

bool hw_linear_folds_done(const hw_linear_record *record)
{
    return record->fold_at == record->folds && record->at == record->lambda_count - record->first;
}

static double number_at(const double *first, size_t stride, size_t k)
{
    return *(const double *)((const char *)first + k * stride);
}

void hw_linear_best_members(const double *error, const double *standard_error, size_t stride, size_t count, size_t *least,
                            size_t *one_se)
{
    *least = *one_se = 0;
    for (size_t l = 1; l < count; l++)
        if (number_at(error, stride, l) < number_at(error, stride, *least))
            *least = l;
    double most = number_at(error, stride, *least);
    if (standard_error == NULL)
        *one_se = *least;
    else
        most += number_at(standard_error, stride, *least);
    while (*one_se < *least && !(number_at(error, stride, *one_se) <= most))
        ++*one_se;
}

hw_linear_selection hw_linear_select(hw_linear_record *record, bool one_standard_error)
{
    hw_linear_selection selection = {0};
    size_t done = 0;
    while (done < record->lambda_count && record->rows[done].done)
        done++;
    if (done == 0)
        return selection;
    selection.crossed = record->folds > 0 && hw_linear_folds_done(record);
    if (selection.crossed)
        fold_errors(record);
    selection.measured = selection.crossed || (record->folds == 0 && !isnan(record->rows[0].error));
    selection.chosen = done - 1;
    if (!selection.measured)
        return selection;
    hw_linear_best_members(&record->rows->error, selection.crossed ? &record->rows->standard_error : NULL,
                           sizeof *record->rows, done, &selection.least, &selection.one_error);
    selection.chosen = one_standard_error ? selection.one_error : selection.least;
    return selection;
}
