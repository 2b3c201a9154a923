#include "algorithms/model/classed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/model/largest.h"
#include "algorithms/model/transpose.h"
#include "hawser/advanced.h"
#include "hawser/row_kernels.h"

hawser_status hw_classed_of(const hawser_model *model, bool pairs, hw_classed *m, hawser_error *error)
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
                (m->labels == NULL || m->classes >= 2) && m->problems == (pairs && m->classes <= 2 ? 1 : m->classes);
    for (size_t k = 0; k < 3; k++)
        fits = fits && types[k] == HAWSER_F64;
    for (size_t c = 1; fits && c < m->classes; c++)
        fits = m->labels[c - 1] < m->labels[c];
    return fits ? HAWSER_OK
                : hawser_fail(error, HAWSER_BAD_INPUT,
                              "the model has no coefficients for its classes and columns; was it written by Hawser?");
}

hawser_status hw_classed_from(hw_classed *m, const double *numbers, double **memory, hawser_error *error)
{
    size_t k = m->problems, d = m->columns;
    double *coefficients = *memory = calloc(k * d + 1, sizeof *coefficients);
    if (coefficients == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu models of %zu columns", k, d);
    hw_transpose(numbers, d, k, coefficients);
    m->coefficients = coefficients;
    m->intercepts = numbers + k * d;
    return HAWSER_OK;
}

static hawser_status store(const hw_classed *m, hawser_model *model, hawser_error *error)
{
    size_t k = m->problems;
    HAWSER_TRY(
        hawser_model_tensor(model, "coefficients", HAWSER_F64, (const size_t[2]){k, m->columns}, m->coefficients, error));
    HAWSER_TRY(hawser_model_tensor(model, "intercepts", HAWSER_F64, (const size_t[2]){k, 0}, m->intercepts, error));
    if (m->classes == 0)
        return HAWSER_OK;
    return hawser_model_tensor(model, "labels", HAWSER_F64, (const size_t[2]){m->classes, 0}, m->labels, error);
}

hawser_status hw_classed_store(const hw_classed *sizes, const double *numbers, hawser_model *model, hawser_error *error)
{
    hw_classed m = *sizes;
    double *memory = NULL;
    hawser_status status = hw_classed_from(&m, numbers, &memory, error);
    HAWSER_THEN(status, store(&m, model, error));
    free(memory);
    return status;
}

/* ---- predictions ---- */

hawser_status hw_classed_link(const hw_classed *m, const hawser_dataset *data, double *values, hawser_error *error)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    if (X->cols > m->columns)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have %zu columns, the model %zu", X->cols, m->columns);
    for (size_t i = 0; i < X->rows; i++)
        for (size_t p = 0; p < m->problems; p++)
            values[i * m->problems + p] = hawser_row_dot(X, i, m->coefficients + p * m->columns) + m->intercepts[p];
    return HAWSER_OK;
}

