/* fit.h - the model file of a linear model: coefficients, intercept, table of the path, facts. */
#ifndef HW_ALGORITHMS_CHOICE_FIT_H
#define HW_ALGORITHMS_CHOICE_FIT_H

#include "algorithms/choice/choice.h"
#include "algorithms/choice/results.h"

/* The data of a training that its model file has. */
typedef struct hw_fit {
    const char *parameter;     /* "lambda", or "C", which rows and path then have instead; NULL: lambda */
    const hw_results *results; /* the fit's path has results->most numbers for each coefficient */
    hw_selection selection;
    size_t outputs;           /* 0 stands for 1 */
    const double *alpha;      /* with one lambda: its coefficients, by column, then by output */
    const double *path;       /* with several: `most` numbers for each of these, first those of the lambdas; or NULL */
    const double *intercepts; /* by lambda, then by output; NULL: there is one output, and the rows have them */
    const hw_choice *choice;  /* with a path or folds */
    size_t planned;    /* members that the path would have, if the training was ended before all were finished; else 0 */
    const char *ended; /* why, as hawser_training.stop_reason */
} hw_fit;

/* Adds values, by output, of the columns that a tensor of indices names. With no column the tensor has one dimension, of
 * size 0. */
hawser_status hw_model_outputs(hawser_model *model, const char *name, const double *values, size_t outputs, size_t count,
                               hawser_error *error) HAWSER_MUST_USE;
/* Adds the finished members of a path, with their table and their coefficients of `columns` columns, for
 * hw_choice_path. */
hawser_status hw_fit_put_path(const hw_fit *fit, size_t columns, hawser_model *model, hawser_error *error) HAWSER_MUST_USE;
/* Makes the model of a linear training on `input`, of the fit's parameter lambda. */
hawser_status hw_fit_make(const hw_fit *fit, const char *algorithm, double l1_ratio, const hawser_training_input *input,
                          hawser_model **model, hawser_error *error) HAWSER_MUST_USE;
/* Returns the name of what differs between the members of a path. */
const char *hw_fit_parameter(const hw_fit *fit);
/* Returns true if any of the numbers is not 0. */
static inline bool hw_any(const double *values, size_t count)
{
    bool any = false;
    for (size_t k = 0; k < count; k++)
        any |= values[k] != 0.0;
    return any;
}

#endif
