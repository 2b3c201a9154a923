#include "algorithms/glm/path.h"

#include <math.h>
#include <string.h>

double hw_linear_one_lambda(const hw_linear *linear, double lambda_max)
{
    const hw_linear_settings *settings = &linear->choices.settings;
    if (settings->choice.cost > 0.0)
        return 1.0 / (settings->choice.cost * linear->problem.total);
    return settings->choice.lambda >= 0.0 ? settings->choice.lambda : settings->choice.lambda_ratio * lambda_max;
}

bool hw_linear_given_lambda(const hw_linear *linear)
{
    return linear->choices.settings.choice.cost > 0.0 || linear->choices.settings.choice.lambda >= 0.0;
}

bool hw_linear_vanishes(const hw_linear *linear, double lambda_max, double weakest)
{
    static const double least_of_squares = 1e-20; /* of a mean square: what rounding leaves of a gap is far larger */
    const hw_linear_settings *settings = &linear->choices.settings;
    bool list = settings->choice.path_list != NULL;
    if (!list && !hw_linear_given_lambda(linear))
        return false;
    double least =
        list ? settings->choice.path_list[settings->choice.path_count - 1] : hw_linear_one_lambda(linear, lambda_max);
    if (settings->l1_ratio > 0.0)
        return least > 0.0 && least < 1e-12 * lambda_max;
    return least > 0.0 && weakest > 0.0 && least * weakest < least_of_squares;
}

void hw_linear_grid(const hw_linear *linear, double lambda_max, double *lambdas)
{
    const hw_linear_settings *settings = &linear->choices.settings;
    const hawser_matrix *X = linear->problem.X;
    size_t count = linear->choices.lambda_count, first = linear->choices.lambda_first;
    if (settings->choice.path_list != NULL) {
        memcpy(lambdas, settings->choice.path_list, count * sizeof(double));
        return;
    }
    if (settings->choice.path_count == 0) {
        lambdas[0] = hw_linear_one_lambda(linear, lambda_max);
        return;
    }
    double least = settings->choice.lambda_min_ratio;
    if (least <= 0.0) /* glmnet's choice */
        least = linear->problem.counted_rows < X->cols ? 1e-2 : 1e-4;
    for (size_t k = 0; k < count; k++)
        lambdas[k] = lambda_max * pow(least, first > 1 ? (double)k / (double)(first - 1) : 0.0);
}

hw_selection hw_linear_select(hw_linear_record *record, bool one_standard_error)
{
    record->results.folds_done = hw_linear_folds_done(record);
    return hw_results_select(&record->results, one_standard_error);
}
