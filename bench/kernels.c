/* kernels.c - measures the speed of the kernels on this machine with one thread and with two, beside a plain read of memory.
 * Compare the speedup of two workers with the speedup of two threads here.
 *
 *   bench_kernels [--json] [--small] bench_kernels [--json] --data FILE     the kernels of linear models on the columns of a
 *   data set (bench/lasso, bench/logistic) */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/solve/packed.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/type.h"
#include "data/layout/flip.h"
#include "hawser/data.h"
#include "hawser/row_kernels.h"
#include "linalg/kernels.h"

enum { THREADS = 2, ROUNDS = 7, CHOSEN = 200, BLOCK = 16 /* columns of a product with rows, and centres */ };

/* A matrix by rows, and what its kernels read and write, of the type in which they compute. */
typedef struct row_inputs {
    hawser_matrix matrix;
    void *block;                 /* cols x BLOCK; its first numbers are also the vector of kernels of one row */
    void *image;                 /* rows x BLOCK */
    void *row_squares, *squares; /* of the rows, and of the columns of the block */
    void *own[THREADS];          /* cols x BLOCK for each thread */
} row_inputs;

typedef struct inputs {
    const hawser_matrix *dense, *sparse; /* the same matrix if a data set is given */
    const double *x;                     /* as long as either matrix has rows */
    double *out;                         /* as long as both have columns */
    double *image;                       /* as long as the sparse one has rows */
    const uint32_t *places;
    size_t place_count;
    uint32_t chosen[CHOSEN];
    size_t chosen_count;
    double *gram[THREADS];
    hw_linear_packed *packed[THREADS]; /* by number of threads - 1, then by thread; NULL: dense data */
    row_inputs *rows;                  /* for kernels over rows */
    double *sums;                      /* the compiler must not drop these results; a cache line apart */
} inputs;

/* Does one share of a kernel's work. */
typedef void work(const inputs *in, size_t thread, size_t threads);

typedef struct kernel {
    const char *name, *unit; /* "GB/s" ... */
    work *run;
    double amount;   /* of units, of the whole work */
    bool replicated; /* every thread does the whole work */
} kernel;

static size_t cut(size_t whole, size_t part, size_t parts)
{
    return whole / parts * part + whole % parts * part / parts;
}

/* Adds up sixteen sums, so that loads are timed and not additions. */
static void read_memory(const inputs *in, size_t thread, size_t threads)
{
    const double *at = in->dense->values;
    size_t begin = cut(in->dense->stored, thread, threads) / 16 * 16,
           end = cut(in->dense->stored, thread + 1, threads) / 16 * 16;
    double sum[16] = {0};
    for (size_t i = begin; i < end; i += 16)
        for (size_t k = 0; k < 16; k++)
            sum[k] += at[i + k];
    for (size_t k = 0; k < 16; k++)
        in->sums[8 * thread] += sum[k];
}

static hawser_matrix share(const hawser_matrix *A, size_t thread, size_t threads)
{
    size_t bounds[THREADS + 1];
    hawser_balance(A, threads, bounds);
    return hawser_matrix_columns(A, bounds[thread], bounds[thread + 1]);
}

static void dense_scan(const inputs *in, size_t thread, size_t threads)
{
    hawser_matrix part = share(in->dense, thread, threads);
    hawser_scan(&part, in->x, in->out + part.first);
}

static void dense_dots(const inputs *in, size_t thread, size_t threads)
{
    hawser_matrix part = share(in->dense, thread, threads);
    for (size_t j = 0; j < part.cols; j++)
        in->out[part.first + j] = hawser_column_dot(&part, j, in->x);
}

static void sparse_scan(const inputs *in, size_t thread, size_t threads)
{
    hawser_matrix part = share(in->sparse, thread, threads);
    hawser_scan(&part, in->x, in->out + part.first);
}

