/* model.h - the model file of a linear model: coefficients, intercept, table of the path, facts. */
#ifndef HW_ALGORITHMS_GLM_MODEL_H
#define HW_ALGORITHMS_GLM_MODEL_H

#include "algorithms/glm/problem.h"

/* The line of one lambda in the table of a path. */
typedef struct hw_linear_row {
    double lambda, objective, gap, penalty, nonzeros, intercept, error, standard_error;
    bool precision, spent, done;
} hw_linear_row;

/* The data of a training that its model file has. */
typedef struct hw_linear_fit {
    const char *algorithm;
    double l1_ratio;
    const hw_linear_row *rows; /* by lambda */
    size_t lambda_count, chosen;
    const double *alpha;              /* with one lambda: its coefficients */
    const double *path;               /* with several: lambda_count coefficients for each column; or NULL */
    bool cross_validated;             /* rows have a standard error */
    const hw_linear_problem *problem; /* for the facts of its kind; NULL: none */
} hw_linear_fit;

/* Makes the model of a training on `input`. */
hawser_status hw_linear_model_make(const hw_linear_fit *fit, const hawser_training_input *input, hawser_model **model,
                                   hawser_error *error) HAWSER_MUST_USE;
#endif
