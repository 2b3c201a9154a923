#include "algorithms/glm/start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/choice/fit.h"
#include "algorithms/glm/called.h"
#include "algorithms/glm/coefficients.h"
#include "algorithms/model/arrays.h"
#include "algorithms/model/facts.h"
#include "algorithms/model/transpose.h"
#include "hawser/advanced.h"

typedef struct named {
    const char *name;
    size_t column;
} named;

/* The names of a model and of the data, in the order of their columns, then sorted by name. */
typedef struct matching {
    char *text; /* the model's names, each ended by zero */
    named *model, *data;
    size_t model_count, data_count;
    hw_arrays arrays;
} matching;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static hawser_status sort_names(named *names, size_t count, hawser_error *error)
{
    qsort(names, count, sizeof *names, by_name);
    for (size_t k = 1; k < count; k++)
        if (strcmp(names[k - 1].name, names[k].name) == 0)
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "--init: columns match by name, and two are called '%.100s'; give each its own name",
                               names[k].name);
    return HAWSER_OK;
}

/* The names of both sides' columns of the matrix. */
static hawser_status read_names(matching *m, const hawser_dataset *data, const hawser_schema *schema, size_t columns,
                                hawser_error *error)
{
    size_t bytes = 0;
    m->data_count = hawser_dataset_matrix(data)->cols;
    m->model_count = columns;
    for (size_t k = 0; k < columns; k++)
        bytes += hawser_schema_print(schema, k, NULL, 0) + 1;
    m->text = hw_array_new(&m->arrays, bytes + 1, 1);
    m->model = hw_array_new(&m->arrays, m->model_count + 1, sizeof *m->model);
    m->data = hw_array_new(&m->arrays, m->data_count + 1, sizeof *m->data);
    if (m->arrays.failed)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu column names", m->model_count + m->data_count);
    char *at = m->text, *end = at + bytes;
    for (size_t k = 0; k < m->model_count; k++) {
        m->model[k] = (named){at, k};
        at += hawser_schema_print(schema, k, at, (size_t)(end - at)) + 1;
    }
    for (size_t j = 0; j < m->data_count; j++)
        m->data[j] = (named){hawser_dataset_column(data, j), j};
    return HAWSER_OK;
}

/* Copies the model's coefficients `beta` to the columns with the same names. */
static hawser_status match(matching *m, const double *beta, size_t outputs, double *alpha, hawser_error *error)
{
    bool same = m->model_count == m->data_count;
    for (size_t j = 0; same && j < m->data_count; j++)
        same = strcmp(m->model[j].name, m->data[j].name) == 0;
    if (same) {
        memcpy(alpha, beta, m->data_count * outputs * sizeof *alpha);
        return HAWSER_OK;
    }
    HAWSER_TRY(sort_names(m->model, m->model_count, error));
    HAWSER_TRY(sort_names(m->data, m->data_count, error));
    for (size_t k = 0, j = 0; k < m->model_count; k++) {
        while (j < m->data_count && strcmp(m->data[j].name, m->model[k].name) < 0)
            j++;
        if (j < m->data_count && strcmp(m->data[j].name, m->model[k].name) == 0)
            memcpy(alpha + m->data[j].column * outputs, beta + m->model[k].column * outputs, outputs * sizeof *alpha);
        else if (hw_any(beta + m->model[k].column * outputs, outputs))
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "--init: the model has a coefficient for the column '%.100s', which the data do not have; is "
                               "it a model of other data?",
                               m->model[k].name);
    }
    return HAWSER_OK;
}

static hawser_status match_names(const hawser_model *init, const hawser_dataset *data, const hawser_schema *schema,
                                 size_t outputs, double *alpha, double *intercepts, hawser_error *error)
{
    matching m = {0};
    double *beta = NULL;
    hawser_schema_column last = {0};
    (void)hawser_schema_at(schema, hawser_schema_count(schema) - 1, &last);
    hawser_status status = read_names(&m, data, schema, last.first + last.count, error);
    if (status == HAWSER_OK && hw_model_number(init, "columns", 0.0) != (double)m.model_count)
        status = hawser_fail(error, HAWSER_BAD_INPUT, "--init: the model has %g columns and names for %zu",
                             hw_model_number(init, "columns", 0.0), m.model_count);
    if (status == HAWSER_OK)
        beta = hw_array_new(&m.arrays, m.model_count * outputs, sizeof *beta);
    if (status == HAWSER_OK && beta == NULL)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu coefficients", m.model_count);
    HAWSER_THEN(status, hw_linear_model_coefficients(init, m.model_count, outputs, beta, intercepts, error));
    HAWSER_THEN(status, match(&m, beta, outputs, alpha, error));
    hw_arrays_free(&m.arrays);
    return status;
}

static hawser_status start_from_model(const hawser_model *init, const hawser_dataset *data, size_t outputs, double *alpha,
                                      hawser_error *error)
{
    size_t columns = hawser_dataset_matrix(data)->cols;
    double *intercepts = calloc(outputs, sizeof *intercepts);
    hawser_schema *schema = NULL;
    if (intercepts == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu intercepts", outputs);
    if (hawser_model_schema(init, &schema, error) != HAWSER_OK) {
        free(intercepts);
        return error->status;
    }
    hawser_status status = schema != NULL && hawser_dataset_column(data, 0) != NULL
                               ? match_names(init, data, schema, outputs, alpha, intercepts, error)
                               : hw_linear_model_coefficients(init, columns, outputs, alpha, intercepts, error);
    hawser_schema_free(schema);
    free(intercepts);
    char text[HW_LINEAR_LABEL];
    for (size_t at = 0; at < columns * outputs && status == HAWSER_OK; at++)
        if (!isfinite(alpha[at]))
            status = hawser_fail(error, HAWSER_BAD_INPUT, "--init: the model's coefficient for %s is %g",
                                 hw_linear_column(data, at / outputs, text), alpha[at]);
    return status;
}

static hawser_status start_from_file(hawser_job *job, size_t columns, size_t outputs, double *alpha, hawser_error *error)
{
    if (outputs == 1)
        return hawser_job_init_numbers(job, HW_LINEAR_START, 1, columns, alpha, error);
    double *numbers = calloc(columns * outputs + 1, sizeof *numbers);
    if (numbers == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu coefficients", columns * outputs);
    hawser_status status = hawser_job_init_numbers(job, HW_LINEAR_START, outputs, columns, numbers, error);
    if (status == HAWSER_OK)
        hw_transpose(numbers, outputs, columns, alpha);
    free(numbers);
    return status;
}

bool hw_linear_starts(const hawser_job *job, const hawser_training_input *input)
{
    return input->init != NULL || hawser_job_init_given(job, HW_LINEAR_START);
}

hawser_status hw_linear_start(hawser_job *job, const hawser_training_input *input, size_t outputs, double *alpha,
                              hawser_error *error)
{
    return input->init != NULL ? start_from_model(input->init, input->data, outputs, alpha, error)
                               : start_from_file(job, hawser_dataset_matrix(input->data)->cols, outputs, alpha, error);
}
