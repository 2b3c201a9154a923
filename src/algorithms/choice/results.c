#include "algorithms/choice/results.h"

#include <math.h>
#include <stdlib.h>

hawser_status hw_results_new(hw_results *results, size_t most, size_t count, uint32_t folds, hawser_error *error)
{
    *results = (hw_results){.most = most,
                            .count = count,
                            .folds = folds,
                            .rows = calloc(most + 1, sizeof *results->rows),
                            .errors = calloc(most * folds + 1, sizeof *results->errors),
                            .fold_weights = calloc(folds + (size_t)1, sizeof *results->fold_weights)};
    if (results->rows == NULL || results->errors == NULL || results->fold_weights == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a path of %zu lambdas", most);
    return HAWSER_OK;
}

void hw_results_free(hw_results *results)
{
    free(results->rows);
    free(results->errors);
    free(results->fold_weights);
    *results = (hw_results){0};
}

size_t hw_results_finished(const hw_results *results)
{
    size_t done = 0;
    while (done < results->count && results->rows[done].done)
        done++;
    return done;
}

/* Computes the mean over the folds, weighted by their rows, and its standard error, as glmnet does. */
static void fold_errors(hw_results *results)
{
    uint32_t folds = results->folds;
    for (size_t l = 0; l < results->count; l++) {
        double weight = 0.0, mean = 0.0, spread = 0.0;
        for (uint32_t f = 0; f < folds; f++) {
            weight += results->fold_weights[f];
            mean += results->fold_weights[f] * results->errors[f * results->most + l];
        }
        mean /= weight;
        for (uint32_t f = 0; f < folds; f++) {
            double d = results->errors[f * results->most + l] - mean;
            spread += results->fold_weights[f] / weight * d * d;
        }
        results->rows[l].error = mean;
        results->rows[l].standard_error = sqrt(spread / (folds - 1));
    }
}

static double number_at(const double *first, size_t stride, size_t k)
{
    return *(const double *)((const char *)first + k * stride);
}

void hw_best_members(const double *error, const double *standard_error, size_t stride, size_t count, size_t *least,
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

hw_selection hw_results_select(hw_results *results, bool one_standard_error)
{
    hw_selection selection = {0};
    size_t done = hw_results_finished(results);
    if (done == 0)
        return selection;
    selection.crossed = results->folds > 0 && results->folds_done == results->folds;
    if (selection.crossed)
        fold_errors(results);
    selection.measured = selection.crossed || (results->folds == 0 && !isnan(results->rows[0].error));
    selection.chosen = done - 1;
    if (!selection.measured)
        return selection;
    hw_best_members(&results->rows->error, selection.crossed ? &results->rows->standard_error : NULL, sizeof *results->rows,
                    done, &selection.least, &selection.one_error);
    selection.chosen = one_standard_error ? selection.one_error : selection.least;
    return selection;
}
