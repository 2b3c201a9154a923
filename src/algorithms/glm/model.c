#include "algorithms/glm/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hawser_status fact_text(hawser_model *model, const char *key, const char *value, hawser_error *error)
{
    return value == NULL ? HAWSER_OK : hawser_model_fact(model, key, value, error);
}

hawser_status hw_linear_model_number(hawser_model *model, const char *key, double value, hawser_error *error)
{
    char text[40];
    if (isnan(value))
        return HAWSER_OK;
    (void)hawser_print_number(text, sizeof text, value);
    return hawser_model_fact(model, key, text, error);
}

/* Adds the column names, one per line, unless they are too long for the file: a model without names is better than none. */
static hawser_status fact_names(hawser_model *model, const hawser_dataset *data, hawser_error *error)
{
    size_t columns = hawser_dataset_matrix(data)->cols, length = 1;
    const hawser_schema *schema = hawser_dataset_schema(data);
    if (!hawser_model_holds_names(data))
        return HAWSER_OK;
    if (schema != NULL) {
        char *json = NULL;
        HAWSER_TRY(hawser_schema_write(schema, &json, error));
        hawser_status status = hawser_model_fact(model, "schema", json, error);
        free(json);
        return status;
    }
    for (size_t j = 0; j < columns; j++)
        length += strlen(hawser_dataset_column(data, j)) + 1;
    char *text = malloc(length), *at = text;
    if (text == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu column names", columns);
    for (size_t j = 0; j < columns; j++) {
        size_t n = strlen(hawser_dataset_column(data, j));
        memcpy(at, hawser_dataset_column(data, j), n);
        at += n;
        *at++ = '\n';
    }
    at[-1] = '\0';
    hawser_status status = hawser_model_fact(model, "names", text, error);
    free(text);
    return status;
}

static hawser_status facts(hawser_model *model, const hw_linear_fit *fit, const hawser_training_input *input,
                           hawser_error *error)
{
    const hw_linear_row *row = &fit->rows[fit->selection.chosen];
    const hawser_matrix *X = hawser_dataset_matrix(input->data);
    const hawser_load_figures *figures = hawser_dataset_figures(input->data);
    HAWSER_TRY(fact_text(model, "algorithm", fit->algorithm, error));
    HAWSER_TRY(fact_text(model, "hawser_version", hawser_version(), error));
    HAWSER_TRY(hw_linear_model_number(model, "rows", (double)X->rows, error));
    HAWSER_TRY(hw_linear_model_number(model, "columns", (double)X->cols, error));
    HAWSER_TRY(hw_linear_model_number(model, "index_base", figures != NULL ? figures->index_base : -1, error));
    HAWSER_TRY(fact_text(model, "target", hawser_dataset_target_name(input->data), error));
    if (figures != NULL && figures->target_column > 0)
        HAWSER_TRY(hw_linear_model_number(model, "target_column", (double)figures->target_column - 1.0, error));
    HAWSER_TRY(fact_text(model, "target_from", figures != NULL && figures->target_file ? "file" : "input", error));
    HAWSER_TRY(fact_names(model, input->data, error));
    HAWSER_TRY(hw_linear_model_number(model, "lambda", row->lambda, error));
    HAWSER_TRY(hw_linear_model_number(model, "l1_ratio", fit->l1_ratio, error));
    HAWSER_TRY(hw_linear_model_number(model, "objective", row->objective, error));
    if (!isnan(row->gap))
        HAWSER_TRY(hw_linear_model_number(model, "gap", row->gap, error));
    HAWSER_TRY(hw_linear_model_number(model, "penalty", row->penalty, error));
    HAWSER_TRY(hw_linear_model_number(model, "nonzeros", row->nonzeros, error));
    if (fit->problem != NULL && fit->problem->kind->model_facts != NULL)
        HAWSER_TRY(fit->problem->kind->model_facts(fit->problem, model, error));
    for (size_t k = 0; hawser_options_row(input->options, k) != NULL; k++) {
        const char *key = hawser_options_row(input->options, k)->key;
        char name[80];
        snprintf(name, sizeof name, "options.%s", key);
        HAWSER_TRY(fact_text(model, name, hawser_options_text(input->options, key), error));
    }
    return HAWSER_OK;
}

static hawser_status vector(hawser_model *model, const char *name, hawser_type type, const void *values, size_t count,
                            hawser_error *error)
{
    return hawser_model_tensor(model, name, type, (const size_t[2]){count, 0}, values, error);
}

hawser_status hw_linear_model_outputs(hawser_model *model, const char *name, const double *values, size_t outputs,
                                      size_t count, hawser_error *error)
{
    return hawser_model_tensor(model, name, HAWSER_F64, count > 0 ? (const size_t[2]){outputs, count} : (const size_t[2]){0},
                               values, error);
}

/* Adds the nonzero coefficients. `stride` is the distance of two columns, which is not 1 in a path. */
static hawser_status put_coefficients(hawser_model *model, const double *alpha, size_t stride, size_t columns,
                                      hawser_error *error)
{
    size_t count = 0, at = 0;
    for (size_t j = 0; j < columns; j++)
        count += alpha[j * stride] != 0.0;
    int64_t *index = calloc(count + 1, sizeof *index);
    double *value = calloc(count + 1, sizeof *value);
    hawser_status status = HAWSER_OK;
    if (index == NULL || value == NULL)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu coefficients", count);
    for (size_t j = 0; status == HAWSER_OK && j < columns; j++)
        if (alpha[j * stride] != 0.0) {
            index[at] = (int64_t)j;
            value[at++] = alpha[j * stride];
        }
    if (status == HAWSER_OK)
        status = vector(model, "coefficients.index", HAWSER_I64, index, count, error);
    if (status == HAWSER_OK)
        status = hw_linear_model_outputs(model, "coefficients.value", value, 1, count, error);
    free(index);
    free(value);
    return status;
}

static hawser_status put_table(hawser_model *model, const hw_linear_fit *fit, size_t done, hawser_error *error)
{
    static const char *const names[] = {"path.lambda",    "path.objective", "path.gap",   "path.nonzeros",
                                        "path.intercept", "path.penalty",   "path.error", "path.standard_error"};
    double *column = calloc(done + 1, sizeof *column);
    hawser_status status = column != NULL ? HAWSER_OK : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for a path's table");
    for (size_t k = 0; k < 8 && status == HAWSER_OK; k++) {
        bool measured = k < 6 || (k == 6 && !isnan(fit->rows[0].error)) || (k == 7 && fit->selection.crossed);
        for (size_t l = 0; l < done; l++) {
            const hw_linear_row *row = &fit->rows[l];
            const double fields[] = {row->lambda,    row->objective, row->gap,   row->nonzeros,
                                     row->intercept, row->penalty,   row->error, row->standard_error};
            column[l] = fields[k];
        }
        if (measured)
            status = vector(model, names[k], HAWSER_F64, column, done, error);
    }
    free(column);
    return status;
}

/* Adds all coefficients of the path, compressed by lambda. */
static hawser_status put_path(hawser_model *model, const hw_linear_fit *fit, size_t columns, size_t done,
                              hawser_error *error)
{
    const double *path = fit->path;
    size_t width = fit->stride, stored = 0, at = 0;
    for (size_t k = 0; k < columns * width; k++)
        stored += path[k] != 0.0;
    int64_t *offsets = calloc(done + 1, sizeof *offsets), *index = calloc(stored + 1, sizeof *index);
    double *value = calloc(stored + 1, sizeof *value);
    hawser_status status = HAWSER_OK;
    if (offsets == NULL || index == NULL || value == NULL)
        status = hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu coefficients of a path", stored);
    for (size_t l = 0; l < done && status == HAWSER_OK; l++) {
        for (size_t j = 0; j < columns; j++)
            if (path[j * width + l] != 0.0) {
                index[at] = (int64_t)j;
                value[at++] = path[j * width + l];
            }
        offsets[l + 1] = (int64_t)at;
    }
    if (status == HAWSER_OK)
        status = vector(model, "path.offsets", HAWSER_I64, offsets, done + 1, error);
    if (status == HAWSER_OK)
        status = vector(model, "path.index", HAWSER_I64, index, at, error);
    if (status == HAWSER_OK)
        status = hw_linear_model_outputs(model, "path.value", value, 1, at, error);
    free(offsets);
    free(index);
    free(value);
    return status;
}

hawser_status hw_linear_model_make(const hw_linear_fit *fit, const hawser_training_input *input, hawser_model **model,
                                   hawser_error *error)
{
    size_t done = 0, columns = hawser_dataset_matrix(input->data)->cols;
    while (done < fit->lambda_count && fit->rows[done].done)
        done++;
    HAWSER_TRY(hawser_model_new(model, error));
    hawser_status status = facts(*model, fit, input, error);
    if (status == HAWSER_OK && fit->path != NULL)
        status = put_coefficients(*model, fit->path + fit->selection.chosen, fit->stride, columns, error);
    else if (status == HAWSER_OK)
        status = put_coefficients(*model, fit->alpha, 1, columns, error);
    if (status == HAWSER_OK)
        status = vector(*model, "intercept", HAWSER_F64, &fit->rows[fit->selection.chosen].intercept, 1, error);
    if (status == HAWSER_OK && fit->path != NULL)
        status = put_table(*model, fit, done, error);
    if (status == HAWSER_OK && fit->path != NULL)
        status = put_path(*model, fit, columns, done, error);
    if (status != HAWSER_OK) {
        hawser_model_free(*model);
        *model = NULL;
    }
    return status;
}
