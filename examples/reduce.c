/*
 * reduce.c - solves least squares by conjugate gradients, in the form of the method: a loop inside one unit, with a sum over
 * all workers in each step.
 *
 * Each worker has some of the rows. It multiplies by them and hawser_allreduce adds the products up, with the same bits on
 * every worker. So all workers take the same steps and leave the loop together. Try `./reduce --workers 4`, `hawser run -n 3
 * -- ./reduce --topology tree` and Ctrl-C; the printed numbers are the same for any number of nodes and threads that share
 * the workers.
 */
#include <hawser/app.h>

#include <math.h>
#include <string.h>

enum { ROWS = 4000, COLS = 200 };

/* Computes out = A' A in, over the rows of all workers. */
static hawser_status multiply(hawser_context *context, const double *in, double *out)
{
    HAWSER_READ(context, hawser_matrix, A);
    const double *values = A->values;
    memset(out, 0, COLS * sizeof *out);
    for (size_t i = 0; i < A->rows; i++) {
        double dot = 0;
        for (size_t j = 0; j < COLS; j++)
            dot += values[j * A->stride + i] * in[j];
        for (size_t j = 0; j < COLS; j++)
            out[j] += values[j * A->stride + i] * dot;
    }
    return hawser_allreduce(context, out, COLS, HAWSER_SUM);
}

static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (size_t j = 0; j < COLS; j++)
        sum += a[j] * b[j];
    return sum;
}

static hawser_status solve(hawser_context *context)
{
    HAWSER_WRITE(context, double, x);
    double at[COLS] = {0}, r[COLS], p[COLS], q[COLS], ones[COLS];
    for (size_t j = 0; j < COLS; j++)
        ones[j] = 1;
    HAWSER_TRY(multiply(context, ones, r)); /* the solution is (1, 1, ...) */
    memcpy(p, r, sizeof p);
    double size = dot(r, r), begin = size;
    int steps = 0;
    while (size > 1e-24 * begin && !hawser_stopping(context)) {
        HAWSER_TRY(multiply(context, p, q));
        double step = size / dot(p, q), before = size;
        for (size_t j = 0; j < COLS; j++) {
            at[j] += step * p[j];
            r[j] -= step * q[j];
        }
        size = dot(r, r);
        for (size_t j = 0; j < COLS; j++)
            p[j] = r[j] + size / before * p[j];
        steps++;
    }
    if (hawser_block(context) == 0) /* every worker has the same solution; one of them writes it */
        memcpy(x, at, sizeof at);
    return hawser_report(context, "steps", steps);
}

static hawser_status build(const hawser_app_call *call, hawser_program *program, hawser_error *error)
{
    (void)error;
    hawser_state *A = HAWSER_STATE(program, "A", HAWSER_DATA, .matrix = call->user, .split = HAWSER_BY_ROW);
    hawser_state *x = HAWSER_STATE(program, "x", HAWSER_REPLICATED, .rows = COLS);
    hawser_metric_declare(program, "steps", HAWSER_MAX);
    HAWSER_UNIT(hawser_root(program), "solve", solve, .reads = {A}, .updates = {x}, .reduces = COLS);
    return HAWSER_OK;
}

static hawser_status print(const hawser_app_call *call, const hawser_run *run, hawser_error *error)
{
    (void)call;
    const double *x;
    HAWSER_TRY(hawser_result(run, "x", &x, NULL, error));
    double most = 0;
    for (size_t j = 0; j < COLS; j++)
        most = fmax(most, fabs(x[j] - 1));
    printf("%g steps, largest error %.17g\n", hawser_result_metric(run, "steps"), most);
    return HAWSER_OK;
}

int main(int argc, char **argv)
{
    static double values[ROWS * COLS];
    for (size_t i = 0; i < ROWS * COLS; i++)
        values[i] = ((double)(i * i % 100003) / 50001.5 - 1) / (1 + (double)(i / ROWS) / 20);
    hawser_matrix A = {.rows = ROWS, .cols = COLS, .stored = ROWS * COLS, .values = values, .stride = ROWS};
    return HAWSER_APP(argc, argv, "reduce", .user = &A, .build = build, .done = print);
}
