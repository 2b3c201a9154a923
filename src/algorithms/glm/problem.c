/* problem.c - makes the problem of a training from its input. */
#include "algorithms/glm/problem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/choice/fit.h"
#include "algorithms/choice/folds.h"
#include "algorithms/glm/coefficients.h"
#include "algorithms/glm/start.h"
#include "algorithms/model/centre.h"
#include "algorithms/model/class_weights.h"
#include "hawser/job_data.h"

enum { MOST_FREE_COLUMNS = 256 };

hawser_status hw_linear_new_doubles(double **out, size_t count, hawser_error *error)
{
    *out = calloc(count + 1, sizeof **out);
    return *out != NULL ? HAWSER_OK : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu numbers", count);
}

static const double LARGEST = 1e100, SMALLEST = 1e-100;

hawser_status hw_linear_check_target(const double *target, size_t count, hawser_error *error)
{
    double most = 0.0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(target[i]));
    if (most == 0.0 || (most >= SMALLEST && most <= LARGEST))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_NOT_FINITE,
                       "the target's largest value is %g, and squares of it leave the range of numbers: scale the target so "
                       "that it lies between %g and %g",
                       most, SMALLEST, LARGEST);
}

hawser_status hw_linear_check_layout(const hawser_matrix *X, hawser_error *error)
{
    if (X->layout == HAWSER_CSC || X->layout == HAWSER_DENSE)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                       "the training data are stored by rows, and linear models read columns: call hawser_train, which "
                       "turns them, load them "
                       "with rows_layout 0, or give hawser_dataset_from a matrix by columns");
}

hawser_status hw_linear_check_square(double mean_square, const hawser_dataset *data, size_t column, hawser_error *error)
{
    char text[HW_LINEAR_LABEL];
    if (mean_square <= LARGEST * LARGEST)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_NOT_FINITE,
                       "squares of the values of %s leave the range of numbers: their mean is %g; "
                       "scale the column so that its values lie below %g",
                       hw_linear_column(data, column, text), mean_square, LARGEST);
}

hawser_status hw_linear_check_small(double mean_square, double sum, size_t rows, const hawser_dataset *data, size_t column,
                                    hawser_error *error)
{
    char text[HW_LINEAR_LABEL];
    if (mean_square * (double)rows >= SMALLEST * SMALLEST || (mean_square == 0.0 && sum == 0.0))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_NOT_FINITE,
                       "squares of the values of %s leave the range of numbers: their mean is %g; "
                       "scale the column so that its largest value lies above %g",
                       hw_linear_column(data, column, text), mean_square, SMALLEST);
}

/* Reads exactly `count` numbers, one per line. */
static hawser_status read_column_file(const char *key, const char *path, size_t count, double *values, hawser_error *error)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return hawser_fail(error, HAWSER_IO, "--%s %s: %s", key, path, strerror(errno));
    char line[256];
    size_t at = 0;
    hawser_status status = HAWSER_OK;
    while (status == HAWSER_OK && fgets(line, sizeof line, file) != NULL) {
        double value = 0;
        line[strcspn(line, "\r\n")] = '\0';
        const char *end = hawser_read_number(line, &value);
        if (end == NULL || end[strspn(end, " \t")] != '\0' || value != value)
            status = hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: '%.60s' is not a number; the file has one a line", path,
                                 at + 1, line);
        else if (at == count)
            status = hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: more lines than the data have columns (%zu)", path,
                                 at + 1, count);
        else
            values[at++] = value;
    }
    if (status == HAWSER_OK && ferror(file))
        status = hawser_fail(error, HAWSER_IO, "--%s %s: %s", key, path, strerror(errno));
    fclose(file);
    if (status == HAWSER_OK && at < count)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "%s: %zu lines, but the data have %zu columns", path, at, count);
    return status;
}

/* Returns the columns of the table. A file has one line for each, for all columns of the matrix that the table's column
 * becomes. */
