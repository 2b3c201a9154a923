/* load.c - reads an input and prints its cost as one line of JSON. bench/load.py compares it with other readers.
 *
 *   bench_load [--rows] [--f32] [--threads N] [--target T] PATH ... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "hawser/data.h"

static double cpu_seconds(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
}

static long peak_kib(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return use.ru_maxrss;
}

int main(int argc, char **argv)
{
    hawser_load load = {0};
    const char *paths[64];
    size_t count = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--rows") == 0)
            load.rows_layout = 1;
        else if (strcmp(argv[i], "--f32") == 0)
            load.type = HAWSER_F32;
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            load.threads = (uint32_t)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--target") == 0 && i + 1 < argc)
            load.target = argv[++i];
        else if (count < sizeof paths / sizeof *paths)
            paths[count++] = argv[i];
    }
    hawser_dataset *dataset;
    hawser_error error = {0};
    double before = cpu_seconds();
    if (hawser_dataset_load(paths, count, &load, &dataset, &error) != HAWSER_OK) {
        fprintf(stderr, "bench_load: %s\n", error.text);
        return 1;
    }
    const hawser_matrix *A = hawser_dataset_matrix(dataset);
    const hawser_load_figures *f = hawser_dataset_figures(dataset);
    printf(
        "{\"rows\": %zu, \"cols\": %zu, \"stored\": %llu, \"bytes_text\": %llu, \"seconds\": %.6f, \"cpu_seconds\": %.6f, "
        "\"peak_kib\": %ld, \"memory_estimate\": %llu, \"readers\": %u}\n",
        A->rows, A->cols, (unsigned long long)A->stored, (unsigned long long)f->bytes_text, f->seconds,
        cpu_seconds() - before, peak_kib(), (unsigned long long)f->memory_estimate, f->readers);
    hawser_dataset_free(dataset);
    return 0;
}
