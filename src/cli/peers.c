/* peers.c - the words of glmnet, scikit-learn and XGBoost, and what Hawser has for each: a page of the help, and hints for
 * mistaken words. */
#include <ctype.h>
#include <string.h>

#include "cli/help.h"
#include "report/option_text.h"

typedef struct peer_word {
    const char *peer;
    const char *words; /* of the peer, separated by blanks: the first stands in the page */
    const char *ours;  /* "PEER's WORD is OURS" */
} peer_word;

#define GLMNET  "glmnet"
#define SCIKIT  "scikit-learn"
#define XGBOOST "XGBoost"

static const peer_word rows[] = {
    {GLMNET, "family gaussian binomial poisson mgaussian",
     "the algorithm: train lasso, train logistic, train poisson, train multitask"},
    {GLMNET, "alpha", "--l1-ratio"},
    {GLMNET, "lambda", "--lambda X, or --path with a list"},
    {GLMNET, "nlambda", "--path N"},
    {GLMNET, "lambda.min.ratio", "--lambda-min-ratio"},
    {GLMNET, "standardize", "--standardize, which glmnet has by default and Hawser has not"},
    {GLMNET, "thresh", "--tol, which is certified"},
    {GLMNET, "penalty.factor", "--penalty-factors FILE, which are not rescaled"},
    {GLMNET, "lower.limits", "--lower"},
    {GLMNET, "upper.limits", "--upper"},
    {GLMNET, "exclude", "--ignore LIST"},
    {GLMNET, "cv.glmnet nfolds", "train ... --cv K"},
    {GLMNET, "foldid", "--folds FILE"},
    {GLMNET, "type.measure", "--cv-metric: deviance and mse are loss, class is accuracy"},
    {GLMNET, "lambda.min", "--cv-rule min, or predict --lambda min"},
    {GLMNET, "lambda.1se", "--cv-rule 1se, the default, or predict --lambda 1se"},
    {GLMNET, "newx", "DATA of predict"},
    {GLMNET, "type response", "--proba of predict, the default; link is --link, class is --labels"},
    {GLMNET, "coef", "info --coefficients"},
    {SCIKIT, "fit", "train ALGORITHM"},
    {SCIKIT, "Lasso ElasticNet LassoCV ElasticNetCV", "train lasso, with --cv K to choose lambda"},
    {SCIKIT, "Ridge RidgeCV", "train lasso --l1-ratio 0, with lambda = alpha / rows"},
    {SCIKIT, "LogisticRegression LogisticRegressionCV", "train logistic"},
    {SCIKIT, "PoissonRegressor", "train poisson --l1-ratio 0, with lambda = alpha"},
    {SCIKIT, "MultiTaskLasso MultiTaskElasticNet", "train multitask, with lambda = alpha"},
    {SCIKIT, "SGDRegressor", "train linear --solver sgd"},
    {SCIKIT, "alpha alphas", "--lambda X, or --path with a list (Ridge: divided by the rows)"},
    {SCIKIT, "C Cs", "--C of train logistic"},
    {SCIKIT, "l1_ratio penalty", "--l1-ratio: 1 is l1, 0 is l2"},
    {SCIKIT, "n_alphas", "--path N"},
    {SCIKIT, "eps", "--lambda-min-ratio"},
    {SCIKIT, "fit_intercept", "--intercept, --no-intercept"},
    {SCIKIT, "class_weight", "--class-weight balanced, or LABEL=NUMBER,..."},
    {SCIKIT, "sample_weight", "--weights COLUMN"},
    {SCIKIT, "max_iter", "--max-clocks; training ends by --tol"},
    {SCIKIT, "warm_start", "--init MODEL"},
    {SCIKIT, "random_state", "--seed"},
    {SCIKIT, "n_jobs", "--threads, and --workers for the parts of the work"},
    {SCIKIT, "StandardScaler", "--standardize"},
    {SCIKIT, "OneHotEncoder get_dummies", "--categories auto: words become columns by themselves"},
    {SCIKIT, "handle_unknown", "--unseen error, --unseen zero"},
    {SCIKIT, "SimpleImputer", "--missing mean"},
    {SCIKIT, "train_test_split test_size", "data split --fraction"},
    {SCIKIT, "predict_proba", "predict --proba, the default: the chance of the higher label"},
    {SCIKIT, "decision_function", "predict --link"},
    {SCIKIT, "classes_", "--labels of predict"},
    {SCIKIT, "scoring", "--cv-metric: roc_auc is auc, neg_log_loss is loss"},
    {SCIKIT, "StratifiedKFold", "--cv K --folds stratified"},
    {SCIKIT, "PredefinedSplit", "--cv K --folds FILE"},
    {SCIKIT, "score metrics", "evaluate"},
    {SCIKIT, "coef_ intercept_ feature_names_in_", "info --coefficients"},
    {XGBOOST, "objective",
     "the algorithm: reg:squarederror is train lasso, binary:logistic is train logistic, "
     "count:poisson is train poisson"},
    {XGBOOST, "reg_alpha", "lambda A, of --lambda and --l1-ratio A"},
    {XGBOOST, "reg_lambda", "lambda (1 - A), of --lambda and --l1-ratio A"},
    {XGBOOST, "nrounds num_boost_round n_estimators", "--max-clocks, or --epochs of descent; training ends by --tol"},
    {XGBOOST, "eta learning_rate", "--step of descent (train linear, logistic --solver sgd); the others need none"},
    {XGBOOST, "early_stopping_rounds", "--early-stopping N, with --validation FILE or --validation-fraction"},
    {XGBOOST, "min_delta", "--early-stopping-min-delta"},
    {XGBOOST, "evals watchlist eval_set", "--validation FILE"},
    {XGBOOST, "eval_metric", "evaluate, which prints all; --cv-metric of --cv"},
    {XGBOOST, "scale_pos_weight", "--class-weight 1:X"},
    {XGBOOST, "base_margin base_score", "--offset COLUMN"},
    {XGBOOST, "xgb_model", "--init MODEL"},
    {XGBOOST, "nthread", "--threads"},
    {XGBOOST, "booster max_depth", "linear only: Hawser has no trees, gblinear is the booster to compare"},
};

