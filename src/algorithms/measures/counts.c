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

hawser_status hw_counts_check(const hawser_evaluation_input *input, double *total, hawser_error *error)
{
    const double *y = hawser_dataset_target(input->data);
    size_t n = hawser_dataset_matrix(input->data)->rows;
    HAWSER_TRY(hw_measure_total(input->data, total, error));
    for (size_t i = 0; i < n; i++)
        if (!(y[i] >= 0.0))
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "row %zu: the target is %g, and counts are 0 or more (--target says where they are)", i + 1,
                               y[i]);
    return hw_measure_finite(input->predictions, n, 1, "predicted mean", error);
}

hawser_status hw_counts_measure(const hawser_evaluation_input *input, const hw_counts *counts, hawser_measure *measures,
                                hawser_error *error)
{
    const double *y = hawser_dataset_target(input->data), *weights = hawser_dataset_weights(input->data);
    double deviance = 0.0, squares = 0.0, absolute = 0.0, least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < hawser_dataset_matrix(input->data)->rows; i++) {
        double w = weights != NULL ? weights[i] : 1.0, e = y[i] - input->predictions[i];
        deviance += w * counts->deviance[i];
        squares += w * e * e;
        absolute += w * fabs(e);
        least = w > 0.0 ? fmin(least, y[i]) : least;
        most = w > 0.0 ? fmax(most, y[i]) : most;
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
    return hw_errors_spread(input, measures, error);
}
