/* options.c - the option and metric rows of topic models. */
#include "algorithms/lda/options.h"

#include "algorithms/model/early.h"

const hawser_option hw_lda_rows[] = {
    {"topics", HAWSER_INTEGER, "10", "[2,65535]", "K", "number of topics", NULL, 0},
    {"alpha", HAWSER_TEXT, "0.1", NULL, "NUMBER|FILE",
     "prior of the topics of documents: a number for every topic, or a file with a line per topic", NULL, 0},
    {"beta", HAWSER_NUMBER, "0.01", "(0,1e9]", "BETA", "prior of the words of topics", NULL, 0},
    {"iterations", HAWSER_INTEGER, "500", "[1,1000000000]", "N", "passes over all tokens", NULL, 0},
    {"optimize-every", HAWSER_INTEGER, "10", "[0,1000000000]", "N",
     "fit alpha, a number for each topic, and beta to the counts after every N passes; 0: never", "Solver", 0},
    {"burn-in", HAWSER_INTEGER, "50", "[0,1000000000]", "N", "passes before alpha and beta are first fitted", "Solver", 0},
    {"measure-every", HAWSER_INTEGER, "10", "[1,1000000000]", "N", "measure the model after every N passes, and at the end",
     "Solver", 0},
    HW_EARLY_STOPPING_ROWS("one at each --measure-every", "the model of the least perplexity is kept"),
    {NULL, HAWSER_FLAG, NULL, NULL, NULL, NULL, NULL, 0}};

const hawser_metric_row hw_lda_metrics[] = {
    {.name = "log_likelihood",
     .help = "joint log likelihood of words and topics per token, log p(w, z | alpha, beta) / tokens",
     .always = true,
     .traced = true,
     .progress = true,
     .axis = "log likelihood per token"},
    {.name = "perplexity",
     .help = "of the documents of --validation: exp(-mean log probability of the second halves, given the first ones)",
     .always = true,
     .traced = true,
     .progress = true,
     .axis = "perplexity, validation"},
    {.name = "evaluations",
     .help = "in --trace: how often the perplexity of --validation has been measured",
     .traced = true},
    {.name = "iterations", .help = "passes over all tokens", .always = true, .traced = true},
    {.name = "tokens", .help = "words of all documents: the sum of all counts", .always = true},
    {.name = "topics", .help = "the number of topics", .always = true},
    {.name = "documents", .help = "rows of the data, those without words too", .always = true},
    {.name = "coherence",
     .help =
         "normalised pointwise mutual information, from -1 to 1, of the ten likeliest words of topics in the documents: the "
         "mean of pairs of words, then of topics",
     .always = true},
    {.name = "beta", .help = "prior of the words of topics, as it was fitted", .traced = true},
    {.name = NULL}};
