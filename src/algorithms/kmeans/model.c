#include "algorithms/kmeans/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/kmeans/centres.h"
#include "algorithms/model/centre.h"
#include "algorithms/model/facts.h"
#include "algorithms/model/largest.h"

hawser_status hw_kmeans_fitted_of(const hawser_model *model, hw_kmeans_fitted *fitted, hawser_error *error)
{
    hawser_type type = HAWSER_F64, of_sizes = HAWSER_I64;
    size_t dims[2] = {0}, sizes[2] = {0};
    const char *columns = hawser_model_text(model, "columns"), *arithmetic = hawser_model_text(model, "options.arithmetic");
    fitted->centres = hawser_model_get(model, "centres", &type, dims);
    fitted->sizes = hawser_model_get(model, "sizes", &of_sizes, sizes);
    fitted->clusters = dims[0];
    fitted->columns = dims[1];
    fitted->single = arithmetic != NULL && strcmp(arithmetic, "f32") == 0;
    if (fitted->centres == NULL || fitted->sizes == NULL || type != HAWSER_F64 || of_sizes != HAWSER_I64 || dims[0] == 0 ||
        dims[1] == 0 || sizes[0] != dims[0] || columns == NULL || strtoull(columns, NULL, 10) != dims[1])
        return hawser_fail(error, HAWSER_BAD_INPUT, "the model has no centres for its columns; was it written by Hawser?");
    return HAWSER_OK;
}

