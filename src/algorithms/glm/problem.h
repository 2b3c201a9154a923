/*
 * problem.h - the problem of a penalised linear model: the rows, their folds, the penalties and the bounds. It does not
 * change once it is made, and all blocks read it.
 *
 * A model predicts from margins x w + b + offset. A kind is the handful of functions in which the algorithms differ.
 */
#ifndef HW_ALGORITHMS_GLM_PROBLEM_H
#define HW_ALGORITHMS_GLM_PROBLEM_H

#include "algorithms/glm/called.h"
#include <math.h>

#include "algorithms/glm/choices.h"
#include "algorithms/glm/positive.h"
#include "hawser/algorithm.h"

/* The fold of a row that is kept for validation. */
#define HW_LINEAR_ALWAYS_OUT UINT32_MAX

struct hw_linear;
struct hw_linear_problem;
typedef double hw_linear_metric(const void *source, const char *name);

/* An error on held-out rows, for --cv-metric. */
typedef struct hw_linear_error {
    const char *metric;                             /* the option's word; NULL ends a list */
    double (*of_row)(double target, double margin); /* NULL: 1 - the area under the ROC curve, of all rows of a fold */
} hw_linear_error;

/* The functions and names of one algorithm. */
typedef struct hw_linear_kind {
    const char *name;                      /* of the algorithm */
    const char *cv_name, *validation_name; /* of the error on held-out rows: "cv_mse" */
    const char *error_name;                /* the same in words: "mean squared error" */
    bool centres;                          /* the best intercept leaves residuals of mean zero */
    bool plain_rounds;                     /* rounds are not extrapolated */
    bool several;                          /* the target may have several columns, whose coefficients enter together */
    bool boxes;                            /* lambda_max is exact even with columns that have no penalty but both bounds */
    const struct hw_newton_loss *loss; /* that Newton's models approximate (newton/loss.h); NULL: the loss is quadratic */
    const char *fit_name;              /* of the share of the loss at zero that the model explains: "r2" */
    /* Makes problem->target and problem->weights. */
    hawser_status (*take_target)(struct hw_linear_problem *problem, const hawser_training_input *input, hawser_error *error);
    /* Returns the error of one row for a margin, which includes the offset unless the target does. */
    double (*row_error)(double target, double margin);
    const hw_linear_error *errors; /* further errors on held-out rows; NULL: none */
    bool classes;                  /* the target is -1 or 1, for problem->labels */
    const char *wrong_target;      /* the end of a message about a value for which target_of returns NAN */
    /* Converts a value of the input's target (less the offset); returns NAN if it is invalid. NULL: the value itself. */
    double (*target_of)(const struct hw_linear_problem *problem, double value);
    /* Computes objective and gap from the metrics that units reported. */
    void (*certificate)(hw_linear_metric *metric, const void *source, double zero_objective, double *objective, double *gap);
    double (*rounding)(
        const struct hw_linear_problem *problem); /* the gap that rounding of targets alone may leave; NULL: 0 */
    /* Estimates each column's cost besides scans, if blocks solve subproblems of their own; may be NULL. */
    hawser_status (*costs)(const struct hw_linear *linear, double **costs, hawser_error *error);
    /* Adds the facts that only models of this kind have; may be NULL. */
    hawser_status (*model_facts)(const struct hw_linear_problem *problem, hawser_model *model, hawser_error *error);
} hw_linear_kind;

