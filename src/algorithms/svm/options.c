/* options.c - the option and metric rows of support vector machines. */
#include "algorithms/svm/options.h"

const hawser_option hw_svm_rows[] = {
    {"C", HAWSER_NUMBER, "1", "(0,inf)", "C", "weight of the losses beside half of the squared norm of the coefficients",
     NULL, 0},
    {"loss", HAWSER_WORD, "hinge", "hinge|squared-hinge|epsilon|squared-epsilon", "NAME",
     "hinge and squared-hinge tell classes apart, each one from the rest if there are more than two, epsilon and "
     "squared-epsilon predict numbers",
     NULL, 0},
    {"epsilon", HAWSER_NUMBER, "0.1", "[0,inf)", "E", "regression: errors up to E cost nothing", NULL, 0},
    {"intercept", HAWSER_FLAG, "yes", NULL, NULL, "Fit an intercept, without a penalty", NULL, 0},
    {"solver", HAWSER_WORD, "auto", "auto|primal|dual|joint", "NAME",
     "primal: Newton's method, in about as many iterations with many workers as with one; dual: by coordinates, slow with "
     "many workers; joint: the dual, each class by one worker, which has a copy of all rows; auto: joint for data with at "
     "most "
     "two rows per column and 2^26 stored numbers, else primal",
     "Solver", 0},
    {"tol", HAWSER_NUMBER, "1e-4", "[0,inf)", "TOL",
     "end when the duality gap is at most TOL times the objective, for each class", NULL, 0},
    {"max-iterations", HAWSER_INTEGER, "10000", "[1,inf)", "N", "end after N iterations", NULL, 0},
    {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0}};

const hawser_metric_row hw_svm_metrics[] = {
    {.name = "objective",
     .help = "half of the squared norm of the coefficients plus C times the weighted losses; added up over the classes",
     .always = true,
     .traced = true,
     .progress = true,
     .axis = "objective"},
    {.name = "gap",
     .help = "the duality gap: the objective is at most this far above its optimum",
     .always = true,
     .traced = true,
     .progress = true,
     .exponent = true,
     .axis = "duality gap",
     .log_axis = true},
    {.name = "iterations", .help = "iterations, each of some passes over the rows", .always = true},
    {.name = "classes", .help = "the number of classes; 0 in regression", .always = true},
    {.name = "validation_accuracy", .help = "weighted share of the rows of --validation whose label is predicted"},
    {.name = "validation_mean_squared_error", .help = "weighted mean squared error of the rows of --validation"},
    {.name = NULL}};
