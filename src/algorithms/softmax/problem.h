/*
 * problem.h - a training of softmax regression: what the options ask for, and the data. Read-only while units run.
 *
 * A model has a column of coefficients and an intercept per class. It is stored as (columns + 1) x classes numbers, by row;
 * the last row has the intercepts.
 */
#ifndef HW_ALGORITHMS_SOFTMAX_PROBLEM_H
#define HW_ALGORITHMS_SOFTMAX_PROBLEM_H

#include "algorithms/learner/row_path.h"

enum { HW_SOFTMAX_CLASSES = 1000 }; /* the most classes */

typedef struct hw_softmax {
    hw_row_path path;        /* the data, the lambdas and folds, and what the frame needs (learner/method.h) */
    double lambda, C, ratio; /* NaN where not given; the ratio always is */
    double share;            /* of the L1 norm */
    bool standardize;
} hw_softmax;

/* A function of hw_learner: reads and checks the options, and finds the classes. */
hawser_status hw_softmax_read(void *own, hawser_job *job, const hawser_training_input *input, hawser_error *error);

#endif
