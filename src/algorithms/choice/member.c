#include "algorithms/choice/member.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/choice/fit.h"
#include "algorithms/model/facts.h"

enum { LEAST_DIGITS = 4, MOST_DIGITS = 17 };

/* ------------------------------------------------------------------------------------------------- description ---- */

/* Returns a tensor of this many numbers, or NULL if the model has none. */
static const void *numbers(const hawser_model *model, const char *name, hawser_type type, size_t count)
{
    hawser_type found = type;
    size_t dims[2] = {0};
    const void *values = hawser_model_get(model, name, &found, dims);
    size_t size = dims[0] * (dims[1] > 0 ? dims[1] : 1);
    return found == type && size == count ? values : NULL;
}

static bool all_finite(const double *values, size_t count)
{
    for (size_t k = 0; values != NULL && k < count; k++)
        if (!isfinite(values[k]))
            return false;
    return values != NULL;
}

/* Returns whether each member's coefficients belong to ascending columns of the data. */
static bool is_sound(const hawser_path *path, size_t stored)
{
    if (path->offsets[0] != 0 || (uint64_t)path->offsets[path->count] != stored)
        return false;
    for (size_t k = 0; k < path->count; k++) {
        int64_t first = path->offsets[k], end = path->offsets[k + 1], before = -1;
        if (first > end || (uint64_t)end > stored)
            return false;
        for (int64_t at = first; at < end; before = path->index[at++])
            if (path->index[at] <= before || (uint64_t)path->index[at] >= path->columns)
                return false;
    }
    return true;
}

static const char *tensor_of(const char *parameter)
{
    return strcmp(parameter, "C") == 0 ? "path.C" : "path.lambda";
}

static size_t chosen_of(const hawser_model *model, const hawser_path *path)
{
    double lambda = hw_model_number(model, path->name, NAN);
    size_t at = 0;
    while (at < path->count && path->parameter[at] != lambda)
        at++;
    return at;
}

/* Sets what belongs to each member of the path. Returns false if the model does not have all of it. */
static bool describe(const hawser_model *model, hawser_path *path)
{
    double columns = hw_model_number(model, "columns", 0.0);
    size_t stored[2] = {0}, intercepts[2] = {0}, count = path->count;
    if (hawser_model_get(model, "path.index", NULL, stored) == NULL ||
        hawser_model_get(model, "path.intercept", NULL, intercepts) == NULL)
        return false;
    path->columns = columns >= 1.0 && columns < 9e15 ? (size_t)columns : 0;
    path->outputs = intercepts[1] > 0 ? intercepts[1] : 1;
    path->parameter = numbers(model, tensor_of(path->name), HAWSER_F64, count);
    path->objective = numbers(model, "path.objective", HAWSER_F64, count);
    path->intercept = numbers(model, "path.intercept", HAWSER_F64, count * path->outputs);
    path->offsets = numbers(model, "path.offsets", HAWSER_I64, count + 1);
    path->index = numbers(model, "path.index", HAWSER_I64, stored[0]);
    path->value = numbers(model, "path.value", HAWSER_F64, stored[0] * path->outputs);
    return count > 0 && path->parameter != NULL && path->objective != NULL && path->intercept != NULL &&
           path->offsets != NULL && path->index != NULL && path->value != NULL && is_sound(path, stored[0]);
}

/* Returns what the errors of the path are: `otherwise`, unless --cv-metric chose another than the loss. */
static const char *name_of_errors(const hawser_model *model, const char *otherwise)
{
    static const struct {
        const char *metric, *name;
    } others[] = {{"auc", "1 - AUC"}, {"accuracy", "1 - accuracy"}, {"mae", "mean absolute error"}};
    const char *metric = hawser_model_text(model, "options.cv-metric");
    bool crossed = hawser_model_text(model, "cv") != NULL;
    for (size_t k = 0; crossed && metric != NULL && k < sizeof others / sizeof *others; k++)
        if (strcmp(metric, others[k].metric) == 0)
            return others[k].name;
    return otherwise;
}

static void take_folds(const hawser_model *model, hawser_path *path)
{
    size_t dims[2] = {0}, weights[2] = {0};
    hawser_type type = HAWSER_F64, other = HAWSER_F64;
    const double *errors = hawser_model_get(model, "cv.fold_errors", &type, dims);
    const double *fold_weights = hawser_model_get(model, "cv.fold_weights", &other, weights);
    if (errors == NULL || fold_weights == NULL || type != HAWSER_F64 || other != HAWSER_F64 || dims[0] != path->count ||
        dims[1] == 0 || weights[0] != dims[1] || weights[1] != 0)
        return;
    path->folds = dims[1];
    path->fold_errors = errors;
    path->fold_weights = fold_weights;
}

