/*
 * minibatch.c - logistic regression with a squared penalty by mini-batches: each worker has some of the rows, and in each clock it takes a step on
 * one batch of them. hawser/batches.h gives the batches: every row once an epoch, in an order that depends on the seed alone.
 *
 * `./minibatch FILE` reads any input of Hawser (svmlight, CSV ...). The target is above 0 for one of the two classes. It prints one weight
 * per line. Try `--workers 4`, `--sync ssp:2`, `--sync tap`, and `hawser run -n 3 -- ./minibatch FILE --workers 6`. Under bsp the weights
 * have the same bits for any number of threads and nodes that share the workers.
 */
#include <hawser/hawser.h>

#include <math.h>

enum { BATCH = 64, CLOCKS = 4000 };
static const double PENALTY = 0.01; /* of the mean log loss + PENALTY / 2 * |w|^2 */

typedef struct problem {
    const hawser_dataset *data;
    uint64_t seed;
} problem;

/* A row of CSR or dense rows: value k belongs to column `columns[k]`, or to column k if columns is NULL. */
typedef struct row {
    size_t count;
    const uint32_t *columns;
    const double *values;
} row;

static row row_of(const hawser_matrix *A, size_t i)
{
    const double *values = A->values;
    if (A->layout == HAWSER_DENSE_ROWS)
        return (row){A->cols, NULL, values + i * A->stride};
    return (row){(size_t)(A->offsets[i + 1] - A->offsets[i]), A->indices + A->offsets[i], values + A->offsets[i]};
}

/* Reports a bound of the loss's curvature. The first steps are 1 / steepest. */
static hawser_status measure(hawser_context *context)
{
    const hawser_matrix *part = hawser_data_view(context, "rows"); /* this worker's rows */
    double steepest = 0;
    for (size_t i = 0; i < part->rows; i++) {
        row r = row_of(part, i);
        double squares = 0;
        for (size_t e = 0; e < r.count; e++)
            squares += r.values[e] * r.values[e];
        steepest = fmax(steepest, squares / 4);
    }
    return hawser_report(context, "steepest", steepest + PENALTY);
}

static hawser_status step(hawser_context *context)
{
    const problem *p = hawser_user(context);
    const hawser_matrix *part = hawser_data_view(context, "rows");
    double *w = hawser_cache(context, "w"), targets[BATCH], slopes[BATCH];
    size_t rows[BATCH];
    hawser_error error = {HAWSER_OK, ""};

    /* The number of the clock says which batch it is, so a worker has nothing to remember from clock to clock. */
    hawser_batch batch;
    hawser_beside beside; /* the targets of this worker's rows */
    hawser_batches batches = {.rows = part->rows, .size = BATCH, .seed = p->seed, .stream = hawser_block(context)};
    hawser_status status = hawser_batches_seek(&batches, hawser_clock(context), &error);
    if (status == HAWSER_OK)
        status = hawser_batches_next(&batches, rows, &batch, &error);
    if (status == HAWSER_OK)
        status = hawser_dataset_beside(p->data, part->first, part->rows, &beside, &error);
    if (status != HAWSER_OK)
        return hawser_unit_fail(context, status, "%s", error.text);
    if (beside.target == NULL)
        return hawser_unit_fail(context, HAWSER_BAD_INPUT, "the input has no target");
    if (batch.count == 0)
        return HAWSER_OK; /* there are more workers than rows */
    hawser_batch_gather(&batch, beside.target, targets);

    /* The changes of all workers are added up: each one's share of the step is its share of the rows. */
    double share = (double)part->rows / (double)hawser_dataset_matrix(p->data)->rows;
    double size = share / (hawser_metric(context, "steepest") + PENALTY * (double)hawser_clock(context) / 2);
    for (size_t k = 0; k < batch.count; k++) {
        row r = row_of(part, rows[k]);
        double y = targets[k] > 0 ? 1 : -1, margin = 0;
        for (size_t e = 0; e < r.count; e++)
            margin += r.values[e] * w[r.columns != NULL ? r.columns[e] : e];
        slopes[k] = y / (1 + exp(y * margin)) / (double)batch.count;
    }
    for (size_t j = 0; j < part->cols; j++)
        w[j] -= size * PENALTY * w[j];
    for (size_t k = 0; k < batch.count; k++) {
        row r = row_of(part, rows[k]);
        for (size_t e = 0; e < r.count; e++)
            w[r.columns != NULL ? r.columns[e] : e] += size * slopes[k] * r.values[e];
    }
    return HAWSER_OK;
}

static hawser_status train(hawser_job *job, problem *p, hawser_program *program, hawser_run **run, hawser_error *error)
{
    const hawser_matrix *A = hawser_dataset_matrix(p->data);
    hawser_state *data = hawser_data_state(program, "rows", A, HAWSER_BY_ROW);
    hawser_state *w = hawser_replicated_state(program, "w", A->cols, 1, NULL, (hawser_rule){0});
    hawser_metric_declare(program, "steepest", HAWSER_MAX);
    hawser_unit(hawser_root(program), "measure", measure, HAWSER_READS(data), NULL);
    hawser_until until = {.clocks = CLOCKS};
    hawser_operator *loop = hawser_loop(hawser_root(program), "descent", until, hawser_job_sync(job));
    hawser_unit(loop, "step", step, HAWSER_READS(data), HAWSER_UPDATES(w));
    return hawser_run_program(job, program, run, error);
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_run *run = NULL;
    hawser_dataset *data = NULL;
    hawser_error error = {HAWSER_OK, "usage: minibatch FILE [options of the job]"};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_STOP) /* --help */
        return 0;
    if (status == HAWSER_OK && argc != 2)
        status = HAWSER_BAD_ARGUMENT;
    const hawser_load by_row = {.split = HAWSER_BY_ROW}; /* each node keeps the rows of its own workers */
    if (status == HAWSER_OK)
        status = hawser_job_load(job, (const char *const *)&argv[1], 1, &by_row, &data, &error);
    problem p = {.data = data, .seed = hawser_job_seed(job)};
    hawser_program *program = hawser_program_new("minibatch", &p);
    if (status == HAWSER_OK)
        status = train(job, &p, program, &run, &error);
    size_t count = 0;
    const double *w = status == HAWSER_OK && hawser_job_leads(job) ? hawser_result(run, "w", &count) : NULL;
    for (size_t j = 0; j < count; j++)
        printf("%.17g\n", w[j]);
    if (status != HAWSER_OK)
        fprintf(stderr, "minibatch: %s\n", error.text);
    hawser_run_free(run);
    hawser_program_free(program);
    hawser_dataset_free(data);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : 1;
}
