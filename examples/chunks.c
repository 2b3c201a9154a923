/*
 * chunks.c - solves a linear system by Jacobi's method. Servers store the solution in one chunk per worker. Each worker
 * reads all chunks, in the order in which they become ready, and writes its own. Only `--sync bsp` has a barrier between the
 * steps.
 *
 * Build it as hello.c. `./chunks --workers 4 --sync dc:0` gives the bits of one thread, and dc:2 lets chunks be two steps
 * old. `hawser run -n 3 -- ./chunks --workers 6 --sync dc:1` runs on three processes. It prints the residual of the
 * solution.
 */
#include <hawser/app.h>
#include <hawser/stored.h>

#include <math.h>

enum { N = 400, STEPS = 100 };

/* The system is x = 1 + A x, where A is small enough for steps on values that are a little old. */
static double entry(size_t i, size_t j)
{
    return 0.5 / N * cos((double)(i * j % 1000));
}

static hawser_status step(hawser_context *context)
{
    HAWSER_WRITE(context, double, x); /* this worker's chunk; sent when the clock ends */
    size_t first, count = hawser_part(context, "x", &first);
    uint32_t blocks = hawser_blocks(context);
    double *product = hawser_scratch(context); /* of each chunk */
    for (hawser_chunk chunk;;) {
        HAWSER_TRY(hawser_next_chunk(context, "x", &chunk));
        if (chunk.block == UINT32_MAX) /* the last chunk was read */
            break;
        const double *values = chunk.values;
        for (size_t i = 0; i < count; i++) {
            double *sum = &product[chunk.block * N + i];
            *sum = 0;
            for (size_t j = 0; j < chunk.count; j++)
                *sum += entry(first + i, chunk.first + j) * values[j];
        }
    }
    for (size_t i = 0; i < count; i++) {
        x[i] = 1;
        for (uint32_t b = 0; b < blocks; b++) /* in the order of chunks, so that the bits do not depend on arrival */
            x[i] += product[b * N + i];
    }
    return HAWSER_OK;
}

static double distance(const double *x)
{
    double most = 0;
    for (size_t i = 0; i < N; i++) {
        double sum = 1;
        for (size_t j = 0; j < N; j++)
            sum += entry(i, j) * x[j];
        most = fmax(most, fabs(sum - x[i]));
    }
    return most;
}

static hawser_status build(const hawser_app_call *call, hawser_program *program, hawser_error *error)
{
    (void)error;
    hawser_scratch_size(program, (size_t)hawser_job_workers(call->job) * N * sizeof(double), NULL);
    hawser_state *x = HAWSER_STATE(program, "x", HAWSER_STORED, .rows = N); /* zeros, one chunk per worker */
    hawser_operator *loop = HAWSER_LOOP(hawser_root(program), "jacobi", hawser_job_sync(call->job), .clocks = STEPS);
    HAWSER_UNIT(loop, "step", step, .updates = {x});
    return HAWSER_OK;
}

/* Fetches the chunks from the nodes that have them; the other nodes take no memory for all of x. */
static hawser_status print(const hawser_app_call *call, const hawser_run *run, hawser_error *error)
{
    (void)call;
    double x[N];
    HAWSER_TRY(hawser_result_range(run, "x", 0, N, x, error));
    printf("x[0] = %.6f, residual %.1g\n", x[0], distance(x));
    return HAWSER_OK;
}

int main(int argc, char **argv)
{
    return HAWSER_APP(argc, argv, "chunks", .build = build, .done = print);
}
