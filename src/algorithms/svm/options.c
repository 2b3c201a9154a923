/* options.c - the option and metric rows of support vector machines. */
#include "algorithms/svm/model.h"

#include "algorithms/choice/rows.h"
#include "algorithms/model/class_weights.h"
#include "algorithms/model/early.h"

const hawser_option hw_svm_rows[] = {
    {"C", HAWSER_NUMBER, "1", HW_WEIGHT_RANGE, "C", "weight of the losses beside 1/2 |w|^2", NULL, 0},
    {"loss", HAWSER_WORD, "hinge", "hinge|squared-hinge|epsilon|squared-epsilon", "NAME",
     "hinge, squared-hinge: classes, each against the rest; epsilon, squared-epsilon: numbers", NULL, 0},
    HW_CLASS_WEIGHT_ROW("; in one class against the rest, the weight of the one counts"),
    {"path", HAWSER_TEXT, NULL, NULL, "N|LIST",
     "Fit a path of N values of C, or the listed ones; N go from 1/1024 to 1024, each starts from the last one's solution",
     NULL, 0},
    {"cv", HAWSER_INTEGER, NULL, "[2,1000]", "K",
     "Choose C by K-fold cross-validation; from 11 values unless --path is set, up to two beyond the least error; --json "
     "has the result as an object cv: "
     "C_min and "
     "C_1se, and by C the lists C, error, standard_error and nonzeros",
     NULL, 0},
    {"cv-rule", HAWSER_WORD, "min", "1se|min", "RULE",
     "Least error, or a smaller C; 1se: the smallest C whose error is within one standard error of the least, min: the one "
     "with "
     "the least",
     "Choice of C", 0},
    HW_CHOICE_FOLDS_ROW("Choice of C"),
    {"cv-metric", HAWSER_WORD, NULL, "accuracy|mse|mae|loss", "NAME",
     "Error that --cv compares: 1 - accuracy (of classes, their default), the mean squared (of numbers, their default) or "
     "mean "
     "absolute error, or the loss of --loss",
     "Choice of C", 0},
    HW_EARLY_STOPPING_ROWS("one per C of a path, or per certificate of one C",
                           "the error is 1 - accuracy, or the mean squared one, and the model is that of the least"),
    {"epsilon", HAWSER_NUMBER, "0.1", "[0,1e100]", "E", "regression: errors up to E cost nothing", NULL, 0},
    {"intercept", HAWSER_FLAG, "yes", NULL, NULL, "Fit an intercept, without a penalty", NULL, 0},
    {"solver", HAWSER_WORD, "auto", "auto|primal|dual|joint", "NAME",
     "primal: Newton's method, in about as many iterations with many workers as with one; dual: by coordinates, slow with "
     "many workers; joint: the dual, each class by one worker, which has a copy of all rows; auto: joint for data with at "
     "most "
     "two rows per column and 2^26 stored numbers, and primal for others and from where joint comes closer too slowly; one "
     "worker begins two classes without an intercept with the dual, and goes on with it if few rows still move",
     "Solver", 0},
    {"tol", HAWSER_NUMBER, "1e-4", "[0,inf)", "TOL",
     "end when the duality gap is at most TOL times the objective, for each class", NULL, 0},
    {"max-iterations", HAWSER_INTEGER, "10000", "[1,inf)", "N", "end after N iterations", "Solver", 0},
    {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0}};

const hawser_metric_row hw_svm_metrics[] = {
    HW_CERTIFIED_METRICS(
        "half of the squared norm of the coefficients plus C times the weighted losses; added up over the classes", NULL),
    {.name = "rounding", .help = "bound of the gap's rounding error, if the reason of the end is precision"},
    {.name = "C", .help = "weight of the losses", .always = true, .traced = true, .progress = true},
    HW_CHOICE_FITS_METRICS,
    HW_CHOICE_CV_METRICS(" (--cv-metric)"),
    {.name = "turned",
     .help =
         "why --solver auto went from the dual on to the primal: 1, the dual came closer too slowly; 2, its first passes "
         "moved many rows; 0: it did not",
     .always = true},
    {.name = "iterations", .help = "iterations, each of some passes over the rows", .always = true},
    {.name = "classes", .help = "the number of classes; 0 in regression", .always = true},
    {.name = "validation_accuracy",
     .help = "weighted share of the rows of --validation whose label is predicted",
     .traced = true,
     .axis = "accuracy, validation"},
    {.name = "validation_mean_squared_error",
     .help = "weighted mean squared error of the rows of --validation",
     .traced = true,
     .axis = "mean squared error, validation"},
    HW_EVALUATIONS_METRIC("the rows of --validation"),
    {.name = NULL}};