static size_t lines_of(const hawser_dataset *data)
{
    const hawser_schema *schema = hawser_dataset_schema(data);
    return schema != NULL ? hawser_schema_count(schema) : hawser_dataset_matrix(data)->cols;
}

/* Copies one value per column of the table to the columns of the matrix, in place, from the last on, so that no value is
 * overwritten unread. */
static void spread(const hawser_dataset *data, double *values)
{
    const hawser_schema *schema = hawser_dataset_schema(data);
    hawser_schema_column column;
    for (size_t k = hawser_schema_count(schema); k > 0; k--) {
        if (!hawser_schema_at(schema, k - 1, &column))
            continue;
        double value = values[k - 1];
        for (size_t j = column.count; j > 0; j--)
            values[column.first + j - 1] = value;
    }
}

/* Fails for the bound of the table's column j, from line j + 1 of a file or for all columns. */
static hawser_status excludes_zero(const char *key, const char *path, double sign, const hawser_dataset *data, size_t j,
                                   double bound, hawser_error *error)
{
    char text[HW_LINEAR_LABEL];
    hawser_schema_column shape = {.first = j};
    const char *side = sign < 0.0 ? "at most" : "at least";
    if (path == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--%s %g excludes zero, where weights begin: it must be %s 0", key,
                           bound, side);
    (void)hawser_schema_at(hawser_dataset_schema(data), j, &shape);
    return hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: %g for %s excludes zero, where weights begin: --%s must be %s 0",
                       path, j + 1, bound, hw_linear_column(data, shape.first, text), key, side);
}

/* Copies an array of bounds, one for each column of the matrix. */
static hawser_status take_bounds(const char *key, const double *given, double sign, size_t columns, double **out,
                                 hawser_error *error)
{
    for (size_t j = 0; j < columns; j++)
        if (!(given[j] * sign >= 0.0))
            return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                               "%s[%zu] is %g and excludes zero, where weights begin: it must be %s 0", key, j, given[j],
                               sign < 0.0 ? "at most" : "at least");
    HAWSER_TRY(hw_linear_new_doubles(out, columns, error));
    memcpy(*out, given, columns * sizeof **out);
    return HAWSER_OK;
}

/* Reads --lower or --upper: a number for all columns or a file; or takes the array in place of it. `sign` is that of an
 * allowed bound. */
static hawser_status read_bound(const hawser_options *options, const char *key, const double *given, double sign,
                                const hawser_dataset *data, double **out, hawser_error *error)
{
    size_t columns = hawser_dataset_matrix(data)->cols, lines = lines_of(data);
    const char *text = hawser_options_text(options, key);
    if (given != NULL)
        return take_bounds(key, given, sign, columns, out, error);
    if (text == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_linear_new_doubles(out, columns, error));
    double number = 0;
    const char *end = hawser_read_number(text, &number);
    bool all = end != NULL && *end == '\0';
    if (all)
        for (size_t j = 0; j < columns; j++)
            (*out)[j] = number;
    else
        HAWSER_TRY(read_column_file(key, text, lines, *out, error));
    for (size_t j = 0; j < lines; j++)
        if (!((*out)[j] * sign >= 0.0))
            return excludes_zero(key, all ? NULL : text, sign, data, j, (*out)[j], error);
    if (!all)
        spread(data, *out);
    return HAWSER_OK;
}

static hawser_status take_factors(hw_linear_problem *problem, const double *given, hawser_error *error)
{
    size_t columns = problem->X->cols;
    for (size_t j = 0; j < columns; j++)
        if (!(given[j] >= 0.0) || isinf(given[j]))
            return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                               "penalty_factors[%zu] is %g: a penalty factor must be >= 0 and finite", j, given[j]);
    HAWSER_TRY(hw_linear_new_doubles(&problem->factor, columns, error));
    memcpy(problem->factor, given, columns * sizeof *problem->factor);
    return HAWSER_OK;
}

