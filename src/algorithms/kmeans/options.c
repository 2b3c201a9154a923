/* options.c - k-means' option and metric rows. */
#include "algorithms/kmeans/model.h"

#include "algorithms/model/early.h"

const hawser_option hw_kmeans_rows[] = {
    {"clusters", HAWSER_INTEGER, "8", "[1,16777216]", "K", "number of clusters", NULL, 0},
    {"starts", HAWSER_INTEGER, "1", "[1,1000000]", "N", "train N times from other centres, and keep the least inertia", NULL,
     0},
    {"init-method", HAWSER_WORD, "kmeans++", "kmeans++|parallel|random", "NAME",
     "how the first centres are drawn: one by one, far from each other (kmeans++); many at a time, of which K are chosen "
     "(parallel: k-means||); or K rows (random)",
     NULL, 0},
    {"centres", HAWSER_PATH, NULL, NULL, "FILE",
     "start from these centres, a row each, with the columns of DATA; every node reads the file", "Start from a model", 0},
    {"tol", HAWSER_NUMBER, "1e-4", "[0,inf)", "TOL",
     "end a start when the centres hardly move; that is, when their squared moves add up to at most TOL times the mean "
     "variance of the columns",
     NULL, 0},
    {"max-iterations", HAWSER_INTEGER, "300", "[1,inf)", "N", "end a start after N iterations; without effect with --batch",
     NULL, 0},
    {"batch", HAWSER_INTEGER, "0", "[0,inf)", "B",
     "mini-batches of about B rows over all workers, drawn without repeats in each epoch; small clusters are not "
     "reassigned; "
     "0: all rows in each iteration (docs/rows.md)",
     NULL, 0},
    {"epochs", HAWSER_NUMBER, "100", "(0,inf)", "N", "with --batch: end a start after N passes over the rows",
     "Mini-batches", 0},
    {"patience", HAWSER_INTEGER, "10", "[0,inf)", "N",
     "with --batch: end a start when the smoothed inertia has not fallen for N batches; 0: never", "Mini-batches", 0},
    HW_EARLY_STOPPING_ROWS("one per pass of --batch over the rows", "a start ends with the centres of the least"),
    {"arithmetic", HAWSER_WORD, "f64", "f64|f32", "TYPE",
     "arithmetic of distances: double, or float on numbers that are stored as f32 or rounded to it; sums are in double",
     "Solver", 0},
    {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0}};

const hawser_metric_row hw_kmeans_metrics[] = {
    {.name = "inertia",
     .help = "sum over rows of weight times squared distance to the nearest centre; with --batch, of a batch while training",
     .always = true,
     .traced = true,
     .progress = true,
     .axis = "inertia"},
    {.name = "moved", .help = "rows whose cluster has changed in an iteration", .traced = true, .progress = true},
    {.name = "shift",
     .help = "sum of the centres' squared moves in an iteration",
     .traced = true,
     .exponent = true,
     .axis = "squared moves",
     .log_axis = true},
    {.name = "start", .help = "the start, from 1; at the end the one that was kept", .traced = true, .progress = true},
    {.name = "iterations", .help = "iterations of the start that was kept", .always = true},
    {.name = "clusters", .help = "the number of clusters", .always = true},
    {.name = "smallest", .help = "rows of the smallest cluster"},
    {.name = "largest", .help = "rows of the largest cluster"},
    {.name = "validation_inertia",
     .help = "the inertia of the rows of --validation",
     .traced = true,
     .axis = "inertia, validation"},
    {.name = "evaluations",
     .help = "in --trace: how often the inertia of the rows of --validation has been measured in this start",
     .traced = true},
    {.name = NULL}};
