/* settings.c - reads the options of a linear model and checks their combinations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/choices.h"

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

/* Returns whether a path lists its lambdas, and is no number of lambdas. */
static bool is_list(const char *path)
{
    return path != NULL && path[strspn(path, "0123456789")] != '\0';
}

/* Reads a path, which is a count or a list; *list is malloc'ed, from high to low. */
static hawser_status read_path(const char *text, double **list, size_t *count, hawser_error *error)
{
    unsigned long long n = strtoull(text, NULL, 10);
    if (!is_list(text)) {
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

static bool given(const hawser_options *options, const char *key)
{
    return hawser_options_has(options, key) && hawser_options_source(options, key, NULL) != HAWSER_FROM_DEFAULT;
}

hawser_status hw_linear_check_validation(const hawser_options *options, bool validated, hawser_error *error)
{
    if (validated && (given(options, "cv") || given(options, "validation-fraction")))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--validation excludes --cv and --validation-fraction: only one of them can choose lambda");
    return HAWSER_OK;
}

/* Reports options of cross-validation and paths that have no effect. */
static hawser_status check_idle(hawser_job *job, const hawser_options *options, hawser_error *error)
{
    static const char *const of_folds[] = {"cv-rule", "folds", "cv-metric"};
    const char *path = hawser_options_text(options, "path");
    bool list = is_list(path), grid = !list && (path != NULL || given(options, "cv"));
    for (size_t k = 0; k < sizeof of_folds / sizeof *of_folds && !given(options, "cv"); k++)
        HAWSER_TRY(hawser_job_idle(job, of_folds[k], "there is no --cv K", error));
    if (given(options, "early-stopping") && given(options, "cv"))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--early-stopping and --cv exclude each other: --cv ends its path by the errors of its folds");
    if (hawser_options_has(options, "early-stopping-min-delta") && !given(options, "early-stopping"))
        HAWSER_TRY(hawser_job_idle(job, "early-stopping-min-delta", "there is no --early-stopping N", error));
    if (!grid)
        HAWSER_TRY(hawser_job_idle(job, "lambda-min-ratio",
                                   list ? "--path lists its lambdas itself" : "there is no --path N or --cv K", error));
    return hw_linear_check_validation(options, given(options, "validation"), error);
}

/* Returns true if `word` is in a list of words that bars separate. */
static bool among(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at != NULL; at = strchr(at, '|') != NULL ? strchr(at, '|') + 1 : NULL)
        if (strncmp(at, word, length) == 0 && (at[length] == '|' || at[length] == '\0'))
            return true;
    return false;
}

/* Returns the name of the solver; "" if the algorithm has only one. */
static const char *solver_of(const hawser_options *options)
{
    const char *solver = hawser_options_text(options, "solver");
    return solver != NULL ? solver : "";
}

/* Reports options that have an effect only with some solvers. */
static hawser_status check_solver(hawser_job *job, const hawser_options *options, bool stored, hawser_error *error)
{
    static const char *const of_copies[] = {"sigma",           "merge",    "filter",        "quota",
                                            "max-held-clocks", "encoding", "exchange-every"};
    static const struct {
        const char *option, *solvers, *why;
    } of_others[] = {{"groups", "dbpg", "it is about --solver dbpg"},
                     {"kkt-filter", "dbpg", "it is about --solver dbpg"},
                     {"batch", "minibatch", "it is about --solver minibatch"},
                     {"epochs", "sgd|minibatch", "it is about --solver sgd and minibatch"},
                     {"exchange", "gd|sgd|minibatch", "it is about --solver gd, sgd and minibatch"},
                     {"step", "gd|sgd|minibatch", "it is about --solver gd, sgd and minibatch"}};
    const char *solver = solver_of(options);
    for (size_t k = 0; stored && k < sizeof of_copies / sizeof *of_copies; k++)
        HAWSER_TRY(hawser_job_idle(
            job, of_copies[k],
            "it is about workers' copies of shared states, which --solver gd, sgd, minibatch and dbpg lack", error));
    for (size_t k = 0; k < sizeof of_others / sizeof *of_others; k++)
        if (!among(of_others[k].solvers, solver))
            HAWSER_TRY(hawser_job_idle(job, of_others[k].option, of_others[k].why, error));
    return HAWSER_OK;
}

static hawser_status check_together(hawser_job *job, const hawser_options *options, hawser_error *error)
{
    HAWSER_TRY(check_idle(job, options, error));
    static const char *const keys[] = {"lambda", "lambda-ratio", "C"};
    const char *one = NULL;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        if (!given(options, keys[k]))
            continue;
        if (one != NULL)
            return hawser_fail(error, HAWSER_BAD_OPTION, "--%s and --%s both set lambda; give one", one, keys[k]);
        one = keys[k];
    }
    if (one != NULL && (given(options, "path") || given(options, "cv")))
        return hawser_fail(error, HAWSER_BAD_OPTION, "one value (--%s) and many (--path, --cv) exclude each other", one);
    if (given(options, "cv") && given(options, "validation-fraction"))
        return hawser_fail(error, HAWSER_BAD_OPTION, "--cv and --validation-fraction exclude each other");
    return HAWSER_OK;
}

