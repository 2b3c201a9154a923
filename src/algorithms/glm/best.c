#include "algorithms/glm/best.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/fold.h"

hawser_status hw_linear_best_new(hw_linear *linear, hawser_error *error)
{
    HAWSER_TRY(hw_linear_new_doubles(&linear->best, linear->X->cols, error));
    if (linear->lambda_count > 1)
        HAWSER_TRY(hw_linear_new_doubles(&linear->kept_path, linear->X->cols * linear->lambda_count, error));
    return hw_linear_new_doubles(&linear->kept, linear->blocks, error);
}

void hw_linear_best_free(hw_linear *linear)
{
    free(linear->best);
    free(linear->kept_path);
    free(linear->kept);
}

void hw_linear_keep(hawser_context *context)
{
    const hw_linear *linear = hawser_user(context);
    size_t first = 0, count = hawser_part(context, "alpha", &first);
    if (!(hawser_metric(context, "keep") > 0.0))
        return;
    memcpy(linear->best + first, hawser_local(context, "alpha"), count * sizeof *linear->best);
    linear->kept[hawser_block(context)] = hawser_metric(context, "keep");
}

void hw_linear_bring_path(const hw_linear *linear, hawser_program *program, hawser_state *X)
{
    if (linear->brings_path && linear->kept_path != NULL)
        (void)hawser_local_state(program, "path", X, linear->lambda_count, linear->kept_path);
}

bool hw_linear_has_best(const hw_linear *linear)
{
    for (uint32_t b = 0; b < linear->blocks; b++)
        if (linear->kept[b] > 0.0)
            return true;
    return false;
}

/* Where updates are averaged, the cut takes only that share of what changes. */
hawser_status hw_linear_restore(hawser_context *context)
{
    const hw_linear *linear = hawser_user(context);
    double *alpha = hawser_local(context, "alpha"), damping = hawser_damping(context, "v");
    size_t first = 0, count = hawser_part(context, "alpha", &first);
    for (size_t j = 0; j < count; j++)
        alpha[j] = damping == 1.0 ? linear->best[first + j] : alpha[j] + (linear->best[first + j] - alpha[j]) / damping;
    return hawser_touch(context, "v", 0, 0);
}

/* ----------------------------------------------------------------------------------------------------------- hand in ---- */

/* What a model without a certificate lacks: the mean of its margins, from the means of own columns; and which certificate is kept. */
static hawser_status hand_in(hawser_context *context)
{
    const hw_linear *linear = hawser_user(context);
    const double *alpha = hawser_local(context, "alpha");
    const hawser_matrix *X = hawser_data_view(context, "X");
    double *weights = NULL, shift = 0.0;
    hawser_error error;
    if (hw_linear_weighted(linear)) {
        if (hw_linear_new_doubles(&weights, X->rows, &error) != HAWSER_OK)
            return hw_linear_fail(context, &error);
        (void)hw_linear_weigh(linear, 0, weights);
    }
    for (size_t j = 0; j < X->cols; j++) {
        double sum = 0.0, squares = 0.0;
        if (alpha[j] == 0.0)
            continue;
        hawser_column_moments(X, j, weights, linear->total, 0.0, &sum, &squares);
        shift += alpha[j] * (sum / linear->total);
    }
    free(weights);
    HAWSER_TRY(hawser_report(context, "shift", shift));
    HAWSER_TRY(hawser_report(context, "kept_first", linear->kept[hawser_block(context)]));
    return hawser_report(context, "kept_last", linear->kept[hawser_block(context)]);
}

hawser_program *hw_linear_hand_in_program(hw_linear *linear, const double *alpha)
{
    hawser_program *p = hawser_program_new("hand in", linear);
    hawser_metric_declare(p, "shift", HAWSER_SUM);
    hawser_metric_declare(p, "kept_first", HAWSER_MIN);
    hawser_metric_declare(p, "kept_last", HAWSER_MAX);
    hawser_state *X = hawser_data_state(p, "X", linear->X, HAWSER_BY_COLUMN);
    hawser_state *a = hawser_local_state(p, "alpha", X, 1, alpha);
    (void)hawser_local_state(p, "best", X, 1, linear->best);
    hw_linear_bring_path(linear, p, X);
    hawser_unit(hawser_root(p), "hand in", hand_in, HAWSER_READS(X, a), NULL);
    return p;
}

static double mean_target(const hw_linear *linear)
{
    double sum = 0.0;
    for (size_t i = 0; i < linear->X->rows; i++)
        if (!hw_linear_out(linear, i, 0))
            sum += (linear->weights != NULL ? linear->weights[i] : 1.0) * linear->target[i];
    return sum / linear->total;
}

void hw_linear_take_handed(hw_linear *linear, const hawser_run *run)
{
    double first = hawser_result_metric(run, "kept_first"), last = hawser_result_metric(run, "kept_last");
    linear->handed_in = true;
    if (linear->kept_worked && first == linear->keeps && last == linear->keeps) {
        linear->rest = linear->kept_row;
        linear->rest_alpha = hawser_result(run, "best", NULL);
        return;
    }
    const double *alpha = hawser_result(run, "alpha", NULL);
    double shift = hawser_result_metric(run, "shift"), nonzeros = 0.0; /* NAN: even that took too long */
    bool known = linear->kind->centres && linear->settings.intercept && !isnan(shift);
    for (size_t j = 0; j < linear->X->cols; j++)
        nonzeros += alpha[j] != 0.0;
    linear->rest = (hw_linear_row){.lambda = linear->rest_lambda,
                                   .objective = NAN,
                                   .gap = NAN,
                                   .penalty = NAN,
                                   .nonzeros = nonzeros,
                                   .intercept = known ? mean_target(linear) - shift : linear->last_intercept,
                                   .error = NAN,
                                   .done = true};
    linear->rest_alpha = alpha;
}
