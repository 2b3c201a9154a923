/* fitted.h - the numbers of a support vector machine's model. */
#ifndef HW_ALGORITHMS_SVM_FITTED_H
#define HW_ALGORITHMS_SVM_FITTED_H

#include "algorithms/model/classed.h"

hawser_status hw_svm_fitted_of(const hawser_model *model, hw_classed *fitted, hawser_error *error) HAWSER_MUST_USE;

#endif
