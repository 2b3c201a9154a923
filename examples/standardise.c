/*
 * standardise.c - data that change before a model learns from them, Algorithm 5 of Alt in two units: one sums the columns
 * over all workers, the next one puts standardised values in the place of the given ones. Least squares by gradient descent
 * then reads these. Sparse data keep their zeros, so they are scaled only.
 *
 * `./standardise FILE` prints the error and a coefficient for each standardised column. Try `--workers 4`, `--sync ssp:2`,
 * and `hawser run -n 3 -- ./standardise FILE --workers 6`: each worker changes the rows that it has, on any node.
 */
#include <hawser/app.h>
#include <hawser/row_kernels.h>

#include <math.h>

enum { CLOCKS = 500, COUNT = 0, SUM = 1, SQUARES = 2 }; /* and the rows of the state "sums" */

/* Returns where the values of a row begin, and stores where they end. */
static size_t begin_of(const hawser_matrix *rows, size_t i, size_t *end)
{
    if (rows->layout == HAWSER_CSR) {
        *end = rows->offsets[i + 1];
        return rows->offsets[i];
    }
    *end = i * rows->stride + rows->cols;
    return i * rows->stride;
}

/* Returns the column of the value at place `e` of a row that begins at `begin`. */
static size_t column_of(const hawser_matrix *rows, size_t begin, size_t e)
{
    return rows->layout == HAWSER_CSR ? rows->indices[e] : e - begin;
}

static hawser_status add_up(hawser_context *context)
{
    HAWSER_READ(context, hawser_matrix, rows);
    HAWSER_WRITE(context, double, sums);
    const double *values = rows->values;
    for (size_t i = 0; i < rows->rows; i++) {
        size_t end, begin = begin_of(rows, i, &end);
        for (size_t e = begin; e < end; e++) {
            size_t j = column_of(rows, begin, e);
            sums[SUM * rows->cols + j] += values[e];
            sums[SQUARES * rows->cols + j] += values[e] * values[e];
        }
    }
    for (size_t j = 0; j < rows->cols; j++)
        sums[COUNT * rows->cols + j] += (double)rows->rows;
    return HAWSER_OK;
}

static hawser_status standardise(hawser_context *context)
{
    HAWSER_READ(context, hawser_matrix, rows);
    HAWSER_READ(context, double, sums);
    double *values; /* a copy of this block's values; from here on `rows` has it, too */
    HAWSER_TRY(hawser_write(context, "rows", &values));
    for (size_t i = 0; i < rows->rows; i++) {
        size_t end, begin = begin_of(rows, i, &end);
        for (size_t e = begin; e < end; e++) {
            size_t j = column_of(rows, begin, e);
            double count = sums[COUNT * rows->cols + j], mean = sums[SUM * rows->cols + j] / count;
            double variance = sums[SQUARES * rows->cols + j] / count - mean * mean;
            double centre = rows->layout == HAWSER_CSR ? 0 : mean;
            values[e] = (values[e] - centre) / (variance > 0 ? sqrt(variance) : 1);
        }
    }
    return HAWSER_OK;
}

static hawser_status descend(hawser_context *context)
{
    HAWSER_READ(context, hawser_matrix, rows);
    HAWSER_READ(context, double, sums);
    HAWSER_WRITE(context, double, w); /* the last number is the intercept */
    hawser_beside beside;
    HAWSER_TRY(hawser_data_beside(context, "rows", &beside));
    double rate = 1 / (sums[COUNT] * (double)(rows->cols + 1)), squares = 0;
    double *change = hawser_scratch(context);
    for (size_t j = 0; j <= rows->cols; j++)
        change[j] = 0;
    for (size_t i = 0; i < rows->rows; i++) {
        double error = beside.target[i] - hawser_row_dot(rows, i, w) - w[rows->cols];
        hawser_row_axpy(rows, i, rate * error, change);
        change[rows->cols] += rate * error;
        squares += error * error;
    }
    for (size_t j = 0; j <= rows->cols; j++)
        w[j] += change[j];
    return hawser_report(context, "squares", squares);
}

static hawser_status build(const hawser_app_call *call, hawser_program *program, hawser_error *error)
{
    const hawser_matrix *A = hawser_dataset_matrix(call->data);
    if (hawser_dataset_outputs(call->data) == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the input has no target");
    if (A->type != HAWSER_F64)
        return hawser_fail(error, HAWSER_BAD_OPTION, "the units read doubles; leave out --type");
    hawser_state *rows = HAWSER_STATE(program, "rows", HAWSER_DATA, .data = call->data, .split = HAWSER_BY_ROW);
    hawser_state *sums = HAWSER_STATE(program, "sums", HAWSER_REPLICATED, .rows = 3, .cols = A->cols);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = A->cols + 1);
    hawser_scratch_size(program, (A->cols + 1) * sizeof(double), NULL);
    hawser_metric_declare(program, "squares", HAWSER_SUM);
    HAWSER_UNIT(hawser_root(program), "add_up", add_up, .reads = {rows}, .updates = {sums});
    HAWSER_UNIT(hawser_root(program), "standardise", standardise, .reads = {sums}, .updates = {rows});
    hawser_operator *loop = HAWSER_LOOP(hawser_root(program), "descent", hawser_job_sync(call->job), .clocks = CLOCKS);
    HAWSER_UNIT(loop, "descend", descend, .reads = {rows, sums}, .updates = {w});
    return HAWSER_OK;
}

static hawser_status print(const hawser_app_call *call, const hawser_run *run, hawser_error *error)
{
    size_t count = 0;
    const double *w = NULL;
    HAWSER_TRY(hawser_result(run, "w", &w, &count, error));
    double rows = (double)hawser_dataset_matrix(call->data)->rows;
    printf("root of the mean squared error %.6f\n", sqrt(hawser_result_metric(run, "squares") / rows));
    for (size_t j = 0; j + 1 < count; j++)
        printf("%.6f\n", w[j]);
    return HAWSER_OK;
}

int main(int argc, char **argv)
{
    return HAWSER_APP(argc, argv, "standardise", "FILE...", .files = true, .split = HAWSER_BY_ROW, .build = build,
                      .done = print);
}
