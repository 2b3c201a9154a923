/* classed.h - the numbers of a model file with a column of coefficients per class (or a single one), of algorithms by
 * rows. */
#ifndef HW_ALGORITHMS_MODEL_CLASSED_H
#define HW_ALGORITHMS_MODEL_CLASSED_H

#include "hawser/algorithm.h"

/* A model's numbers, which it owns. */
typedef struct hw_classed {
    const double *coefficients, *intercepts; /* problems x columns; problems */
    const double *labels;                    /* of the classes, ascending; NULL: a regression */
    size_t problems, columns, classes;
} hw_classed;
/* Reads and checks them: a column per class, or with `pairs` a single one for two classes or a regression. */
hawser_status hw_classed_of(const hawser_model *model, bool pairs, hw_classed *classed, hawser_error *error) HAWSER_MUST_USE;
/* Sets coefficients and intercepts from numbers by column, with the intercepts last: (columns + 1) x problems. `classed` has
 * these sizes. The caller frees *memory. */
hawser_status hw_classed_from(hw_classed *classed, const double *numbers, double **memory,
                              hawser_error *error) HAWSER_MUST_USE;
/* Adds such numbers, and the labels, to a model file. */
hawser_status hw_classed_store(const hw_classed *sizes, const double *numbers, hawser_model *model,
                               hawser_error *error) HAWSER_MUST_USE;
/* Stores the margins of each row: one per column of coefficients. The data may lack the model's last columns, which count as
 * zeros. */
hawser_status hw_classed_link(const hw_classed *classed, const hawser_dataset *data, double *values,
                              hawser_error *error) HAWSER_MUST_USE;
/* The same in new memory, which the caller frees, also after a failure. */
hawser_status hw_classed_new_link(const hw_classed *classed, const hawser_dataset *data, double **values,
                                  hawser_error *error) HAWSER_MUST_USE;
/* Returns the label that margins decide for: one margin for two classes, else one per class. Of a regression the margin. */
double hw_classed_decide(const hw_classed *classed, const double *margins);
/* Returns whether no margin of a row has overflowed: such a row has neither probabilities nor a label. */
bool hw_classed_finite(const double *margins, size_t count);
/* Stores what is decided for each row, or NaN after an overflow. */
hawser_status hw_classed_predict(const hw_classed *classed, const hawser_dataset *data, double *predictions,
                                 hawser_error *error) HAWSER_MUST_USE;
/* For hawser_head: the columns of coefficients, or 1 of another model, and a label, or NaN. */
size_t hw_classed_outputs(const hawser_model *model);
double hw_classed_label(const hawser_model *model, size_t place);

/* Prints the largest coefficients of each column, below a line with its class and `rest`; of a single column without that
 * line. */
hawser_status hw_classed_print(const hw_classed *classed, const hawser_model *model, const char *rest, uint64_t most,
                               FILE *out, hawser_error *error) HAWSER_MUST_USE;

/* Stores the numbers of the model of --init by column, the intercepts last (zeros without `intercept`): (columns + 1) x
 * problems numbers, which the caller frees. The model must have these columns and classes. */
hawser_status hw_classed_start(const hw_classed *classed, const double *labels, size_t classes, size_t columns,
                               bool intercept, double **given, hawser_error *error) HAWSER_MUST_USE;

/* The names of --init NAME=FILE: problems x columns coefficients, in the order of the labels, and an intercept per
 * problem. */
#define HW_CLASSED_STARTS "coefficients intercepts"
/* Returns whether one of them is given. */
bool hw_classed_has_files(const hawser_job *job);
/* Fails for intercepts of a training that fits none. */
hawser_status hw_classed_check_files(const hawser_job *job, bool intercept, hawser_error *error) HAWSER_MUST_USE;
/* Stores their numbers as hw_classed_start does those of a model. What has no file is zero. */
hawser_status hw_classed_start_files(hawser_job *job, size_t problems, size_t columns, double **given,
                                     hawser_error *error) HAWSER_MUST_USE;

#endif
