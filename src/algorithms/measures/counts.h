/* counts.h - measures of predicted means of counts. All of them count the weights of the examples. */
#ifndef HW_ALGORITHMS_MEASURES_COUNTS_H
#define HW_ALGORITHMS_MEASURES_COUNTS_H

#include "hawser/algorithm.h"

/* The rows of `hawser help measures`. */
extern const hawser_measure_row hw_count_measures[];

typedef struct hw_counts {
    double (*mean)(double margin);                    /* the predicted mean */
    double (*deviance)(double target, double margin); /* of a row */
    double mean_deviance_of_mean; /* the mean deviance, if every prediction were the mean of the targets */
    double total;                 /* weight of all rows */
    double penalty;               /* of the model, for the objective; NaN: unknown */
} hw_counts;

/* Checks targets, weights and predictions, and stores the total weight. Fails with the row of a negative target. */
hawser_status hw_counts_check(const hawser_evaluation_input *input, double (*mean)(double margin), double *total,
                              hawser_error *error) HAWSER_MUST_USE;
/* Appends all measures. */
hawser_status hw_counts_measure(const hawser_evaluation_input *input, const hw_counts *counts, hawser_measure *measures,
                                hawser_error *error) HAWSER_MUST_USE;

#endif
