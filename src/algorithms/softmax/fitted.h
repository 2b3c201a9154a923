/* fitted.h - the numbers of a model file of softmax regression. */
#ifndef HW_ALGORITHMS_SOFTMAX_FITTED_H
#define HW_ALGORITHMS_SOFTMAX_FITTED_H

#include "algorithms/model/classed.h"

hawser_status hw_softmax_fitted_of(const hawser_model *model, hw_classed *fitted, hawser_error *error) HAWSER_MUST_USE;

#endif
