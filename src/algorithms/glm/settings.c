/* settings.c - reads the options of a linear model and checks their combinations. */
#include <string.h>

#include "algorithms/glm/choices.h"
#include "algorithms/model/given.h"
#include "hawser/advanced.h"

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
                     {"split", "dbpg", "it is about --solver dbpg"},
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

/* Fails if the options do not say where a path of coefficients without an L1 penalty begins. */
static hawser_status check_start(const hawser_options *options, hawser_error *error)
{
    if (hawser_options_number(options, "l1-ratio") == 0.0 && !hw_option_set(options, "lambda") &&
        !hw_option_set(options, "C") && !hw_choice_lists(options))
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
    const char *split = delayed ? hawser_options_text(options, "split") : "auto";
    settings->split = strcmp(split, "row") == 0      ? HW_LINEAR_BY_ROW
                      : strcmp(split, "column") == 0 ? HW_LINEAR_BY_COLUMN
                                                     : HW_LINEAR_BY_EITHER;
    if (!settings->steps)
        return HAWSER_OK;
    const char *form = hawser_options_text(options, "exchange");
    settings->weights = strcmp(form, "weights") == 0;
    settings->products = strcmp(form, "products") == 0;
    settings->rate = hw_option_number(options, "step", 0.0);
    settings->epochs = hawser_options_number(options, "epochs");
    settings->batch = strcmp(solver, "gd") == 0    ? 0
                      : strcmp(solver, "sgd") == 0 ? 1
                                                   : (size_t)hawser_options_integer(options, "batch");
    return HAWSER_OK;
}

/* Returns whether updates are sent exactly, at the start at least. `encoding` has a form for v or for all states. */
static bool is_exact(const char *encoding)
{
    const char *form = strncmp(encoding, "v=", 2) == 0 ? encoding + 2 : encoding;
    return strcmp(form, "exact") == 0 || strcmp(form, "auto") == 0;
}

hawser_status hw_linear_settings_read(hawser_job *job, const hawser_options *options, hw_linear_settings *settings,
                                      hawser_error *error)
{
    HAWSER_TRY(hw_choice_read(job, options, &settings->choice, error));
    HAWSER_TRY(check_start(options, error));
    settings->l1_ratio = hawser_options_number(options, "l1-ratio");
    settings->tolerance = hawser_options_number(options, "tol");
    settings->intercept = hawser_options_flag(options, "intercept");
    settings->standardize = hawser_options_flag(options, "standardize");
    settings->validation_fraction = hawser_options_number(options, "validation-fraction");
    settings->sigma = hawser_options_number(options, "sigma");
    settings->exchange_every =
        hw_option_set(options, "exchange-every") ? hawser_options_number(options, "exchange-every") : 0.0;
    settings->adapts =
        hawser_options_flag(options, "auto") || hw_option_auto(options, "sync") || hw_option_auto(options, "exchange-every");
    settings->certify_every = (uint64_t)hawser_options_integer(options, "certify-every");
    const char *filter = hawser_options_text(options, "filter");
    settings->filtered = hawser_options_bytes(options, "quota") > 0 || (filter != NULL && strcmp(filter, "none") != 0) ||
                         !is_exact(hawser_options_text(options, "encoding"));
    const char *solver = solver_of(options);
    bool plain = strcmp(solver, "cd") == 0;
    settings->solver = plain ? hw_linear_coordinate() : hw_linear_working_set();
    if (plain && settings->exchange_every <= 0.0)
        settings->exchange_every = 1.0;
    HAWSER_TRY(read_stored(job, options, settings, error));
    settings->goes_on =
        settings->choice.folds > 0 && !hawser_options_has(options, "path") && settings->choice.lambda_min_ratio <= 0.0;
    return HAWSER_OK;
}
