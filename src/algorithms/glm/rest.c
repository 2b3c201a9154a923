#include "algorithms/glm/rest.h"

#include <math.h>
#include <stdlib.h>

#include "algorithms/glm/best.h"
#include "algorithms/glm/coefficients.h"
#include "algorithms/glm/program.h"

/* Reports the mean of the margins, from the means of own columns, for a model without a certificate, and the number of the kept certificate. */
static hawser_status collect(hawser_context *context)
{
    const hw_linear *linear = hawser_user(context);
    const double *alpha = hawser_local(context, "alpha");
    const hawser_matrix *X = hawser_data_view(context, "X");
    double *weights = NULL, shift = 0.0;
    hawser_error error;
    if (hw_linear_weighted(&linear->problem)) {
        if (hw_linear_new_doubles(&weights, X->rows, &error) != HAWSER_OK)
            return hw_linear_fail(context, &error);
        (void)hw_linear_weigh(&linear->problem, 0, weights);
    }
    size_t outputs = linear->problem.outputs;
    double *means = outputs > 1 ? hawser_local(context, "means") : NULL;
    for (size_t j = 0; j < X->cols; j++) {
        double sum = 0.0, squares = 0.0;
        if (!hw_linear_any(alpha + j * outputs, outputs))
            continue;
        hawser_column_moments(X, j, weights, linear->problem.total, 0.0, &sum, &squares);
        shift += alpha[j * outputs] * (sum / linear->problem.total);
        if (means != NULL)
            means[j] = sum / linear->problem.total;
    }
    free(weights);
    HAWSER_TRY(hawser_report(context, "shift", shift));
    HAWSER_TRY(hawser_report(context, "kept_first", linear->best.kept[hawser_block(context)]));
    return hawser_report(context, "kept_last", linear->best.kept[hawser_block(context)]);
}

hawser_program *hw_linear_collect_program(hw_linear *linear, const double *alpha, bool path)
{
    hawser_program *p = hawser_program_new("collect", linear);
    hawser_metric_declare(p, "shift", HAWSER_SUM);
    hawser_metric_declare(p, "kept_first", HAWSER_MIN);
    hawser_metric_declare(p, "kept_last", HAWSER_MAX);
    hawser_state *X = hawser_data_state(p, "X", linear->problem.X, HAWSER_BY_COLUMN);
    size_t outputs = linear->problem.outputs;
    hawser_state *a = hawser_local_state(p, "alpha", X, outputs, alpha);
    hawser_result_expect(a);
    (void)hawser_local_state(p, "best", X, outputs, linear->best.alpha); /* one of both is fetched */
    hawser_state *means = outputs > 1 ? hawser_local_state(p, "means", X, 1, NULL) : NULL;
    if (path)
        hw_linear_add_path(linear, p, X);
    hawser_unit(hawser_root(p), "collect", collect, HAWSER_READS(X, a), means != NULL ? HAWSER_UPDATES(means) : NULL);
    return p;
}

double hw_linear_mean_target(const hw_linear_problem *problem, size_t output)
{
    double sum = 0.0;
    const double *target = problem->target + output * problem->X->rows;
    for (size_t i = 0; i < problem->X->rows; i++)
        if (!hw_linear_out(problem, i, 0))
            sum += (problem->weights != NULL ? problem->weights[i] : 1.0) * target[i];
    return sum / problem->total;
}

const char *hw_linear_take_collected(hw_linear_driver *driver, const hawser_run *run)
{
    hw_linear_record *record = &driver->record;
    const hw_linear_problem *problem = &driver->linear->problem;
    double first = hawser_result_metric(run, "kept_first"), last = hawser_result_metric(run, "kept_last");
    record->collected = true;
    if (record->kept_worked && first == record->keeps && last == record->keeps) {
        record->rest = record->kept_row;
        return "best";
    }
    double shift = hawser_result_metric(run, "shift"); /* NAN: there was not even time for the mean */
    bool known = problem->kind->centres && driver->linear->choices.settings.intercept && !isnan(shift);
    record->rest = (hw_linear_row){.lambda = record->rest_lambda,
                                   .objective = NAN,
                                   .gap = NAN,
                                   .penalty = NAN,
                                   .nonzeros = NAN,
                                   .intercept = known ? hw_linear_mean_target(problem, 0) - shift : record->last_intercept,
                                   .error = NAN,
                                   .done = true};
    return "alpha";
}

void hw_linear_count_rest(hw_linear_driver *driver, const double *alpha)
{
    const hw_linear_problem *problem = &driver->linear->problem;
    double *nonzeros = &driver->record.rest.nonzeros;
    if (!isnan(*nonzeros))
        return;
    *nonzeros = 0.0;
    for (size_t j = 0; j < problem->X->cols; j++)
        *nonzeros += hw_linear_any(alpha + j * problem->outputs, problem->outputs);
}

static double metric(const void *run, const char *name)
{
    return hawser_result_metric(run, name);
}

void hw_linear_take_rest(hw_linear_driver *driver, const hawser_run *run)
{
    hw_linear_record *record = &driver->record;
    double zero = hawser_result_metric(run, "zero_objective");
    record->whole_zero_objective = zero;
    record->rest = (hw_linear_row){.lambda = record->rest_lambda,
                                   .nonzeros = hawser_result_metric(run, "nonzeros"),
                                   .penalty = hawser_result_metric(run, "penalty"),
                                   .intercept = hawser_result_metric(run, "intercept"),
                                   .error = NAN,
                                   .done = true};
    driver->linear->problem.kind->certificate(metric, run, zero, &record->rest.objective, &record->rest.gap);
}
