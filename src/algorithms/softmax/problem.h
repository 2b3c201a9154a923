/*
 * problem.h - a training of softmax regression: what the options ask for, and the data. Read-only while units run.
 *
 * A model has a column of coefficients and an intercept per class. It is stored as (columns + 1) x classes numbers, by row; the last row has the
 * intercepts.
 */
#ifndef HW_ALGORITHMS_SOFTMAX_PROBLEM_H
#define HW_ALGORITHMS_SOFTMAX_PROBLEM_H

#include "algorithms/glm/row_path.h"
#include "algorithms/model/centre.h"
#include "algorithms/model/classed.h"

enum { HW_SOFTMAX_CLASSES = 1000 }; /* the most classes */

typedef struct hw_softmax {
    const hawser_matrix *X;
    const hawser_dataset *data;
    double lambda, C, ratio; /* NaN where not given; the ratio always is */
    double share;            /* of the L1 norm */
    double tolerance;
    uint64_t iterations;
    bool intercept, standardize;
    double *labels; /* of the classes, ascending */
    size_t classes;
    size_t width;  /* numbers of a model */
    double *given; /* the model to start from, or NULL */
    uint32_t blocks;
    uint64_t held;    /* bytes of data in memory besides X (hawser_training_input.held) */
    hw_row_path path; /* the lambdas and folds */
    hw_centre centre; /* without an intercept, nothing is shifted */
} hw_softmax;

/* Reads and checks the options, and finds the classes, by a short program if rows are held by block. Collective. The caller frees it, also after
 * a failure. */
hawser_status hw_softmax_new(hw_softmax *softmax, hawser_job *job, const hawser_training_input *input,
                             hawser_error *error) HAWSER_MUST_USE;
/* Returns the sizes and labels of its models. */
hw_classed hw_softmax_sizes(const hw_softmax *softmax);
void hw_softmax_free(hw_softmax *softmax);

#endif
