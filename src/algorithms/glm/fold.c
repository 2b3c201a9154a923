#include "algorithms/glm/fold.h"

#include <math.h>
#include <stdlib.h>

#include "algorithms/measures/ranked.h"
#include "algorithms/model/centre.h"
#include "algorithms/solve/entries.h"

static const double NEARLY = 1e-6; /* a variance below this share of the mean's square may be rounding alone */
enum { STRETCH = 512 };            /* rows that are looked at together */

const char *hw_linear_fold_text(const hw_linear *linear, uint32_t fold)
{
    return fold > 0 ? " in a fold of --cv" : linear->problem.fold != NULL ? " outside of --validation-fraction" : "";
}

hawser_status hw_linear_begin_fold(const hw_linear *linear, const hawser_matrix *X, uint32_t fold, double *weights,
                                   hw_linear_columns *columns, hawser_error *error)
{
    columns->X = *X;
    columns->centred = linear->choices.settings.intercept;
    columns->weights = weights;
    columns->total = hw_linear_weigh(&linear->problem, fold, weights);
    if (columns->total > 0.0)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_INPUT, "all example weights are zero%s", hw_linear_fold_text(linear, fold));
}

/* Returns whether a column has no penalty. The lambdas of a path are above 0. */
static bool is_free(const hw_linear *linear, size_t column)
{
    const double *factor = linear->problem.factor;
    return linear->choices.settings.choice.lambda == 0.0 || (factor != NULL && factor[column] == 0.0);
}

hawser_status hw_linear_measure(const hw_linear *linear, hw_linear_columns *columns, hawser_error *error)
{
    const hw_linear_problem *problem = &linear->problem;
    const hw_linear_settings *settings = &linear->choices.settings;
    columns->reach = columns->weakest = 0.0;
    columns->far = false;
    for (size_t j = 0; j < columns->X.cols; j++) {
        size_t whole = columns->X.first + j;
        double sum = 0.0, squares = 0.0, mean = 0.0;
        hawser_column_moments(&columns->X, j, columns->weights, columns->total, 0.0, &sum, &squares);
        double raw = squares / columns->total;
        columns->far = columns->far || (!settings->intercept && hw_linear_is_far(sum / columns->total, raw) &&
                                        !hw_linear_is_constant(columns, j));
        HAWSER_TRY(hw_linear_check_square(raw, problem->data, whole, error));
        if (settings->standardize || is_free(linear, whole))
            HAWSER_TRY(hw_linear_check_small(raw, sum, columns->X.rows, problem->data, whole, error));
        if (settings->intercept || settings->standardize) {
            mean = sum / columns->total;
            if (mean != 0.0)
                hawser_column_moments(&columns->X, j, columns->weights, columns->total, mean, &sum, &squares);
        }
        double variance = squares / columns->total;
        bool constant = raw == 0.0 || (variance <= NEARLY * mean * mean && hw_linear_is_constant(columns, j));
        double deviation = constant ? 0.0 : sqrt(variance);
        if (settings->intercept) {
            double origin = problem->origin != NULL ? problem->origin[whole] : 0.0;
            HAWSER_TRY(hw_centre_check(problem->data, whole, mean + origin, deviation, error));
            columns->reach = deviation > 0.0 ? fmax(columns->reach, fabs(mean) / deviation) : columns->reach;
        }
        columns->mean[j] = settings->intercept ? mean : 0.0;
        columns->norm[j] = settings->intercept ? (constant ? 0.0 : variance) : raw;
        double scale = settings->standardize && !constant ? deviation : 1.0;
        double factor = problem->factor != NULL ? problem->factor[whole] : 1.0;
        columns->l1[j] = factor * settings->l1_ratio * scale;
        columns->l2[j] = factor * (1.0 - settings->l1_ratio) * scale * scale;
        if (columns->norm[j] > 0.0)
            columns->weakest = fmax(columns->weakest, columns->l2[j] / columns->norm[j]);
        columns->lower[j] = hw_linear_lower(problem, whole);
        columns->upper[j] = hw_linear_upper(problem, whole);
    }
    return HAWSER_OK;
}

/* Returns the margin of a row for an output. */
static double margin_of(const hw_linear_problem *problem, const double *image, const double *intercepts, size_t output,
                        size_t row)
{
    return image[output * problem->X->rows + row] + intercepts[output] +
           (problem->offset != NULL ? problem->offset[row] : 0.0);
}

static double weight_of(const hw_linear_problem *problem, size_t row)
{
    return problem->weights != NULL ? problem->weights[row] : 1.0;
}

/* Computes 1 - the area under the ROC curve of the rows that a fold holds out. */
static hawser_status rank(const hw_linear_problem *problem, const double *image, const double *intercepts, uint32_t fold,
                          double *result, hawser_error *error)
{
    size_t count = 0, n = problem->X->rows;
    hw_ranked *items = malloc((n + 1) * sizeof *items);
    if (items == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the margins of %zu rows", n);
    *result = 0.0;
    for (size_t i = 0; i < n; i++) {
        double weight = weight_of(problem, i);
        if (problem->fold[i] != fold || !(weight > 0.0))
            continue;
        double margin = margin_of(problem, image, intercepts, 0, i) + 0.0; /* no -0 */
        items[count++] = (hw_ranked){.value = margin, .weight = problem->target[i] > 0.0 ? weight : -weight};
        if (isnan(margin))
            *result = NAN;
    }
    if (!isnan(*result)) {
        hw_ranked_sort(items, count);
        *result = 1.0 - hw_ranked_area(items, count);
    }
    free(items);
    return HAWSER_OK;
}

/* Lists the rows in [begin, end) that a fold holds out, without a branch that is hard to predict. Returns their number. */
static size_t list_held_out(const uint32_t *fold, uint32_t held, size_t begin, size_t end, size_t *list)
{
    size_t count = 0;
    for (size_t i = begin; i < end; i++) {
        list[count] = i;
        count += fold[i] == held;
    }
    return count;
}

hawser_status hw_linear_held_out(const hw_linear_problem *problem, const double *image, const double *intercepts,
                                 uint32_t fold, double *weight, double *errors, hawser_error *error)
{
    double (*of_row)(double, double) = problem->error != NULL ? problem->error->of_row : problem->kind->row_error;
    size_t n = problem->X->rows, rows[STRETCH];
    *weight = *errors = 0.0;
    for (size_t at = 0; problem->fold != NULL && at < n; at += STRETCH) {
        size_t end = n - at < STRETCH ? n : at + STRETCH;
        size_t count = list_held_out(problem->fold, fold > 0 ? fold : HW_LINEAR_ALWAYS_OUT, at, end, rows);
        for (size_t k = 0; k < count; k++) {
            double w = weight_of(problem, rows[k]), sum = 0.0;
            if (!(w > 0.0)) /* its error may be infinite */
                continue;
            *weight += w;
            for (size_t o = 0; of_row != NULL && o < problem->outputs; o++)
                sum += of_row(problem->target[o * n + rows[k]], margin_of(problem, image, intercepts, o, rows[k]));
            *errors += w * (sum / (double)problem->outputs);
        }
    }
    if (of_row != NULL || fold == 0)
        return HAWSER_OK;
    HAWSER_TRY(rank(problem, image, intercepts, fold, errors, error));
    *errors *= *weight;
    return HAWSER_OK;
}
