#include "algorithms/glm/fold.h"

#include <float.h>

/* Returns whether a column has no penalty. The lambdas of a path are above 0. */
static bool is_free(const hw_linear *linear, size_t column)
{
    const double *factor = linear->problem.factor;
    return linear->choices.settings.lambda == 0.0 || (factor != NULL && factor[column] == 0.0);
}

hawser_status hw_linear_measure(const hw_linear *linear, hw_linear_columns *columns, hawser_error *error)
{
    const hw_linear_problem *problem = &linear->problem;
    const hw_linear_settings *settings = &linear->choices.settings;
    for (size_t j = 0; j < columns->X.cols; j++) {
        size_t whole = columns->X.first + j;
        double sum = 0.0, squares = 0.0, mean = 0.0;
        hawser_column_moments(&columns->X, j, columns->weights, columns->total, 0.0, &sum, &squares);
        double raw = squares / columns->total;
        HAWSER_TRY(hw_linear_check_square(raw, whole, error));
        if (settings->standardize || is_free(linear, whole))
            HAWSER_TRY(hw_linear_check_small(raw, sum, columns->X.rows, whole, error));
        if (settings->intercept || settings->standardize) {
            mean = sum / columns->total;
            if (mean != 0.0)
                hawser_column_moments(&columns->X, j, columns->weights, columns->total, mean, &sum, &squares);
        }
        double variance = squares / columns->total;
        bool constant = variance <= 16.0 * DBL_EPSILON * DBL_EPSILON * mean * mean;
        columns->mean[j] = settings->intercept ? mean : 0.0;
        columns->norm[j] = settings->intercept ? (constant ? 0.0 : variance) : raw;
        double deviation = settings->standardize && !constant ? sqrt(variance) : 1.0;
        double factor = problem->factor != NULL ? problem->factor[whole] : 1.0;
        columns->l1[j] = factor * settings->l1_ratio * deviation;
        columns->l2[j] = factor * (1.0 - settings->l1_ratio) * deviation * deviation;
        columns->lower[j] = problem->lower != NULL ? problem->lower[whole] : -INFINITY;
        columns->upper[j] = problem->upper != NULL ? problem->upper[whole] : INFINITY;
    }
    return HAWSER_OK;
}

void hw_linear_held_out(const hw_linear_problem *problem, const double *image, double intercept, uint32_t fold,
                        double *weight, double *errors)
{
    *weight = *errors = 0.0;
    for (size_t i = 0; problem->fold != NULL && i < problem->X->rows; i++) {
        bool out = fold > 0 ? problem->fold[i] == fold : problem->fold[i] == HW_LINEAR_ALWAYS_OUT;
        if (!out)
            continue;
        double w = problem->weights != NULL ? problem->weights[i] : 1.0;
        double margin = image[i] + intercept + (problem->offset != NULL ? problem->offset[i] : 0.0);
        *weight += w;
        *errors += w * problem->kind->row_error(problem->target[i], margin);
    }
}
