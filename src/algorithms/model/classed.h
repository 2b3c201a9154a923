/* classed.h - the numbers of a model file with a column of coefficients per class (or a single one), of algorithms by rows. */
#ifndef HW_ALGORITHMS_MODEL_CLASSED_H
#define HW_ALGORITHMS_MODEL_CLASSED_H

#include "hawser/algorithm.h"

/* A model's numbers, which it owns. */
typedef struct hw_classed {
    const double *coefficients, *intercepts; /* problems x columns; problems */
    const double *labels;                    /* of the classes, ascending; NULL: a regression */
    size_t problems, columns, classes;
} hw_classed;
/* Reads and checks them. The caller checks that there are as many problems as its classes need. */
hawser_status hw_classed_of(const hawser_model *model, hw_classed *classed, hawser_error *error) HAWSER_MUST_USE;

/* Stores the numbers of the model of --init by column, the intercepts last (zeros without `intercept`): (columns + 1) x problems numbers, which the
 * caller frees. The model must have these columns and classes. */
hawser_status hw_classed_start(const hw_classed *classed, const double *labels, size_t classes, size_t columns,
                               bool intercept, double **given, hawser_error *error) HAWSER_MUST_USE;

#endif
