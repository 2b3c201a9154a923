/* options.c - the lasso's option rows, and what they say together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/lasso/problem.h"

const hawser_option hw_lasso_rows[] = {
    {"lambda", HAWSER_NUMBER, NULL, "[0,inf)", "X", "Weight of the penalty in 1/(2n) ||y - Xw - b||^2 + lambda (...)", "0.1",
     'l'},
    {"lambda-ratio", HAWSER_NUMBER, "0.05", "(0,inf)", "R",
     "The penalty's weight as a fraction of lambda_max, above which all coefficients are zero", "0.1", 0},
    {"path", HAWSER_TEXT, NULL, NULL, "N|LIST",
     "Fit a path of N lambdas from lambda_max down, or the listed lambdas (separated by commas), each from the last one's "
     "solution",
     "0.1", 0},
    {"lambda-min-ratio", HAWSER_NUMBER, NULL, "(0,1)", "R",
     "Where a path of N lambdas ends, as a fraction of lambda_max; default 0.0001, or 0.01 when there are more columns than "
     "rows",
     "0.1", 0},
    {"l1-ratio", HAWSER_NUMBER, "1", "[0,1]", "A",
     "Share of the L1 norm in the penalty: 1 is the lasso, 0 is ridge regression", "0.1", 0},
    {"tol", HAWSER_NUMBER, "1e-6", "(0,1)", "T", "Stop when the duality gap is below T times the objective at zero", "0.1",
     0},
    {"cv", HAWSER_INTEGER, NULL, "[2,1000]", "K",
     "Choose lambda on a path (of 100 unless --path says otherwise) by K-fold cross-validation", "0.1", 0},
    {"cv-rule", HAWSER_WORD, "1se", "1se|min", "RULE",
     "Take the largest lambda whose error is within one standard error of the least (1se), or the one with the least (min)",
     "0.1", 0},
    {"validation-fraction", HAWSER_NUMBER, NULL, "(0,1)", "F",
     "Keep this fraction of the rows, chosen by --seed, to measure the error and to choose lambda on a path", "0.1", 0},
    {"intercept", HAWSER_FLAG, "yes", NULL, NULL, "Fit an intercept, without a penalty", "0.1", 0},
    {"standardize", HAWSER_FLAG, "no", NULL, NULL,
     "Penalise as if every column had standard deviation 1; sparse data stay sparse, coefficients are of the columns as "
     "given",
     "0.1", 0},
    {"penalty-factors", HAWSER_PATH, NULL, NULL, "FILE",
     "One factor >= 0 a column, by which its penalty is multiplied; 0 leaves a column free", "0.1", 0},
    {"lower", HAWSER_TEXT, NULL, NULL, "X|FILE",
     "Lower bound of the coefficients (<= 0): a number, or a file of one a column", "0.1", 0},
    {"upper", HAWSER_TEXT, NULL, NULL, "X|FILE",
     "Upper bound of the coefficients (>= 0): a number, or a file of one a column", "0.1", 0},
    {"solver", HAWSER_WORD, "working-set", "working-set|cd", "NAME",
     "Local solver of a block's subproblem: working sets, or plain randomised coordinate descent", "0.1", 0},
    {"sigma", HAWSER_NUMBER, NULL, "(0,inf)", "S",
     "sigma', how careful a block is about what the others do; default gamma K (s + 1), twice gamma K to begin with under "
     "tap",
     "0.1", 0},
    {"certify-every", HAWSER_INTEGER, NULL, "[1,inf)", "N", "Clocks between two certificates; default: as needed", "0.1", 0},
    {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0}};

/* A path is a count or a list; *list is malloc'ed. */
static hawser_status read_path(const char *text, double **list, size_t *count, hawser_error *error)
{
    char *end = NULL;
    unsigned long long n = strtoull(text, &end, 10);
    if (strspn(text, "0123456789") == strlen(text)) {
        *count = (size_t)n;
        return n >= 1 && n <= 100000 ? HAWSER_OK
                                     : hawser_fail(error, HAWSER_BAD_OPTION, "--path %s: want 1 to 100000 lambdas", text);
    }
    size_t room = 1;
    for (const char *at = text; *at != '\0'; at++)
        room += *at == ',';
    *list = malloc(room * sizeof **list);
    if (*list == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu lambdas", room);
    for (const char *at = text; *count < room; at = end + 1) {
        double value = strtod(at, &end);
        if (end == at || !(value > 0.0) || isinf(value) || (*end != ',' && *end != '\0'))
            return hawser_fail(error, HAWSER_BAD_OPTION, "--path: '%s' is no number of lambdas and no list of lambdas > 0",
                               text);
        (*list)[(*count)++] = value;
        if (*end == '\0')
            break;
    }
    return HAWSER_OK;
}

static bool given(const hawser_options *options, const char *key)
{
    return hawser_options_has(options, key) && hawser_options_source(options, key, NULL) != HAWSER_FROM_DEFAULT;
}

/* An option that can do nothing is a misunderstanding when somebody has typed it; what a file or the environment sets for all calls
 * may lie idle in some. */
static hawser_status check_idle(const hawser_options *options, hawser_error *error)
{
    const char *path = hawser_options_text(options, "path");
    bool list = path != NULL && strchr(path, ',') != NULL, grid = !list && (path != NULL || given(options, "cv"));
    if (hawser_options_source(options, "cv-rule", NULL) == HAWSER_FROM_COMMAND_LINE && !given(options, "cv"))
        return hawser_fail(error, HAWSER_BAD_OPTION, "--cv-rule does nothing without --cv K");
    if (hawser_options_source(options, "lambda-min-ratio", NULL) == HAWSER_FROM_COMMAND_LINE && !grid)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--lambda-min-ratio does nothing without --path N or --cv K%s",
                           list ? ": --path lists its lambdas itself" : "");
    if (given(options, "validation") && (given(options, "cv") || given(options, "validation-fraction")))
        return hawser_fail(
            error, HAWSER_BAD_OPTION,
            "--validation excludes --cv and --validation-fraction: one of them says what lambda is chosen by");
    return HAWSER_OK;
}