/* Fails if the options do not say where a path of coefficients without an L1 penalty begins. */
static hawser_status check_start(const hawser_options *options, hawser_error *error)
{
    if (hawser_options_number(options, "l1-ratio") == 0.0 && !given(options, "lambda") && !given(options, "C") &&
        !is_list(hawser_options_text(options, "path")))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "with --l1-ratio 0 there is no lambda_max; give --lambda, or --path with a list of lambdas");
    return HAWSER_OK;
}

/* Reads the settings of solvers over a parameter server. */
static hawser_status read_stored(hawser_job *job, const hawser_options *options, hw_linear_settings *settings,
                                 hawser_error *error)
{
    const char *solver = solver_of(options);
    bool delayed = strcmp(solver, "dbpg") == 0;
    settings->steps = among("gd|sgd|minibatch", solver);
    settings->stored = delayed || settings->steps;
    HAWSER_TRY(check_solver(job, options, settings->stored, error));
    settings->groups = delayed ? (size_t)hawser_options_integer(options, "groups") : 1;
    settings->kkt = delayed && hawser_options_flag(options, "kkt-filter");
    if (!settings->steps)
        return HAWSER_OK;
    const char *form = hawser_options_text(options, "exchange");
    settings->weights = strcmp(form, "weights") == 0;
    settings->products = strcmp(form, "products") == 0;
    settings->rate = hawser_options_has(options, "step") ? hawser_options_number(options, "step") : 0.0;
    settings->epochs = hawser_options_number(options, "epochs");
    settings->batch = strcmp(solver, "gd") == 0    ? 0
                      : strcmp(solver, "sgd") == 0 ? 1
                                                   : (size_t)hawser_options_integer(options, "batch");
    return HAWSER_OK;
}

hawser_status hw_linear_read_choice(hawser_job *job, const hawser_options *options, hw_linear_settings *settings,
                                    hawser_error *error)
{
    HAWSER_TRY(check_together(job, options, error));
    settings->lambda = hawser_options_has(options, "lambda") ? hawser_options_number(options, "lambda") : -1.0;
    settings->cost = hawser_options_has(options, "C") ? hawser_options_number(options, "C") : 0.0;
    settings->lambda_ratio =
        hawser_options_has(options, "lambda-ratio") ? hawser_options_number(options, "lambda-ratio") : 0.0;
    settings->assumed = !given(options, "lambda") && !given(options, "C") && !given(options, "lambda-ratio") &&
                        !given(options, "path") && !given(options, "cv");
    settings->lambda_min_ratio =
        hawser_options_has(options, "lambda-min-ratio") ? hawser_options_number(options, "lambda-min-ratio") : 0.0;
    settings->folds = (uint32_t)hawser_options_integer(options, "cv");
    settings->fold_source = settings->folds > 0 ? hawser_options_text(options, "folds") : NULL;
    settings->metric = settings->folds > 0 ? hawser_options_text(options, "cv-metric") : "loss";
    settings->one_standard_error = strcmp(hawser_options_text(options, "cv-rule"), "1se") == 0;
    settings->early_stopping =
        hawser_options_has(options, "early-stopping") ? (uint64_t)hawser_options_integer(options, "early-stopping") : 0;
    settings->min_delta = settings->early_stopping > 0 ? hawser_options_number(options, "early-stopping-min-delta") : 0.0;
    settings->path_count = settings->folds > 0 ? 100 : 0;
    if (hawser_options_has(options, "path")) {
        settings->path_count = 0;
        HAWSER_TRY(read_path(hawser_options_text(options, "path"), &settings->path_list, &settings->path_count, error));
    }
    return HAWSER_OK;
}

hawser_status hw_linear_settings_read(hawser_job *job, const hawser_options *options, hw_linear_settings *settings,
                                      hawser_error *error)
{
    HAWSER_TRY(hw_linear_read_choice(job, options, settings, error));
    HAWSER_TRY(check_start(options, error));
    settings->l1_ratio = hawser_options_number(options, "l1-ratio");
    settings->tolerance = hawser_options_number(options, "tol");
    settings->intercept = hawser_options_flag(options, "intercept");
    settings->standardize = hawser_options_flag(options, "standardize");
    settings->validation_fraction = hawser_options_number(options, "validation-fraction");
    settings->sigma = hawser_options_number(options, "sigma");
    settings->exchange_every = given(options, "exchange-every") ? hawser_options_number(options, "exchange-every") : 0.0;
    settings->certify_every = (uint64_t)hawser_options_integer(options, "certify-every");
    const char *filter = hawser_options_text(options, "filter");
    settings->filtered = hawser_options_bytes(options, "quota") > 0 || (filter != NULL && strcmp(filter, "none") != 0) ||
                         strcmp(hawser_options_text(options, "encoding"), "exact") != 0;
    const char *solver = solver_of(options);
    bool plain = strcmp(solver, "cd") == 0;
    settings->solver = plain ? hw_linear_coordinate() : hw_linear_working_set();
    if (plain && settings->exchange_every <= 0.0)
        settings->exchange_every = 1.0;
    HAWSER_TRY(read_stored(job, options, settings, error));
    settings->goes_on = settings->folds > 0 && !hawser_options_has(options, "path") && settings->lambda_min_ratio <= 0.0;
    return HAWSER_OK;
}
