#include "algorithms/softmax/model.h"

#include <math.h>
#include <stdlib.h>

#include "algorithms/glm/class_weights.h"
#include "algorithms/glm/member.h"
#include "algorithms/model/facts.h"
#include "algorithms/model/labels.h"
#include "algorithms/newton/exponential.h"
#include "hawser/row_kernels.h"

/* ---- the file ---- */

static hawser_status put_facts(const hw_softmax_result *result, const hawser_training_input *input, hawser_model *model,
                               hawser_error *error)
{
    HAWSER_TRY(hw_model_data_facts(model, "softmax", input->data, error));
    HAWSER_TRY(hw_model_number_fact(model, "objective", result->objective, error));
    HAWSER_TRY(hw_model_number_fact(model, "gap", result->gap, error));
    HAWSER_TRY(hw_model_number_fact(model, "rounding", result->rounding, error));
    HAWSER_TRY(hw_model_number_fact(model, "penalty", result->penalty, error));
    HAWSER_TRY(hw_model_number_fact(model, "lambda", result->lambda, error));
    HAWSER_TRY(hw_model_number_fact(model, "iterations", result->iterations, error));
    return hw_model_option_facts(model, input->options, error);
}

static hawser_status fill(const hw_softmax *softmax, const hw_softmax_result *result, const hawser_training_input *input,
                          hawser_model *model, hawser_error *error)
{
    hw_classed sizes = hw_softmax_sizes(softmax);
    HAWSER_TRY(put_facts(result, input, model, error));
    HAWSER_TRY(hw_class_weights_fact(&softmax->path, model, error));
    return hw_classed_store(&sizes, result->model, model, error);
}

hawser_status hw_softmax_model_make(const hw_softmax *softmax, const hw_softmax_result *result,
                                    const hawser_training_input *input, hawser_model **model, hawser_error *error)
{
    HAWSER_TRY(hawser_model_new(model, error));
    hawser_status status = fill(softmax, result, input, *model, error);
    if (status != HAWSER_OK) {
        hawser_model_free(*model);
        *model = NULL;
    }
    return status;
}

/* ---- predictions ---- */

size_t hw_softmax_classes(const hawser_model *model)
{
    size_t dims[2] = {0};
    return hawser_model_get(model, "labels", NULL, dims) != NULL ? dims[0] : 1;
}

double hw_softmax_class(const hawser_model *model, size_t place)
{
    hw_classed f;
    return hw_classed_of(model, false, &f, NULL) == HAWSER_OK && place < f.classes ? f.labels[place] : NAN;
}

static hawser_status link(const hw_classed *f, const hawser_dataset *data, double *values, hawser_error *error)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    if (X->cols > f->columns)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have %zu columns, the model %zu", X->cols, f->columns);
    for (size_t i = 0; i < X->rows; i++)
        for (size_t c = 0; c < f->classes; c++)
            values[i * f->classes + c] = hawser_row_dot(X, i, f->coefficients + c * f->columns) + f->intercepts[c];
    return HAWSER_OK;
}

hawser_status hw_softmax_link(const hawser_model *model, const hawser_dataset *data, double *values, hawser_error *error)
{
    hw_classed f;
    HAWSER_TRY(hw_classed_of(model, false, &f, error));
    return link(&f, data, values, error);
}

/* Returns whether no linear predictor of a row has overflowed: such a row has neither probabilities nor a label. */
static bool are_finite(const double *z, size_t count)
{
    for (size_t c = 0; c < count; c++)
        if (!isfinite(z[c]))
            return false;
    return true;
}

/* Returns log(sum exp(z)). */
static double log_sum(const double *z, size_t count)
{
    double most = z[0], sum = 0.0;
    for (size_t c = 1; c < count; c++)
        most = fmax(most, z[c]);
    for (size_t c = 0; c < count; c++)
        sum += hw_exponential(z[c] - most);
    return most + hw_logarithm(sum);
}

hawser_status hw_softmax_probabilities(const hawser_model *model, const hawser_dataset *data, double *values,
                                       hawser_error *error)
{
    size_t rows = hawser_dataset_matrix(data)->rows, k = hw_softmax_classes(model);
    HAWSER_TRY(hw_softmax_link(model, data, values, error));
    for (size_t i = 0; i < rows; i++) {
        double *z = values + i * k, all = are_finite(z, k) ? log_sum(z, k) : NAN;
        for (size_t c = 0; c < k; c++)
            z[c] = hw_exponential(z[c] - all);
    }
    return HAWSER_OK;
}

static size_t place_of_most(const double *values, size_t count)
{
    size_t best = 0;
    for (size_t c = 1; c < count; c++)
        best = values[c] > values[best] ? c : best;
    return best;
}

/* Computes the linear predictors of all rows, in new memory. */
static hawser_status new_link(const hw_classed *f, const hawser_dataset *data, double **values, hawser_error *error)
{
    size_t rows = hawser_dataset_matrix(data)->rows, k = f->classes;
    *values = calloc(rows * k + 1, sizeof **values);
    if (*values == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu predictions of %zu classes", rows, k);
    return link(f, data, *values, error);
}

hawser_status hw_softmax_predict(const hawser_model *model, const hawser_dataset *data, double *predictions,
                                 hawser_error *error)
{
    hw_classed f;
    double *values = NULL;
    HAWSER_TRY(hw_classed_of(model, false, &f, error));
    hawser_status status = new_link(&f, data, &values, error);
    for (size_t i = 0; status == HAWSER_OK && i < hawser_dataset_matrix(data)->rows; i++)
        predictions[i] =
            are_finite(values + i * f.classes, f.classes) ? f.labels[place_of_most(values + i * f.classes, f.classes)] : NAN;
    free(values);
    return status;
}

hawser_status hw_softmax_label(const hawser_model *model, size_t count, double *predictions, hawser_error *error)
{
    (void)model;
    (void)count;
    (void)predictions; /* they are labels */
    (void)error;
    return HAWSER_OK;
}

hawser_status hw_softmax_losses(const hw_classed *f, const hawser_dataset *data, double *loss, double *accuracy,
                                hawser_error *error)
{
    const double *target = hawser_dataset_target(data), *weights = hawser_dataset_weights(data);
    double *values = NULL, total = 0.0;
    hawser_status status = new_link(f, data, &values, error);
    *loss = *accuracy = 0.0;
    for (size_t i = 0; status == HAWSER_OK && i < hawser_dataset_matrix(data)->rows; i++) {
        const double *z = values + i * f->classes;
        double weight = weights != NULL ? weights[i] : 1.0;
        if (!(weight > 0.0))
            continue;
        size_t own = hw_labels_place(f->labels, f->classes, target[i]);
        if (own < f->classes)
            *loss += weight * (log_sum(z, f->classes) - z[own]);
        *accuracy += place_of_most(z, f->classes) == own ? weight : 0.0;
        total += weight;
    }
    free(values);
    *loss /= total;
    *accuracy /= total;
    return status;
}

/* ---- members of a path ---- */

hawser_status hw_softmax_path(const hawser_algorithm *algorithm, const hawser_model *model, hawser_path *path,
                              hawser_error *error)
{
    (void)algorithm;
    return hw_linear_path_of(model, "log loss", path, error);
}
