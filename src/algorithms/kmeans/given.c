#include "algorithms/kmeans/given.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/kmeans/model.h"
#include "hawser/advanced.h"
#include "hawser/row_kernels.h"

static hawser_status new_centres(size_t count, size_t columns, double **centres, hawser_error *error)
{
    *centres = calloc(count * columns + 1, sizeof **centres);
    return *centres != NULL
               ? HAWSER_OK
               : hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu centres of %zu columns", count, columns);
}

static hawser_status check_finite(const char *key, const double *centres, size_t count, size_t columns, hawser_error *error)
{
    for (size_t e = 0; e < count * columns; e++)
        if (!isfinite(centres[e]))
            return hawser_fail(error, HAWSER_BAD_INPUT, "--%s: centre %zu, column %zu: %g is not a finite number", key,
                               e / columns, e % columns, centres[e]);
    return HAWSER_OK;
}

/* ---- a file ---- */

static hawser_status check_names(const hawser_dataset *file, const hawser_dataset *data, const char *path,
                                 hawser_error *error)
{
    size_t columns = hawser_dataset_matrix(data)->cols, own = hawser_dataset_matrix(file)->cols;
    if (own != columns)
        return hawser_fail(error, HAWSER_BAD_INPUT, "--centres: %s has %zu columns, and the data have %zu", path, own,
                           columns);
    for (size_t j = 0; j < columns; j++) {
        const char *a = hawser_dataset_column(file, j), *b = hawser_dataset_column(data, j);
        if (a != NULL && b != NULL && strcmp(a, b) != 0)
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "--centres: column %zu of %s is '%.60s', that of the data '%.60s'; give the columns in the "
                               "order of the data",
                               j, path, a, b);
    }
    return HAWSER_OK;
}

static hawser_status read_file(const char *path, const hawser_dataset *data, double **centres, size_t *count,
                               hawser_error *error)
{
    hawser_dataset *file = NULL;
    hawser_load how = {.target = "none", .categories = "none", .rows_layout = 1};
    int base = hawser_dataset_figures(data) != NULL ? hawser_dataset_figures(data)->index_base : -1;
    if (base >= 0) { /* sparse rows may lack the last columns */
        how.index_base = base + 1;
        how.columns = hawser_dataset_matrix(data)->cols;
    }
    HAWSER_TRY(hawser_dataset_load(&path, 1, &how, &file, error));
    const hawser_matrix *C = hawser_dataset_matrix(file);
    hawser_status status = check_names(file, data, path, error);
    HAWSER_THEN(status, new_centres(C->rows, C->cols, centres, error));
    for (size_t i = 0; status == HAWSER_OK && i < C->rows; i++)
        hawser_row_axpy(C, i, 1.0, *centres + i * C->cols);
    *count = C->rows;
    HAWSER_THEN(status, check_finite("centres", *centres, C->rows, C->cols, error));
    hawser_dataset_free(file);
    return status;
}

/* ---- a model ---- */

typedef struct model_column {
    char *name;
    size_t column;
} model_column;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const model_column *)a)->name, ((const model_column *)b)->name);
}

/* The names of a model's columns, sorted. Only `names` is set if it has none. */
typedef struct names {
    model_column *names;
    size_t count;
} names;

static void free_names(names *n)
{
    for (size_t j = 0; n->names != NULL && j < n->count; j++)
        free(n->names[j].name);
    free(n->names);
}

