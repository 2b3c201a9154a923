/*
 * chunks.c - solves a linear system by Jacobi's method. Servers store the solution in one chunk per worker. Each worker reads all chunks, in
 * the order in which they become ready, and writes its own. Only `--sync bsp` has a barrier between the steps.
 *
 * Build it as hello.c. `./chunks --workers 4 --sync dc:0` gives the bits of one thread, and dc:2 lets chunks be two steps old. `hawser run -n 3
 * -- ./chunks --workers 6 --sync dc:1` runs on three processes. It prints the residual of the solution.
 */
#include <hawser/hawser.h>

#include <math.h>
#include <stdio.h>

enum { N = 400, STEPS = 100 };

/* The system is x = 1 + A x, where A is small enough for steps on values that are a little old. */
static double entry(size_t i, size_t j)
{
    return 0.5 / N * cos((double)(i * j % 1000));
}

static hawser_status step(hawser_context *context)
{
    double *own = hawser_local(context, "x"); /* sent when the clock ends */
    size_t first, count = hawser_part(context, "x", &first);
    uint32_t blocks = hawser_blocks(context);
    double *product = hawser_scratch(context); /* of each chunk */
    for (hawser_chunk chunk;;) {
        HAWSER_TRY(hawser_next_chunk(context, "x", &chunk));
        if (chunk.block == UINT32_MAX) /* the last chunk was read */
            break;
        for (size_t i = 0; i < count; i++) {
            double *sum = &product[chunk.block * N + i];
            *sum = 0;
            for (size_t j = 0; j < chunk.count; j++)
                *sum += entry(first + i, chunk.first + j) * chunk.values[j];
        }
    }
    for (size_t i = 0; i < count; i++) {
        own[i] = 1;
        for (uint32_t b = 0; b < blocks; b++) /* in the order of chunks, so that the bits do not depend on arrival */
            own[i] += product[b * N + i];
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

static hawser_status solve(hawser_job *job, hawser_program *program, hawser_run **run, hawser_error *error)
{
    hawser_scratch_size(program, (size_t)hawser_job_workers(job) * N * sizeof(double), NULL);
    hawser_state *x = hawser_stored_state(program, "x", N, NULL, NULL, NULL, NULL); /* zeros, one chunk per worker */
    hawser_operator *loop =
        hawser_loop(hawser_root(program), "jacobi", (hawser_until){.clocks = STEPS}, hawser_job_sync(job));
    hawser_unit(loop, "step", step, NULL, HAWSER_UPDATES(x));
    return hawser_run_program(job, program, run, error);
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_run *run = NULL;
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    if (status == HAWSER_STOP) /* --help */
        return 0;
    hawser_program *program = hawser_program_new("chunks", NULL);
    if (status == HAWSER_OK)
        status = solve(job, program, &run, &error);
    double x[N];
    bool leads = status == HAWSER_OK && hawser_job_leads(job);
    if (leads) /* fetched from the nodes that have its shares; the others take no memory for x */
        status = hawser_result_range(run, "x", 0, N, x, &error);
    if (leads && status == HAWSER_OK)
        printf("x[0] = %.6f, residual %.1g\n", x[0], distance(x));
    if (status != HAWSER_OK)
        fprintf(stderr, "chunks: %s\n", error.text);
    hawser_run_free(run);
    hawser_program_free(program);
    hawser_close(job);
    return status == HAWSER_OK ? 0 : 1;
}
