#include "algorithms/measures/errors.h"

#include <math.h>

#include "algorithms/measures/measure.h"
#include "algorithms/measures/ranked.h"

const hawser_measure_row hw_error_measures[] = {
    HW_ERRORS_MEAN_ROWS,
    {"objective", "what the training minimised, on these data; unknown if the training did not certify the model"},
    HW_ERRORS_SPREAD_ROWS,
    {NULL, NULL}};

enum { QUANTILES = 11, COLUMNS = 3 };
static const double quantiles[QUANTILES] = {0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0};

/* Returns the error of a row: target minus prediction. */
static double error_of(const hawser_evaluation_input *input, size_t row)
{
    return input->scored[2 * row + 1] - input->scored[2 * row];
}

/* Sorts the errors twice, with their signs and without. Rows without weight do not count. */
hawser_status hw_errors_spread(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error)
{
    static const char *const columns[] = {"quantile", "error", "absolute_error"};
    hw_ranked *errors = hw_ranked_in(input->scored);
    const double *weights = input->weights;
    double *table, absolute[QUANTILES];
    size_t count = 0;
    for (size_t i = 0; i < input->rows; i++)
        if (weights == NULL || weights[i] > 0.0)
            errors[count++] = (hw_ranked){error_of(input, i) + 0.0, weights != NULL ? weights[i] : 1.0};
    double signed_error[QUANTILES];
    hw_ranked_sort(errors, count);
    for (size_t q = 0; q < QUANTILES; q++)
        signed_error[q] = hw_ranked_quantile(errors, count, quantiles[q]);
    for (size_t i = 0; i < count; i++)
        errors[i].value = fabs(errors[i].value);
    hw_ranked_sort(errors, count);
    for (size_t q = 0; q < QUANTILES; q++)
        absolute[q] = hw_ranked_quantile(errors, count, quantiles[q]);
    hw_measure_number(measures, "median_absolute_error", hw_ranked_quantile(errors, count, 0.5), NULL);
    hw_measure_number(measures, "max_error", errors[count - 1].value, NULL);
    HAWSER_TRY(hw_measure_table(measures, "quantiles", columns, QUANTILES, COLUMNS, &table, error));
    for (size_t q = 0; q < QUANTILES; q++) {
        table[COLUMNS * q] = quantiles[q];
        table[COLUMNS * q + 1] = signed_error[q];
        table[COLUMNS * q + 2] = absolute[q];
    }
    return HAWSER_OK;
}

hawser_status hw_errors_measure(const hawser_evaluation_input *input, double objective, hawser_measure *measures,
                                hawser_error *error)
{
    size_t n = input->rows;
    const double *weights = input->weights;
    double total, mean = 0.0, squares = 0.0, absolute = 0.0, variation = 0.0;
    HAWSER_TRY(hw_measure_total(n, weights, &total, error));
    HAWSER_TRY(hw_measure_finite_scores(input, "prediction", error));
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        double w = weights != NULL ? weights[i] : 1.0, y = input->scored[2 * i + 1];
        mean += w * y / total;
        least = w > 0.0 ? fmin(least, y) : least;
        most = w > 0.0 ? fmax(most, y) : most;
    }
    for (size_t i = 0; i < n; i++) {
        double w = weights != NULL ? weights[i] : 1.0, e = error_of(input, i), away = input->scored[2 * i + 1] - mean;
        squares += w * e * e;
        absolute += w * fabs(e);
        variation += w * away * away;
    }
    bool equal = !(least < most);
    hw_measure_number(measures, "r2", equal ? NAN : 1.0 - squares / variation, equal ? "all targets are equal" : NULL);
    hw_measure_number(measures, "rmse", sqrt(squares / total), NULL);
    hw_measure_number(measures, "mae", absolute / total, NULL);
    hw_measure_number(measures, "mse", squares / total, NULL);
    hw_measure_number(measures, "objective", objective, "the training did not certify the model");
    return hw_errors_spread(input, measures, error);
}