static void gather(const inputs *in, size_t thread, size_t threads)
{
    size_t begin = cut(in->place_count, thread, threads), end = cut(in->place_count, thread + 1, threads);
    double sum[4] = {0};
    for (size_t i = begin; i + 4 <= end; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += ((const double *)in->dense->values)[in->places[i + k]];
    in->sums[8 * thread] += sum[0] + sum[1] + sum[2] + sum[3];
}

static void gram(const hawser_matrix *A, const inputs *in, size_t thread)
{
    hawser_error error;
    if (hawser_gram(A, in->chosen, 0, CHOSEN, NULL, in->gram[thread], CHOSEN, &error) != HAWSER_OK) {
        fprintf(stderr, "bench_kernels: %s\n", error.text);
        exit(1);
    }
}

static void dense_gram(const inputs *in, size_t thread, size_t threads)
{
    (void)threads;
    gram(in->dense, in, thread);
}

static void sparse_gram(const inputs *in, size_t thread, size_t threads)
{
    (void)threads;
    gram(in->sparse, in, thread);
}

/* ---- on a data set ---- */

static void data_moments(const inputs *in, size_t thread, size_t threads)
{
    hawser_matrix part = share(in->sparse, thread, threads);
    for (size_t j = 0; j < part.cols; j++)
        hawser_column_moments(&part, j, NULL, (double)part.rows, 0.0, &in->sums[8 * thread], &in->out[part.first + j]);
}

static void data_gram_rows(const inputs *in, size_t thread, size_t threads)
{
    hawser_error error;
    size_t rows = in->sparse->rows;
    if (hawser_gram_rows(in->sparse, cut(rows, thread, threads), cut(rows, thread + 1, threads), in->chosen, 0,
                         in->chosen_count, NULL, in->gram[thread], CHOSEN, &error) != HAWSER_OK) {
        fprintf(stderr, "bench_kernels: %s\n", error.text);
        exit(1);
    }
}

/* Computes X'X x by rows, as conjugate gradients do; for sparse columns on a copy of the rows. */
static void data_product(const inputs *in, size_t thread, size_t threads)
{
    const hawser_matrix *A = in->sparse;
    if (in->packed[threads - 1] != NULL) {
        hw_linear_packed_product(&in->packed[threads - 1][thread], NULL);
        return;
    }
    hawser_matrix part = hawser_matrix_rows(A, cut(A->rows, thread, threads), cut(A->rows, thread + 1, threads));
    double *image = in->image + cut(A->rows, thread, threads);
    memset(image, 0, part.rows * sizeof *image);
    hawser_combine(&part, in->chosen, in->x, in->chosen_count, image);
    for (size_t c = 0; c < in->chosen_count; c++)
        in->gram[thread][c] = hawser_column_dot(&part, in->chosen[c], image);
}

/* ---- timing ---- */

typedef struct crew {
    const inputs *in;
    work *run;
    size_t threads, thread;
    pthread_barrier_t *barrier;
    double start[ROUNDS], end[ROUNDS];
} crew;

/* Each thread takes its own times: a separate thread that waited for them might wake up late on a busy machine. */
static void *labour(void *argument)
{
    crew *me = argument;
    for (int r = 0; r < ROUNDS; r++) {
        pthread_barrier_wait(me->barrier);
        me->start[r] = hw_seconds();
        me->run(me->in, me->thread, me->threads);
        me->end[r] = hw_seconds();
    }
    return NULL;
}

/* Returns the seconds of the best round, from the first start to the last end. */
static double best_seconds(const inputs *in, work *run, size_t threads)
{
    pthread_t ids[THREADS];
    crew crews[THREADS];
    pthread_barrier_t barrier;
    double best = HUGE_VAL;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (size_t t = 0; t < threads; t++) {
        crews[t] = (crew){.in = in, .run = run, .threads = threads, .thread = t, .barrier = &barrier};
        if (pthread_create(&ids[t], NULL, labour, &crews[t]) != 0) {
            fprintf(stderr, "bench_kernels: cannot start a thread\n");
            exit(1);
        }
    }
    for (size_t t = 0; t < threads; t++)
        pthread_join(ids[t], NULL);
    for (int r = 0; r < ROUNDS; r++) {
        double start = crews[0].start[r], end = crews[0].end[r];
        for (size_t t = 1; t < threads; t++) {
            start = crews[t].start[r] < start ? crews[t].start[r] : start;
            end = crews[t].end[r] > end ? crews[t].end[r] : end;
        }
        best = end - start < best ? end - start : best;
    }
    pthread_barrier_destroy(&barrier);
    return best;
}

static void report(inputs *in, const kernel *k, bool json)
{
    double one = k->amount / best_seconds(in, k->run, 1);
    double two = k->amount * (k->replicated ? 2 : 1) / best_seconds(in, k->run, 2);
    if (json)
        printf(", \"%s\": {\"unit\": \"%s\", \"one\": %.3f, \"two\": %.3f, \"ratio\": %.3f}", k->name, k->unit, one, two,
               two / one);
    else
        printf("%-28s %10.2f %10.2f %-12s %6.2f\n", k->name, one, two, k->unit, two / one);
    fflush(stdout);
}

/* ---- inputs ---- */

static void need(hawser_status status, const hawser_error *error)
{
    if (status == HAWSER_OK)
        return;
    fprintf(stderr, "bench_kernels: %s\n", error->text);
    exit(1);
}

static hawser_dataset *made(const char *kind, size_t rows, size_t cols)
{
    hawser_error error;
    hawser_dataset *dataset;
    const hawser_generate what = {.kind = kind, .rows = rows, .cols = cols, .seed = 1};
    need(hawser_dataset_generate(&what, &dataset, NULL, &error), &error);
    return dataset;
}

/* Chooses columns that are spread over the matrix: in each range of columns the one with the most entries. */
static void choose(inputs *in)
{
    const hawser_matrix *A = in->sparse;
    size_t cols = in->dense->cols < A->cols ? in->dense->cols : A->cols;
    in->chosen_count = cols < CHOSEN ? cols : CHOSEN;
    for (size_t c = 0; c < in->chosen_count; c++) {
        size_t begin = cut(cols, c, in->chosen_count), best = begin;
        for (size_t j = begin; A->layout == HAWSER_CSC && j < cut(cols, c + 1, in->chosen_count); j++)
            if (A->offsets[j + 1] - A->offsets[j] > A->offsets[best + 1] - A->offsets[best])
                best = j;
        in->chosen[c] = (uint32_t)best;
    }
}

static void prepare(inputs *in, const hawser_matrix *dense, const hawser_matrix *sparse)
{
    hawser_error error;
    double *x = NULL;
    uint32_t *places = NULL;
    *in = (inputs){.dense = dense, .sparse = sparse, .place_count = (size_t)1 << 23};
    need(HW_NEW(&x, dense->rows + sparse->rows, "x", &error), &error);
    need(HW_NEW(&in->out, dense->cols + sparse->cols, "results", &error), &error);
    need(HW_NEW(&in->image, sparse->rows, "an image", &error), &error);
    need(HW_NEW(&in->sums, 8 * THREADS, "sums", &error), &error);
    need(HW_NEW(&places, in->place_count, "places", &error), &error);
    for (size_t t = 0; t < THREADS; t++)
        need(HW_NEW(&in->gram[t], CHOSEN * CHOSEN, "a Gram matrix", &error), &error);
    hw_random random = hw_random_at(1, 0, 0, 0);
    for (size_t i = 0; i < dense->rows + sparse->rows; i++)
        x[i] = hw_random_uniform(&random) - 0.5;
    for (size_t i = 0; i < in->place_count; i++)
        places[i] = (uint32_t)hw_random_below(&random, dense->stored);
    in->x = x;
    in->places = places;
    choose(in);
}

/* Packs the rows of the chosen columns, once for each number of threads. */
static void pack(inputs *in)
{
    hawser_error error;
    const hawser_matrix *A = in->sparse;
    for (size_t threads = 1; threads <= THREADS && A->layout == HAWSER_CSC; threads++) {
        need(HW_NEW(&in->packed[threads - 1], threads, "packed rows", &error), &error);
        for (size_t t = 0; t < threads; t++) {
            hw_linear_packed *packed = &in->packed[threads - 1][t];
            need(hw_linear_pack(packed, A, in->chosen, in->chosen_count, cut(A->rows, t, threads),
                                cut(A->rows, t + 1, threads), &error),
                 &error);
            memcpy(packed->in, in->x, in->chosen_count * sizeof *in->x);
        }
    }
}

static void release(inputs *in)
{
    for (size_t threads = 1; threads <= THREADS; threads++) {
        for (size_t t = 0; t < threads && in->packed[threads - 1] != NULL; t++)
            hw_linear_packed_free(&in->packed[threads - 1][t]);
        free(in->packed[threads - 1]);
    }
    free(in->image);
    free((void *)in->x);
    free((void *)in->places);
    free(in->out);
    free(in->sums);
    for (size_t t = 0; t < THREADS; t++)
        free(in->gram[t]);
}

static void show(inputs *in, const kernel *kernels, size_t count, bool json)
{
    if (json)
        printf("{\"kernels\": \"%s\"", hawser_kernels_name());
    else
        printf("%s kernels; Gram of %zu columns\n%-28s %10s %10s %-12s %6s\n", hawser_kernels_name(), in->chosen_count, "",
               "1 thread", "2 threads", "", "ratio");
    for (size_t k = 0; k < count; k++)
        report(in, &kernels[k], json);
}

/* ---- rows ---- */

static hawser_matrix row_share(const row_inputs *rows, size_t thread, size_t threads)
{
    return hawser_matrix_rows(&rows->matrix, cut(rows->matrix.rows, thread, threads),
                              cut(rows->matrix.rows, thread + 1, threads));
}

#define T       double
#define TYPE    "f64"
#define F(name) name
#include "kernels_rows.h"
#undef T
#undef TYPE
#undef F
#define T       float
#define TYPE    "f32"
#define F(name) name##_f32
#include "kernels_rows.h"

static void *zeros(size_t count)
{
    double *made = NULL;
    hawser_error error;
    need(HW_NEW(&made, count, "rows", &error), &error);
    return made;
}

/* Measures the kernels over the rows of a matrix in both types. The f32 kernels read a copy that is stored as F32. */
static void measure_rows(inputs *in, const hw_flipped *flipped, const char *layout, bool json)
{
    const hawser_matrix *A = &flipped->matrix;
    row_inputs rows = {.matrix = *A,
                       .block = zeros(A->cols * BLOCK),
                       .image = zeros(A->rows * BLOCK),
                       .row_squares = zeros(A->rows),
                       .squares = zeros(BLOCK)};
    float *narrow = zeros((size_t)A->stored);
    for (size_t t = 0; t < THREADS; t++)
        rows.own[t] = zeros(A->cols * BLOCK);
    in->rows = &rows;
    report_rows(in, layout, json);
    for (uint64_t e = 0; e < A->stored; e++)
        narrow[e] = (float)((const double *)A->values)[e];
    rows.matrix.values = narrow;
    rows.matrix.type = HAWSER_F32;
    memset(rows.squares, 0, BLOCK * sizeof(double));
    for (size_t t = 0; t < THREADS; t++)
        memset(rows.own[t], 0, A->cols * BLOCK * sizeof(double));
    report_rows_f32(in, layout, json);
    for (size_t t = 0; t < THREADS; t++)
        free(rows.own[t]);
    free(rows.block);
    free(rows.image);
    free(rows.row_squares);
    free(rows.squares);
    free(narrow);
    in->rows = NULL;
}

/* Measures the kernels on a data set. Each thread has its share of the columns, or of the rows, as the blocks of a training
 * have. */
static void measure_data(const char *path, bool json)
{
    hawser_error error;
    hawser_dataset *data = NULL;
    need(hawser_dataset_load(&path, 1, &(hawser_load){0}, &data, &error), &error);
    const hawser_matrix *A = hawser_dataset_matrix(data);
    inputs in;
    prepare(&in, A, A);
    pack(&in);
    size_t index = A->layout == HAWSER_DENSE ? 0 : sizeof *A->indices;
    double bytes = 1e-9 * (double)A->stored * (double)(hw_type_size(A->type) + index);
    const kernel kernels[] = {{"scan", "GB/s", sparse_scan, bytes, false},
                              {"column moments", "GB/s", data_moments, bytes, false},
                              {"Gram by rows", "calls/s", data_gram_rows, 1, false},
                              {"product by rows", "calls/s", data_product, 1, false}};
    show(&in, kernels, sizeof kernels / sizeof *kernels, json);
    if (json)
        printf("}\n");
    release(&in);
    hawser_dataset_free(data);
}

static void measure_made(bool json, bool small)
{
    hawser_dataset *dense = made("dense", small ? 2000 : 20000, 2000),
                   *sparse = made("url", small ? 20000 : 200000, small ? 30000 : 300000);
    const hawser_matrix *D = hawser_dataset_matrix(dense), *S = hawser_dataset_matrix(sparse);
    inputs in;
    prepare(&in, D, S);
    double products = (double)CHOSEN * (CHOSEN + 1) / 2 * (double)D->rows;
    const kernel kernels[] = {
        {"read memory", "GB/s", read_memory, (double)D->stored * 8e-9, false},
        {"dense scan", "GB/s", dense_scan, (double)D->stored * 8e-9, false},
        {"dense column dots", "GB/s", dense_dots, (double)D->stored * 8e-9, false},
        {"sparse scan", "GB/s", sparse_scan, (double)S->stored * 12e-9, false},
        {"random gather", "M/s", gather, (double)in.place_count * 1e-6, false},
        {"dense Gram", "GFLOP/s", dense_gram, 2e-9 * products, true},
        {"sparse Gram", "calls/s", sparse_gram, 1, true},
    };
    if (!json)
        printf("dense %zu x %zu, sparse %zu x %zu with %llu entries; products of rows with %d columns\n", D->rows, D->cols,
               S->rows, S->cols, (unsigned long long)S->stored, BLOCK);
    show(&in, kernels, sizeof kernels / sizeof *kernels, json);
    hawser_error error;
    hw_flipped flipped;
    need(hw_flip_dense(D, &flipped, &error), &error);
    measure_rows(&in, &flipped, "dense", json);
    hw_flip_free(&flipped);
    need(hw_flip(S, 0, S->rows, &flipped, &error), &error);
    measure_rows(&in, &flipped, "sparse", json);
    hw_flip_free(&flipped);
    if (json)
        printf("}\n");
    release(&in);
    hawser_dataset_free(dense);
    hawser_dataset_free(sparse);
}

static int refuse(const char *option, const char *why)
{
    fprintf(stderr, "bench_kernels: %s %s\n", option, why);
    return 2;
}

int main(int argc, char **argv)
{
    bool json = false, small = false;
    const char *data = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--small") == 0)
            small = true;
        else if (strcmp(argv[i], "--data") != 0)
            return refuse(argv[i], "is no option; there are --json, --small and --data FILE");
        else if (i + 1 == argc || strncmp(argv[i + 1], "--", 2) == 0)
            return refuse(argv[i], "needs a file");
        else
            data = argv[++i];
    }
    if (small && data != NULL)
        return refuse("--small", "is for the matrices made here; leave it out beside --data");
    if (data != NULL)
        measure_data(data, json);
    else
        measure_made(json, small);
    return 0;
}
