/* bare.c - the least that bench/vector could do: processes copy their arrays into shared memory, meet, and add up all of
 * them. usage: bare PROCESSES SCALE BYTES... The output is that of bench_vector; bench/vector/run compiles it with cc. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 400, LEAST = 8, PROCESSES = 16 };

typedef struct shared {
    pthread_barrier_t barrier;
    float numbers[]; /* two arrays of each process, in turn */
} shared;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One pass over all arrays, as a gather does it. */
static void mean(float *restrict array, const float *const *all, int processes, size_t count)
{
    for (size_t begin = 0; begin < count; begin += 1024) {
        size_t end = begin + 1024 < count ? begin + 1024 : count;
        memcpy(array + begin, all[0] + begin, (end - begin) * sizeof *array);
        for (int p = 1; p < processes; p++) {
            const float *restrict other = all[p];
            for (size_t i = begin; i < end; i++)
                array[i] += other[i];
        }
        for (size_t i = begin; i < end; i++)
            array[i] /= (float)processes;
    }
}

static void loop(shared *with, int rank, int processes, size_t count, size_t iterations)
{
    float *array = malloc(count * sizeof *array);
    const float *all[PROCESSES];
    static double taken[MOST];
    for (size_t i = 0; i < count; i++)
        array[i] = (float)rank;
    for (size_t t = 0; t < iterations; t++) {
        double begun = seconds();
        float *half = with->numbers + t % 2 * (size_t)processes * count;
        memcpy(half + (size_t)rank * count, array, count * sizeof *array);
        pthread_barrier_wait(&with->barrier);
        for (int p = 0; p < processes; p++)
            all[p] = half + (size_t)p * count;
        mean(array, all, processes, count);
        taken[t] = seconds() - begun;
    }
    for (size_t i = 0; i < count; i++)
        if (array[i] != (float)(processes - 1) / 2)
            exit(1);
    qsort(taken, iterations, sizeof *taken, by_value);
    if (rank == 0)
        printf("%zu %.9f\n", count * sizeof *array, taken[iterations / 2]);
    free(array);
}

static int measure(int processes, double scale, size_t bytes)
{
    size_t size = sizeof(shared) + 2 * (size_t)processes * bytes;
    shared *with = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double wanted = (double)(256 << 20) / (double)bytes * scale;
    pthread_barrierattr_t kind;
    int failed = 0, status;
    if (with == MAP_FAILED)
        return 1;
    pthread_barrierattr_init(&kind);
    pthread_barrierattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&with->barrier, &kind, (unsigned)processes);
    for (int rank = 0; rank < processes; rank++)
        if (fork() == 0) {
            loop(with, rank, processes, bytes / sizeof(float),
                 wanted < LEAST  ? LEAST
                 : wanted > MOST ? MOST
                                 : (size_t)wanted);
            exit(0);
        }
    for (int rank = 0; rank < processes; rank++)
        failed |= wait(&status) < 0 || status != 0;
    munmap(with, size);
    return failed;
}

int main(int argc, char **argv)
{
    int processes = argc > 3 ? (int)strtol(argv[1], NULL, 10) : 0, failed = processes < 1 || processes > PROCESSES;
    for (int i = 3; i < argc && !failed; i++)
        failed = measure(processes, strtod(argv[2], NULL), strtoull(argv[i], NULL, 10));
    return failed;
}
