/* fitted.h - the numbers of a model file of softmax regression. */
#ifndef HW_ALGORITHMS_SOFTMAX_FITTED_H
#define HW_ALGORITHMS_SOFTMAX_FITTED_H

#include "hawser/algorithm.h"

/* A model's numbers, which it owns. */
typedef struct hw_softmax_fitted {
    const double *coefficients, *intercepts; /* classes x columns; classes */
    const double *labels;
    size_t classes, columns;
} hw_softmax_fitted;
hawser_status hw_softmax_fitted_of(const hawser_model *model, hw_softmax_fitted *fitted,
                                   hawser_error *error) HAWSER_MUST_USE;

#endif
