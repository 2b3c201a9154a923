#include "algorithms/softmax/fitted.h"

hawser_status hw_softmax_fitted_of(const hawser_model *model, hw_classed *f, hawser_error *error)
{
    HAWSER_TRY(hw_classed_of(model, f, error));
    return f->classes == f->problems
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_BAD_INPUT,
                             "the model has no coefficients for its classes and columns; was it written by Hawser?");
}