static hawser_status check_together(const hawser_options *options, hawser_error *error)
{
    HAWSER_TRY(check_idle(options, error));
    if (given(options, "lambda") && given(options, "lambda-ratio"))
        return hawser_fail(error, HAWSER_BAD_OPTION, "--lambda and --lambda-ratio say the same thing in two ways; give one");
    if ((given(options, "lambda") || given(options, "lambda-ratio")) && (given(options, "path") || given(options, "cv")))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "one lambda (--lambda, --lambda-ratio) and many (--path, --cv) exclude each other");
    if (given(options, "cv") && given(options, "validation-fraction"))
        return hawser_fail(error, HAWSER_BAD_OPTION, "--cv and --validation-fraction exclude each other");
    if (hawser_options_number(options, "l1-ratio") == 0.0 && !given(options, "lambda") &&
        !(given(options, "path") && strchr(hawser_options_text(options, "path"), ',') != NULL))
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "with --l1-ratio 0 there is no lambda_max; give --lambda, or --path with a list of lambdas");
    return HAWSER_OK;
}

hawser_status hw_lasso_settings_read(const hawser_options *options, hw_lasso_settings *settings, hawser_error *error)
{
    HAWSER_TRY(check_together(options, error));
    settings->lambda = hawser_options_has(options, "lambda") ? hawser_options_number(options, "lambda") : -1.0;
    settings->lambda_ratio = hawser_options_number(options, "lambda-ratio");
    settings->l1_ratio = hawser_options_number(options, "l1-ratio");
    settings->tolerance = hawser_options_number(options, "tol");
    settings->lambda_min_ratio = hawser_options_number(options, "lambda-min-ratio");
    settings->intercept = hawser_options_flag(options, "intercept");
    settings->standardize = hawser_options_flag(options, "standardize");
    settings->folds = (uint32_t)hawser_options_integer(options, "cv");
    settings->one_standard_error = strcmp(hawser_options_text(options, "cv-rule"), "1se") == 0;
    settings->validation_fraction = hawser_options_number(options, "validation-fraction");
    settings->average = strcmp(hawser_options_text(options, "merge"), "average") == 0;
    settings->sigma = hawser_options_number(options, "sigma");
    settings->exchange_every = given(options, "exchange-every") ? hawser_options_number(options, "exchange-every") : 0.0;
    settings->certify_every = (uint64_t)hawser_options_integer(options, "certify-every");
    const char *filter = hawser_options_text(options, "filter");
    settings->filtered = hawser_options_bytes(options, "quota") > 0 || (filter != NULL && strcmp(filter, "none") != 0) ||
                         strcmp(hawser_options_text(options, "encoding"), "exact") != 0;
    bool plain = strcmp(hawser_options_text(options, "solver"), "cd") == 0;
    settings->solver = plain ? hw_lasso_coordinate() : hw_lasso_working_set();
    if (plain && settings->exchange_every <= 0.0)
        settings->exchange_every = 1.0;
    settings->path_count = settings->folds > 0 ? 100 : 0;
    if (hawser_options_has(options, "path")) {
        settings->path_count = 0;
        HAWSER_TRY(read_path(hawser_options_text(options, "path"), &settings->path_list, &settings->path_count, error));
    }
    return HAWSER_OK;
}