static hawser_status sort_names(const hawser_schema *schema, size_t columns, names *out, hawser_error *error)
{
    out->count = columns;
    out->names = calloc(columns + 1, sizeof *out->names);
    for (size_t j = 0; out->names != NULL && j < columns; j++) {
        size_t length = hawser_schema_print(schema, j, NULL, 0) + 1;
        out->names[j] = (model_column){calloc(length, 1), j};
        if (out->names[j].name == NULL)
            return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu column names", columns);
        (void)hawser_schema_print(schema, j, out->names[j].name, length);
    }
    if (out->names == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu column names", columns);
    qsort(out->names, columns, sizeof *out->names, by_name);
    for (size_t j = 1; j < columns; j++)
        if (strcmp(out->names[j - 1].name, out->names[j].name) == 0)
            return hawser_fail(error, HAWSER_BAD_INPUT,
                               "--init: columns match by name, and two are called '%.100s'; give each its own name",
                               out->names[j].name);
    return HAWSER_OK;
}

/* Finds the column of the model that a column of the data is. */
static hawser_status find_column(const names *n, const hawser_dataset *data, size_t column, size_t *found,
                                 hawser_error *error)
{
    char label[256] = "";
    *found = column;
    if (n->names == NULL)
        return HAWSER_OK;
    const char *name = hawser_dataset_column(data, column);
    const hawser_schema *schema = hawser_dataset_schema(data);
    size_t length = name != NULL     ? 0
                    : schema != NULL ? hawser_schema_print(schema, column, label, sizeof label)
                                     : hawser_dataset_label(data, column, label, sizeof label);
    if (length >= sizeof label)
        return hawser_fail(error, HAWSER_BAD_INPUT, "--init: the name of column %zu is too long to be matched", column);
    model_column key = {.name = (char *)(uintptr_t)(name != NULL ? name : label)};
    const model_column *at = bsearch(&key, n->names, n->count, sizeof *n->names, by_name);
    if (at == NULL)
        return hawser_fail(error, HAWSER_BAD_INPUT,
                           "--init: the model has no column '%.100s'; its centres need the columns of the data", key.name);
    *found = at->column;
    return HAWSER_OK;
}

static hawser_status read_model(const hawser_model *model, const hawser_dataset *data, double **centres, size_t *count,
                                hawser_error *error)
{
    hw_kmeans_fitted fitted;
    hawser_schema *schema = NULL;
    names n = {0};
    size_t columns = hawser_dataset_matrix(data)->cols;
    const char *algorithm = hawser_model_text(model, "algorithm");
    if (algorithm == NULL || strcmp(algorithm, "kmeans") != 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "--init: a model of %.60s has no centres",
                           algorithm != NULL ? algorithm : "unknown origin");
    HAWSER_TRY(hw_kmeans_fitted_of(model, &fitted, error));
    if (fitted.columns != columns)
        return hawser_fail(error, HAWSER_BAD_INPUT, "--init: the model has %zu columns, and the data have %zu",
                           fitted.columns, columns);
    HAWSER_TRY(hawser_model_schema(model, &schema, error));
    hawser_status status = new_centres(fitted.clusters, columns, centres, error);
    if (status == HAWSER_OK && schema != NULL && hawser_dataset_column(data, 0) != NULL)
        status = sort_names(schema, columns, &n, error);
    for (size_t j = 0; status == HAWSER_OK && j < columns; j++) {
        size_t from = j;
        status = find_column(&n, data, j, &from, error);
        for (size_t c = 0; status == HAWSER_OK && c < fitted.clusters; c++)
            (*centres)[c * columns + j] = fitted.centres[c * columns + from];
    }
    *count = fitted.clusters;
    HAWSER_THEN(status, check_finite("init", *centres, fitted.clusters, columns, error));
    free_names(&n);
    hawser_schema_free(schema);
    return status;
}

hawser_status hw_kmeans_given(hawser_job *job, const hawser_training_input *input, double **centres, size_t *count,
                              hawser_error *error)
{
    const char *path = hawser_options_text(input->options, "centres");
    bool numbers = hawser_job_init_given(job, HW_KMEANS_START);
    size_t columns = hawser_dataset_matrix(input->data)->cols;
    *centres = NULL;
    if (path != NULL && (input->init != NULL || numbers))
        return hawser_fail(error, HAWSER_BAD_OPTION, "--centres and --init: give one of them");
    if (numbers) {
        *count = (size_t)hawser_options_integer(input->options, "clusters");
        HAWSER_TRY(new_centres(*count, columns, centres, error));
        return hawser_job_init_numbers(job, HW_KMEANS_START, *count, columns, *centres, error);
    }
    if (path != NULL)
        return read_file(path, input->data, centres, count, error);
    return input->init != NULL ? read_model(input->init, input->data, centres, count, error) : HAWSER_OK;
}