hawser_status hw_choice_path(const hawser_model *model, const char *error_name, hawser_path *path, hawser_error *error)
{
    size_t dims[2] = {0};
    bool of_costs = hawser_model_text(model, "C") != NULL; /* of support vector machines */
    *path = (hawser_path){.ended = hawser_model_text(model, "path.ended"),
                          .folds_ended = hawser_model_text(model, "cv.ended"),
                          .name = of_costs ? "C" : "lambda",
                          .error_name = name_of_errors(model, error_name)};
    if (hawser_model_get(model, tensor_of(path->name), NULL, dims) == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "the model has one %s, %.6g; train with --path or --cv to keep several",
                           path->name, hw_model_number(model, path->name, NAN));
    path->count = dims[0];
    path->planned = (size_t)fmax(hw_model_number(model, "path.planned", 0.0), (double)path->count);
    if (!describe(model, path))
        return hawser_fail(error, HAWSER_BAD_INPUT, "the model's path is not complete; was it written by Hawser?");
    path->error = numbers(model, "path.error", HAWSER_F64, path->count);
    path->standard_error = numbers(model, "path.standard_error", HAWSER_F64, path->count);
    path->error = all_finite(path->error, path->count) ? path->error : NULL;
    bool folds = path->error != NULL && all_finite(path->standard_error, path->count);
    path->standard_error = folds ? path->standard_error : NULL;
    if (folds)
        take_folds(model, path);
    path->chosen = chosen_of(model, path);
    path->least = path->one_se = path->count;
    if (path->error != NULL)
        hw_best_members(path->error, path->standard_error, sizeof *path->error, path->count, &path->least, &path->one_se);
    if (path->standard_error == NULL)
        path->one_se = path->count;
    return HAWSER_OK;
}

const hawser_option hw_choice_member_rows[] = {
    {"lambda", HAWSER_TEXT, NULL, NULL, "min|1se|X",
     "which lambda of the model's path to use; min has the least error, 1se is the largest within one standard error of it, "
     "X "
     "must be a lambda of the path in at least four digits ('hawser info MODEL --path')",
     NULL, 0},
    {"C", HAWSER_TEXT, NULL, NULL, "min|1se|X",
     "which C of the path of a support vector machine to use; min has the least error, 1se is the smallest within one "
     "standard "
     "error of it, X as for --lambda",
     NULL, 0},
    {0},
};

/* ------------------------------------------------------------------------------------------------------ choice ---- */

/* Counts the significant digits of a number's text: 5 of "0.031250". */
static int digits_of(const char *text)
{
    int digits = 0;
    for (const char *at = text; *at != '\0' && *at != 'e' && *at != 'E'; at++)
        if (*at >= '0' && *at <= '9' && (digits > 0 || *at != '0'))
            digits++;
    return digits < LEAST_DIGITS ? LEAST_DIGITS : digits > MOST_DIGITS ? MOST_DIGITS : digits;
}

static bool same_digits(double a, double b, int digits)
{
    char x[40], y[40];
    (void)snprintf(x, sizeof x, "%.*e", digits - 1, a);
    (void)snprintf(y, sizeof y, "%.*e", digits - 1, b);
    return strcmp(x, y) == 0;
}

/* Returns the member nearest to a lambda by ratio, other than `but`. */
static size_t nearest(const hawser_path *path, double lambda, size_t but)
{
    size_t best = path->count;
    double least = INFINITY;
    for (size_t k = 0; k < path->count; k++) {
        double distance = fabs(log(path->parameter[k] / lambda));
        if (k != but && (best == path->count || distance < least)) {
            best = k;
            least = distance;
        }
    }
    return best;
}

/* Refuses a lambda that no member has, or, in so few digits, several: names the nearest two. */
static hawser_status refuse(const hawser_path *path, const char *text, double lambda, size_t matches, hawser_error *error)
{
    char one[40], two[40] = "";
    size_t first = nearest(path, lambda, path->count), second = nearest(path, lambda, first);
    (void)hawser_print_number(one, sizeof one, path->parameter[first]);
    if (second < path->count)
        (void)hawser_print_number(two, sizeof two, path->parameter[second]);
    if (matches > 1)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--%s %s: %zu of the path's %ss begin so; give more digits: %s or %s",
                           path->name, text, matches, path->name, one, two);
    return hawser_fail(error, HAWSER_BAD_OPTION, "--%s %s: the path has no such %s among its %zu; nearest %s %s%s%s",
                       path->name, text, path->name, path->count, second < path->count ? "are" : "is", one,
                       second < path->count ? " and " : "", two);
}

static hawser_status find_member(const hawser_path *path, const char *text, size_t *at, hawser_error *error)
{
    double lambda = 0.0;
    size_t matches = 0;
    const char *end = hawser_read_number(text, &lambda);
    if (end == NULL || *end != '\0' || !(lambda > 0.0) || isinf(lambda))
        return hawser_fail(error, HAWSER_BAD_OPTION, "--%s %s: expected min, 1se, or a %s of the path", path->name, text,
                           path->name);
    for (size_t k = path->count; k-- > 0;) {
        if (path->parameter[k] == lambda) {
            *at = k;
            return HAWSER_OK;
        }
        if (same_digits(path->parameter[k], lambda, digits_of(text))) {
            matches += matches == 0 || path->parameter[k] != path->parameter[*at];
            *at = k;
        }
    }
    return matches == 1 ? HAWSER_OK : refuse(path, text, lambda, matches, error);
}

