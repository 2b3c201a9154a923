/*
 * network.c - a neural network with one hidden layer (tanh, then softmax) by mini-batches: each worker has some of the rows, and in each clock
 * it takes a step on one batch of them. The weights are replicated, and the steps of all workers are averaged.
 *
 * `./network CLASSES FILE` reads any input of Hawser; the target is a class 0 ... CLASSES - 1. It prints the mean log loss and the share of
 * rows whose class is the most likely. Try `--workers 4`, `--sync ssp:2`, `--sync tap`, and
 * `hawser run -n 3 -- ./network 10 FILE --workers 6`. Under bsp the result has the same bits for any number of threads and nodes.
 */
#include <hawser/hawser.h>
#include <hawser/row_kernels.h>

#include <math.h>
#include <stdlib.h>

enum { HIDDEN = 32, MOST_CLASSES = 64, BATCH = 32, CLOCKS = 3000 };
static const double STEP = 0.3;

typedef struct problem {
    const hawser_dataset *data;
    size_t columns, classes;
    uint64_t seed;
} problem;

/* What a batch gives on its way through the network. A bias is the last row of its layer. */
typedef struct pass {
    double hidden[BATCH * HIDDEN], likely[BATCH * MOST_CLASSES];
} pass;

static void add_bias(double *out, size_t rows, size_t k, const double *bias)
{
    for (size_t e = 0; e < rows * k; e++)
        out[e] += bias[e % k];
}

static hawser_matrix matrix_of(const double *values, size_t rows, size_t cols)
{
    return (hawser_matrix){.layout = HAWSER_DENSE_ROWS,
                           .type = HAWSER_F64,
                           .rows = rows,
                           .cols = cols,
                           .stride = cols,
                           .values = values,
                           .stored = rows * cols};
}

static void forward(const problem *p, const hawser_matrix *batch, const double *first, const double *second, pass *out)
{
    size_t n = batch->rows, k = p->classes;
    hawser_multiply_block(batch, first, HIDDEN, HIDDEN, out->hidden, HIDDEN);
    add_bias(out->hidden, n, HIDDEN, first + p->columns * HIDDEN);
    for (size_t e = 0; e < n * HIDDEN; e++)
        out->hidden[e] = tanh(out->hidden[e]);
    hawser_matrix hidden = matrix_of(out->hidden, n, HIDDEN);
    hawser_multiply_block(&hidden, second, k, k, out->likely, k);
    add_bias(out->likely, n, k, second + HIDDEN * k);
    for (size_t i = 0; i < n; i++) {
        double *row = out->likely + i * k, most = row[0], sum = 0;
        for (size_t c = 1; c < k; c++)
            most = fmax(most, row[c]);
        for (size_t c = 0; c < k; c++)
            sum += row[c] = exp(row[c] - most);
        for (size_t c = 0; c < k; c++)
            row[c] /= sum;
    }
}

/* The step down: subtracts the gradient of the batch's mean log loss. */
static void backward(const problem *p, const hawser_matrix *batch, const double *targets, pass *at, double *first,
                     double *second)
{
    size_t n = batch->rows, k = p->classes;
    double step = -STEP / (double)n, below[BATCH * HIDDEN];
    for (size_t i = 0; i < n; i++)
        at->likely[i * k + (size_t)targets[i]] -= 1; /* the slope of the loss */
    for (size_t e = 0; e < n * k; e++)
        at->likely[e] *= step;
    for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < HIDDEN; h++) {
            double sum = 0, out = at->hidden[i * HIDDEN + h];
            for (size_t c = 0; c < k; c++)
                sum += at->likely[i * k + c] * second[h * k + c];
            below[i * HIDDEN + h] = sum * (1 - out * out);
        }
    hawser_matrix hidden = matrix_of(at->hidden, n, HIDDEN);
    hawser_accumulate_block(&hidden, at->likely, k, k, second, k);
    hawser_accumulate_block(batch, below, HIDDEN, HIDDEN, first, HIDDEN);
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < k; c++)
            second[HIDDEN * k + c] += at->likely[i * k + c];
        for (size_t h = 0; h < HIDDEN; h++)
            first[p->columns * HIDDEN + h] += below[i * HIDDEN + h];
    }
}

static hawser_status begin(hawser_context *context)
{
    const problem *p = hawser_user(context);
    double *first = hawser_cache(context, "first"), *second = hawser_cache(context, "second");
    for (size_t e = 0; e < p->columns * HIDDEN; e++)
        first[e] = (hawser_random_uniform(context) - 0.5) / sqrt((double)p->columns);
    for (size_t e = 0; e < HIDDEN * p->classes; e++)
        second[e] = (hawser_random_uniform(context) - 0.5) / sqrt(HIDDEN);
    return HAWSER_OK;
}

/* The rows of a batch as a matrix, and their targets; the caller frees `memory`. */
static hawser_status take(hawser_context *context, hawser_batches *batches, hawser_matrix *rows, double *targets,
                          void **memory)
{
    const problem *p = hawser_user(context);
    const hawser_matrix *part = hawser_data_view(context, "rows");
    hawser_error error = {HAWSER_OK, ""};
    size_t numbers[BATCH], bytes = hawser_batch_bytes(part, BATCH);
    hawser_batch batch;
    hawser_beside beside;
    hawser_status status = hawser_batches_next(batches, numbers, &batch, &error);
    if (status == HAWSER_OK)
        status = hawser_dataset_beside(p->data, part->first, part->rows, &beside, &error);
    if (status == HAWSER_OK && (*memory = malloc(bytes)) == NULL)
        status = hawser_fail(&error, HAWSER_NO_MEMORY, "no memory for a batch");
    if (status == HAWSER_OK)
        status = hawser_batch_pack(part, &batch, *memory, bytes, rows, &error);
    if (status != HAWSER_OK)
        return hawser_unit_fail(context, status, "%s", error.text);
    if (beside.target == NULL)
        return hawser_unit_fail(context, HAWSER_BAD_INPUT, "the input has no target");
    hawser_batch_gather(&batch, beside.target, targets);
    for (size_t i = 0; i < batch.count; i++)
        if (!(targets[i] >= 0 && targets[i] < (double)p->classes && targets[i] == floor(targets[i])))
            return hawser_unit_fail(context, HAWSER_BAD_INPUT, "the target %g is no class from 0 to %zu", targets[i],
                                    p->classes - 1);
    return HAWSER_OK;
}

