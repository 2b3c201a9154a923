#include "algorithms/choice/choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/model/given.h"
#include "hawser/advanced.h"

static void sort_falling(double *values, size_t count)
{
    for (size_t k = 1; k < count; k++) {
        double value = values[k];
        size_t at = k;
        for (; at > 0 && values[at - 1] < value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

bool hw_choice_lists(const hawser_options *options)
{
    const char *path = hawser_options_text(options, "path");
    return path != NULL && path[strspn(path, "0123456789")] != '\0';
}

/* Reads a path, which is a count or a list; *list is malloc'ed, from high to low. */
static hawser_status read_path(const hawser_options *options, double **list, size_t *count, hawser_error *error)
{
    const char *text = hawser_options_text(options, "path");
    unsigned long long n = strtoull(text, NULL, 10);
    if (!hw_choice_lists(options)) {
        *count = (size_t)n;
        return n >= 1 && n <= 100000
                   ? HAWSER_OK
                   : hawser_fail(error, HAWSER_BAD_OPTION, "--path %s: expected 1 to 100000 lambdas", text);
    }
    size_t most = 1;
    for (const char *at = text; *at != '\0'; at++)
        most += *at == ',';
    *list = malloc(most * sizeof **list);
    if (*list == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu lambdas", most);
    for (const char *at = text, *end; *count < most; at = end + 1) {
        double value = 0;
        end = hawser_read_number(at, &value);
        if (end == NULL || !(value > 0.0) || isinf(value) || (*end != ',' && *end != '\0'))
            return hawser_fail(error, HAWSER_BAD_OPTION, "--path: '%s' is no number of lambdas and no list of lambdas > 0",
                               text);
        (*list)[(*count)++] = value;
        if (*end == '\0')
            break;
    }
    sort_falling(*list, *count);
    return HAWSER_OK;
}

hawser_status hw_choice_check_validation(const hawser_options *options, bool validated, hawser_error *error)
{
    if (validated && (hw_option_set(options, "cv") || hw_option_set(options, "validation-fraction")))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--validation excludes --cv and --validation-fraction: only one of them can choose lambda");
    return HAWSER_OK;
}

/* Reports options of cross-validation and paths that have no effect. */
static hawser_status check_idle(hawser_job *job, const hawser_options *options, hawser_error *error)
{
    static const char *const of_folds[] = {"cv-rule", "folds", "cv-metric"};
    bool list = hw_choice_lists(options);
    bool grid = !list && (hawser_options_has(options, "path") || hw_option_set(options, "cv"));
    for (size_t k = 0; k < sizeof of_folds / sizeof *of_folds && !hw_option_set(options, "cv"); k++)
        HAWSER_TRY(hawser_job_idle(job, of_folds[k], "there is no --cv K", error));
    if (hw_option_set(options, "early-stopping") && hw_option_set(options, "cv"))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--early-stopping and --cv exclude each other: --cv ends its path by the errors of its folds");
    if (!grid)
        HAWSER_TRY(hawser_job_idle(job, "lambda-min-ratio",
                                   list ? "--path lists its lambdas itself" : "there is no --path N or --cv K", error));
    return hw_choice_check_validation(options, hw_option_set(options, "validation"), error);
}

static hawser_status check_together(hawser_job *job, const hawser_options *options, hawser_error *error)
{
    HAWSER_TRY(check_idle(job, options, error));
    static const char *const keys[] = {"lambda", "lambda-ratio", "C"};
    const char *one = NULL;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        if (!hw_option_set(options, keys[k]))
            continue;
        if (one != NULL)
            return hawser_fail(error, HAWSER_BAD_OPTION, "--%s and --%s both set lambda; give one", one, keys[k]);
        one = keys[k];
    }
    if (one != NULL && (hw_option_set(options, "path") || hw_option_set(options, "cv")))
        return hawser_fail(error, HAWSER_BAD_OPTION, "one value (--%s) and many (--path, --cv) exclude each other", one);
    if (hw_option_set(options, "cv") && hw_option_set(options, "validation-fraction"))
        return hawser_fail(error, HAWSER_BAD_OPTION, "--cv and --validation-fraction exclude each other");
    return HAWSER_OK;
}

hawser_status hw_choice_read(hawser_job *job, const hawser_options *options, hw_choice *choice, hawser_error *error)
{
    HAWSER_TRY(check_together(job, options, error));
    choice->lambda = hw_option_number(options, "lambda", -1.0);
    choice->cost = hw_option_number(options, "C", 0.0);
    choice->lambda_ratio = hw_option_number(options, "lambda-ratio", 0.0);
    choice->assumed = !hw_option_set(options, "lambda") && !hw_option_set(options, "C") &&
                      !hw_option_set(options, "lambda-ratio") && !hw_option_set(options, "path") &&
                      !hw_option_set(options, "cv");
    choice->lambda_min_ratio = hw_option_number(options, "lambda-min-ratio", 0.0);
    choice->folds = (uint32_t)hawser_options_integer(options, "cv");
    choice->fold_source = choice->folds > 0 ? hawser_options_text(options, "folds") : NULL;
    choice->metric = choice->folds > 0 ? hawser_options_text(options, "cv-metric") : "loss";
    choice->one_standard_error = strcmp(hawser_options_text(options, "cv-rule"), "1se") == 0;
    choice->path_count = choice->folds > 0 ? 100 : 0;
    if (hawser_options_has(options, "path")) {
        choice->path_count = 0;
        HAWSER_TRY(read_path(options, &choice->path_list, &choice->path_count, error));
    }
    return HAWSER_OK;
}
