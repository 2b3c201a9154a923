/*
 * vector.c - bench_vector: the mean of an array over replicas by scatter and gather, per size; bench/vector/run compares it.
 *
 *   hawser run -n 2 -- bench_vector SCALE BYTES... [--transport T]
 *
 * For each size it prints a line "BYTES SECONDS FAULTS": the median time of an iteration on replica 0, and the page faults
 * of its process per iteration (of the later half), which other load does not change. SCALE multiplies the numbers of
 * iterations. All iterations are under bsp over `all`, and the numbers are checked at the end.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "hawser/vector.h"

enum { MOST = 400, LEAST = 8 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double faults(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)used.ru_minflt;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The same number of iterations as in mpi.c and common_loop.py. */
static size_t iterations_of(size_t bytes, double scale)
{
    double count = (double)(256 << 20) / (double)bytes * scale;
    return count < LEAST ? LEAST : count > MOST ? MOST : (size_t)count;
}

static hawser_status loop(hawser_vector *vector, float *array, size_t count, size_t iterations, double *taken,
                          double *fault_rate, hawser_error *error)
{
    double before = 0;
    for (uint64_t t = 0; t < iterations; t++) {
        before = t == iterations / 2 ? faults() : before;
        double begun = seconds();
        HAWSER_TRY(hawser_vector_scatter(vector, &(hawser_scatter){.iteration = t, .values = array}, error));
        HAWSER_TRY(hawser_vector_gather(vector, t, HAWSER_GATHER_AVERAGE, NULL, array, error));
        taken[t] = seconds() - begun;
    }
    *fault_rate = (faults() - before) / (double)(iterations - iterations / 2);
    hawser_vector_facts facts;
    HAWSER_TRY(hawser_vector_describe(vector, &facts, error));
    for (size_t i = 0; i < count; i++) /* replica r begins with r */
        if (array[i] != (float)(facts.replicas - 1) / 2)
            return hawser_fail(error, HAWSER_INTERNAL, "number %zu is %g", i, (double)array[i]);
    return hawser_vector_finish(vector, array, error);
}

static hawser_status measure(hawser_job *job, size_t bytes, double scale, hawser_error *error)
{
    size_t count = bytes / sizeof(float), iterations = iterations_of(bytes, scale);
    float *array = malloc(bytes);
    static double taken[MOST];
    double fault_rate = 0;
    hawser_vector *vector = NULL;
    if (array == NULL || count == 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "%zu bytes: give sizes of at least 4 bytes that memory has", bytes);
    for (size_t i = 0; i < count; i++)
        array[i] = (float)hawser_job_node(job);
    const hawser_vector_options options = {.name = "w", .type = HAWSER_F32, .count = count, .sync = "bsp"};
    hawser_status status = hawser_vector_open(job, &options, &vector, error);
    if (status == HAWSER_OK)
        status = loop(vector, array, count, iterations, taken, &fault_rate, error);
    hawser_vector_close(vector);
    free(array);
    qsort(taken, iterations, sizeof *taken, by_value);
    if (status == HAWSER_OK && hawser_job_leads(job)) {
        printf("%zu %.9f %.1f\n", bytes, taken[iterations / 2], fault_rate);
        fflush(stdout);
    }
    return status;
}

int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_error error;
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    double scale = argc > 1 ? strtod(argv[1], NULL) : 0;
    if (status == HAWSER_OK && (scale <= 0 || argc < 3))
        status = hawser_fail(&error, HAWSER_BAD_ARGUMENT, "give SCALE above 0 and sizes in bytes");
    for (int i = 2; status == HAWSER_OK && i < argc; i++)
        status = measure(job, strtoull(argv[i], NULL, 10), scale, &error);
    hawser_close(job);
    if (status != HAWSER_OK)
        fprintf(stderr, "bench_vector: %s\n", error.text);
    return status == HAWSER_OK ? 0 : 1;
}
