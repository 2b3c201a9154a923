#include "algorithms/lasso/evaluate.h"

#include <math.h>

#include "algorithms/glm/coefficients.h"

hawser_status hw_lasso_evaluate(const hawser_model *model, const hawser_dataset *data, const double *predictions,
                                hawser_fact out[16], hawser_error *error)
{
    size_t n = hawser_dataset_matrix(data)->rows;
    const double *y = hawser_dataset_target(data), *weights = hawser_dataset_weights(data);
    if (y == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "the input has no target to compare with; name its column with --target");
    double total = 0.0, mean = 0.0, squares = 0.0, absolute = 0.0, spread = 0.0;
    for (size_t i = 0; i < n; i++) {
        total += weights != NULL ? weights[i] : 1.0;
        mean += (weights != NULL ? weights[i] : 1.0) * y[i];
    }
    if (!(total > 0.0))
        return hawser_fail(error, HAWSER_BAD_INPUT, "nothing to evaluate: %zu rows with total weight %g", n, total);
    mean /= total;
    for (size_t i = 0; i < n; i++) {
        double w = weights != NULL ? weights[i] : 1.0, e = y[i] - predictions[i];
        squares += w * e * e;
        absolute += w * fabs(e);
        spread += w * (y[i] - mean) * (y[i] - mean);
    }
    size_t at = 0;
    if (spread > 0.0)
        out[at++] = (hawser_fact){"r2", 1.0 - squares / spread};
    out[at++] = (hawser_fact){"rmse", sqrt(squares / total)};
    out[at++] = (hawser_fact){"mae", absolute / total};
    out[at++] = (hawser_fact){"mse", squares / total};
    double penalty = hw_linear_fact(model, "penalty", NAN); /* unknown for a model without a certificate */
    if (!isnan(penalty))
        out[at++] = (hawser_fact){"objective", 0.5 * squares / total + penalty};
    out[at] = (hawser_fact){NULL, 0.0};
    return HAWSER_OK;
}
