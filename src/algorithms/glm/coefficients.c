#include "algorithms/glm/coefficients.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

hawser_status hw_linear_model_coefficients(const hawser_model *model, size_t columns, double *alpha, double *intercept,
                                           hawser_error *error)
{
    size_t dims[2] = {0, 0}, values = 0;
    hawser_type type = HAWSER_F64;
    memset(alpha, 0, columns * sizeof *alpha);
    const double *b = hawser_model_get(model, "intercept", &type, dims);
    if (b == NULL || type != HAWSER_F64 || dims[0] != 1)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the model has no intercept: it is not one of a linear model");
    *intercept = *b;
    const double *dense = hawser_model_get(model, "coefficients", &type, dims);
    if (dense != NULL) {
        if (type != HAWSER_F64 || dims[0] > columns)
            return hawser_fail(error, HAWSER_BAD_INPUT, "the model has %zu columns, the data %zu", dims[0], columns);
        memcpy(alpha, dense, dims[0] * sizeof *alpha);
        return HAWSER_OK;
    }
    const double *value = hawser_model_get(model, "coefficients.value", &type, dims);
    values = dims[0];
    bool right = value != NULL && type == HAWSER_F64;
    const int64_t *index = hawser_model_get(model, "coefficients.index", &type, dims);
    if (!right || index == NULL || type != HAWSER_I64 || dims[0] != values)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the model has no coefficients: it is not one of a linear model");
    for (size_t k = 0; k < values; k++) {
        if (index[k] < 0 || (uint64_t)index[k] >= columns)
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "the model has a coefficient for column %" PRId64 ", the data have %zu columns", index[k],
                               columns);
        alpha[index[k]] = value[k];
    }
    return HAWSER_OK;
}

double hw_linear_fact(const hawser_model *model, const char *key, double otherwise)
{
    const char *text = hawser_model_text(model, key);
    double value = otherwise;
    if (text != NULL)
        (void)hawser_read_number(text, &value);
    return value;
}

hawser_status hw_linear_margins(const hawser_model *model, const hawser_dataset *data, double *margins, hawser_error *error)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    double columns = hw_linear_fact(model, "columns", 0.0), intercept = 0.0;
    HAWSER_TRY(hawser_matrix_whole(X, error));
    if (!(columns >= 1.0 && columns < 9e15))
        return hawser_fail(error, HAWSER_BAD_INPUT, "the model lacks its number of columns");
    if ((double)X->cols > columns)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have %zu columns, the model only %.0f", X->cols, columns);
    double *alpha = calloc((size_t)columns, sizeof *alpha);
    if (alpha == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %.0f coefficients", columns);
    hawser_status status = hw_linear_model_coefficients(model, (size_t)columns, alpha, &intercept, error);
    if (status == HAWSER_OK) { /* columns that the data lack count as zeros */
        hawser_multiply(X, alpha, intercept, margins);
        const double *offset = hawser_dataset_offset(data);
        for (size_t i = 0; offset != NULL && i < X->rows; i++)
            margins[i] += offset[i];
    }
    free(alpha);
    return status;
}
