/* classes.h - measures of classifiers, for two classes or more. All of them count the weights of the examples. */
#ifndef HW_ALGORITHMS_MEASURES_CLASSES_H
#define HW_ALGORITHMS_MEASURES_CLASSES_H

#include "algorithms/measures/ranked.h"
#include "hawser/algorithm.h"

/* The rows of `hawser help measures`. */
extern const hawser_measure_row hw_class_measures[];

/* Rows of measures that need no probabilities, except the objective. */
/* clang-format off */
#define HW_CLASSES_FIRST_ROWS                                                                                                \
    {"auc", "area under the ROC curve: probability that a row of the higher label gets a higher score than a row of the "    \
            "lower one, ties "                                                                                               \
            "count half; more than two classes: mean over the classes; unknown if the data lack a class"},                   \
    {"accuracy", "share of the rows whose predicted label is right"}
#define HW_CLASSES_HIGHER_ROWS                                                                                               \
    {"precision", "two classes: that of the higher label (see classes)"},                                                    \
    {"recall", "likewise"},                                                                                                  \
    {"f1", "likewise"}
#define HW_CLASSES_TABLE_ROWS                                                                                                \
    {"confusion",                                                                                                            \
     "a line per label and a column per predicted label, in the order of classes: how many rows have the one and get "       \
     "the other"},                                                                                                           \
    {"classes", "a line per class, labels ascending:"},                                                                      \
    {".label", "value of the target"},                                                                                       \
    {".precision", "share of the rows with this predicted label that have the label; unknown if there are none"},            \
    {".recall", "share of the rows with this label that get it as predicted label; unknown if there are none"},              \
    {".f1", "2 right / (rows with the label + rows with the predicted label)"},                                              \
    {".auc", "as above, this class against all others"},                                                                     \
    {".support", "how many rows have this label"}
/* clang-format on */

typedef struct hw_classes {
    size_t rows;
    const double *weights;    /* by row; NULL: ones */
    size_t count;             /* classes, at least 2 */
    const double *labels;     /* ascending, one per class */
    const char *const *words; /* the labels if they are words: label K is words[K]; or NULL */
    /* Two classes: margin and label of each row, which are overwritten, and the probability of the higher label by the
     * margin. The area under the ROC curve compares margins, which are finer than probabilities near 0 and 1. */
    double *scored;
    double (*probability)(double margin);
    double threshold; /* the higher label is predicted if its probability is above this */
    /* There are no probabilities: a margin above 0, or the largest margin, predicts its label. `probabilities` are margins
     * then. */
    bool margins_only;
    /* More classes: each row's probability of each class, its label, and memory for one element per row. */
    const double *probabilities;
    double *target;
    hw_ranked *ranked;
    double log_loss;
    double objective; /* NaN: unknown, since the training did not certify the model */
} hw_classes;

/* Returns those of an evaluation, whose linear predictors and targets are replaced. The caller adds what its classes are
 * predicted by. */
static inline hw_classes hw_classes_of(const hawser_evaluation_input *input, const double *labels, size_t count)
{
    return (hw_classes){.rows = input->rows,
                        .weights = input->weights,
                        .count = count,
                        .labels = labels,
                        .words = input->words,
                        .scored = input->scored,
                        .threshold = input->threshold,
                        .probabilities = input->scored};
}
/* Allocates `target` and `ranked`. The caller calls hw_classes_free, also after a failure. */
hawser_status hw_classes_new(hw_classes *classes, hawser_error *error) HAWSER_MUST_USE;
void hw_classes_free(hw_classes *classes);
/* Checks target, weights and margins or probabilities, and that each label is one of the model's. Stores the rows' total
 * weight. */
hawser_status hw_classes_check(const hw_classes *classes, double *total, hawser_error *error) HAWSER_MUST_USE;
/* Appends all measures. The check has succeeded. */
hawser_status hw_classes_measure(const hw_classes *classes, hawser_measure *measures, hawser_error *error) HAWSER_MUST_USE;

#endif
