#include "algorithms/lasso/evaluate.h"

#include <math.h>

#include "algorithms/glm/coefficients.h"
#include "algorithms/measures/errors.h"

hawser_status hw_lasso_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error)
{
    return hw_errors_measure(input, hw_linear_fact(input->model, "penalty", NAN), measures, error);
}