typedef struct hw_linear_problem {
    const hw_linear_kind *kind;
    const hawser_dataset *data;
    const hawser_matrix *X; /* of the data */
    const double *weights;  /* or NULL */
    double *own_weights;    /* the memory of weights that are not the input's; or NULL */
    uint64_t held;          /* bytes of data in memory besides X (hawser_training_input.held) */
    size_t counted;         /* the first row with a weight above 0 */
    size_t counted_rows;    /* rows with a weight above 0 */
    size_t outputs;         /* targets; 1 unless the kind takes several */
    double *target;         /* y - offset, or what the kind makes of y; by output, then by row */
    const double *origin;   /* of the columns, as in hawser_training_input; or NULL */
    double *target_origin;  /* by output: subtracted from a target far from zero (hawser_origin_of), and 0 for others */
    double *target_log;     /* log of the target, 0 where that is 0, if the kind's loss needs it; or NULL */
    const double *offset;   /* if the target does not include it; or NULL */
    double labels[2];       /* the target's values of class -1 and class 1, if there are classes */
    double class_weights[2];
    hw_positive positive;         /* if there are classes: --positive, which makes them of the target's values */
    double total;                 /* weight of all rows that are not kept for validation */
    const hw_linear_error *error; /* that --cv compares; NULL: kind->row_error */
    uint32_t *fold; /* by row: the fold (from 1) in which the row is held out, 0: never; NULL: no row ever is */
    double *factor, *lower, *upper; /* by column, or NULL */
    double *alpha, *image; /* the start, by column, then by output, and X times it, by output, then by row; NULL: zeros */
    double *free_columns;  /* rows x (free_count + box_count): columns without penalty, dense */
    int *free_side;        /* of each: 0 free on both sides, 1 above its lower bound, -1 below its upper one */
    uint32_t *free_list;   /* their numbers */
    size_t free_count;     /* columns without a bound on at least one side; they come first */
    size_t box_count;      /* columns of factor 0 with both bounds; 0 also if there are too many, or the kind needs none */
} hw_linear_problem;

/* Makes target, folds, factors, bounds and start. The caller calls hw_linear_problem_free, also after a failure. */
hawser_status hw_linear_problem_new(hw_linear_problem *problem, const hw_linear_kind *kind,
                                    const hw_linear_settings *settings, hawser_job *job, const hawser_training_input *input,
                                    hawser_error *error) HAWSER_MUST_USE;
void hw_linear_problem_free(hw_linear_problem *problem);
/* Return the bounds of a column. */
static inline double hw_linear_lower(const hw_linear_problem *problem, size_t column)
{
    return problem->lower != NULL ? problem->lower[column] : -INFINITY;
}
static inline double hw_linear_upper(const hw_linear_problem *problem, size_t column)
{
    return problem->upper != NULL ? problem->upper[column] : INFINITY;
}
/* Returns the row whose target and offset are those of `row`. A row of weight 0 may have any, so another row's are taken. */
static inline size_t hw_linear_counted(const hw_linear_problem *problem, size_t row)
{
    return problem->weights == NULL || problem->weights[row] > 0.0 ? row : problem->counted;
}
/* Returns true if a row is held out in a fold; fold 0 is the whole problem. */
bool hw_linear_out(const hw_linear_problem *problem, size_t row, uint32_t fold);
/* Returns true if rows need weights, because folds or examples differ in weight. */
bool hw_linear_weighted(const hw_linear_problem *problem);
/* Fills one weight per row (NULL if all rows weigh alike), and returns their sum. */
double hw_linear_weigh(const hw_linear_problem *problem, uint32_t fold, double *weights);
/* Returns HAWSER_BAD_INPUT for a target of words: they are classes, not numbers. */
hawser_status hw_linear_check_numeric(const hawser_dataset *data, hawser_error *error) HAWSER_MUST_USE;
/* Return HAWSER_NOT_FINITE for values if their squares, or the sums of these over all rows, would overflow. */
hawser_status hw_linear_check_target(const double *target, size_t count, hawser_error *error) HAWSER_MUST_USE;
/* Refuses a matrix that is stored by rows. */
hawser_status hw_linear_check_layout(const hawser_matrix *X, hawser_error *error) HAWSER_MUST_USE;
hawser_status hw_linear_check_square(double mean_square, const hawser_dataset *data, size_t column,
                                     hawser_error *error) HAWSER_MUST_USE;
/* Returns HAWSER_NOT_FINITE for a column of values so small that their squares are zero: it would count as constant. Callers
 * check columns that they divide by the deviation, and columns without a penalty. A penalty keeps the other small columns at
 * zero. */
hawser_status hw_linear_check_small(double mean_square, double sum, size_t rows, const hawser_dataset *data, size_t column,
                                    hawser_error *error) HAWSER_MUST_USE;
/* Allocates zeros, which the caller frees: one more than `count`, so that a count of 0 does not fail. */
hawser_status hw_linear_new_doubles(double **out, size_t count, hawser_error *error) HAWSER_MUST_USE;
#endif