/* Returns whether a typed word is one of the words: capitals, and the marks - _ . between parts, make no difference. */
static bool is_word(const char *typed, const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool mark = strchr("-_.", word[i]) != NULL;
        if (typed[i] == '\0' ||
            (mark ? strchr("-_.", typed[i]) == NULL : tolower((unsigned char)typed[i]) != tolower((unsigned char)word[i])))
            return false;
    }
    return typed[length] == '\0';
}

/* Returns the word of a row that was typed, and stores its length; NULL: none. */
static const char *find_word(const peer_word *row, const char *typed, size_t *length)
{
    for (const char *word = row->words; *word != '\0'; word += *length + (word[*length] == ' ')) {
        *length = strcspn(word, " ");
        if (is_word(typed, word, *length))
            return word;
    }
    return NULL;
}

bool hw_peers_hint(const char *typed, char *text, size_t size)
{
    size_t n = 0, length;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *word = find_word(&rows[i], typed + strspn(typed, "-"), &length);
        if (word != NULL && n < size)
            n += (size_t)snprintf(text + n, size - n, "%s%s's %.*s is %s", n > 0 ? "; " : "", rows[i].peer, (int)length,
                                  word, rows[i].ours);
    }
    return n > 0;
}

void hw_peers_print(FILE *out)
{
    const char *peer = "";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(peer, rows[i].peer) != 0)
            fprintf(out, "%s%s:\n", i > 0 ? "\n" : "", rows[i].peer);
        peer = rows[i].peer;
        fprintf(out, "  %-24.*s ", (int)strcspn(rows[i].words, " "), rows[i].words);
        hw_help_wrapped(out, rows[i].ours, 27, 27);
        fputc('\n', out);
    }
}
