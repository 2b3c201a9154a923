#include "algorithms/svm/model.h"

#include <math.h>
#include <stdlib.h>

#include <string.h>

#include "algorithms/glm/class_weights.h"
#include "algorithms/glm/member.h"
#include "algorithms/measures/measure.h"
#include "algorithms/model/facts.h"
#include "hawser/row_kernels.h"

/* ---- the file ---- */

static hawser_status fill(const hw_svm *svm, const hw_svm_result *result, const hawser_training_input *input,
                          hawser_model *model, hawser_error *error)
{
    hw_classed sizes = hw_svm_sizes(svm);
    HAWSER_TRY(hw_model_data_facts(model, "svm", input->data, error));
    HAWSER_TRY(hw_model_number_fact(model, "objective", result->objective, error));
    HAWSER_TRY(hw_model_number_fact(model, "gap", result->gap, error));
    HAWSER_TRY(hw_model_number_fact(model, "rounding", result->rounding, error));
    HAWSER_TRY(hw_model_number_fact(model, "C", result->C, error));
    HAWSER_TRY(hw_model_number_fact(model, "iterations", result->iterations, error));
    HAWSER_TRY(hw_class_weights_fact(&svm->path, model, error));
    HAWSER_TRY(hw_model_option_facts(model, input->options, error));
    return hw_classed_store(&sizes, result->model, model, error);
}

hawser_status hw_svm_model_make(const hw_svm *svm, const hw_svm_result *result, const hawser_training_input *input,
                                hawser_model **model, hawser_error *error)
{
    HAWSER_TRY(hawser_model_new(model, error));
    hawser_status status = fill(svm, result, input, *model, error);
    if (status != HAWSER_OK) {
        hawser_model_free(*model);
        *model = NULL;
    }
    return status;
}

/* ---- predictions ---- */

static double margin_of(const hw_classed *f, const hawser_matrix *X, size_t row, size_t problem)
{
    return hawser_row_dot(X, row, f->coefficients + problem * f->columns) + f->intercepts[problem];
}

double hw_svm_decide(const double *labels, size_t problems, const double *margins)
{
    size_t best = 0;
    if (problems == 1)
        return labels[margins[0] > 0.0];
    for (size_t p = 1; p < problems; p++)
        best = margins[p] > margins[best] ? p : best;
    return labels[best];
}

static double prediction_of(const hw_classed *f, const hawser_matrix *X, size_t row)
{
    double margins[HW_SVM_CLASSES];
    for (size_t p = 0; p < f->problems; p++) {
        margins[p] = margin_of(f, X, row, p);
        if (!isfinite(margins[p]))
            return NAN; /* an overflow has no label */
    }
    return f->labels != NULL ? hw_svm_decide(f->labels, f->problems, margins) : margins[0];
}

/* Reads a model, and checks that the data fit it. They may lack its last columns, which count as zeros. */
static hawser_status open_model(const hawser_model *model, const hawser_dataset *data, hw_classed *f, hawser_error *error)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    HAWSER_TRY(hw_classed_of(model, true, f, error));
    if (f->problems > HW_SVM_CLASSES)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the model has %zu classes, at most %d are possible", f->problems,
                           HW_SVM_CLASSES);
    if (X->cols > f->columns)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have %zu columns, the model %zu", X->cols, f->columns);
    return HAWSER_OK;
}

hawser_status hw_svm_predict(const hawser_model *model, const hawser_dataset *data, double *predictions, hawser_error *error)
{
    hw_classed f;
    const hawser_matrix *X = hawser_dataset_matrix(data);
    HAWSER_TRY(open_model(model, data, &f, error));
    for (size_t i = 0; i < X->rows; i++)
        predictions[i] = prediction_of(&f, X, i);
    return HAWSER_OK;
}

hawser_status hw_svm_link(const hawser_model *model, const hawser_dataset *data, double *values, hawser_error *error)
{
    hw_classed f;
    const hawser_matrix *X = hawser_dataset_matrix(data);
    HAWSER_TRY(open_model(model, data, &f, error));
    for (size_t i = 0; i < X->rows; i++)
        for (size_t p = 0; p < f.problems; p++)
            values[i * f.problems + p] = margin_of(&f, X, i, p);
    return HAWSER_OK;
}

size_t hw_svm_links(const hawser_model *model)
{
    hw_classed f;
    hawser_error error;
    return hw_classed_of(model, true, &f, &error) == HAWSER_OK ? f.problems : 1;
}

double hw_svm_class(const hawser_model *model, size_t place)
{
    hw_classed f;
    hawser_error error;
    return hw_classed_of(model, true, &f, &error) == HAWSER_OK && place < f.classes ? f.labels[place] : NAN;
}

hawser_status hw_svm_label(const hawser_model *model, size_t count, double *predictions, hawser_error *error)
{
    hw_classed f;
    (void)count;
    (void)predictions; /* they are labels */
    HAWSER_TRY(hw_classed_of(model, true, &f, error));
    return f.labels != NULL ? HAWSER_OK
                            : hawser_fail(error, HAWSER_BAD_OPTION,
                                          "a model of --loss epsilon or --loss squared-epsilon "
                                          "predicts numbers, not labels");
}

hawser_status hw_svm_error(const hw_classed *f, const hawser_dataset *data, double *value, hawser_error *error)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    const double *target = hawser_dataset_target(data), *weights = hawser_dataset_weights(data);
    double sum = 0.0, total = 0.0;
    HAWSER_TRY(hw_measure_total(X->rows, weights, &total, error));
    if (X->cols > f->columns)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have %zu columns, the model %zu", X->cols, f->columns);
    for (size_t i = 0; i < X->rows; i++) {
        if (weights != NULL && !(weights[i] > 0.0))
            continue;
        double wrong = prediction_of(f, X, i) - target[i];
        sum += (weights != NULL ? weights[i] : 1.0) * (f->labels != NULL ? wrong != 0.0 : wrong * wrong);
    }
    *value = sum / total;
    return HAWSER_OK;
}

hawser_status hw_svm_validation_error(const hw_svm *svm, const double *model, double *value, hawser_error *error)
{
    hw_classed f = hw_svm_sizes(svm);
    double *memory = NULL;
    hawser_status status = hw_classed_from(&f, model, &memory, error);
    if (status == HAWSER_OK)
        status = hw_svm_error(&f, svm->path.early.data, value, error);
    free(memory);
    return status;
}

const char *hw_svm_validation_name(const hw_svm *svm)
{
    return svm->regression ? "validation_mean_squared_error" : "validation_accuracy";
}

hawser_status hw_svm_path(const hawser_algorithm *algorithm, const hawser_model *model, hawser_path *path,
                          hawser_error *error)
{
    const char *metric = hawser_model_text(model, "options.cv-metric"), *loss = hawser_model_text(model, "options.loss");
    bool regression = loss != NULL && strstr(loss, "epsilon") != NULL, crossed = hawser_model_text(model, "cv") != NULL;
    (void)algorithm;
    return hw_linear_path_of(model,
                             crossed && metric != NULL && strcmp(metric, "loss") == 0 ? "loss"
                             : regression                                             ? "mean squared error"
                                                                                      : "1 - accuracy",
                             path, error);
}
