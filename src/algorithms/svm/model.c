#include "algorithms/svm/model.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/measures/measure.h"
#include "algorithms/model/facts.h"
#include "algorithms/model/largest.h"
#include "hawser/row_kernels.h"

/* ---- the file ---- */

static hawser_status fill(const hw_svm *svm, const hw_svm_result *result, const hawser_training_input *input,
                          hawser_model *model, hawser_error *error)
{
    size_t k = svm->problems, d = svm->X->cols;
    HAWSER_TRY(hw_model_data_facts(model, "svm", input->data, error));
    HAWSER_TRY(hw_model_number_fact(model, "objective", result->objective, error));
    HAWSER_TRY(hw_model_number_fact(model, "gap", result->gap, error));
    HAWSER_TRY(hw_model_number_fact(model, "iterations", result->iterations, error));
    HAWSER_TRY(hw_model_option_facts(model, input->options, error));
    double *values = calloc(k * (d + 1), sizeof *values), *intercepts = values + k * d;
    if (values == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu models of %zu columns", k, d);
    for (size_t p = 0; p < k; p++) {
        memcpy(values + p * d, result->models + p * (d + 1), d * sizeof *values);
        intercepts[p] = result->models[p * (d + 1) + d];
    }
    hawser_status status = hawser_model_tensor(model, "coefficients", HAWSER_F64, (const size_t[2]){k, d}, values, error);
    if (status == HAWSER_OK)
        status = hawser_model_tensor(model, "intercepts", HAWSER_F64, (const size_t[2]){k, 0}, intercepts, error);
    if (status == HAWSER_OK && svm->classes > 0)
        status = hawser_model_tensor(model, "labels", HAWSER_F64, (const size_t[2]){svm->classes, 0}, svm->labels, error);
    free(values);
    return status;
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

/* A model's numbers, which it owns. */
typedef struct fitted {
    const double *coefficients, *intercepts, *labels; /* labels NULL: a regression */
    size_t problems, columns, classes;
} fitted;

static hawser_status fitted_of(const hawser_model *model, fitted *f, hawser_error *error)
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

/* ---- predictions ---- */

static double margin_of(const fitted *f, const hawser_matrix *X, size_t row, size_t problem)
{
    return hawser_row_dot(X, row, f->coefficients + problem * f->columns) + f->intercepts[problem];
}

static double prediction_of(const fitted *f, const hawser_matrix *X, size_t row)
{
    double most = margin_of(f, X, row, 0);
    size_t best = 0;
    if (f->problems == 1)
        return f->labels != NULL ? f->labels[most > 0.0] : most;
    for (size_t p = 1; p < f->problems; p++) {
        double margin = margin_of(f, X, row, p);
        if (margin > most) {
            most = margin;
            best = p;
        }
    }
    return f->labels[best];
}

/* Reads a model, and checks that the data fit it. They may lack its last columns, which count as zeros. */
static hawser_status open_model(const hawser_model *model, const hawser_dataset *data, fitted *f, hawser_error *error)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    HAWSER_TRY(fitted_of(model, f, error));
    if (X->cols > f->columns)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have %zu columns, the model %zu", X->cols, f->columns);
    return HAWSER_OK;
}

hawser_status hw_svm_predict(const hawser_model *model, const hawser_dataset *data, double *predictions, hawser_error *error)
{
    fitted f;
    const hawser_matrix *X = hawser_dataset_matrix(data);
    HAWSER_TRY(open_model(model, data, &f, error));
    for (size_t i = 0; i < X->rows; i++)
        predictions[i] = prediction_of(&f, X, i);
    return HAWSER_OK;
}

hawser_status hw_svm_link(const hawser_model *model, const hawser_dataset *data, double *values, hawser_error *error)
{
    fitted f;
    const hawser_matrix *X = hawser_dataset_matrix(data);
    HAWSER_TRY(open_model(model, data, &f, error));
    if (f.problems > 1)
        return hawser_fail(error, HAWSER_BAD_OPTION,
                           "--link: a model of %zu classes has as many linear predictors; leave it out", f.problems);
    for (size_t i = 0; i < X->rows; i++)
        values[i] = margin_of(&f, X, i, 0);
    return HAWSER_OK;
}

hawser_status hw_svm_label(const hawser_model *model, size_t count, double *predictions, hawser_error *error)
{
    fitted f;
    (void)count;
    (void)predictions; /* they are labels */
    HAWSER_TRY(fitted_of(model, &f, error));
    return f.labels != NULL ? HAWSER_OK
                            : hawser_fail(error, HAWSER_BAD_OPTION,
                                          "a model of --loss epsilon or --loss squared-epsilon "
                                          "predicts numbers, not labels");
}

hawser_status hw_svm_error(const hawser_model *model, const hawser_dataset *data, double *value, hawser_error *error)
{
    fitted f;
    const hawser_matrix *X = hawser_dataset_matrix(data);
    const double *target = hawser_dataset_target(data), *weights = hawser_dataset_weights(data);
    double sum = 0.0, total = 0.0;
    HAWSER_TRY(hw_measure_total(X->rows, weights, &total, error));
    HAWSER_TRY(open_model(model, data, &f, error));
    for (size_t i = 0; i < X->rows; i++) {
        double wrong = prediction_of(&f, X, i) - target[i];
        sum += (weights != NULL ? weights[i] : 1.0) * (f.labels != NULL ? wrong != 0.0 : wrong * wrong);
    }
    *value = sum / total;
    return HAWSER_OK;
}

/* ---- the printed coefficients ---- */

static void print_head(const fitted *f, const hawser_schema *schema, size_t problem, FILE *out)
{
    size_t count = 0;
    const char *const *words = schema != NULL ? hawser_schema_target(schema, &count) : NULL;
    double label = f->problems > 1 ? f->labels[problem] : 0.0;
    if (f->problems > 1 && words != NULL && label >= 0.0 && label < (double)count)
        fprintf(out, "class %s against the rest:\n", words[(size_t)label]);
    else if (f->problems > 1)
        fprintf(out, "class %.10g against the rest:\n", label);
    fprintf(out, "%s%-30s %.10g\n", f->problems > 1 ? "  " : "", "(intercept)", f->intercepts[problem]);
}

hawser_status hw_svm_print(const hawser_model *model, uint64_t most, FILE *out, hawser_error *error)
{
    fitted f;
    hawser_schema *schema = NULL;
    HAWSER_TRY(fitted_of(model, &f, error));
    HAWSER_TRY(hawser_model_schema(model, &schema, error));
    hw_column_value *all = calloc(f.columns, sizeof *all);
    for (size_t p = 0; all != NULL && p < f.problems; p++) {
        print_head(&f, schema, p, out);
        hw_print_largest(model, schema, f.coefficients + p * f.columns, f.columns, most, f.problems > 1 ? "  " : "", all,
                         out);
    }
    hawser_schema_free(schema);
    if (all == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu columns", f.columns);
    free(all);
    return HAWSER_OK;
}

/* ---- measures ---- */

const hawser_measure_row hw_svm_measures[] = {{"accuracy", "classifiers: the share of the rows whose label is predicted"},
                                              {"mean_squared_error", "regression: the mean of the squared errors"},
                                              {"mean_absolute_error", "regression: the mean of the absolute errors"},
                                              {NULL, NULL}};

hawser_status hw_svm_evaluate(const hawser_evaluation_input *input, hawser_measure *measures, hawser_error *error)
{
    fitted f;
    double total = 0.0, right = 0.0, squares = 0.0, absolute = 0.0;
    HAWSER_TRY(fitted_of(input->model, &f, error));
    if (input->threshold != 0.5)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--threshold: a model of svm has no probabilities to compare with it");
    HAWSER_TRY(hw_measure_total(input->rows, input->weights, &total, error));
    HAWSER_TRY(hw_measure_finite_scores(input, "prediction", error));
    for (size_t i = 0; i < input->rows; i++) {
        double weight = input->weights != NULL ? input->weights[i] : 1.0;
        double wrong = input->scored[2 * i] - input->scored[2 * i + 1];
        right += wrong == 0.0 ? weight : 0.0;
        squares += weight * wrong * wrong;
        absolute += weight * fabs(wrong);
    }
    if (f.labels != NULL) {
        hw_measure_number(measures, "accuracy", right / total, NULL);
        return HAWSER_OK;
    }
    hw_measure_number(measures, "mean_squared_error", squares / total, NULL);
    hw_measure_number(measures, "mean_absolute_error", absolute / total, NULL);
    return HAWSER_OK;
}
