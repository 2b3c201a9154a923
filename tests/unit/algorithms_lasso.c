/* The lasso through the program API: every sync, several numbers of workers, filters, merges, paths and real data. A slow
 * cyclic descent in this file computes the optimum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hawser/algorithm.h"
#include "job.h"
#include "sanitized.h"

enum { APART = 8 };

typedef struct fit {
    hawser_options *options;
    hawser_job *job;
    hawser_training training;
} fit;

static fit train_on(const hawser_dataset *data, const hawser_model *init, const char *const *pairs)
{
    const hawser_algorithm *lasso = hawser_algorithm_find("lasso");
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), lasso->rows, NULL};
    hawser_error error = {0};
    fit out = {0};
    hawser_status status = hawser_options_new(tables, &out.options, &error);
    for (; status == HAWSER_OK && *pairs != NULL; pairs += 2)
        status = hawser_options_set(out.options, pairs[0], pairs[1], HAWSER_FROM_COMMAND_LINE, "test", &error);
    if (status == HAWSER_OK)
        status = hawser_open_options(out.options, &out.job, &error);
    hawser_training_input input = {.options = out.options, .data = data, .init = init};
    if (status == HAWSER_OK)
        status = lasso->train(lasso, out.job, &input, &out.training, &error);
    if (status != HAWSER_OK)
        fail_msg("%s", error.text);
    return out;
}
#define TRAIN(data, ...) train_on(data, NULL, (const char *const[]){__VA_ARGS__, NULL})

static void drop(fit done)
{
    hawser_model_free(done.training.model);
    hawser_run_free(done.training.run);
    hawser_close(done.job);
    hawser_options_free(done.options);
}

static double fact(const fit *done, const char *name)
{
    for (const hawser_fact *item = done->training.facts; item->name != NULL; item++)
        if (strcmp(item->name, name) == 0)
            return item->value;
    fail_msg("no fact '%s'", name);
    return NAN;
}

static double mix(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) * 0x1p-53 * 2.0 - 1.0;
}

/* Makes columns that share a factor; correlation is in [0, 1). */
static hawser_dataset *make(size_t n, size_t p, double correlation, uint64_t seed)
{
    double *x = calloc(n * p, sizeof(double)), *y = calloc(n, sizeof(double));
    for (size_t i = 0; i < n; i++) {
        double common = mix(&seed);
        y[i] = 0.2 * mix(&seed) + 2.0;
        for (size_t j = 0; j < p; j++) {
            x[j * n + i] = correlation * common + (1.0 - correlation) * mix(&seed);
            y[i] += j % 5 == 0 ? (j % 2 ? -1.0 : 1.5) * x[j * n + i] : 0.0;
        }
    }
    hawser_matrix matrix = {.rows = n, .cols = p, .stored = n * p, .values = x, .stride = n};
    hawser_dataset *data = NULL;
    hawser_error error = {0};
    if (hawser_dataset_from(&matrix, y, &data, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    free(x);
    free(y);
    return data;
}

/* Returns the optimum of the elastic net with an intercept, by cyclic descent on plain residuals; *zero is the objective at
 * zero. */
static double optimum(const hawser_dataset *data, double lambda, double l1_ratio, double *zero)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    size_t n = X->rows, p = X->cols;
    double *x = calloc(n, sizeof(double)), *r = calloc(n, sizeof(double)), *w = calloc(p, sizeof(double)), mean = 0.0;
    double *means = calloc(p, sizeof(double)), *norms = calloc(p, sizeof(double)), most = 1.0, biggest = 0.0,
           objective = 0.0;
    for (size_t i = 0; i < n; i++)
        mean += hawser_dataset_target(data)[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        r[i] = hawser_dataset_target(data)[i] - mean;
    *zero = 0.0;
    for (size_t i = 0; i < n; i++)
        *zero += 0.5 * r[i] * r[i] / (double)n;
    for (size_t j = 0; j < p; j++) {
        memset(x, 0, n * sizeof(double));
        hawser_column_axpy(X, j, 1.0, x);
        for (size_t i = 0; i < n; i++)
            means[j] += x[i] / (double)n;
        for (size_t i = 0; i < n; i++)
            norms[j] += (x[i] - means[j]) * (x[i] - means[j]) / (double)n;
    }
    double shift = 0.0; /* the residual is r + shift */
    for (int epoch = 0; epoch < 30000 && most > 1e-12 * biggest; epoch++) {
        most = 0.0;
        for (size_t j = 0; j < p; j++) {
            double sum = 0.0;
            if (norms[j] <= 1e-300)
                continue;
            for (size_t i = 0; epoch % 64 == 0 && j == 0 && i < n; i++)
                sum += r[i];
            if (epoch % 64 == 0 && j == 0)
                shift = -sum / (double)n;
            double z = hawser_column_dot(X, j, r) / (double)n + shift * means[j] + norms[j] * w[j], edge = lambda * l1_ratio;
            double t = (z > edge ? z - edge : z < -edge ? z + edge : 0.0) / (norms[j] + lambda * (1.0 - l1_ratio));
            double step = t - w[j];
            if (step == 0.0)
                continue;
            hawser_column_axpy(X, j, -step, r);
            shift += step * means[j];
            w[j] = t;
            most = fmax(most, fabs(step) * sqrt(norms[j]));
            biggest = fmax(biggest, fabs(t) * sqrt(norms[j]));
        }
    }
    for (size_t i = 0; i < n; i++)
        objective += 0.5 * (r[i] + shift) * (r[i] + shift) / (double)n;
    for (size_t j = 0; j < p; j++)
        objective += lambda * (l1_ratio * fabs(w[j]) + 0.5 * (1.0 - l1_ratio) * w[j] * w[j]);
    free(x);
    free(r);
    free(w);
    free(means);
    free(norms);
    return objective;
}

/* Returns the objective of the saved model, from the file's tensors alone. */
static double objective_of_model(const fit *done, const hawser_dataset *data, double lambda, double l1_ratio)
{
    size_t n = hawser_dataset_matrix(data)->rows, dims[2] = {0, 0};
    double *predictions = calloc(n, sizeof(double)), sum = 0.0;
    hawser_error error = {0};
    const hawser_algorithm *lasso = hawser_algorithm_find("lasso");
    if (hawser_algorithm_head(lasso, "prediction")->compute(done->training.model, data, predictions, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < n; i++)
        sum += 0.5 * pow(hawser_dataset_target(data)[i] - predictions[i], 2.0) / (double)n;
    const double *w = hawser_model_get(done->training.model, "coefficients.value", NULL, dims);
    for (size_t k = 0; k < dims[0] * dims[1]; k++)
        sum += lambda * (l1_ratio * fabs(w[k]) + 0.5 * (1.0 - l1_ratio) * w[k] * w[k]);
    free(predictions);
    return sum;
}

static void assert_v_is_true(const fit *done, const hawser_dataset *data)
{
    const hawser_matrix *X = hawser_dataset_matrix(data);
    size_t count = 0;
    const double *alpha = RESULT(double, done->training.run, "alpha", &count),
                 *v = RESULT(double, done->training.run, "v", &count);
    assert_int_equal(count, X->rows);
    double *again = calloc(X->rows, sizeof(double)), size = 1.0;
    hawser_multiply(X, alpha, 0.0, again);
    for (size_t i = 0; i < X->rows; i++)
        size = fmax(size, fabs(again[i]));
    for (size_t i = 0; i < X->rows; i++)
        assert_true(fabs(again[i] - v[i]) <= 1e-12 * size);
    free(again);
}

/* Checks that the training has converged, that its numbers are those of the saved model, and that it is as good as the
 * reference. */
static void check(const hawser_dataset *data, double lambda, double l1_ratio, double best, double zero, fit done)
{
    double tolerance = hawser_options_number(done.options, "tol");
    double objective = fact(&done, "objective"), gap = fact(&done, "gap");
    assert_string_equal(done.training.stop_reason, "gap");
    assert_true(gap <= tolerance * zero * (1.0 + 1e-9));
    assert_true(objective - best <= gap + 1e-12 * zero);
    assert_true(objective - best >= -1e-9 * zero);
    assert_true(fabs(objective_of_model(&done, data, lambda, l1_ratio) - objective) <= 1e-11 * zero);
    if (hawser_job_workers(done.job) <= APART) /* more compute X alpha once per process, and v is zero */
        assert_v_is_true(&done, data);
    drop(done);
}

static void every_sync_and_number_of_workers(void **unused)
{
    (void)unused;
    static const char *const syncs[] = {"bsp", "ssp:1", "ssp:3", "tap"};
    hawser_dataset *data = make(90, 40, 0.3, 5);
    double zero = 0.0, best = optimum(data, 0.02, 1.0, &zero);
    for (int workers = 1; workers <= 8; workers++)
        for (size_t s = 0; s < 4; s++) {
            char count[16];
            snprintf(count, sizeof count, "%d", workers);
            check(data, 0.02, 1.0, best, zero, TRAIN(data, "lambda", "0.02", "workers", count, "sync", syncs[s]));
        }
    hawser_dataset_free(data);
}

/* More than eight workers send no X alpha. Bits are those of any number of threads, and an end at any clock leaves a model
 * of which the certificate is true. */
static void many_workers_compute_predictions_once(void **unused)
{
    (void)unused;
    static const char *const workers[] = {"9", "16", "37"};
    hawser_dataset *data = make(90, 60, 0.3, 6);
    double zero = 0.0, best = optimum(data, 0.004, 0.8, &zero), digest = 0.0;
    for (size_t k = 0; k < 6; k++) {
        fit done =
            TRAIN(data, "lambda", "0.004", "l1-ratio", "0.8", "workers", workers[k / 2], "threads", k % 2 ? "3" : "0");
        double now = fact(&done, "objective");
        assert_true(k % 2 == 0 || now == digest);
        digest = now;
        check(data, 0.004, 0.8, best, zero, done);
    }
    fit path = TRAIN(data, "path", "12", "workers", "12");
    check(data, 0.004, 0.8, best, zero,
          train_on(data, path.training.model,
                   (const char *const[]){"lambda", "0.004", "l1-ratio", "0.8", "workers", "10", NULL}));
    drop(path);
    for (int clocks = 1; clocks <= 6; clocks++) {
        char most[16];
        snprintf(most, sizeof most, "%d", clocks);
        fit done = TRAIN(data, "lambda", "0.004", "l1-ratio", "0.8", "workers", "12", "max-clocks", most, "tol", "1e-14");
        double objective = fact(&done, "objective");
        assert_true(objective - best <= fact(&done, "gap") + 1e-12 * zero);
        assert_true(fabs(objective_of_model(&done, data, 0.004, 0.8) - objective) <= 1e-11 * zero);
        drop(done);
    }
    hawser_dataset_free(data);
}

/* The Gram matrix of many short columns does not pay, so the blocks' union is solved on the residual. */
static void short_columns(void **unused)
{
    (void)unused;
    enum { ROWS = 400, COLUMNS = 900, EACH = 4 };
    uint64_t offsets[COLUMNS + 1], seed = 21;
    uint32_t indices[COLUMNS * EACH];
    double values[COLUMNS * EACH], y[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        y[i] = mix(&seed);
    for (size_t j = 0; j <= COLUMNS; j++)
        offsets[j] = j * EACH;
    for (size_t k = 0; k < (size_t)COLUMNS * EACH; k++) { /* one row of each quarter */
        indices[k] = (uint32_t)(k % EACH * (ROWS / EACH) + (size_t)((mix(&seed) + 1.0) * 0.4999 * (ROWS / EACH)));
        values[k] = mix(&seed);
        y[indices[k]] += k / EACH % 3 == 0 ? values[k] : 0.0;
    }
    hawser_matrix matrix = {.rows = ROWS,
                            .cols = COLUMNS,
                            .stored = COLUMNS * EACH,
                            .layout = HAWSER_CSC,
                            .values = values,
                            .offsets = offsets,
                            .indices = indices};
    hawser_dataset *data = NULL;
    hawser_error error = {0};
    if (hawser_dataset_from(&matrix, y, &data, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    double zero = 0.0, best = optimum(data, 5e-4, 1.0, &zero);
    check(data, 5e-4, 1.0, best, zero, TRAIN(data, "lambda", "5e-4", "workers", "1"));
    check(data, 5e-4, 1.0, best, zero, TRAIN(data, "lambda", "5e-4", "workers", "2"));
    check(data, 5e-4, 1.0, best, zero, TRAIN(data, "lambda", "5e-4", "workers", "5"));
    best = optimum(data, 1e-3, 0.7, &zero);
    check(data, 1e-3, 0.7, best, zero, TRAIN(data, "lambda", "1e-3", "l1-ratio", "0.7", "workers", "3"));
    hawser_dataset_free(data);
}

/* Blocks without columns must end too. */
static void more_workers_than_columns(void **unused)
{
    (void)unused;
    static const char *const solvers[] = {"working-set", "cd"}, *const syncs[] = {"bsp", "ssp:1", "tap"};
    hawser_dataset *data = make(30, 3, 0.3, 5);
    double zero, best = optimum(data, 0.01, 1.0, &zero);
    for (size_t s = 0; s < 2; s++)
        for (size_t t = 0; t < 3; t++)
            check(data, 0.01, 1.0, best, zero,
                  TRAIN(data, "lambda", "0.01", "workers", "8", "solver", solvers[s], "sync", syncs[t], "tol", "1e-6"));
    hawser_dataset_free(data);
}

static void correlated_columns_with_delay(void **unused)
{
    (void)unused;
    hawser_dataset *data = make(100, 48, 0.8, 9);
    double zero = 0.0, best = optimum(data, 0.02, 1.0, &zero);
    static const char *const syncs[] = {"bsp", "ssp:3", "tap"};
    for (size_t s = 0; s < 3; s++) {
        check(data, 0.02, 1.0, best, zero,
              TRAIN(data, "lambda", "0.02", "workers", "8", "sync", syncs[s], "tol", "1e-5", "slow", "2:3"));
        check(data, 0.02, 1.0, best, zero,
              TRAIN(data, "lambda", "0.02", "workers", "8", "sync", syncs[s], "tol", "1e-5", "solver", "cd"));
    }
    hawser_dataset_free(data);
}

static void merges_filters_and_exchange(void **unused)
{
    (void)unused;
    hawser_dataset *data = make(80, 32, 0.3, 13);
    double zero = 0.0, best = optimum(data, 0.03, 0.7, &zero);
    check(data, 0.03, 0.7, best, zero, TRAIN(data, "lambda", "0.03", "l1-ratio", "0.7", "workers", "4", "merge", "average"));
    check(data, 0.03, 0.7, best, zero,
          TRAIN(data, "lambda", "0.03", "l1-ratio", "0.7", "workers", "4", "merge", "average", "sync", "ssp:2", "solver",
                "cd"));
    check(data, 0.03, 0.7, best, zero,
          TRAIN(data, "lambda", "0.03", "l1-ratio", "0.7", "workers", "4", "exchange-every", "0.2", "solver", "cd"));
    static const char *const filters[] = {"random", "round-robin", "absolute", "relative", "fifo"};
    for (size_t f = 0; f < 5; f++)
        check(data, 0.03, 0.7, best, zero,
              TRAIN(data, "lambda", "0.03", "l1-ratio", "0.7", "workers", "3", "filter", filters[f], "quota", "400", "tol",
                    "1e-5"));
    static const char *const forms[] = {"bf16", "f16", "int8"}, *const syncs[] = {"bsp", "ssp:2", "tap"};
    for (size_t k = 0; k < 9; k++)
        check(data, 0.03, 0.7, best, zero,
              TRAIN(data, "lambda", "0.03", "l1-ratio", "0.7", "workers", "4", "encoding", forms[k % 3], "sync",
                    syncs[k / 3], "merge", k % 2 ? "average" : "add"));
    hawser_dataset_free(data);
}

static void bits_do_not_depend_on_threads(void **unused)
{
    (void)unused;
    hawser_dataset *data = make(120, 60, 0.5, 21);
    static const char *const threads[] = {"1", "2", "4"};
    static const char *const solvers[] = {"working-set", "cd"};
    for (size_t s = 0; s < 2; s++) {
        double first[60];
        for (size_t t = 0; t < 3; t++) {
            size_t count = 0;
            fit done = TRAIN(data, "lambda-ratio", "0.05", "workers", "4", "threads", threads[t], "solver", solvers[s]);
            const double *alpha = RESULT(double, done.training.run, "alpha", &count);
            assert_null(hawser_run_figures(done.training.run)->repeatable);
            if (t == 0)
                memcpy(first, alpha, sizeof first);
            assert_memory_equal(first, alpha, sizeof first);
            drop(done);
        }
    }
    hawser_dataset_free(data);
}

static void limits_leave_a_true_model(void **unused)
{
    (void)unused;
    hawser_dataset *data = make(100, 48, 0.9, 33);
    double zero = 0.0, best = optimum(data, 0.002, 1.0, &zero);
    fit done = TRAIN(data, "lambda", "0.002", "workers", "4", "solver", "cd", "max-clocks", "7");
    assert_string_equal(done.training.stop_reason, "clocks");
    assert_true(fact(&done, "gap") >= fact(&done, "objective") - best);
    assert_true(fact(&done, "objective") > best);
    assert_true(fabs(objective_of_model(&done, data, 0.002, 1.0) - fact(&done, "objective")) <= 1e-11 * zero);
    drop(done);
    hawser_dataset_free(data);
}

/* Each lambda of a path is as good as the same lambda alone, and a start from a model ends where a cold one does. */
static void path_and_start(void **unused)
{
    (void)unused;
    hawser_dataset *data = make(70, 30, 0.4, 41);
    static const char *const workers[] = {"1", "3"};
    for (size_t k = 0; k < 2; k++) {
        fit done = TRAIN(data, "path", "12", "workers", workers[k], "tol", "1e-8");
        size_t dims[2] = {0, 0};
        const double *lambdas = hawser_model_get(done.training.model, "path.lambda", NULL, dims);
        const double *objectives = hawser_model_get(done.training.model, "path.objective", NULL, dims);
        const int64_t *offsets = hawser_model_get(done.training.model, "path.offsets", NULL, dims);
        const double *nonzeros = hawser_model_get(done.training.model, "path.nonzeros", NULL, NULL);
        assert_int_equal(dims[0], 13);
        assert_true(fabs(lambdas[0] - fact(&done, "lambda_max")) <= 1e-12 * lambdas[0]);
        for (size_t l = 0; l < 12; l++) {
            double zero = 0.0, best = optimum(data, lambdas[l], 1.0, &zero);
            assert_true(objectives[l] - best <= 1.1e-8 * zero && objectives[l] - best >= -1e-10 * zero);
            assert_true((double)(offsets[l + 1] - offsets[l]) == nonzeros[l]);
        }
        fit again =
            train_on(data, done.training.model, (const char *const[]){"lambda", "0.05", "workers", workers[k], NULL});
        double zero = 0.0, best = optimum(data, 0.05, 1.0, &zero);
        check(data, 0.05, 1.0, best, zero, again);
        drop(done);
    }
    hawser_dataset_free(data);
}

static void cross_validation(void **unused)
{
    (void)unused;
    hawser_dataset *data = make(120, 30, 0.3, 51);
    fit least = TRAIN(data, "cv", "5", "path", "20", "cv-rule", "min", "workers", "2");
    fit careful = TRAIN(data, "cv", "5", "path", "20", "workers", "1");
    size_t dims[2] = {0, 0}, best = 0;
    const double *error = hawser_model_get(least.training.model, "path.error", NULL, dims);
    const double *spread = hawser_model_get(least.training.model, "path.standard_error", NULL, NULL);
    const double *lambda = hawser_model_get(least.training.model, "path.lambda", NULL, NULL);
    assert_int_equal(dims[0], 20);
    for (size_t l = 1; l < 20; l++)
        best = error[l] < error[best] ? l : best;
    assert_true(fact(&least, "lambda") == lambda[best]);
    size_t within = 0;
    while (error[within] > error[best] + spread[best])
        within++;
    assert_true(fabs(fact(&careful, "lambda") - lambda[within]) <= 1e-9 * lambda[within]);
    assert_true(within < best); /* else the test would not tell the two rules apart */
    fit held = TRAIN(data, "validation-fraction", "0.3", "path", "20");
    assert_true(fact(&held, "validation_mse") < 1.0);
    drop(least);
    drop(careful);
    drop(held);
    hawser_dataset_free(data);
}

static hawser_dataset *real(const char *name)
{
    const char *root = getenv("HAWSER_TEST_DATA"), *file_name = __FILE__, *tail = strstr(file_name, "/tests/unit/");
    char path[1000];
    if (root != NULL)
        snprintf(path, sizeof path, "%s/%s", root, name);
    else
        snprintf(path, sizeof path, "%.*s/../shared/data/%s", tail != NULL ? (int)(tail - file_name) : 0, file_name, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        print_message("skipped: no %s\n", path);
        return NULL;
    }
    fclose(file);
    hawser_dataset *data = NULL;
    hawser_error error = {0};
    if (hawser_dataset_load((const char *const[]){path}, 1, &(hawser_load){0}, &data, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    return data;
}

static void real_data(void **unused)
{
    (void)unused;
    static const struct {
        const char *name, *ratio;
        double l1_ratio;
    } sets[] = {{"prostate/prostate.csv.zst", "0.01", 1.0},          {"abalone/abalone.zst", "0.02", 0.5},
                {"uci_regression/housing.csv.zst", "0.001", 1.0},    {"riboflavin/riboflavin.csv.zst", "0.1", 1.0},
                {"rcv1_small/rcv1_small.train.svm.zst", "0.1", 1.0}, {"mushrooms/mushrooms.zst", "0.05", 0.9}};
    for (size_t k = 0; k < (SANITIZED ? 3 : sizeof sets / sizeof *sets); k++) {
        hawser_dataset *data = real(sets[k].name);
        if (data == NULL)
            continue;
        char mixture[32];
        snprintf(mixture, sizeof mixture, "%g", sets[k].l1_ratio);
        fit first = TRAIN(data, "lambda-ratio", sets[k].ratio, "l1-ratio", mixture, "workers", "1");
        double lambda = fact(&first, "lambda"), zero = 0.0, best = optimum(data, lambda, sets[k].l1_ratio, &zero);
        check(data, lambda, sets[k].l1_ratio, best, zero, first);
        check(data, lambda, sets[k].l1_ratio, best, zero,
              TRAIN(data, "lambda-ratio", sets[k].ratio, "l1-ratio", mixture, "workers", "3"));
        check(
            data, lambda, sets[k].l1_ratio, best, zero,
            TRAIN(data, "lambda-ratio", sets[k].ratio, "l1-ratio", mixture, "workers", "2", "sync", "ssp:2", "tol", "1e-4"));
        hawser_dataset_free(data);
    }
}

static void contradictions_are_refused(void **unused)
{
    (void)unused;
    hawser_dataset *data = make(20, 5, 0.0, 3);
    static const char *const cases[][5] = {{"lambda", "1", "lambda-ratio", "0.1", NULL},
                                           {"lambda", "1", "cv", "3", NULL},
                                           {"path", "3,x", NULL, NULL, NULL},
                                           {"path", "0", NULL, NULL, NULL},
                                           {"l1-ratio", "0", NULL, NULL, NULL},
                                           {"lower", "1", NULL, NULL, NULL},
                                           {"penalty-factors", "/nonexistent", NULL, NULL, NULL}};
    const hawser_algorithm *lasso = hawser_algorithm_find("lasso");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), lasso->rows, NULL};
        hawser_options *options = NULL;
        hawser_job *job = NULL;
        hawser_training training;
        hawser_error error = {0};
        assert_int_equal(hawser_options_new(tables, &options, &error), HAWSER_OK);
        for (const char *const *pair = cases[k]; *pair != NULL; pair += 2)
            assert_int_equal(hawser_options_set(options, pair[0], pair[1], HAWSER_FROM_COMMAND_LINE, "test", &error),
                             HAWSER_OK);
        assert_int_equal(hawser_open_options(options, &job, &error), HAWSER_OK);
        assert_true(lasso->train(lasso, job, &(hawser_training_input){.options = options, .data = data}, &training, &error) <
                    0);
        assert_true(strstr(error.text, "--") != NULL || strstr(error.text, "/nonexistent") != NULL);
        hawser_close(job);
        hawser_options_free(options);
    }
    hawser_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_sync_and_number_of_workers),
                                       cmocka_unit_test(many_workers_compute_predictions_once),
                                       cmocka_unit_test(correlated_columns_with_delay),
                                       cmocka_unit_test(more_workers_than_columns),
                                       cmocka_unit_test(short_columns),
                                       cmocka_unit_test(merges_filters_and_exchange),
                                       cmocka_unit_test(bits_do_not_depend_on_threads),
                                       cmocka_unit_test(limits_leave_a_true_model),
                                       cmocka_unit_test(path_and_start),
                                       cmocka_unit_test(cross_validation),
                                       cmocka_unit_test(real_data),
                                       cmocka_unit_test(contradictions_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
