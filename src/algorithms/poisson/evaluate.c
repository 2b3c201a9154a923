#include "algorithms/poisson/evaluate.h"

#include <math.h>
#include <stdlib.h>

#include "algorithms/glm/coefficients.h"
#include "algorithms/measures/counts.h"
#include "algorithms/measures/measure.h"
#include "algorithms/poisson/loss.h"

hawser_status hw_poisson_predict(const hawser_model *model, const hawser_dataset *data, double *predictions,
                                 hawser_error *error)
{
    HAWSER_TRY(hw_linear_margins(model, data, predictions, error));
    for (size_t i = 0; i < hawser_dataset_matrix(data)->rows; i++)
        predictions[i] = hw_poisson_mean(predictions[i]);
    return HAWSER_OK;
}

/* Computes the deviances of the rows, from margins, which keep more digits than means. */
static hawser_status deviances(const hawser_evaluation_input *input, double *deviance, hawser_error *error)
{
    const double *y = hawser_dataset_target(input->data);
    size_t n = hawser_dataset_matrix(input->data)->rows;
    HAWSER_TRY(hw_linear_margins(input->model, input->data, deviance, error));
    HAWSER_TRY(hw_measure_finite(deviance, n, 1, "margin", error));
    for (size_t i = 0; i < n; i++)
        deviance[i] = 2.0 * hw_poisson_loss(y[i], hw_poisson_log(y[i]), deviance[i]);
    return HAWSER_OK;
}

/* Computes the mean deviance of the best constant mean, that of the targets. */
static double deviance_of_mean(const hawser_evaluation_input *input, double total)
{
    const double *y = hawser_dataset_target(input->data), *weights = hawser_dataset_weights(input->data);
    size_t n = hawser_dataset_matrix(input->data)->rows;
    double mean = 0.0, sum = 0.0;
    for (size_t i = 0; i < n; i++)
        mean += (weights != NULL ? weights[i] : 1.0) * y[i] / total;
    double margin = hw_poisson_log(mean);
    for (size_t i = 0; i < n && mean > 0.0; i++)
        sum += (weights != NULL ? weights[i] : 1.0) * 2.0 * hw_poisson_loss(y[i], hw_poisson_log(y[i]), margin);
    return sum / total;
}

hawser_status hw_poisson_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error)
{
    size_t n = hawser_dataset_matrix(input->data)->rows;
    double total;
    HAWSER_TRY(hw_counts_check(input, &total, error));
    double *deviance = calloc(n + 1, sizeof *deviance);
    if (deviance == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory to evaluate %zu rows", n);
    hawser_status status = deviances(input, deviance, error);
    if (status == HAWSER_OK) {
        const hw_counts counts = {.deviance = deviance,
                                  .mean_deviance_of_mean = deviance_of_mean(input, total),
                                  .total = total,
                                  .penalty = hw_linear_fact(input->model, "penalty", NAN)};
        status = hw_counts_measure(input, &counts, measures, error);
    }
    free(deviance);
    return status;
}
