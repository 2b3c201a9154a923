/* results.h - what is known of the members of a path, one per lambda, and of their errors on held-out rows, and the choice
 * of a member by them. */
#ifndef HW_ALGORITHMS_CHOICE_RESULTS_H
#define HW_ALGORITHMS_CHOICE_RESULTS_H

#include "hawser/algorithm.h"

/* The line of one lambda in the table of a path. */
typedef struct hw_member_row {
    double rounding; /* a bound of the gap's rounding error */
    double lambda, objective, gap, penalty, nonzeros, intercept, error, standard_error;
    double seconds; /* that the fit took; only forecasts of the end use it */
    bool precision, spent, done;
} hw_member_row;

typedef struct hw_results {
    hw_member_row *rows;  /* by lambda */
    double *errors;       /* held-out mean error by (fold - 1) * most + lambda */
    double *fold_weights; /* of the rows held out, by fold - 1 */
    size_t most;          /* lambdas that the arrays have room for */
    size_t count;         /* lambdas of the path so far */
    uint32_t folds;       /* of the cross-validation, 0: none */
    uint32_t folds_done;  /* that have the errors of all lambdas */
} hw_results;

/* The lambda of the result, and the errors on held-out rows that chose it. Fields are numbers of lambdas. */
typedef struct hw_selection {
    size_t chosen;
    bool measured;    /* errors chose it; else it is the last finished lambda */
    bool crossed;     /* they are errors of all folds, with standard errors */
    size_t least;     /* if measured: the lambda of the least error, */
    size_t one_error; /* and the largest one whose error is at most one standard error above that */
} hw_selection;

/* Makes the results of a path before its first member. The caller calls hw_results_free, also after a failure. */
hawser_status hw_results_new(hw_results *results, size_t most, size_t count, uint32_t folds,
                             hawser_error *error) HAWSER_MUST_USE;
void hw_results_free(hw_results *results);
/* Returns how many lambdas are finished, from the first on. */
size_t hw_results_finished(const hw_results *results);
/* Fills error and standard error of the rows from the folds, if these are done, and returns the chosen lambda, of those that
 * are finished. */
hw_selection hw_results_select(hw_results *results, bool one_standard_error);
/* Returns whether the mean errors on held-out rows end a path at member `last`: the least one is that of `least`, and
 * `beyond` members or more after it have none that is lower. */
static inline bool hw_error_has_risen(size_t least, size_t last, size_t beyond)
{
    return least + beyond <= last;
}
/* Finds two lambdas of a path: the one with the least error, and the first whose error is at most one standard error above
 * that. Lambdas fall along the path, so of equal errors the first has the largest lambda and is taken. If `standard_error`
 * is NULL, both are the same. The numbers of two lambdas are `stride` bytes apart. */
void hw_best_members(const double *error, const double *standard_error, size_t stride, size_t count, size_t *least,
                     size_t *one_se);

#endif
