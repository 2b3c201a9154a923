/* options.c - the option and metric rows of the logistic regression, and its page of the help. */
#include "algorithms/logistic/parts.h"

#include "algorithms/glm/metrics.h"
#include "algorithms/glm/rows.h"
#include "algorithms/model/class_weights.h"
#include "algorithms/sgd/options.h"

const hawser_option hw_logistic_options[] = {
    HW_LINEAR_LAMBDA_ROWS("[0,inf)", "the mean log loss + lambda (A ||w||_1 + (1 - A)/2 ||w||^2), A the L1 share",
                          "coefficients are zero"),
    {"C", HAWSER_NUMBER, NULL, HW_WEIGHT_RANGE, "C",
     "Weight of the penalty as scikit-learn's C; lambda = 1/(C n), as in LIBLINEAR, n the examples' total weight", NULL, 0},
    HW_LINEAR_SHARE_ROW("L1 share of the penalty: 1 sparse, 0 ridge"),
    HW_CLASS_WEIGHT_ROW("; or A:B, for the lower label and the higher"),
    {"positive", HAWSER_TEXT, NULL, NULL, "EXPR",
     "Label 1 where the target is so, label 0 elsewhere: '> 5', '>= 3', '== 2', '!= 0', or one of its words", "Classes", 0},
    {"solver", HAWSER_WORD, "newton", "newton|dbpg|gd|sgd|minibatch", "NAME",
     "Newton's method on working sets; or over a parameter server (which takes --sync delay:N and dc:N too): delayed block "
     "proximal gradient, or proximal steps by all rows (gd), one row (sgd) or --batch rows at a time (minibatch)",
     "Solver", 0},
    {"groups", HAWSER_INTEGER, "1", "[1,1000]", "N",
     "Number of groups into which --solver dbpg divides the columns (by column: those of each worker); a clock works on one "
     "group, and by column a certificate comes after N clocks at the soonest",
     "Solver", 0},
    {"split", HAWSER_WORD, "auto", "row|column|auto", "WAY",
     "What each worker of --solver dbpg has: rows, and workers exchange a number per column; columns, and they exchange one "
     "per row; or the shorter exchange",
     "Solver", 0},
    {"kkt-filter", HAWSER_FLAG, "yes", NULL, NULL,
     "With --solver dbpg, leave columns that will most likely stay zero out until the next certificate", "Solver", 0},
    HW_DESCENT_ROWS,
    HW_LINEAR_ROWS,
    {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0}};

const hawser_metric_row hw_logistic_metrics[] = {
    HW_LINEAR_METRICS(hw_linear_gap_target),
    HW_CHOICE_PATH_METRICS,
    HW_LINEAR_FIT_METRICS("deviance_ratio", "the loss at zero", "log_loss", "mean log loss", ""),
    {.name = NULL}};

const hawser_topic hw_logistic_topics[] = {
    {"labels", "Two classes: labels, probabilities, metrics",
     "A target with two values (-1 and 1, 0 and 1, 1 and 2, ...) has two classes. The model\n"
     "keeps the values. predict prints the probability of the higher label, predict --labels the\n"
     "more probable label. Coefficients above zero favour the higher label. --positive makes two\n"
     "classes of other targets: label 1 where the condition holds, as '> 5' or a word, and label\n"
     "0 elsewhere. The model keeps it, and evaluate applies it to its data.\n\n"
     "  objective   sum c loss / sum c + lambda (A ||w||_1 + (1 - A)/2 ||w||^2), where loss is\n"
     "              log(1 + exp(-y (x w + b + offset))), y = +-1, and c is the example's weight\n"
     "              times the weight of its class (--class-weight). The intercept b has no\n"
     "              penalty.\n"
     "  --C C       lambda = 1/(C sum c): LIBLINEAR's and scikit-learn's C. LIBLINEAR puts a\n"
     "              penalty on its intercept (-B 1); --no-intercept is its -B -1.\n"
     "  evaluate    what 'hawser help measures' lists, with the weights of the data; objective, with\n"
     "              the training's formula and class weights too.\n"
     "  --cv        chooses by the log loss on the held-out rows, with class weights.\n\n"
     "If a column without a penalty separates the classes, there is no best model: training ends\n"
     "when the objective is as near its bound as --tol asks.\n"},
    {NULL, NULL, NULL},
};