static hawser_status find_by_error(const hawser_path *path, const char *text, size_t *at, hawser_error *error)
{
    *at = strcmp(text, "min") == 0 ? path->least : path->one_se;
    if (*at < path->count)
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION,
                       "--%s %s: the model has no %s of a cross-validation; train with --cv 10, or give a %s of the path",
                       path->name, text, path->error != NULL ? "standard errors" : "errors", path->name);
}

/* Replaces the facts that belong to one lambda. A path of older releases lacks penalties. */
static hawser_status put_facts(hawser_model *model, const hawser_path *path, size_t at, hawser_error *error)
{
    const double *gap = numbers(model, "path.gap", HAWSER_F64, path->count);
    const double *penalty = numbers(model, "path.penalty", HAWSER_F64, path->count);
    hawser_model_remove(model, "gap");
    hawser_model_remove(model, "penalty");
    HAWSER_TRY(hw_model_number_fact(model, path->name, path->parameter[at], error));
    HAWSER_TRY(hw_model_number_fact(model, "objective", path->objective[at], error));
    HAWSER_TRY(hw_model_number_fact(model, "nonzeros", (double)(path->offsets[at + 1] - path->offsets[at]), error));
    HAWSER_TRY(hw_model_number_fact(model, "gap", gap != NULL ? gap[at] : NAN, error));
    return hw_model_number_fact(model, "penalty", penalty != NULL ? penalty[at] : NAN, error);
}

static hawser_status put_member(hawser_model *model, const hawser_path *path, size_t at, hawser_error *error)
{
    static const char *const replaced[] = {"coefficients", "coefficients.index", "coefficients.value", "intercept"};
    size_t first = (size_t)path->offsets[at], count = (size_t)path->offsets[at + 1] - first;
    size_t stored = (size_t)path->offsets[path->count], outputs = path->outputs;
    double *value = calloc(outputs * count + 1, sizeof *value);
    if (value == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu coefficients", outputs * count);
    for (size_t k = 0; k < outputs; k++)
        memcpy(value + k * count, path->value + k * stored + first, count * sizeof *value);
    for (size_t k = 0; k < sizeof replaced / sizeof *replaced; k++)
        hawser_model_remove(model, replaced[k]);
    hawser_status status = hawser_model_tensor(model, "coefficients.index", HAWSER_I64, (const size_t[2]){count, 0},
                                               path->index + first, error);
    HAWSER_THEN(status, hw_model_outputs(model, "coefficients.value", value, outputs, count, error));
    HAWSER_THEN(status, hawser_model_tensor(model, "intercept", HAWSER_F64, (const size_t[2]){outputs, 0},
                                            path->intercept + at * outputs, error));
    free(value);
    return status;
}

/* Finds the member of a model's path that a value of --lambda names. The model's facts become those of the member; its
 * arrays hold the path. */
static hawser_status linear_take_member(hawser_model *model, const char *lambda, hawser_path *path, size_t *at,
                                        hawser_error *error)
{
    HAWSER_TRY(hw_choice_path(model, NULL, path, error));
    bool by_error = strcmp(lambda, "min") == 0 || strcmp(lambda, "1se") == 0;
    HAWSER_TRY(by_error ? find_by_error(path, lambda, at, error) : find_member(path, lambda, at, error));
    return put_facts(model, path, *at, error);
}

hawser_status hw_choice_member(hawser_model *model, const char *lambda, hawser_error *error)
{
    hawser_path path;
    size_t at = 0;
    HAWSER_TRY(linear_take_member(model, lambda, &path, &at, error));
    return put_member(model, &path, at, error);
}

hawser_status hw_choice_classed(hawser_model *model, const char *lambda, hawser_error *error)
{
    hawser_path path;
    size_t at = 0;
    HAWSER_TRY(linear_take_member(model, lambda, &path, &at, error));
    size_t first = (size_t)path.offsets[at], end = (size_t)path.offsets[at + 1], stored = (size_t)path.offsets[path.count];
    double *values = calloc(path.outputs * path.columns + 1, sizeof *values);
    if (values == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu classes of %zu columns", path.outputs, path.columns);
    for (size_t c = 0; c < path.outputs; c++)
        for (size_t k = first; k < end; k++)
            values[c * path.columns + (size_t)path.index[k]] = path.value[c * stored + k];
    hawser_model_remove(model, "coefficients");
    hawser_model_remove(model, "intercepts");
    hawser_status status =
        hawser_model_tensor(model, "coefficients", HAWSER_F64, (const size_t[2]){path.outputs, path.columns}, values, error);
    free(values);
    return status != HAWSER_OK ? status
                               : hawser_model_tensor(model, "intercepts", HAWSER_F64, (const size_t[2]){path.outputs, 0},
                                                     path.intercept + at * path.outputs, error);
}
