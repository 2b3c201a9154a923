#include "algorithms/model/classed.h"

#include <stdlib.h>
#include <string.h>

hawser_status hw_classed_of(const hawser_model *model, hw_classed *m, hawser_error *error)
{
    hawser_type types[3] = {HAWSER_F64, HAWSER_F64, HAWSER_F64};
    size_t dims[2] = {0}, of_intercepts[2] = {0}, of_labels[2] = {0};
    const char *columns = hawser_model_text(model, "columns");
    m->coefficients = hawser_model_get(model, "coefficients", &types[0], dims);
    m->intercepts = hawser_model_get(model, "intercepts", &types[1], of_intercepts);
    m->labels = hawser_model_get(model, "labels", &types[2], of_labels);
    m->problems = dims[0];
    m->columns = dims[1];
    m->classes = m->labels != NULL ? of_labels[0] : 0;
    bool fits = m->coefficients != NULL && m->intercepts != NULL && m->problems > 0 && of_intercepts[0] == m->problems &&
                m->columns > 0 && columns != NULL && strtoull(columns, NULL, 10) == m->columns &&
                (m->labels == NULL || m->classes >= 2);
    for (size_t k = 0; k < 3; k++)
        fits = fits && types[k] == HAWSER_F64;
    for (size_t c = 1; fits && c < m->classes; c++)
        fits = m->labels[c - 1] < m->labels[c];
    return fits ? HAWSER_OK
                : hawser_fail(error, HAWSER_BAD_INPUT,
                              "the model has no coefficients for its classes and columns; was it written by Hawser?");
}

hawser_status hw_classed_start(const hw_classed *m, const double *labels, size_t classes, size_t columns, bool intercept,
                               double **given, hawser_error *error)
{
    size_t k = m->problems, d = columns;
    if (m->columns != d)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--init: the model has %zu columns, the data have %zu", m->columns, d);
    if (m->classes != classes || (classes > 0 && memcmp(m->labels, labels, classes * sizeof *labels) != 0))
        return hawser_fail(error, HAWSER_BAD_OPTION, "--init: the model has %zu classes, which are not the %zu of the data",
                           m->classes, classes);
    double *to = *given = calloc(k * (d + 1), sizeof *to);
    if (to == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu models of %zu columns", k, d);
    for (size_t p = 0; p < k; p++) {
        for (size_t j = 0; j < d; j++)
            to[j * k + p] = m->coefficients[p * d + j];
        to[d * k + p] = intercept ? m->intercepts[p] : 0.0;
    }
    return HAWSER_OK;
}
