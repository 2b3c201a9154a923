#include "algorithms/measures/counts.h"

#include <math.h>

#include "algorithms/measures/errors.h"
#include "algorithms/measures/measure.h"

const hawser_measure_row hw_count_measures[] = {
    {"mean_deviance", "mean of 2 (y log(y / mu) - y + mu), y the target and mu the predicted mean; 0 is best"},
    {"d2", "1 - mean_deviance / (mean_deviance if every prediction were the mean target); 1 is best; unknown if all targets "
           "are equal"},
    {"rmse", "square root of mse"},
    {"mae", "mean of the absolute errors"},
    {"mse", "mean of the squared errors; an error is target minus predicted mean"},
    {"objective", "what the training minimised, on these data; unknown if the training did not certify the model"},
    HW_ERRORS_SPREAD_ROWS,
    {NULL, NULL}};

hawser_status hw_counts_check(const hawser_evaluation_input *input, double (*mean)(double margin), double *total,
                              hawser_error *error)
{
    HAWSER_TRY(hw_measure_total(input->rows, input->weights, total, error));
    for (size_t i = 0; i < input->rows; i++)
        if (!(input->scored[2 * i + 1] >= 0.0))
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "row %zu: the target is %g, and counts are 0 or more (--target says where they are)", i + 1,
                               input->scored[2 * i + 1]);
    for (size_t i = 0; i < input->rows; i++)
        HAWSER_TRY(hw_measure_finite(mean(input->scored[2 * i]), i, "predicted mean", error));
    return hw_measure_finite_scores(input, "margin", error);
}

hawser_status hw_counts_measure(const hawser_evaluation_input *input, const hw_counts *counts, hawser_measure *measures,
                                hawser_error *error)
{
    const double *weights = input->weights;
    double deviance = 0.0, squares = 0.0, absolute = 0.0, least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < input->rows; i++) {
        double margin = input->scored[2 * i], y = input->scored[2 * i + 1];
        double w = weights != NULL ? weights[i] : 1.0, e = y - counts->mean(margin);
        deviance += w * counts->deviance(y, margin);
        squares += w * e * e;
        absolute += w * fabs(e);
        least = w > 0.0 ? fmin(least, y) : least;
        most = w > 0.0 ? fmax(most, y) : most;
    }
    bool equal = !(least < most);
    deviance /= counts->total;
    hw_measure_number(measures, "mean_deviance", deviance, NULL);
    hw_measure_number(measures, "d2", equal ? NAN : 1.0 - deviance / counts->mean_deviance_of_mean,
                      equal ? "all targets are equal" : NULL);
    hw_measure_number(measures, "rmse", sqrt(squares / counts->total), NULL);
    hw_measure_number(measures, "mae", absolute / counts->total, NULL);
    hw_measure_number(measures, "mse", squares / counts->total, NULL);
    hw_measure_number(measures, "objective", 0.5 * deviance + counts->penalty, "the training did not certify the model");
    for (size_t i = 0; i < input->rows; i++)
        input->scored[2 * i] = counts->mean(input->scored[2 * i]);
    return hw_errors_spread(input, measures, error);
}
