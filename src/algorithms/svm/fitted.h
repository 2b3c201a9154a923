/* fitted.h - the numbers of a support vector machine's model. */
#ifndef HW_ALGORITHMS_SVM_FITTED_H
#define HW_ALGORITHMS_SVM_FITTED_H

#include "hawser/algorithm.h"

/* A model's numbers, which it owns. */
typedef struct hw_svm_fitted {
    const double *coefficients, *intercepts, *labels; /* labels NULL: a regression */
    size_t problems, columns, classes;
} hw_svm_fitted;
hawser_status hw_svm_fitted_of(const hawser_model *model, hw_svm_fitted *fitted, hawser_error *error) HAWSER_MUST_USE;

#endif
