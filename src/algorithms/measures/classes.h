/* classes.h - measures of classifiers, for two classes or more. All of them count the weights of the examples. */
#ifndef HW_ALGORITHMS_MEASURES_CLASSES_H
#define HW_ALGORITHMS_MEASURES_CLASSES_H

#include "algorithms/measures/ranked.h"
#include "hawser/algorithm.h"

/* The rows of `hawser help measures`. */
extern const hawser_measure_row hw_class_measures[];

typedef struct hw_classes {
    const hawser_dataset *data;
    const double *target;     /* labels by row; NULL: those of data */
    size_t count;             /* classes, at least 2 */
    const double *labels;     /* ascending, one per class */
    const char *const *words; /* the labels if they are words: label K is words[K]; or NULL */
    /* By row: with two classes the probability of the higher label, else the probability of each class. */
    const double *probabilities;
    double threshold; /* with two classes: the higher label is predicted if its probability is above this; else unused */
    /* With two classes, what the area under the ROC curve compares: finer than probabilities near 0 and 1. NULL: the probabilities. It may
     * be hw_classes_scores(ranked, rows). */
    const double *scores;
    hw_ranked *ranked; /* memory for one element per row, which is overwritten */
    double log_loss;
    double objective; /* NaN: unknown, since the training did not certify the model */
} hw_classes;

/* Returns the last 8 bytes per row of this memory of one element per row. hw_classes_measure reads scores there before it overwrites them. */
double *hw_classes_scores(hw_ranked *ranked, size_t rows);
/* Checks target, weights and probabilities, and that each label is one of the model's. Stores the rows' total weight. */
hawser_status hw_classes_check(const hw_classes *classes, double *total, hawser_error *error) HAWSER_MUST_USE;
/* Appends all measures. The check has succeeded. */
hawser_status hw_classes_measure(const hw_classes *classes, hawser_measure *measures, hawser_error *error) HAWSER_MUST_USE;

#endif