static hawser_status read_penalties(hw_linear_problem *problem, const hawser_training_input *input, hawser_error *error)
{
    const hawser_options *options = input->options;
    size_t p = problem->X->cols, lines = lines_of(input->data);
    HAWSER_TRY(read_bound(options, "lower", input->lower, -1.0, input->data, &problem->lower, error));
    HAWSER_TRY(read_bound(options, "upper", input->upper, 1.0, input->data, &problem->upper, error));
    const char *path = hawser_options_text(options, "penalty-factors");
    if (input->penalty_factors != NULL)
        return take_factors(problem, input->penalty_factors, error);
    if (path == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_linear_new_doubles(&problem->factor, p, error));
    HAWSER_TRY(read_column_file("penalty-factors", path, lines, problem->factor, error));
    for (size_t j = 0; j < lines; j++)
        if (!(problem->factor[j] >= 0.0) || isinf(problem->factor[j]))
            return hawser_fail(error, HAWSER_BAD_INPUT, "%s:%zu: a penalty factor must be >= 0 and finite, not %g", path,
                               j + 1, problem->factor[j]);
    spread(input->data, problem->factor);
    return HAWSER_OK;
}

/* Lists the columns without a penalty that lack a bound on at least one side; then, if the kind needs them, those of penalty
 * factor 0 with both bounds. Only lambda_max needs the latter, and they are left out if there are too many. */
