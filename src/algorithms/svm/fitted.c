#include "algorithms/svm/fitted.h"

#include <stdlib.h>

hawser_status hw_svm_fitted_of(const hawser_model *model, hw_svm_fitted *f, hawser_error *error)
{
    hawser_type types[3] = {HAWSER_F64, HAWSER_F64, HAWSER_F64};
    size_t dims[2] = {0}, of_intercepts[2] = {0}, of_labels[2] = {0};
    const char *columns = hawser_model_text(model, "columns");
    f->coefficients = hawser_model_get(model, "coefficients", &types[0], dims);
    f->intercepts = hawser_model_get(model, "intercepts", &types[1], of_intercepts);
    f->labels = hawser_model_get(model, "labels", &types[2], of_labels);
    f->problems = dims[0];
    f->columns = dims[1];
    f->classes = f->labels != NULL ? of_labels[0] : 0;
    size_t wanted = f->classes > 2 ? f->classes : 1;
    bool fits = f->coefficients != NULL && f->intercepts != NULL && dims[0] == wanted && of_intercepts[0] == wanted &&
                dims[1] > 0 && columns != NULL && strtoull(columns, NULL, 10) == dims[1] &&
                (f->labels == NULL || f->classes >= 2);
    for (size_t k = 0; k < 3; k++)
        fits = fits && types[k] == HAWSER_F64;
    return fits ? HAWSER_OK
                : hawser_fail(error, HAWSER_BAD_INPUT,
                              "the model has no coefficients for its columns; was it written by Hawser?");
}
