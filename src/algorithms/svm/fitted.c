#include "algorithms/svm/fitted.h"

hawser_status hw_svm_fitted_of(const hawser_model *model, hw_classed *f, hawser_error *error)
{
    HAWSER_TRY(hw_classed_of(model, f, error));
    size_t wanted = f->classes > 2 ? f->classes : 1;
    return f->problems == wanted
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_BAD_INPUT,
                             "the model has no coefficients for its classes and columns; was it written by Hawser?");
}