static hawser_status fill(const hw_kmeans_result *result, const hawser_training_input *input, hawser_model *model,
                          hawser_error *error)
{
    size_t k = result->clusters, d = hawser_dataset_matrix(input->data)->cols;
    HAWSER_TRY(hw_model_data_facts(model, "kmeans", input->data, error));
    HAWSER_TRY(hw_model_number_fact(model, "clusters", (double)k, error));
    HAWSER_TRY(hw_model_number_fact(model, "inertia", result->inertia, error));
    HAWSER_TRY(hw_model_number_fact(model, "iterations", result->iterations, error));
    HAWSER_TRY(hw_model_option_facts(model, input->options, error));
    HAWSER_TRY(hawser_model_tensor(model, "centres", HAWSER_F64, (const size_t[2]){k, d}, result->centres, error));
    int64_t *sizes = calloc(k, sizeof *sizes);
    if (sizes == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the sizes of %zu clusters", k);
    for (size_t c = 0; c < k; c++)
        sizes[c] = (int64_t)result->sizes[c];
    hawser_status status = hawser_model_tensor(model, "sizes", HAWSER_I64, (const size_t[2]){k, 0}, sizes, error);
    free(sizes);
    return status;
}

hawser_status hw_kmeans_model_make(const hw_kmeans_result *result, const hawser_training_input *input, hawser_model **model,
                                   hawser_error *error)
{
    HAWSER_TRY(hawser_model_new(model, error));
    hawser_status status = fill(result, input, *model, error);
    if (status != HAWSER_OK) {
        hawser_model_free(*model);
        *model = NULL;
    }
    return status;
}

size_t hw_kmeans_count(const hawser_model *model)
{
    size_t dims[2] = {0};
    return hawser_model_get(model, "centres", NULL, dims) != NULL ? dims[0] : 1;
}

/* ---- distances of other rows ---- */

/* Rows with as many columns as the centres: sparse rows of new data may have fewer. */
typedef struct measured {
    hawser_matrix X;
    hw_centre centre; /* in float, rows and centres are shifted before they are rounded, as in the training */
    hw_centre_rows shifted;
    double *moved; /* the shifted centres */
    double *copy;
    hw_kmeans_points points;
    hw_kmeans_centres centres;
} measured;

static void close_measured(measured *m)
{
    hw_kmeans_points_free(&m->points);
    hw_kmeans_centres_free(&m->centres);
    hw_centre_rows_free(&m->shifted);
    hw_centre_free(&m->centre);
    free(m->moved);
    free(m->copy);
}

/* Makes the matrix as wide as the centres: a sparse one has zeros in the columns that it lacks, and a dense one is
 * copied. */
static hawser_status widen(measured *m, const hawser_matrix *X, size_t columns, hawser_error *error)
{
    m->X = *X;
    if (X->cols == columns)
        return HAWSER_OK;
    if (X->cols > columns)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the data have %zu columns, the model %zu", X->cols, columns);
    m->X.cols = columns;
    if (X->layout == HAWSER_CSR)
        return HAWSER_OK;
    m->copy = calloc(X->rows * columns + 1, sizeof *m->copy);
    if (m->copy == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu rows of %zu columns", X->rows, columns);
    for (size_t i = 0; i < X->rows; i++)
        hawser_row_axpy(X, i, 1.0, m->copy + i * columns);
    m->X = (hawser_matrix){.rows = X->rows,
                           .cols = columns,
                           .stored = X->rows * columns,
                           .layout = HAWSER_DENSE_ROWS,
                           .type = HAWSER_F64,
                           .values = m->copy,
                           .stride = columns,
                           .first = X->first};
    return HAWSER_OK;
}

/* Returns the mean of a column of the centres if it is far from zero, else 0. */
static double shift_of(const double *centres, size_t clusters, size_t columns, size_t column)
{
    double low = centres[column], high = low, sum = 0.0;
    for (size_t c = 0; c < clusters; c++) {
        double x = centres[c * columns + column];
        low = fmin(low, x);
        high = fmax(high, x);
        sum += x - centres[column];
    }
    double mean = centres[column] + sum / (double)clusters;
    return fabs(mean) >= 4.0 * (high - low) ? mean : 0.0;
}

/* Shifts rows and centres by the mean of the centres, in columns where that is far from zero. */
static hawser_status shift(measured *m, const double **centres, size_t clusters, size_t columns, hawser_error *error)
{
    m->moved = malloc((clusters + 1) * columns * sizeof *m->moved);
    if (m->moved == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu centres", clusters);
    double *of_columns = m->moved + clusters * columns;
    for (size_t j = 0; j < columns; j++)
        of_columns[j] = shift_of(*centres, clusters, columns, j);
    HAWSER_TRY(hw_centre_take(&m->centre, of_columns, columns, error));
    if (m->centre.count == 0)
        return HAWSER_OK;
    for (size_t e = 0; e < clusters * columns; e++)
        m->moved[e] = (*centres)[e] - of_columns[e % columns];
    *centres = m->moved;
    HAWSER_TRY(hw_centre_rows_new(&m->shifted, &m->centre, &m->X, m->X.rows, error));
    m->X = hw_centre_rows_fill(&m->shifted, &m->centre, &m->X);
    return HAWSER_OK;
}

static hawser_status open_measured(measured *m, const double *centres, size_t clusters, size_t columns, bool single,
                                   const hawser_matrix *X, hawser_error *error)
{
    *m = (measured){0};
    hawser_status status = widen(m, X, columns, error);
    if (status == HAWSER_OK && single)
        status = shift(m, &centres, clusters, columns, error);
    HAWSER_THEN(status, hw_kmeans_points_new(&m->points, &m->X, single, error));
    HAWSER_THEN(status, hw_kmeans_centres_new(&m->centres, clusters, columns, clusters, single, error));
    HAWSER_THEN(status, hw_kmeans_centres_set(&m->centres, centres, error));
    if (status != HAWSER_OK)
        close_measured(m);
    return status;
}

static hawser_status open_model(measured *m, const hawser_model *model, const hawser_dataset *data, hawser_error *error)
{
    hw_kmeans_fitted fitted;
    HAWSER_TRY(hw_kmeans_fitted_of(model, &fitted, error));
    return open_measured(m, fitted.centres, fitted.clusters, fitted.columns, fitted.single, hawser_dataset_matrix(data),
                         error);
}

/* Calls hw_kmeans_nearest, and stores labels and squared distances in `clusters` and `squares`, `step` numbers apart. Either
 * may be NULL. A row whose squares overflow gets NaN. */
static hawser_status put_nearest(const measured *m, double *clusters, double *squares, size_t step, hawser_error *error)
{
    size_t n = m->X.rows;
    uint32_t *labels = calloc(n + 1, sizeof *labels);
    if (labels == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the clusters of %zu rows", n);
    hawser_status status = hw_kmeans_nearest(&m->points, &m->centres, labels, NULL, error);
    for (size_t i = 0; status == HAWSER_OK && i < n; i++) {
        bool known = isfinite(m->points.squares[i]);
        if (clusters != NULL)
            clusters[i * step] = known ? labels[i] : NAN;
        if (squares != NULL)
            squares[i * step] = known ? hw_kmeans_final(&m->points, &m->centres, i, labels[i]) : NAN;
    }
    free(labels);
    return status;
}

hawser_status hw_kmeans_predict(const hawser_model *model, const hawser_dataset *data, double *clusters, hawser_error *error)
{
    measured m;
    HAWSER_TRY(open_model(&m, model, data, error));
    hawser_status status = put_nearest(&m, clusters, NULL, 1, error);
    close_measured(&m);
    return status;
}

size_t hw_kmeans_score_count(const hawser_model *model)
{
    (void)model;
    return 2;
}

hawser_status hw_kmeans_scores(const hawser_model *model, const hawser_dataset *data, double *values, hawser_error *error)
{
    measured m;
    HAWSER_TRY(open_model(&m, model, data, error));
    hawser_status status = put_nearest(&m, values, values + 1, 2, error);
    close_measured(&m);
    return status;
}

hawser_status hw_kmeans_distances(const hawser_model *model, const hawser_dataset *data, double *values, hawser_error *error)
{
    measured m;
    HAWSER_TRY(open_model(&m, model, data, error));
    for (size_t i = 0; i < m.X.rows; i++)
        for (size_t c = 0; c < m.centres.clusters; c++)
            values[i * m.centres.clusters + c] =
                isfinite(m.points.squares[i]) ? sqrt(hw_kmeans_final(&m.points, &m.centres, i, (uint32_t)c)) : NAN;
    close_measured(&m);
    return HAWSER_OK;
}

hawser_status hw_kmeans_inertia(const double *centres, size_t clusters, bool single, const hawser_dataset *data,
                                double *inertia, hawser_error *error)
{
    measured m;
    const hawser_matrix *X = hawser_dataset_matrix(data);
    const double *weights = hawser_dataset_weights(data);
    double *squares = calloc(X->rows + 1, sizeof *squares);
    if (squares == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the distances of %zu rows", X->rows);
    hawser_status status = open_measured(&m, centres, clusters, X->cols, single, X, error);
    if (status == HAWSER_OK) {
        status = hw_kmeans_points_check(&m.points, error);
        HAWSER_THEN(status, put_nearest(&m, NULL, squares, 1, error));
        close_measured(&m);
    }
    *inertia = 0.0;
    for (size_t i = 0; i < X->rows; i++)
        *inertia += (weights != NULL ? weights[i] : 1.0) * squares[i];
    free(squares);
    return status;
}

/* ---- the printed centres ---- */

hawser_status hw_kmeans_print(const hawser_model *model, uint64_t most, FILE *out, hawser_error *error)
{
    hw_kmeans_fitted fitted;
    hawser_schema *schema = NULL;
    HAWSER_TRY(hw_kmeans_fitted_of(model, &fitted, error));
    HAWSER_TRY(hawser_model_schema(model, &schema, error));
    hw_column_value *all = calloc(fitted.columns, sizeof *all);
    for (size_t c = 0; all != NULL && c < fitted.clusters; c++) {
        fprintf(out, "cluster %zu: %lld rows\n", c, (long long)fitted.sizes[c]);
        hw_print_largest(model, schema, fitted.centres + c * fitted.columns, fitted.columns, most, "  ", all, out);
    }
    hawser_schema_free(schema);
    if (all == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu columns", fitted.columns);
    free(all);
    return HAWSER_OK;
}
