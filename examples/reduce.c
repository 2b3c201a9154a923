/*
 * reduce.c - solves least squares by conjugate gradients, in the form of the method: a loop inside one unit, with a sum over all workers in each
 * step.
 *
 * Each worker has some of the rows. It multiplies by them and hawser_allreduce adds the products up, with the same bits on every worker. So
 * all workers take the same steps and leave the loop together. Try `./reduce --workers 4`, `hawser run -n 3 -- ./reduce --topology tree`
 * and Ctrl-C; the printed numbers are the same for any number of nodes and threads that share the workers.
 */
#include <hawser/hawser.h>

#include <math.h>
#include <string.h>

enum { ROWS = 4000, COLS = 200 };

/* Computes out = A' A in, over the rows of all workers. */
static hawser_status multiply(hawser_context *context, const double *in, double *out)
{
    const hawser_matrix *part = hawser_data_view(context, "A");
    const double *values = part->values;
    memset(out, 0, COLS * sizeof *out);
    for (size_t i = 0; i < part->rows; i++) {
        double dot = 0;
        for (size_t j = 0; j < COLS; j++)
            dot += values[j * part->stride + i] * in[j];
        for (size_t j = 0; j < COLS; j++)
            out[j] += values[j * part->stride + i] * dot;
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
    double x[COLS] = {0}, r[COLS], p[COLS], q[COLS], ones[COLS];
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
            x[j] += step * p[j];
            r[j] -= step * q[j];
        }
        size = dot(r, r);
        for (size_t j = 0; j < COLS; j++)
            p[j] = r[j] + size / before * p[j];
        steps++;
    }
    if (hawser_block(context) == 0) /* every worker has the same solution; one of them writes it */
        memcpy(hawser_cache(context, "x"), x, sizeof x);
    return hawser_report(context, "steps", steps);
}

static hawser_status run(hawser_job *job, hawser_program *program, const hawser_matrix *A, hawser_run **out,
                         hawser_error *error)
{
    hawser_state *data = hawser_data_state(program, "A", A, HAWSER_BY_ROW);
    hawser_state *x = hawser_replicated_state(program, "x", COLS, 1, NULL, (hawser_rule){0});
    hawser_metric_declare(program, "steps", HAWSER_MAX);
    hawser_operator *unit = hawser_unit(hawser_root(program), "solve", solve, HAWSER_READS(data), HAWSER_UPDATES(x));
    hawser_reduces(unit, COLS);
    return hawser_run_program(job, program, out, error);
}

int main(int argc, char **argv)
{
    static double values[ROWS * COLS];
    for (size_t i = 0; i < ROWS * COLS; i++)
        values[i] = ((double)(i * i % 100003) / 50001.5 - 1) / (1 + (double)(i / ROWS) / 20);
    hawser_matrix A = {.rows = ROWS, .cols = COLS, .stored = ROWS * COLS, .values = values, .stride = ROWS};
    hawser_job *job = NULL;
    hawser_run *result = NULL;
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_STOP) /* --help */
        return 0;
    hawser_program *program = hawser_program_new("reduce", NULL);
    if (status == HAWSER_OK)
        status = run(job, program, &A, &result, &error);
    if (status == HAWSER_OK && hawser_job_leads(job)) {
        const double *x = hawser_result(result, "x", NULL);
        double error_most = 0;
        for (size_t j = 0; j < COLS; j++)
            error_most = fmax(error_most, fabs(x[j] - 1));
        printf("%g steps, largest error %.17g\n", hawser_result_metric(result, "steps"), error_most);
    }
    if (status != HAWSER_OK)
        fprintf(stderr, "reduce: %s\n", error.text);
    hawser_run_free(result);
    hawser_program_free(program);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : 1;
}
