/* options.c - the option and metric rows of softmax regression, and its page of the help. */
#include "algorithms/softmax/model.h"

#include <math.h>

#include "algorithms/choice/rows.h"
#include "algorithms/model/class_weights.h"
#include "algorithms/model/early.h"

const hawser_option hw_softmax_rows[] = {
    {"lambda", HAWSER_NUMBER, NULL, "[0,inf)", "X",
     "weight of the penalty; the objective is the mean log loss + lambda (A ||W||_1 + (1 - A)/2 ||W||^2), A the L1 share",
     NULL, 'l'},
    {"lambda-ratio", HAWSER_NUMBER, "0.05", "(0,1e100]", "R",
     "the penalty's weight as a fraction of lambda_max, above which all coefficients are zero; with an L1 share below 0.001 "
     "that "
     "of 0.001 is taken",
     "Choice of lambda", 0},
    {"C", HAWSER_NUMBER, NULL, HW_WEIGHT_RANGE, "C",
     "weight of the penalty as scikit-learn's C; lambda = 1/(C n), n the examples' total weight", NULL, 0},
    {"l1-ratio", HAWSER_NUMBER, "1", "[0,1]", "A", "L1 share of the penalty: 1 sparse, 0 ridge", NULL, 0},
    {"intercept", HAWSER_FLAG, "yes", NULL, NULL, "fit an intercept for each class, without a penalty", NULL, 0},
    {"standardize", HAWSER_FLAG, "no", NULL, NULL,
     "penalise as if columns had standard deviation 1; coefficients are of the columns as given", NULL, 0},
    HW_CLASS_WEIGHT_ROW(""),
    HW_CHOICE_PATH_ROWS,
    HW_CHOICE_CV_ROWS(", up to ten beyond the least error"),
    {"cv-metric", HAWSER_WORD, "loss", "loss|accuracy", "NAME", "Error that --cv compares: the log loss, or 1 - accuracy",
     "Choice of lambda", 0},
    HW_EARLY_STOPPING_ROWS("one per lambda of a path, or per step of one lambda", "the model is that of the least error"),
    {"tol", HAWSER_NUMBER, "1e-6", "(0,1)", "T",
     "stop at this relative duality gap; it is relative to the objective without coefficients", NULL, 0},
    {"max-iterations", HAWSER_INTEGER, "1000", "[1,inf)", "N", "end after N Newton steps, per lambda and fold", "Solver", 0},
    {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0}};

static double gap_target(const hawser_options *options, const hawser_progress *progress)
{
    bool several = hawser_options_has(options, "path") || hawser_options_has(options, "cv");
    return several ? NAN : hawser_options_number(options, "tol") * hawser_progress_metric(progress, "zero_objective");
}

const hawser_metric_row hw_softmax_metrics[] = {
    HW_CERTIFIED_METRICS("the mean log loss + lambda (A ||W||_1 + (1 - A)/2 ||W||^2)", gap_target),
    {.name = "rounding", .help = "bound of the gap's rounding error, if the reason of the end is precision"},
    {.name = "nonzero",
     .help = "coefficients that are not zero, over all classes",
     .always = true,
     .traced = true,
     .progress = true,
     .axis = "nonzero coefficients"},
    {.name = "lambda", .help = "weight of the penalty", .always = true, .traced = true, .progress = true},
    HW_CHOICE_PATH_METRICS,
    {.name = "cv_log_loss", .help = "mean log loss on the held-out rows of --cv"},
    {.name = "iterations", .help = "steps of Newton's method", .always = true},
    {.name = "products",
     .help = "passes over the rows: one per gradient, and one per step of conjugate gradients",
     .traced = true},
    {.name = "classes", .help = "the number of classes", .always = true},
    {.name = "validation_log_loss",
     .help = "weighted mean log loss of the rows of --validation",
     .traced = true,
     .axis = "mean log loss, validation"},
    HW_EVALUATIONS_METRIC("the rows of --validation"),
    {.name = "validation_accuracy", .help = "weighted share of the rows of --validation whose label is predicted"},
    {.name = NULL}};

const hawser_topic hw_softmax_topics[] = {
    {"classes", "Two classes or more: labels, probabilities, metrics",
     "Softmax regression (multinomial logistic regression) tells any number of classes apart. The\n"
     "target's values, numbers or words, are the classes. predict prints the most probable label,\n"
     "predict --proba the probability of each class, in the order of the labels, predict --link\n"
     "the linear predictors, from which softmax makes the probabilities.\n\n"
     "  objective   sum c loss / sum c + lambda (A ||W||_1 + (1 - A)/2 ||W||^2), where loss is\n"
     "              -log(probability of the row's label), and c is the example's weight times\n"
     "              the weight of its class (--class-weight). The intercepts have no penalty;\n"
     "              they add up to zero.\n"
     "  --C C       lambda = 1/(C sum c): scikit-learn's C, with --l1-ratio 0 its default penalty.\n"
     "  two classes have two columns of coefficients here. With a ridge penalty these are\n"
     "              opposite; 'train logistic' has one column and a penalty on it alone, so its\n"
     "              lambda is half of this one's.\n"
     "  --path, --cv   fit several lambdas, each from the last one's solution. --cv holds out the rows\n"
     "              of a fold and chooses lambda by the loss on them. Folds depend on --seed and the\n"
     "              numbers of the rows, not on workers and nodes; they are those of 'train logistic'.\n"
     "  precision   as the reason of the end: the gap and the bound of its rounding error are together\n"
     "              above what --tol asks, and no step lowers the objective. Both are printed. Columns\n"
     "              of similar size, a larger lambda or a larger --tol avoid it.\n"
     "  far from zero   with intercepts, columns may have any mean: the training works on x - mean.\n"
     "              A column of equal values has coefficients 0. If the mean is more than 9e12\n"
     "              standard deviations (f32: 16000), the column is refused. Predictions add\n"
     "              x w and the intercept in doubles: about 2e-16 |mean| |w| of each is rounding.\n"
     "  sums        the intercepts, and the coefficients of a column unless that raises the penalty,\n"
     "              add up to zero over the classes.\n"
     "  --class-weight   balanced counts the rows that are not held out. Held-out rows, --validation\n"
     "              and measures have example weights alone.\n"
     "  evaluate    what 'hawser help measures' lists, with the weights of the data; objective, with\n"
     "              the training's formula and class weights too.\n"},
    {NULL, NULL, NULL}};
