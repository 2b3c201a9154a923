/* evaluate.c - means from a model, and how good they are. */
#include "algorithms/poisson/parts.h"

#include <math.h>

#include "algorithms/glm/coefficients.h"
#include "algorithms/measures/counts.h"
#include "algorithms/model/facts.h"
#include "algorithms/poisson/loss.h"

hawser_status hw_poisson_predict(const hawser_model *model, const hawser_dataset *data, double *predictions,
                                 hawser_error *error)
{
    HAWSER_TRY(hw_linear_margins(model, data, predictions, error));
    for (size_t i = 0; i < hawser_dataset_matrix(data)->rows; i++)
        predictions[i] = isfinite(predictions[i]) ? hw_poisson_mean(predictions[i]) : NAN; /* an overflow */
    return HAWSER_OK;
}

/* Computes the deviance of a row from its margin, which keeps more digits than the mean. */
static double deviance_of(double target, double margin)
{
    return 2.0 * hw_poisson_loss(target, hw_poisson_log(target), margin);
}

/* Computes the mean deviance of the best constant mean, that of the targets. */
static double deviance_of_mean(const hawser_evaluation_input *input, double total)
{
    const double *weights = input->weights;
    double mean = 0.0, sum = 0.0;
    for (size_t i = 0; i < input->rows; i++)
        mean += (weights != NULL ? weights[i] : 1.0) * input->scored[2 * i + 1] / total;
    double margin = hw_poisson_log(mean);
    for (size_t i = 0; i < input->rows && mean > 0.0; i++)
        sum += (weights != NULL ? weights[i] : 1.0) * deviance_of(input->scored[2 * i + 1], margin);
    return sum / total;
}

hawser_status hw_poisson_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error)
{
    double total;
    HAWSER_TRY(hw_counts_check(input, hw_poisson_mean, &total, error));
    const hw_counts counts = {.mean = hw_poisson_mean,
                              .deviance = deviance_of,
                              .mean_deviance_of_mean = deviance_of_mean(input, total),
                              .total = total,
                              .penalty = hw_model_number(input->model, "penalty", NAN)};
    return hw_counts_measure(input, &counts, measures, error);
}
