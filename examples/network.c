/*
 * network.c - a neural network with one hidden layer (tanh, then softmax) by mini-batches: each worker has some of the rows,
 * and in each clock it goes down the rows of one batch of them. The weights are replicated, and the steps of all workers are
 * averaged.
 *
 * `./network CLASSES FILE` reads any input of Hawser; the target is a class 0 ... CLASSES - 1. It prints the mean log loss
 * and the share of rows that it classifies rightly. Try `--workers 4`, `--sync ssp:2`, `--sync tap`, and `hawser run -n
 * 3 -- ./network 10 FILE --workers 6`. Under bsp the result has the same bits for any number of threads and nodes.
 */
#include <hawser/app.h>
#include <hawser/batches.h>
#include <hawser/row_kernels.h>

#include <math.h>

enum { HIDDEN = 32, MOST_CLASSES = 64, BATCH = 32, CLOCKS = 3000 };
static const double STEP = 0.3;

typedef struct problem {
    size_t columns, classes;
} problem;

/* What a row gives on its way through the network. A bias is the last number of a unit's weights. */
typedef struct pass {
    double hidden[HIDDEN], likely[MOST_CLASSES];
} pass;

static pass forward(const problem *p, const hawser_matrix *rows, size_t i, const double *first, const double *second)
{
    pass out;
    double most = -INFINITY, sum = 0;
    for (size_t h = 0; h < HIDDEN; h++, first += p->columns + 1)
        out.hidden[h] = tanh(hawser_row_dot(rows, i, first) + first[p->columns]);
    for (size_t c = 0; c < p->classes; c++, second += HIDDEN + 1) {
        out.likely[c] = hawser_dot(HIDDEN, out.hidden, second, NULL) + second[HIDDEN];
        most = fmax(most, out.likely[c]);
    }
    for (size_t c = 0; c < p->classes; c++)
        sum += out.likely[c] = exp(out.likely[c] - most);
    for (size_t c = 0; c < p->classes; c++)
        out.likely[c] /= sum;
    return out;
}

/* The step down: subtracts the gradient of the row's log loss. */
static void backward(const problem *p, const hawser_matrix *rows, size_t i, size_t target, double step, const pass *at,
                     double *first, double *second)
{
    double below[HIDDEN] = {0};
    for (size_t c = 0; c < p->classes; c++, second += HIDDEN + 1) {
        double slope = at->likely[c] - (c == target);
        for (size_t h = 0; h < HIDDEN; h++) {
            below[h] += slope * second[h];
            second[h] -= step * slope * at->hidden[h];
        }
        second[HIDDEN] -= step * slope;
    }
    for (size_t h = 0; h < HIDDEN; h++, first += p->columns + 1) {
        double change = -step * below[h] * (1 - at->hidden[h] * at->hidden[h]);
        hawser_row_axpy(rows, i, change, first);
        first[p->columns] += change;
    }
}

static hawser_status begin(hawser_context *context)
{
    const problem *p = hawser_user(context);
    HAWSER_WRITE(context, double, first);
    HAWSER_WRITE(context, double, second);
    for (size_t e = 0; e < HIDDEN * (p->columns + 1); e++)
        first[e] = (hawser_random_uniform(context) - 0.5) / sqrt((double)p->columns);
    for (size_t e = 0; e < p->classes * (HIDDEN + 1); e++)
        second[e] = (hawser_random_uniform(context) - 0.5) / sqrt(HIDDEN);
    return HAWSER_OK;
}

/* Stores the class of a row, if its target is one. */
static hawser_status class_of(hawser_context *context, double target, size_t *out)
{
    const problem *p = hawser_user(context);
    if (!(target >= 0 && target < (double)p->classes && target == floor(target)))
        return hawser_unit_fail(context, HAWSER_BAD_INPUT, "the target %g is no class from 0 to %zu", target,
                                p->classes - 1);
    *out = (size_t)target;
    return HAWSER_OK;
}

