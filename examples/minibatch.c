/*
 * minibatch.c - logistic regression with a squared penalty by mini-batches: each worker has some of the rows, and in each
 * clock it takes a step on one batch of them, or `--exchange-every` steps. The workers' weights are then averaged.
 * hawser_data_batch gives the batches: every row once an epoch, in an order that depends on the seed alone.
 *
 * `./minibatch FILE` reads any input of Hawser (svmlight, CSV ...). The target is above 0 for one of the two classes. It
 * prints one weight per line. Try `--workers 4`, `--sync ssp:2`, `--sync tap`, and `hawser run -n 3 -- ./minibatch FILE
 * --workers 6`. Under bsp the weights have the same bits for any number of threads and nodes that share the workers.
 *
 * With `--auto` the steps per clock, the staleness and the shares of slow workers change while it runs: a slow worker takes
 * smaller batches. `--until` ends the descent at a loss, so that times can be compared.
 */
#include <hawser/advanced.h>
#include <hawser/app.h>
#include <hawser/batches.h>
#include <hawser/row_kernels.h>

#include <math.h>

enum { BATCH = 64, CLOCKS = 4000, MEAN_OF = 16 }; /* the loss of a worker is a mean over about MEAN_OF batches */
static const double PENALTY = 0.01;               /* of the mean log loss + PENALTY / 2 * |w|^2 */

typedef struct setting {
    double rows;  /* of all workers */
    double every; /* batches per clock */
} setting;

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

/* What a worker remembers from clock to clock. */
enum { NUMBER, SIZE, STEPS, LOSS, REMEMBERED }; /* next batch, and rows in it; steps of BATCH rows so far; mean loss */

/* Goes to batches of another size, at about the same place in the epoch. */
static void change_size(double *own, double rows, double size)
{
    double before = own[SIZE] > 0 ? ceil(rows / own[SIZE]) : 1, now = ceil(rows / size), epoch = floor(own[NUMBER] / before);
    own[NUMBER] = epoch * now + floor((own[NUMBER] - epoch * before) / before * now);
    own[SIZE] = size;
}

/* Takes a step of `size` on a batch. Returns the mean loss of its rows before the step. */
static double descend(const hawser_mini_batch *batch, size_t columns, double size, double *w)
{
    const double rows = (double)batch->rows.rows;
    double slopes[BATCH], loss = 0;
    for (size_t k = 0; k < batch->rows.rows; k++) {
        double y = batch->target[k] > 0 ? 1 : -1, margin = y * hawser_row_dot(&batch->rows, k, w);
        slopes[k] = y / (1 + exp(margin)) / rows;
        loss += (margin > 0 ? log1p(exp(-margin)) : log1p(exp(margin)) - margin) / rows;
    }
    for (size_t j = 0; j < columns; j++)
        w[j] -= size * PENALTY * w[j];
    for (size_t k = 0; k < batch->rows.rows; k++)
        hawser_row_axpy(&batch->rows, k, size * slopes[k], w);
    return loss;
}

static hawser_status step(hawser_context *context)
{
    const setting *chosen = hawser_user(context);
    HAWSER_READ(context, hawser_matrix, rows);
    HAWSER_WRITE(context, double, w);
    HAWSER_WRITE(context, double, own);
    if (rows->rows == 0)
        return hawser_report(context, "loss", 0); /* there are more workers than rows */

    /* The workers' changes are averaged, as the gain of w is their number: each one's part is its share of the rows. */
    const double work = chosen->every * hawser_work(context), batches = ceil(work);
    const double share = (double)rows->rows / chosen->rows, size = fmax(1, round(BATCH * work / batches));
    if (own[SIZE] < size || own[SIZE] > size)
        change_size(own, (double)rows->rows, size);
    for (double k = 0; k < batches; k++, own[NUMBER]++, own[STEPS] += size / BATCH) {
        hawser_mini_batch batch;
        HAWSER_TRY(hawser_data_batch(context, "rows", (uint64_t)size, (uint64_t)own[NUMBER], false, &batch));
        double length = share * hawser_blocks(context) / (hawser_metric(context, "steepest") + PENALTY * own[STEPS] / 2);
        double loss = descend(&batch, rows->cols, length * size / BATCH, w);
        own[LOSS] += (loss - own[LOSS]) * size / BATCH / fmin(own[STEPS] + size / BATCH, MEAN_OF);
    }
    return hawser_report(context, "loss", share * own[LOSS]);
}

static hawser_status build(const hawser_app_call *call, hawser_program *program, hawser_error *error)
{
    const hawser_matrix *A = hawser_dataset_matrix(call->data);
    const double until = hawser_options_number(call->options, "until");
    *(setting *)call->user = (setting){(double)A->rows, hawser_options_number(call->options, "exchange-every")};
    if (hawser_dataset_outputs(call->data) == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the input has no target");
    hawser_state *rows = HAWSER_STATE(program, "rows", HAWSER_DATA, .data = call->data, .split = HAWSER_BY_ROW);
    hawser_state *w = HAWSER_STATE(program, "w", HAWSER_REPLICATED, .rows = A->cols, .gain = hawser_job_workers(call->job),
                                   .form = hawser_job_encoding(call->job));
    hawser_state *own = HAWSER_STATE(program, "own", HAWSER_LOCAL, .each = true, .rows = REMEMBERED);
    hawser_metric_declare(program, "loss", HAWSER_SUM);
    hawser_metric_declare(program, "steepest", HAWSER_MAX);
    HAWSER_UNIT(hawser_root(program), "measure", measure, .reads = {rows});
    hawser_operator *loop = HAWSER_LOOP(hawser_root(program), "descent", hawser_job_sync(call->job), .clocks = CLOCKS,
                                        .metric = until > 0 ? "loss" : NULL, .below = until);
    HAWSER_UNIT(loop, "step", step, .reads = {rows}, .updates = {w, own});
    HAWSER_ADAPT(program, .loop = loop, .work_least = 0.25, .work_most = 4, .shares = true, .staleness_most = 3,
                 .metric = "loss", .state = w); /* --auto, --encoding auto, and --filter NAME --quota auto */
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
    static const hawser_option rows[] = {
        {.key = "until",
         .kind = HAWSER_NUMBER,
         .value = "0",
         .bounds = "[0,inf)",
         .unit = "LOSS",
         .help = "mean log loss of the last batches at which the descent ends; 0: it goes on to the last clock"},
        {0}};
    setting chosen;
    return HAWSER_APP(argc, argv, "minibatch", "FILE...", .files = true, .split = HAWSER_BY_ROW, .rows = rows,
                      .user = &chosen, .build = build, .done = print);
}
