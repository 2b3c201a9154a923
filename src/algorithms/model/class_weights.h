/* class_weights.h - the weights of classes (--class-weight), by which the weights of their examples are multiplied. */
#ifndef HW_ALGORITHMS_MODEL_CLASS_WEIGHTS_H
#define HW_ALGORITHMS_MODEL_CLASS_WEIGHTS_H

#include "hawser/algorithm.h"

/* The range of what multiplies the weights of examples: squares of such numbers are still numbers. */
#define HW_WEIGHT_RANGE "[1e-100,1e100]"

static inline bool hw_weight_fits(double weight)
{
    return weight >= 1e-100 && weight <= 1e100;
}

/* Fails for a sum of example weights out of that range, unless all are 0. */
hawser_status hw_check_weight_sum(double total, hawser_error *error) HAWSER_MUST_USE;

/* clang-format off */
#define HW_CLASS_WEIGHT_ROW(rest) \
    {"class-weight", HAWSER_TEXT, NULL, NULL, "WEIGHTS", \
     "Of the classes: balanced, or LABEL=NUMBER,...; balanced: all classes weigh the same; labels that are not named have 1" rest, \
     NULL, 0}
/* clang-format on */

/* Reads "LABEL=NUMBER,LABEL=NUMBER" into `weights`, by class; a class that is not named has 1. `words` are the labels as the
 * user writes them, or NULL if labels are numbers. */
hawser_status hw_class_weights_read(const char *text, const double *labels, size_t classes, const char *const *words,
                                    double *weights, hawser_error *error) HAWSER_MUST_USE;
/* Computes scikit-learn's balanced weights: total / (classes x weight of the class's examples). A class without weight has
 * 1. */
void hw_class_weights_balance(const double *examples, size_t classes, double *weights);

/* Adds the weights of the training on all rows to a model file, as the fact "class_weights", if they are not NULL. */
hawser_status hw_class_weights_fact(const double *weights, size_t classes, hawser_model *model,
                                    hawser_error *error) HAWSER_MUST_USE;
/* Reads them; *weights is NULL if all are 1. The caller frees it, also after a failure. */
hawser_status hw_class_weights_of(const hawser_model *model, size_t classes, double **weights,
                                  hawser_error *error) HAWSER_MUST_USE;

#endif
