/* mpi.c - MPI's side of bench/vector: an all-reduce in place, and the division. Arguments and output are those of
 * bench_vector; bench/vector/run compiles it with mpicc. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 400, LEAST = 8 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(size_t bytes, double scale, int rank, int ranks)
{
    double wanted = (double)(256 << 20) / (double)bytes * scale, taken[MOST];
    size_t count = bytes / sizeof(float), iterations = wanted < LEAST ? LEAST : wanted > MOST ? MOST : (size_t)wanted;
    float *array = malloc(bytes);
    for (size_t i = 0; i < count; i++)
        array[i] = (float)rank;
    for (size_t t = 0; t < iterations; t++) {
        double begun = MPI_Wtime();
        MPI_Allreduce(MPI_IN_PLACE, array, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        for (size_t i = 0; i < count; i++)
            array[i] /= (float)ranks;
        taken[t] = MPI_Wtime() - begun;
    }
    for (size_t i = 0; i < count; i++)
        if (array[i] != (float)(ranks - 1) / 2)
            MPI_Abort(MPI_COMM_WORLD, 1);
    free(array);
    qsort(taken, iterations, sizeof *taken, by_value);
    if (rank == 0) {
        printf("%zu %.9f\n", bytes, taken[iterations / 2]);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 2; i < argc; i++)
        measure(strtoull(argv[i], NULL, 10), strtod(argv[1], NULL), rank, ranks);
    MPI_Finalize();
    return 0;
}
