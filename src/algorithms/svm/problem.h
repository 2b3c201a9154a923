/*
 * problem.h - a training of a support vector machine: what the options ask for, and the data. Read-only while units run.
 *
 * Each of the path.outputs problems (one per class; one for two classes, or for regression) minimises over w and b
 *     1/2 |w|^2 + sum_i c_i loss(y_i, x_i w + b),   c_i = C weight_i,   y_i = -1, 1 or the target.
 * The weight is that of the example times that of its class.
 * With w = sum_i beta_i x_i its dual maximises, for all four losses,
 *     sum_i (beta_i y_i - epsilon |beta_i| - h_i / 2 beta_i^2) - 1/2 |w|^2,   low_i <= beta_i <= high_i,   sum_i beta_i = 0
 * where h_i is 0, or 1 / (2 c_i) for a squared loss. The last constraint belongs to the intercept b.
 */
#ifndef HW_ALGORITHMS_SVM_PROBLEM_H
#define HW_ALGORITHMS_SVM_PROBLEM_H

#include <math.h>

#include "algorithms/learner/row_path.h"

enum { HW_SVM_CLASSES = 1000 }; /* the most classes */

typedef struct hw_svm {
    hw_row_path path;  /* the data, values of C and folds, and what the frame needs (learner/method.h); of the target a
                          regression has a centre, too */
    double C, epsilon; /* C: without a path; epsilon: 0 for classifiers */
    uint64_t seed;
    bool regression, squared;
    bool primal;   /* solve the primal by Newton's method, from the start */
    bool joint;    /* solve the dual of each problem by one block, on all rows */
    bool may_turn; /* where the dual comes closer too slowly, the primal goes on from its model */
    bool tries;    /* the first iteration of the dual decides whether the primal goes on (units.h) */
    bool moved;    /* the dual was asked for, but columns are far from zero */
} hw_svm;

/* A function of hw_learner: reads and checks the options, and finds the classes and their weights, and the start. */
hawser_status hw_svm_read(void *own, hawser_job *job, const hawser_training_input *input, hawser_error *error);
/* Returns the C of a member of the path. */
double hw_svm_cost(const hw_svm *svm, size_t member);

/* A row's part of one problem: its dual variable is in [low, high]. */
typedef struct hw_svm_row {
    double y, c, h, low, high;
} hw_svm_row;

/* Describes a row with a target as it is and an example weight above 0. `class_weights` (NULL: all are 1) count as in
 * LIBLINEAR: those of both classes, and of one class against the rest that of the one. */
static inline hw_svm_row hw_svm_row_of(const hw_svm *svm, double C, size_t problem, double target, double weight,
                                       const double *class_weights)
{
    size_t own = svm->path.outputs == 1 ? 1 : problem;
    bool positive = !svm->regression && target == svm->path.labels[own];
    if (class_weights != NULL)
        weight *= positive ? class_weights[own] : svm->path.outputs == 1 ? class_weights[0] : 1.0;
    double c = C * weight, most = svm->squared ? HUGE_VAL : c;
    hw_svm_row row = {
        .y = target - svm->path.centre.target, .c = c, .h = svm->squared ? 0.5 / c : 0.0, .low = -most, .high = most};
    if (svm->regression)
        return row;
    row.y = positive ? 1.0 : -1.0;
    *(positive ? &row.low : &row.high) = 0.0;
    return row;
}

/* Returns the value of the row's dual variable that is nearest to a number. fmin and fmax would be calls. */
static inline double hw_svm_within(const hw_svm_row *row, double to)
{
    double raised = to > row->low ? to : row->low;
    return raised < row->high ? raised : row->high;
}

/* Returns the loss of a row with that margin x w + b, without its factor c. */
static inline double hw_svm_loss(const hw_svm *svm, const hw_svm_row *row, double margin)
{
    double over = svm->regression ? fabs(row->y - margin) - svm->epsilon : 1.0 - row->y * margin;
    return !(over > 0.0) ? over * 0.0 : svm->squared ? over * over : over;
}

#endif
