/* model.h - the model file of a linear model: coefficients, intercept, table of the path, facts. */
#ifndef HW_ALGORITHMS_GLM_MODEL_H
#define HW_ALGORITHMS_GLM_MODEL_H

#include "algorithms/glm/problem.h"

/* The line of one lambda in the table of a path. */
typedef struct hw_linear_row {
    double rounding; /* a bound of the gap's rounding error */
    double lambda, objective, gap, penalty, nonzeros, intercept, error, standard_error;
    double seconds; /* that the fit took; only forecasts of the end use it */
    bool precision, spent, done;
} hw_linear_row;

/* The lambda of the result, and the errors on held-out rows that chose it. Fields are numbers of lambdas. */
typedef struct hw_linear_selection {
    size_t chosen;
    bool measured;    /* errors chose it; else it is the last finished lambda */
    bool crossed;     /* they are errors of all folds, with standard errors */
    size_t least;     /* if measured: the lambda of the least error, */
    size_t one_error; /* and the largest one whose error is at most one standard error above that */
} hw_linear_selection;

/* The data of a training that its model file has. */
typedef struct hw_linear_fit {
    const char *algorithm;
    double l1_ratio;
    const char *parameter;     /* "lambda", or "C", which rows and path then have instead; NULL: lambda */
    const hw_linear_row *rows; /* by lambda */
    size_t lambda_count;
    hw_linear_selection selection;
    size_t outputs;      /* 0 stands for 1 */
    const double *alpha; /* with one lambda: its coefficients, by column, then by output */
    const double *path;  /* with several: `stride` numbers for each of these, first those of the lambdas; or NULL */
    size_t stride;
    const double *intercepts; /* by lambda, then by output; NULL: there is one output, and the rows have them */
    uint32_t folds;           /* of the cross-validation, 0: none */
    const double *fold_errors, *fold_weights; /* as a hw_linear_record has them */
    const char *metric, *rule;                /* of the cross-validation */
    const hw_linear_problem *problem;         /* for the facts of its kind; NULL: none */
} hw_linear_fit;

/* Adds values, by output, of the columns that a tensor of indices names. With no column the tensor has one dimension, of size 0. */
hawser_status hw_linear_model_outputs(hawser_model *model, const char *name, const double *values, size_t outputs,
                                      size_t count, hawser_error *error) HAWSER_MUST_USE;
/* Adds the finished members of a path, with their table and their coefficients of `columns` columns, for hw_linear_path_of. */
hawser_status hw_linear_model_members(const hw_linear_fit *fit, size_t columns, hawser_model *model,
                                      hawser_error *error) HAWSER_MUST_USE;
/* Makes the model of a training on `input`. */
hawser_status hw_linear_model_make(const hw_linear_fit *fit, const hawser_training_input *input, hawser_model **model,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Returns the name of what differs between the members of a path. */
const char *hw_linear_parameter(const hw_linear_fit *fit);
#endif
