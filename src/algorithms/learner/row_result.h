/* row_result.h - the result of a training of row_path.h, on node 0: the table of its members, the chosen one, and what the
 * model file keeps. */
#ifndef HW_ALGORITHMS_LEARNER_ROW_RESULT_H
#define HW_ALGORITHMS_LEARNER_ROW_RESULT_H

#include "algorithms/choice/fit.h"
#include "algorithms/learner/method.h"

typedef struct hw_row_result {
    const hw_row_path *path;
    hawser_training *training; /* its run */
    const double *table;       /* of the run, or of the finished members that outlived it */
    const double *last;        /* the model of a training without a finished member, or without a path */
    hw_results results;        /* of the members and folds */
    hw_fit fit;
    double *model;      /* the numbers of hw_row_result_take */
    double *intercepts; /* by member, then by output */
} hw_row_result;

/* Reads the run, or without one path->finished. If not even the first member is finished, that has the metrics of the last
 * step, its parameter that of the method. `ended`: before its end, for training->stop_reason. The caller calls
 * hw_row_result_free, also after a failure. */
hawser_status hw_row_result_new(hw_row_result *result, const hw_row_path *path, hawser_training *training, bool ended,
                                hawser_error *error) HAWSER_MUST_USE;
void hw_row_result_free(hw_row_result *result);
/* Copies the model of a member to result->model. */
void hw_row_result_take(hw_row_result *result, size_t member);
/* Returns how many members can be measured: the finished ones, at least 1. Errors are stored in result->results.rows. */
size_t hw_row_result_members(const hw_row_result *result);
/* Chooses a member by the errors, and takes its model. */
const hw_member_row *hw_row_result_choose(hw_row_result *result);
/* Returns a bound of the rounding error of the chosen member's gap. */
double hw_row_result_rounding(const hw_row_result *result);
/* Adds the members and the cross-validation to the model file. */
hawser_status hw_row_result_store(const hw_row_result *result, hawser_model *model, hawser_error *error) HAWSER_MUST_USE;
/* Adds facts from place `at` on, notes and closing lines. */
void hw_row_result_describe(const hw_row_result *result, size_t at);

#endif