static hawser_status step(hawser_context *context)
{
    const problem *p = hawser_user(context);
    HAWSER_WRITE(context, double, first);
    HAWSER_WRITE(context, double, second);
    hawser_mini_batch batch;
    HAWSER_TRY(hawser_data_batch(context, "rows", BATCH, hawser_clock(context), false, &batch));
    for (size_t i = 0, class = 0; i < batch.rows.rows; i++) {
        HAWSER_TRY(class_of(context, batch.target[i], &class));
        pass at = forward(p, &batch.rows, i, first, second);
        backward(p, &batch.rows, i, class, STEP / (double)batch.rows.rows, &at, first, second);
    }
    return HAWSER_OK;
}

/* The log loss of all rows, and how many of them the network would guess. */
static hawser_status measure(hawser_context *context)
{
    const problem *p = hawser_user(context);
    HAWSER_READ(context, hawser_matrix, rows);
    HAWSER_READ(context, double, first);
    HAWSER_READ(context, double, second);
    hawser_beside beside;
    HAWSER_TRY(hawser_data_beside(context, "rows", &beside));
    double loss = 0, right = 0;
    for (size_t i = 0, class = 0; i < rows->rows; i++) {
        HAWSER_TRY(class_of(context, beside.target[i], &class));
        pass at = forward(p, rows, i, first, second);
        size_t guess = 0;
        for (size_t c = 1; c < p->classes; c++)
            guess = at.likely[c] > at.likely[guess] ? c : guess;
        loss -= log(fmax(at.likely[class], 1e-300));
        right += guess == class;
    }
    HAWSER_TRY(hawser_report(context, "loss", loss));
    return hawser_report(context, "right", right);
}

static hawser_status build(const hawser_app_call *call, hawser_program *program, hawser_error *error)
{
    problem *p = call->user;
    p->columns = hawser_dataset_matrix(call->data)->cols;
    HAWSER_TRY(hawser_app_number(call, 0, "CLASSES", 2, MOST_CLASSES, &p->classes, error));
    if (hawser_dataset_outputs(call->data) == 0)
        return hawser_fail(error, HAWSER_BAD_INPUT, "the input has no target");
    double average = 1.0 / hawser_job_workers(call->job);
    hawser_state *rows = HAWSER_STATE(program, "rows", HAWSER_DATA, .data = call->data, .split = HAWSER_BY_ROW);
    hawser_state *first =
        HAWSER_STATE(program, "first", HAWSER_REPLICATED, .rows = HIDDEN, .cols = p->columns + 1, .damping = average);
    hawser_state *second =
        HAWSER_STATE(program, "second", HAWSER_REPLICATED, .rows = p->classes, .cols = HIDDEN + 1, .damping = average);
    hawser_metric_declare(program, "loss", HAWSER_SUM);
    hawser_metric_declare(program, "right", HAWSER_SUM);
    hawser_operator *root = hawser_root(program);
    HAWSER_UNIT(root, "begin", begin, .one = true, .updates = {first, second});
    hawser_operator *loop = HAWSER_LOOP(root, "descent", hawser_job_sync(call->job), .clocks = CLOCKS);
    HAWSER_UNIT(loop, "step", step, .reads = {rows}, .updates = {first, second});
    HAWSER_UNIT(root, "measure", measure, .reads = {rows, first, second});
    return HAWSER_OK;
}

static hawser_status print(const hawser_app_call *call, const hawser_run *run, hawser_error *error)
{
    (void)error;
    double rows = (double)hawser_dataset_matrix(call->data)->rows;
    printf("loss %.17g, right %.4f\n", hawser_result_metric(run, "loss") / rows, hawser_result_metric(run, "right") / rows);
    return HAWSER_OK;
}

int main(int argc, char **argv)
{
    problem p;
    return HAWSER_APP(argc, argv, "network", "CLASSES FILE...", .words = 1, .files = true, .split = HAWSER_BY_ROW,
                      .user = &p, .build = build, .done = print);
}