static hawser_status list_free(hw_linear_problem *problem, const hw_linear_settings *settings, hawser_error *error)
{
    uint32_t boxes[MOST_FREE_COLUMNS];
    bool all = settings->choice.lambda == 0.0;
    size_t bounded = 0;
    problem->free_list = calloc(2 * MOST_FREE_COLUMNS, sizeof *problem->free_list);
    if (problem->free_list == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for columns without a penalty");
    for (size_t j = 0; j < problem->X->cols; j++) {
        bool box =
            problem->lower != NULL && problem->upper != NULL && !isinf(problem->lower[j]) && !isinf(problem->upper[j]);
        if (!all && problem->factor[j] > 0.0)
            continue;
        if (box && problem->kind->boxes && problem->factor != NULL && problem->factor[j] == 0.0 &&
            bounded++ < MOST_FREE_COLUMNS)
            boxes[bounded - 1] = (uint32_t)j;
        if (box)
            continue;
        if (problem->free_count == MOST_FREE_COLUMNS)
            return hawser_fail(error, HAWSER_BAD_INPUT, "more than %d columns have no penalty; give them a small %s",
                               MOST_FREE_COLUMNS, all ? "--lambda" : "one with --penalty-factors");
        problem->free_list[problem->free_count++] = (uint32_t)j;
    }
    problem->box_count = bounded <= MOST_FREE_COLUMNS ? bounded : 0;
    memcpy(problem->free_list + problem->free_count, boxes, problem->box_count * sizeof *boxes);
    return HAWSER_OK;
}

/* Copies the free columns as dense ones, because certificates need their span. */
static hawser_status free_columns(hw_linear_problem *problem, const hw_linear_settings *settings, hawser_job *job,
                                  hawser_error *error)
{
    if (problem->factor == NULL && settings->choice.lambda != 0.0)
        return HAWSER_OK;
    HAWSER_TRY(list_free(problem, settings, error));
    size_t n = problem->X->rows, count = problem->free_count + problem->box_count;
    const uint32_t *list = problem->free_list;
    if (count == 0)
        return HAWSER_OK;
    HAWSER_TRY(hw_linear_new_doubles(&problem->free_columns, n * count, error));
    problem->free_side = calloc(count, sizeof *problem->free_side);
    if (problem->free_side == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu columns without a penalty", count);
    HAWSER_TRY(hawser_job_fetch(job, problem->X, list, count, error));
    for (size_t k = 0; k < count; k++) {
        bool below = problem->lower == NULL || isinf(problem->lower[list[k]]);
        bool above = problem->upper == NULL || isinf(problem->upper[list[k]]);
        problem->free_side[k] = below == above ? 0 : above ? 1 : -1;
        hawser_column_axpy(problem->X, list[k], 1.0, problem->free_columns + k * n);
    }
    return HAWSER_OK;
}

/* Finds the error that --cv compares. */
static hawser_status find_error(hw_linear_problem *problem, const char *metric, hawser_error *error)
{
    const hw_linear_error *row = problem->kind->errors;
    if (strcmp(metric, "loss") == 0)
        return HAWSER_OK;
    while (row != NULL && row->metric != NULL && strcmp(row->metric, metric) != 0)
        row++;
    if (row == NULL || row->metric == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--cv-metric %s is for %s, and train %s predicts %s; use loss", metric,
                           problem->kind->classes ? "numbers" : "classes", problem->kind->name,
                           problem->kind->classes ? "classes" : "numbers");
    problem->error = row;
    return HAWSER_OK;
}

/* Fails for a fold whose held-out rows are all of one class: they have no ROC curve. */
static hawser_status check_classes(const hw_linear_problem *problem, uint32_t folds, hawser_error *error)
{
    hawser_status status = HAWSER_OK;
    bool(*present)[2] = calloc((size_t)folds + 1, sizeof *present);
    if (present == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %u folds", (unsigned)folds);
    for (size_t i = 0; i < problem->X->rows; i++)
        if (problem->weights == NULL || problem->weights[i] > 0.0)
            present[problem->fold[i]][problem->target[i] > 0.0] = true;
    for (uint32_t f = 1; f <= folds && status == HAWSER_OK; f++)
        for (size_t k = 0; k < 2 && status == HAWSER_OK; k++)
            if (!present[f][k])
                status = hawser_fail(error, HAWSER_BAD_INPUT,
                                     "--cv-metric auc: fold %u (from 1) has no row of label %g with any weight; use --folds "
                                     "stratified, fewer folds or --cv-metric loss",
                                     (unsigned)f, problem->labels[k]);
    free(present);
    return status;
}

/* Divides the rows into folds, or keeps some for validation. */
static hawser_status hold_out(hw_linear_problem *problem, const hw_linear_settings *settings, uint64_t seed,
                              const hawser_training_input *input, hawser_error *error)
{
    const hawser_dataset *data = input->data;
    hw_fold_deal deal = {.rows = problem->X->rows,
                         .seed = seed,
                         .groups = hawser_dataset_groups(data),
                         .given = input->folds,
                         .classes = problem->kind->classes ? problem->target : NULL,
                         .dropped = hawser_dataset_figures(data) != NULL && hawser_dataset_figures(data)->rows_dropped > 0};
    HAWSER_TRY(find_error(problem, settings->choice.metric, error));
    if (settings->choice.folds == 0 && settings->validation_fraction <= 0.0)
        return HAWSER_OK;
    problem->fold = calloc(deal.rows + 1, sizeof *problem->fold);
    if (problem->fold == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the folds of %zu rows", deal.rows);
    if (settings->choice.folds == 0)
        return hw_deal_part(&deal, settings->validation_fraction, HW_LINEAR_ALWAYS_OUT, problem->fold, error);
    HAWSER_TRY(hw_deal_folds(&deal, &settings->choice, problem->fold, error));
    bool ranks = problem->error != NULL && problem->error->of_row == NULL;
    return ranks ? check_classes(problem, settings->choice.folds, error) : HAWSER_OK;
}

hawser_status hw_linear_check_numeric(const hawser_dataset *data, hawser_error *error)
{
    size_t count = 0;
    const char *const *words = hawser_schema_target(hawser_dataset_schema(data), &count);
    return words == NULL ? HAWSER_OK
                         : hawser_fail(error, HAWSER_BAD_INPUT,
                                       "the target has words ('%.60s'%s), and a regression needs numbers; 'hawser train "
                                       "logistic' tells two classes apart",
                                       words[0], count > 1 ? ", ..." : "");
}

static hawser_status take_target(hw_linear_problem *problem, const hawser_training_input *input, hawser_error *error)
{
    size_t n = problem->X->rows;
    if (hawser_dataset_target(input->data) == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the input has no target; name its column with --target");
    problem->outputs = problem->kind->several ? hawser_dataset_outputs(input->data) : 1;
    if (hawser_dataset_outputs(input->data) != problem->outputs)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the input has %zu targets, and %s predicts one; see 'train multitask'",
                           hawser_dataset_outputs(input->data), problem->kind->name);
    HAWSER_TRY(hw_linear_new_doubles(&problem->target, n * problem->outputs, error));
    problem->weights = hawser_dataset_weights(input->data);
    for (size_t i = 0; problem->weights != NULL && i < n; i++)
        if (!(problem->weights[i] >= 0.0))
            return hawser_fail(error, HAWSER_BAD_INPUT, "row %zu: the example weight %g is negative", i + 1,
                               problem->weights[i]);
    while (problem->weights != NULL && problem->counted < n && !(problem->weights[problem->counted] > 0.0))
        problem->counted++;
    if (problem->counted == n)
        return hawser_fail(error, HAWSER_BAD_INPUT, "all example weights are zero");
    return problem->kind->take_target(problem, input, error);
}

/* Returns whether all values of a target are equal, over the rows with a weight. */
static bool is_constant(const hw_linear_problem *problem, const double *target)
{
    size_t first = problem->counted;
    for (size_t i = first; i < problem->X->rows; i++)
        if ((problem->weights == NULL || problem->weights[i] > 0.0) && target[i] != target[first])
            return false;
    return true;
}

/* Fails for a target, less its origin, whose values differ by too little beside their size. */
static hawser_status check_far(const hw_linear_problem *problem, size_t output, double origin, hawser_error *error)
{
    size_t n = problem->X->rows;
    const double *target = problem->target + output * n, *weights = problem->weights;
    double total = 0.0, sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        double weight = weights != NULL ? weights[i] : 1.0;
        total += weight;
        sum += weight * target[i];
        squares += weight * target[i] * target[i];
    }
    double mean = sum / total, deviation = sqrt(fmax(0.0, squares / total - mean * mean));
    return hw_centre_check(problem->data, problem->X->cols + output, origin + mean, deviation, error);
}

/* Subtracts its centre from a target far from zero: the coefficients of a squared loss with an intercept do not depend on
 * it. */
static hawser_status centre_target(hw_linear_problem *problem, const hw_linear_settings *settings, hawser_error *error)
{
    size_t n = problem->X->rows;
    HAWSER_TRY(hw_linear_new_doubles(&problem->target_origin, problem->outputs, error));
    for (size_t o = 0; problem->kind->loss == NULL && settings->intercept && o < problem->outputs; o++) {
        double *target = problem->target + o * n, origin = hawser_origin_of(target, problem->weights, n);
        problem->target_origin[o] = origin;
        for (size_t i = 0; origin != 0.0 && i < n; i++)
            target[i] -= origin;
        if (origin != 0.0)
            HAWSER_TRY(check_far(problem, o, origin, error));
        else if (is_constant(problem, target))
            HAWSER_TRY(hw_centre_check(problem->data, problem->X->cols + o, target[problem->counted], 0.0, error));
    }
    return HAWSER_OK;
}

/* Fetches the columns of the start, which X alpha needs. */
static hawser_status fetch_start(const hw_linear_problem *problem, hawser_job *job, hawser_error *error)
{
    size_t count = 0;
    uint32_t *list = calloc(problem->X->cols + 1, sizeof *list);
    if (list == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the columns of the start");
    for (size_t j = 0; j < problem->X->cols; j++)
        if (hw_any(problem->alpha + j * problem->outputs, problem->outputs))
            list[count++] = (uint32_t)j;
    hawser_status status = hawser_job_fetch(job, problem->X, list, count, error);
    free(list);
    return status;
}

static hawser_status take_start(hw_linear_problem *problem, hawser_job *job, const hawser_training_input *input,
                                hawser_error *error)
{
    size_t n = problem->X->rows, p = problem->X->cols, outputs = problem->outputs;
    if (!hw_linear_starts(job, input)) /* states begin at zero, without memory */
        return HAWSER_OK;
    HAWSER_TRY(hw_linear_new_doubles(&problem->alpha, p * outputs, error));
    HAWSER_TRY(hw_linear_new_doubles(&problem->image, n * outputs, error));
    HAWSER_TRY(hw_linear_start(job, input, outputs, problem->alpha, error));
    for (size_t j = 0; outputs == 1 && j < p; j++) { /* the start must be feasible */
        if (problem->lower != NULL && problem->alpha[j] < problem->lower[j])
            problem->alpha[j] = problem->lower[j];
        if (problem->upper != NULL && problem->alpha[j] > problem->upper[j])
            problem->alpha[j] = problem->upper[j];
    }
    HAWSER_TRY(fetch_start(problem, job, error));
    for (size_t at = 0; at < p * outputs; at++)
        if (problem->alpha[at] != 0.0)
            hawser_column_axpy(problem->X, at / outputs, problem->alpha[at], problem->image + at % outputs * n);
    return HAWSER_OK;
}

bool hw_linear_out(const hw_linear_problem *problem, size_t row, uint32_t fold)
{
    return problem->fold != NULL && (problem->fold[row] == HW_LINEAR_ALWAYS_OUT || (fold > 0 && problem->fold[row] == fold));
}

bool hw_linear_weighted(const hw_linear_problem *problem)
{
    return problem->weights != NULL || problem->fold != NULL;
}

double hw_linear_weigh(const hw_linear_problem *problem, uint32_t fold, double *weights)
{
    double total = 0.0;
    for (size_t i = 0; i < problem->X->rows; i++) {
        double weight = hw_linear_out(problem, i, fold) ? 0.0 : problem->weights != NULL ? problem->weights[i] : 1.0;
        if (weights != NULL)
            weights[i] = weight;
        total += weight;
    }
    return total;
}

hawser_status hw_linear_problem_new(hw_linear_problem *problem, const hw_linear_kind *kind,
                                    const hw_linear_settings *settings, hawser_job *job, const hawser_training_input *input,
                                    hawser_error *error)
{
    *problem = (hw_linear_problem){.kind = kind,
                                   .data = input->data,
                                   .X = hawser_dataset_matrix(input->data),
                                   .origin = input->origin,
                                   .held = input->held};
    if (problem->X->rows == 0 || problem->X->cols == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "the input has %zu rows and %zu columns besides its target (see --target; of CSV --delimiter)",
                           problem->X->rows, problem->X->cols);
    HAWSER_TRY(hw_linear_check_layout(problem->X, error));
    HAWSER_TRY(take_target(problem, input, error));
    HAWSER_TRY(centre_target(problem, settings, error));
    HAWSER_TRY(read_penalties(problem, input, error));
    HAWSER_TRY(free_columns(problem, settings, job, error));
    HAWSER_TRY(hold_out(problem, settings, hawser_job_seed(job), input, error));
    for (size_t i = 0; i < problem->X->rows; i++)
        problem->counted_rows += problem->weights == NULL || problem->weights[i] > 0.0;
    problem->total = hw_linear_weigh(problem, 0, NULL);
    HAWSER_TRY(hw_check_weight_sum(problem->total, error));
    return take_start(problem, job, input, error);
}

void hw_linear_problem_free(hw_linear_problem *problem)
{
    void *all[] = {problem->own_weights,  problem->target,    problem->fold,      problem->factor,
                   problem->lower,        problem->upper,     problem->alpha,     problem->image,
                   problem->free_columns, problem->free_side, problem->free_list, problem->target_log,
                   problem->target_origin};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
    *problem = (hw_linear_problem){0};
}
