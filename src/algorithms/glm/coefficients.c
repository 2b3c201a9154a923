#include "algorithms/glm/coefficients.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/model/facts.h"

/* Finds a tensor of numbers of 64 bits. */
static const void *find(const hawser_model *model, const char *name, hawser_type type, size_t dims[2])
{
    hawser_type found = type;
    const void *values = hawser_model_get(model, name, &found, dims);
    return found == type ? values : NULL;
}

static hawser_status check_index(const hw_linear_weights *weights, hawser_error *error)
{
    for (size_t k = 0; weights->index != NULL && k < weights->count; k++)
        if (weights->index[k] < 0 || (k > 0 && weights->index[k] <= weights->index[k - 1]))
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "the columns of the model's coefficients do not ascend: number %zu is %" PRId64, k,
                               weights->index[k]);
    return HAWSER_OK;
}

hawser_status hw_linear_weights_of(const hawser_model *model, hw_linear_weights *weights, hawser_error *error)
{
    size_t outputs[2] = {0}, index[2] = {0}, value[2] = {0};
    *weights = (hw_linear_weights){.intercept = find(model, "intercept", HAWSER_F64, outputs)};
    if (weights->intercept == NULL || outputs[0] == 0 || outputs[1] != 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the model has no intercept: it is not one of a linear model");
    weights->outputs = outputs[0];
    weights->value = find(model, "coefficients", HAWSER_F64, value); /* all columns of one output */
    if (weights->value == NULL) {
        weights->index = find(model, "coefficients.index", HAWSER_I64, index);
        weights->value = find(model, "coefficients.value", HAWSER_F64, value);
    }
    bool dense = weights->index == NULL, vector = value[1] == 0;
    weights->count = dense ? value[0] : index[0];
    bool right = vector ? value[0] == weights->count && (weights->outputs == 1 || weights->count == 0)
                        : value[0] == weights->outputs && value[1] == weights->count;
    if (weights->value == NULL || index[1] != 0 || (dense && !vector) || !right)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the model has no coefficients: it is not one of a linear model");
    return check_index(weights, error);
}

hawser_status hw_linear_model_coefficients(const hawser_model *model, size_t columns, size_t outputs, double *alpha,
                                           double *intercepts, hawser_error *error)
{
    hw_linear_weights weights;
    memset(alpha, 0, columns * outputs * sizeof *alpha);
    HAWSER_TRY(hw_linear_weights_of(model, &weights, error));
    if (weights.outputs != outputs)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the model has %zu output%s instead of %zu", weights.outputs,
                           weights.outputs == 1 ? "" : "s", outputs);
    memcpy(intercepts, weights.intercept, outputs * sizeof *intercepts);
    for (size_t k = 0; k < weights.count; k++) {
        size_t column = hw_linear_weights_column(&weights, k);
        if (column >= columns)
            return hawser_fail(
                error, HAWSER_BAD_INPUT,
                "the model has coefficients for more columns than the data have: for number %zu of at most %zu, without "
                "the target",
                column + 1, columns);
        for (size_t o = 0; o < outputs; o++)
            alpha[column * outputs + o] = weights.value[o * weights.count + k];
    }
    return HAWSER_OK;
}

/* Computes the margins of one output from its coefficients, which are `outputs` apart. */
static void margins_of(const hawser_dataset *data, const double *alpha, double *w, double *column, size_t outputs,
                       size_t output, double intercept, double *margins)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    const double *offset = hawser_dataset_offset(data);
    for (size_t j = 0; j < X->cols; j++)
        w[j] = alpha[j * outputs + output];
    hawser_multiply(X, w, intercept, column);
    for (size_t i = 0; i < X->rows; i++)
        margins[i * outputs + output] = column[i] + (offset != NULL ? offset[i] : 0.0);
}

hawser_status hw_linear_margins(const hawser_model *model, const hawser_dataset *data, double *margins, hawser_error *error)
{
    return hw_linear_margins_of(model, data, 1, margins, error);
}

hawser_status hw_linear_margins_of(const hawser_model *model, const hawser_dataset *data, size_t q, double *margins,
                                   hawser_error *error)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    double columns = hw_model_number(model, "columns", 0.0);
    HAWSER_TRY(hawser_matrix_whole(X, error));
    if (!(columns >= 1.0 && columns < 9e15))
        return hawser_fail(error, HAWSER_BAD_INPUT, "the model lacks its number of columns");
    if ((double)X->cols > columns)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have %zu columns, the model only %.0f", X->cols, columns);
    size_t p = (size_t)columns;
    double *alpha = calloc(p * q, sizeof *alpha), *intercepts = calloc(q, sizeof *intercepts);
    double *w = calloc(p, sizeof *w), *column = calloc(X->rows + 1, sizeof *column);
    hawser_status status = HAWSER_OK;
    if (alpha == NULL || intercepts == NULL || w == NULL || column == NULL)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %.0f coefficients", columns * (double)q);
    HAWSER_THEN(status, hw_linear_model_coefficients(model, p, q, alpha, intercepts, error));
    for (size_t o = 0; o < q && status == HAWSER_OK; o++) /* columns that the data lack count as zeros */
        margins_of(data, alpha, w, column, q, o, intercepts[o], margins);
    free(alpha);
    free(intercepts);
    free(w);
    free(column);
    return status;
}

const hawser_head hw_linear_heads[] = {{.name = "prediction", .compute = hw_linear_margins}, {0}};