hawser_status hw_classed_new_link(const hw_classed *m, const hawser_dataset *data, double **values, hawser_error *error)
{
    size_t rows = hawser_dataset_matrix(data)->rows;
    *values = calloc(rows * m->problems + 1, sizeof **values);
    if (*values == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu predictions of %zu numbers", rows, m->problems);
    return hw_classed_link(m, data, *values, error);
}

double hw_classed_decide(const hw_classed *m, const double *margins)
{
    size_t best = 0;
    if (m->labels == NULL)
        return margins[0];
    if (m->problems == 1)
        return m->labels[margins[0] > 0.0];
    for (size_t p = 1; p < m->problems; p++)
        best = margins[p] > margins[best] ? p : best;
    return m->labels[best];
}

bool hw_classed_finite(const double *margins, size_t count)
{
    for (size_t p = 0; p < count; p++)
        if (!isfinite(margins[p]))
            return false;
    return true;
}

hawser_status hw_classed_predict(const hw_classed *m, const hawser_dataset *data, double *predictions, hawser_error *error)
{
    double *values = NULL;
    hawser_status status = hw_classed_new_link(m, data, &values, error);
    for (size_t i = 0; status == HAWSER_OK && i < hawser_dataset_matrix(data)->rows; i++) {
        const double *margins = values + i * m->problems;
        predictions[i] = hw_classed_finite(margins, m->problems) ? hw_classed_decide(m, margins) : NAN;
    }
    free(values);
    return status;
}

size_t hw_classed_outputs(const hawser_model *model)
{
    size_t dims[2] = {0};
    return hawser_model_get(model, "coefficients", NULL, dims) != NULL && dims[0] > 0 ? dims[0] : 1;
}

double hw_classed_label(const hawser_model *model, size_t place)
{
    hawser_type type = HAWSER_F64;
    size_t dims[2] = {0};
    const double *labels = hawser_model_get(model, "labels", &type, dims);
    return labels != NULL && type == HAWSER_F64 && place < dims[0] ? labels[place] : NAN;
}

/* ---- the printed coefficients ---- */

static void print_class(const hw_classed *m, const hawser_schema *schema, size_t problem, const char *rest, FILE *out)
{
    size_t count = 0;
    const char *const *words = schema != NULL ? hawser_schema_target(schema, &count) : NULL;
    double label = m->labels[problem];
    char word[200];
    if (words != NULL && label >= 0.0 && label < (double)count) {
        (void)hawser_escape(words[(size_t)label], word, sizeof word);
        fprintf(out, "class %s%s:\n", word, rest);
    } else {
        (void)hawser_print_number(word, sizeof word, label); /* all digits, which may tell two labels apart */
        fprintf(out, "class %s%s:\n", word, rest);
    }
}

hawser_status hw_classed_print(const hw_classed *m, const hawser_model *model, const char *rest, uint64_t most, FILE *out,
                               hawser_error *error)
{
    const char *indent = m->problems > 1 ? "  " : "";
    hawser_schema *schema = NULL;
    HAWSER_TRY(hawser_model_schema(model, &schema, error));
    hw_column_value *space = calloc(m->columns, sizeof *space);
    for (size_t p = 0; space != NULL && p < m->problems; p++) {
        if (m->problems > 1)
            print_class(m, schema, p, rest, out);
        fprintf(out, "%s%-30s %.10g\n", indent, "(intercept)", m->intercepts[p]);
        hw_print_largest(model, schema, m->coefficients + p * m->columns, m->columns, most, indent, space, out);
    }
    hawser_schema_free(schema);
    if (space == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu columns", m->columns);
    free(space);
    return HAWSER_OK;
}

/* ---- the start of a training ---- */

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
    hw_transpose(m->coefficients, k, d, to);
    for (size_t p = 0; p < k && intercept; p++)
        to[d * k + p] = m->intercepts[p];
    return HAWSER_OK;
}

static const char coefficients_name[] = "coefficients", intercepts_name[] = "intercepts";

bool hw_classed_has_files(const hawser_job *job)
{
    return hawser_job_init_given(job, coefficients_name) || hawser_job_init_given(job, intercepts_name);
}

hawser_status hw_classed_check_files(const hawser_job *job, bool intercept, hawser_error *error)
{
    if (intercept || !hawser_job_init_given(job, intercepts_name))
        return HAWSER_OK;
    return hawser_fail(error, HAWSER_BAD_OPTION, "--init %s: with --no-intercept there are none; leave one of them out",
                       intercepts_name);
}

hawser_status hw_classed_start_files(hawser_job *job, size_t problems, size_t columns, double **given, hawser_error *error)
{
    size_t k = problems, d = columns;
    double *to = *given = calloc(k * (d + 1), sizeof *to), *numbers = calloc(k * d + 1, sizeof *numbers);
    hawser_status status = to != NULL && numbers != NULL
                               ? HAWSER_OK
                               : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu models of %zu columns", k, d);
    if (status == HAWSER_OK && hawser_job_init_given(job, coefficients_name))
        status = hawser_job_init_numbers(job, coefficients_name, k, d, numbers, error);
    if (status == HAWSER_OK)
        hw_transpose(numbers, k, d, to);
    if (status == HAWSER_OK && hawser_job_init_given(job, intercepts_name))
        status = hawser_job_init_numbers(job, intercepts_name, 1, k, to + d * k, error);
    free(numbers);
    return status;
}
