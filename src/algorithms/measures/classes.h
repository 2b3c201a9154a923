/* classes.h - measures of classifiers, for two classes or more. All of them count the weights of the examples. */
#ifndef HW_ALGORITHMS_MEASURES_CLASSES_H
#define HW_ALGORITHMS_MEASURES_CLASSES_H

#include "algorithms/measures/ranked.h"
#include "hawser/algorithm.h"

/* The rows of `hawser help measures`. */
extern const hawser_measure_row hw_class_measures[];

typedef struct hw_classes {
    size_t rows;
    const double *weights;    /* by row; NULL: ones */
    size_t count;             /* classes, at least 2 */
    const double *labels;     /* ascending, one per class */
    const char *const *words; /* the labels if they are words: label K is words[K]; or NULL */
    /* Two classes: margin and label of each row, which are overwritten, and the probability of the higher label by the margin. The area under
     * the ROC curve compares margins, which are finer than probabilities near 0 and 1. */
    double *scored;
    double (*probability)(double margin);
    double threshold; /* the higher label is predicted if its probability is above this */
    /* More classes: the label of each row, its probability of each class, and memory for one element per row. */
    const double *target, *probabilities;
    hw_ranked *ranked;
    double log_loss;
    double objective; /* NaN: unknown, since the training did not certify the model */
} hw_classes;

/* Checks target, weights and margins or probabilities, and that each label is one of the model's. Stores the rows' total weight. */
hawser_status hw_classes_check(const hw_classes *classes, double *total, hawser_error *error) HAWSER_MUST_USE;
/* Appends all measures. The check has succeeded. */
hawser_status hw_classes_measure(const hw_classes *classes, hawser_measure *measures, hawser_error *error) HAWSER_MUST_USE;

#endif
