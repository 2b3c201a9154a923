#include "algorithms/softmax/fitted.h"

#include <stdlib.h>

hawser_status hw_softmax_fitted_of(const hawser_model *model, hw_softmax_fitted *f, hawser_error *error)
{
    hawser_type types[3] = {HAWSER_F64, HAWSER_F64, HAWSER_F64};
    size_t dims[2] = {0}, of_intercepts[2] = {0}, of_labels[2] = {0};
    const char *columns = hawser_model_text(model, "columns");
    f->coefficients = hawser_model_get(model, "coefficients", &types[0], dims);
    f->intercepts = hawser_model_get(model, "intercepts", &types[1], of_intercepts);
    f->labels = hawser_model_get(model, "labels", &types[2], of_labels);
    f->classes = dims[0];
    f->columns = dims[1];
    bool fits = f->coefficients != NULL && f->intercepts != NULL && f->labels != NULL && f->classes >= 2 &&
                of_intercepts[0] == f->classes && of_labels[0] == f->classes && f->columns > 0 && columns != NULL &&
                strtoull(columns, NULL, 10) == f->columns;
    for (size_t k = 0; k < 3; k++)
        fits = fits && types[k] == HAWSER_F64;
    for (size_t c = 1; fits && c < f->classes; c++)
        fits = f->labels[c - 1] < f->labels[c];
    return fits ? HAWSER_OK
                : hawser_fail(error, HAWSER_BAD_INPUT,
                              "the model has no coefficients for its classes and columns; was it written by Hawser?");
}
