/* coefficients.h - reads the model file of a linear model: coefficients, intercept, facts, and the margins that it
 * predicts. */
#ifndef HW_ALGORITHMS_GLM_COEFFICIENTS_H
#define HW_ALGORITHMS_GLM_COEFFICIENTS_H

#include <stdint.h>

#include "hawser/algorithm.h"

/* The coefficients of a model, as its file has them. Pointers are the model's. */
typedef struct hw_linear_weights {
    size_t outputs, count;
    const int64_t *index;    /* `count` columns, ascending; NULL: columns 0 to count - 1, in a file of an older version */
    const double *value;     /* outputs x count, by output */
    const double *intercept; /* by output */
} hw_linear_weights;

/* Finds the coefficients of a model and checks them. */
hawser_status hw_linear_weights_of(const hawser_model *model, hw_linear_weights *weights,
                                   hawser_error *error) HAWSER_MUST_USE;
/* Returns the column of the k-th coefficient of each output. */
static inline size_t hw_linear_weights_column(const hw_linear_weights *weights, size_t k)
{
    return weights->index != NULL ? (size_t)weights->index[k] : k;
}

/* Stores the coefficients of a model of `outputs` outputs, by column, then by output, and its intercepts. Fails if the model
 * has another number of outputs, or a column from `columns` on. */
hawser_status hw_linear_model_coefficients(const hawser_model *model, size_t columns, size_t outputs, double *alpha,
                                           double *intercepts, hawser_error *error) HAWSER_MUST_USE;
/* Computes margins = X w + b + offset, one per row of `data`. Columns that the data lack count as zeros. */
hawser_status hw_linear_margins(const hawser_model *model, const hawser_dataset *data, double *margins, hawser_error *error);
/* The heads of models that predict their margins. */
extern const hawser_head hw_linear_heads[];
/* Computes them for a model of q outputs: for each row one per output. */
hawser_status hw_linear_margins_of(const hawser_model *model, const hawser_dataset *data, size_t q, double *margins,
                                   hawser_error *error) HAWSER_MUST_USE;

#endif
