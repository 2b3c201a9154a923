/* evaluate.c - compares the predictions of a lasso with the target. */
#include "algorithms/lasso/parts.h"

#include <math.h>

#include "algorithms/glm/coefficients.h"
#include "algorithms/measures/errors.h"
#include "algorithms/model/facts.h"

hawser_status hw_lasso_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error)
{
    double squares = 0.0, total = 0.0;
    for (size_t i = 0; i < input->rows; i++) {
        double weight = input->weights != NULL ? input->weights[i] : 1.0;
        double wrong = input->scored[2 * i + 1] - input->scored[2 * i];
        total += weight;
        squares += weight * wrong * wrong;
    }
    return hw_errors_measure(input, 0.5 * squares / total + hw_model_number(input->model, "penalty", NAN), measures, error);
}
