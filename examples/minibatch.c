/*
 * minibatch.c - logistic regression with a squared penalty by mini-batches: each worker has some of the rows, and in each
 * clock it takes a step on one batch of them. hawser_data_batch gives the batches: every row once an epoch, in an order that
 * depends on the seed alone.
 *
 * `./minibatch FILE` reads any input of Hawser (svmlight, CSV ...). The target is above 0 for one of the two classes. It
 * prints one weight per line. Try `--workers 4`, `--sync ssp:2`, `--sync tap`, and `hawser run -n 3 -- ./minibatch FILE
 * --workers 6`. Under bsp the weights have the same bits for any number of threads and nodes that share the workers.
 */
#include <hawser/advanced.h>
#include <hawser/app.h>
#include <hawser/batches.h>
#include <hawser/row_kernels.h>

#include <math.h>

enum { BATCH = 64, CLOCKS = 4000 };
static const double PENALTY = 0.01; /* of the mean log loss + PENALTY / 2 * |w|^2 */

/* Reports a bound of the loss's curvature. The first steps are 1 / steepest. */
static hawser_status measure(hawser_context *context)
{
    HAWSER_READ(context, hawser_matrix, rows); /* this worker's rows */
    double steepest = 0, squares;
    for (size_t i = 0; i < rows->rows; i++) {
        hawser_matrix row = hawser_matrix_rows(rows, i, i + 1);
        hawser_row_squares(&row, &squares);
        steepest = fmax(steepest, squares / 4);
    }
    return hawser_report(context, "steepest", steepest + PENALTY);
}

static hawser_status step(hawser_context *context)
{
    const size_t *all = hawser_user(context); /* rows of all workers */
    HAWSER_READ(context, hawser_matrix, rows);
    HAWSER_WRITE(context, double, w);
    /* The number of the clock says which batch it is, so a worker has nothing to remember from clock to clock. */
    hawser_mini_batch batch;
    HAWSER_TRY(hawser_data_batch(context, "rows", BATCH, hawser_clock(context), false, &batch));
    if (batch.rows.rows == 0)
        return HAWSER_OK; /* there are more workers than rows */

    /* The changes of all workers are added up: each one's share of the step is its share of the rows. */
    double share = (double)rows->rows / (double)*all, slopes[BATCH];
    double size = share / (hawser_metric(context, "steepest") + PENALTY * (double)hawser_clock(context) / 2);
    for (size_t k = 0; k < batch.rows.rows; k++) {
        double y = batch.target[k] > 0 ? 1 : -1;
        slopes[k] = y / (1 + exp(y * hawser_row_dot(&batch.rows, k, w))) / (double)batch.rows.rows;
    }
    for (size_t j = 0; j < rows->cols; j++)
        w[j] -= size * PENALTY * w[j];
    for (size_t k = 0; k < batch.rows.rows; k++)
        hawser_row_axpy(&batch.rows, k, size * slopes[k], w);
    return HAWSER_OK;
}

static hawser_status build(const hawser_app_call *call, hawser_program *program, hawser_error *error)
{
    const hawser_matrix *A = hawser_dataset_matrix(call->data);
    *(size_t *)call->user = A->rows;
    if (hawser_dataset_outputs(call->data) == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the input has no target");
    hawser_state *rows = HAWSER_STATE(program, "rows", HAWSER_DATA, .data = call->data, .split = HAWSER_BY_ROW);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = A->cols);
    hawser_metric_declare(program, "steepest", HAWSER_MAX);
    HAWSER_UNIT(hawser_root(program), "measure", measure, .reads = {rows});
    hawser_operator *loop = HAWSER_LOOP(hawser_root(program), "descent", hawser_job_sync(call->job), .clocks = CLOCKS);
    HAWSER_UNIT(loop, "step", step, .reads = {rows}, .updates = {w});
    HAWSER_ADAPT(program, .loop = loop, .state = w); /* --auto, --encoding auto, and --filter NAME --quota auto */
    return HAWSER_OK;
}

static hawser_status print(const hawser_app_call *call, const hawser_run *run, hawser_error *error)
{
    (void)call;
    size_t count;
    const double *w;
    HAWSER_TRY(hawser_result(run, "w", &w, &count, error));
    for (size_t j = 0; j < count; j++)
        printf("%.17g\n", w[j]);
    return HAWSER_OK;
}

int main(int argc, char **argv)
{
    size_t rows;
    return HAWSER_APP(argc, argv, "minibatch", "FILE...", .files = true, .split = HAWSER_BY_ROW, .user = &rows,
                      .build = build, .done = print);
}
