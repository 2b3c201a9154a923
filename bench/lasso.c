/* Trains the lasso at a list of tolerances and numbers of workers, on data in memory; one JSON line a fit, and its coefficients in a
 * file, so that bench/lasso.py can measure all programs' solutions by one evaluator.
 *
 *     bench_lasso prepare dense|url ROWS COLS SEED FOLDER     makes FOLDER/data.cache and plain arrays for other software
 *     bench_lasso prepare FILE FOLDER                         the same from a file
 *     bench_lasso train FOLDER RATIO TOL[,TOL...] WORKERS[,WORKERS...] REPEAT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "hawser/algorithm.h"

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int fail(const hawser_error *error)
{
    fprintf(stderr, "bench_lasso: %s\n", error->text);
    return 1;
}

static bool put(const char *folder, const char *name, const void *values, size_t bytes)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    bool good = file != NULL && fwrite(values, 1, bytes, file) == bytes;
    return file != NULL && fclose(file) == 0 && good;
}

static int prepare(int count, char **words)
{
    hawser_dataset *data = NULL;
    hawser_error error = {0};
    const char *folder = words[count - 1];
    hawser_status status;
    if (count == 5) {
        hawser_generate what = {.kind = words[0],
                                .rows = strtoull(words[1], NULL, 10),
                                .cols = strtoull(words[2], NULL, 10),
                                .seed = strtoull(words[3], NULL, 10)};
        status = hawser_dataset_generate(&what, &data, NULL, &error);
    } else {
        status = hawser_dataset_load((const char *const[]){words[0]}, 1, &(hawser_load){0}, &data, &error);
    }
    if (status != HAWSER_OK)
        return fail(&error);
    const hawser_matrix *X = hawser_dataset_matrix(data);
    char path[1200];
    snprintf(path, sizeof path, "%s/data.cache", folder);
    if (hawser_dataset_save(data, path, &error) != HAWSER_OK)
        return fail(&error);
    const uint64_t shape[4] = {X->rows, X->cols, X->stored, X->layout == HAWSER_CSC};
    bool good = X->type == HAWSER_F64 && put(folder, "shape", shape, sizeof shape) &&
                put(folder, "target", hawser_dataset_target(data), X->rows * sizeof(double));
    if (X->layout == HAWSER_CSC)
        good = good && put(folder, "offsets", X->offsets, (X->cols + 1) * sizeof *X->offsets) &&
               put(folder, "indices", X->indices, X->stored * sizeof *X->indices) &&
               put(folder, "values", X->values, X->stored * sizeof(double));
    else if (X->stride == X->rows)
        good = good && put(folder, "values", X->values, X->rows * X->cols * sizeof(double));
    else
        good = false;
    if (!good)
        fprintf(stderr, "bench_lasso: cannot write arrays to %s\n", folder);
    hawser_dataset_free(data);
    return good ? 0 : 1;
}

static int fit(const hawser_dataset *data, const char *folder, const char *ratio, const char *tolerance, const char *workers)
{
    const hawser_algorithm *lasso = hawser_algorithm_find("lasso");
    const hawser_option *const tables[] = {hawser_job_rows(), lasso->rows, NULL};
    const char *const pairs[][2] = {{"lambda-ratio", ratio}, {"tol", tolerance}, {"workers", workers}, {"intercept", "no"}};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_error error = {0};
    hawser_status status = hawser_options_new(tables, &options, &error);
    for (size_t k = 0; status == HAWSER_OK && k < 4; k++)
        status = hawser_options_set(options, pairs[k][0], pairs[k][1], HAWSER_FROM_COMMAND_LINE, pairs[k][0], &error);
    if (status == HAWSER_OK)
        status = hawser_open_options(options, &job, &error);
    hawser_training training = {0};
    double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (status == HAWSER_OK)
        status = lasso->train(job, &(hawser_training_input){.options = options, .data = data}, &training, &error);
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    if (status != HAWSER_OK)
        return fail(&error);
    size_t count = 0;
    char name[100];
    struct rusage usage;
    const double *alpha = hawser_result(training.run, "alpha", &count);
    snprintf(name, sizeof name, "w-%s-%s", workers, tolerance);
    bool good = put(folder, name, alpha, count * sizeof(double));
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"workers\": %s, \"tol\": %s, \"seconds\": %.6f, \"cpu\": %.6f, \"peak_rss\": %ld, \"file\": \"%s\"", workers,
           tolerance, wall, cpu, usage.ru_maxrss * 1024L, name);
    for (const hawser_fact *fact = training.facts; fact->name != NULL; fact++)
        printf(", \"%s\": %.17g", fact->name, fact->value);
    printf(", \"stop_reason\": \"%s\"}\n", training.stop_reason);
    hawser_model_free(training.model);
    hawser_run_free(training.run);
    hawser_close(job);
    hawser_options_free(options);
    return good ? 0 : 1;
}

/* The n-th word of a list separated by commas, false past the end. */
static bool word_at(const char *list, size_t n, char *out, size_t size)
{
    for (; n > 0 && list != NULL; n--) {
        list = strchr(list, ',');
        list = list != NULL ? list + 1 : NULL;
    }
    if (list == NULL)
        return false;
    snprintf(out, size, "%.*s", (int)strcspn(list, ","), list);
    return true;
}

static int train(char **words)
{
    hawser_dataset *data = NULL;
    hawser_error error = {0};
    char path[1200], tolerance[40], workers[20];
    int code = 0;
    snprintf(path, sizeof path, "%s/data.cache", words[0]);
    if (hawser_dataset_load((const char *const[]){path}, 1, &(hawser_load){0}, &data, &error) != HAWSER_OK)
        return fail(&error);
    for (long again = strtol(words[4], NULL, 10); again > 0 && code == 0; again--)
        for (size_t w = 0; code == 0 && word_at(words[3], w, workers, sizeof workers); w++)
            for (size_t t = 0; code == 0 && word_at(words[2], t, tolerance, sizeof tolerance); t++)
                code = fit(data, words[0], words[1], tolerance, workers);
    hawser_dataset_free(data);
    return code;
}

int main(int count, char **words)
{
    if (count >= 4 && strcmp(words[1], "prepare") == 0 && (count == 4 || count == 7))
        return prepare(count - 2, words + 2);
    if (count == 7 && strcmp(words[1], "train") == 0)
        return train(words + 2);
    fputs("usage: see the head of bench/lasso.c, or run bench/lasso.py\n", stderr);
    return 2;
}