static hawser_status step(hawser_context *context)
{
    const problem *p = hawser_user(context);
    hawser_batches batches = {
        .rows = hawser_data_view(context, "rows")->rows, .size = BATCH, .seed = p->seed, .stream = hawser_block(context)};
    double targets[BATCH], *first = hawser_cache(context, "first"), *second = hawser_cache(context, "second");
    hawser_matrix rows;
    void *memory = NULL;
    pass at;
    hawser_status status = hawser_batches_seek(&batches, hawser_clock(context), NULL);
    if (status == HAWSER_OK)
        status = take(context, &batches, &rows, targets, &memory);
    if (status == HAWSER_OK && rows.rows > 0) {
        forward(p, &rows, first, second, &at);
        backward(p, &rows, targets, &at, first, second);
    }
    free(memory);
    return status;
}

/* The mean log loss of all rows, and how many of them the network would guess. */
static hawser_status measure(hawser_context *context)
{
    const problem *p = hawser_user(context);
    const double *first = hawser_view(context, "first"), *second = hawser_view(context, "second");
    hawser_batches batches = {.rows = hawser_data_view(context, "rows")->rows, .size = BATCH, .in_order = true};
    double loss = 0, right = 0, targets[BATCH];
    for (uint64_t left = hawser_batches_count(&batches); left > 0; left--) {
        hawser_matrix rows;
        void *memory = NULL;
        pass at;
        hawser_status status = take(context, &batches, &rows, targets, &memory);
        if (status == HAWSER_OK)
            forward(p, &rows, first, second, &at);
        for (size_t i = 0; status == HAWSER_OK && i < rows.rows; i++) {
            const double *likely = at.likely + i * p->classes;
            size_t most = 0;
            for (size_t c = 1; c < p->classes; c++)
                most = likely[c] > likely[most] ? c : most;
            loss -= log(fmax(likely[(size_t)targets[i]], 1e-300));
            right += most == (size_t)targets[i];
        }
        free(memory);
        HAWSER_TRY(status);
    }
    HAWSER_TRY(hawser_report(context, "loss", loss));
    return hawser_report(context, "right", right);
}

static hawser_status train(hawser_job *job, problem *p, hawser_program *program, hawser_run **run, hawser_error *error)
{
    const hawser_rule average = {.damping = 1.0 / hawser_job_workers(job)};
    hawser_state *data = hawser_data_state(program, "rows", hawser_dataset_matrix(p->data), HAWSER_BY_ROW);
    hawser_state *first = hawser_replicated_state(program, "first", HIDDEN, p->columns + 1, NULL, average);
    hawser_state *second = hawser_replicated_state(program, "second", p->classes, HIDDEN + 1, NULL, average);
    hawser_metric_declare(program, "loss", HAWSER_SUM);
    hawser_metric_declare(program, "right", HAWSER_SUM);

    hawser_operator *root = hawser_root(program);
    hawser_unit_one(root, "begin", begin, NULL, HAWSER_UPDATES(first, second));
    hawser_operator *loop = hawser_loop(root, "descent", (hawser_until){.clocks = CLOCKS}, hawser_job_sync(job));
    hawser_unit(loop, "step", step, HAWSER_READS(data), HAWSER_UPDATES(first, second));
    hawser_unit(root, "measure", measure, HAWSER_READS(data, first, second), NULL);
    return hawser_run_program(job, program, run, error);
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_run *run = NULL;
    hawser_dataset *data = NULL;
    hawser_error error = {HAWSER_OK, "usage: network CLASSES FILE [options of the job]"};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_STOP) /* --help */
        return 0;
    char *end = NULL;
    unsigned long classes = status == HAWSER_OK && argc == 3 ? strtoul(argv[1], &end, 10) : 0;
    if (status == HAWSER_OK && (classes < 2 || classes > MOST_CLASSES || *end != '\0'))
        status = HAWSER_BAD_ARGUMENT;
    const hawser_load by_row = {.split = HAWSER_BY_ROW};
    if (status == HAWSER_OK)
        status = hawser_job_load(job, (const char *const *)&argv[2], 1, &by_row, &data, &error);
    problem p = {data, 0, classes, hawser_job_seed(job)};
    hawser_program *program = hawser_program_new("network", &p);
    if (status == HAWSER_OK) {
        p.columns = hawser_dataset_matrix(data)->cols;
        status = train(job, &p, program, &run, &error);
    }
    if (status == HAWSER_OK && hawser_job_leads(job)) {
        double rows = (double)hawser_dataset_matrix(data)->rows;
        printf("loss %.17g, right %.4f\n", hawser_result_metric(run, "loss") / rows,
               hawser_result_metric(run, "right") / rows);
    }
    if (status != HAWSER_OK)
        fprintf(stderr, "network: %s\n", error.text);
    hawser_run_free(run);
    hawser_program_free(program);
    hawser_dataset_free(data);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : 1;
}
