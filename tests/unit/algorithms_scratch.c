/*
 * algorithms_scratch.c - the ready algorithms when blocks drop their scratches between drawn clocks, and read back what
 * their visit wrote: the model has the same bits. Of every call in a visit that writes or reads a field, the test leaves the
 * reading out in turn: that must be noticed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "algorithms/solve/memory.h"
#include "factor_data.h"
#include "hawser/algorithm.h"
#include "hawser/record.h"
#include "job.h"
#include "memory_checkpointer.h"
#include "sanitized.h"

enum { OPTIONS_MOST = 20, CALLS_MOST = 200, WORKERS = 3, STRUCT_MOST = 64 };

/* The matrix of a training. */
typedef enum data_shape { SPARSE, DENSE, WIDE, LARGE, SMALL, SHAPES } data_shape;

static const struct {
    size_t rows, columns;
    double density;
} shapes[SHAPES] = {{90, 40, 0.6}, {90, 40, 1.0}, {60, 300, 0.06}, {1000, 560, 1.0}, {50, 40, 1.0}};

/* A training: an algorithm, its data, and option names and values. */
typedef struct work {
    const char *algorithm;
    data_shape shape;
    const char *pairs[OPTIONS_MOST];
} work;

typedef struct drops {
    uint64_t every, seed;
    uint64_t changes;                 /* the view changes once in this many waiting calls; 0: never */
    uint64_t rehearse;                /* of --rehearse; not given as an option, which the model would have among its facts */
    memory_checkpointer *checkpoints; /* NULL: none are taken */
} drops;

typedef struct outcome {
    bool failed, repeatable;
    uint64_t digest, clocks, drops, changes, tests;
} outcome;

/* ------------------------------------------------------------------------------------------------ calls of visits ---- */

/* A call of hawser_record_bytes or hawser_record_array in the source, known by its return address. */
typedef struct call {
    const void *at;
    bool in[CALLS_MOST]; /* by training: whether it was reached */
} call;

static struct {
    pthread_mutex_t lock;
    size_t work; /* the training that runs */
    call calls[CALLS_MOST];
    size_t count;
    bool all;             /* calls of scratches are known; others are of what tests remember (algorithms_record.c) */
    const void *left_out; /* the call that reads nothing; NULL: each reads */
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void see(const hawser_record *record, const void *at)
{
    size_t k = 0;
    if (!hawser_record_reads(record)) /* compilers make calls apart for both directions */
        return;
    pthread_mutex_lock(&seen.lock);
    while (k < seen.count && seen.calls[k].at != at)
        k++;
    if (k == CALLS_MOST)
        abort();
    if (k < seen.count || !seen.all) {
        seen.count += k == seen.count;
        seen.calls[k].at = at;
        seen.calls[k].in[seen.work] = true;
    }
    pthread_mutex_unlock(&seen.lock);
}

void __real_hawser_record_bytes(hawser_record *record, void *value, size_t size);
void __real_hawser_record_array(hawser_record *record, void **array, size_t size, size_t count, size_t capacity);
void __wrap_hawser_record_bytes(hawser_record *record, void *value, size_t size);
void __wrap_hawser_record_array(hawser_record *record, void **array, size_t size, size_t count, size_t capacity);

/* A field that is left out keeps what its owner made it; a longer array is zeros. */
void __wrap_hawser_record_bytes(hawser_record *record, void *value, size_t size)
{
    const void *at = __builtin_return_address(0);
    see(record, at);
    if (!hawser_record_reads(record) || at != seen.left_out) {
        __real_hawser_record_bytes(record, value, size);
        return;
    }
    void *instead = calloc(1, size + 1);
    if (instead == NULL)
        abort();
    if (size <= STRUCT_MOST)
        memcpy(instead, value, size);
    __real_hawser_record_bytes(record, value, size);
    if (size > 0)
        memcpy(value, instead, size);
    free(instead);
}

void __wrap_hawser_record_array(hawser_record *record, void **array, size_t size, size_t count, size_t capacity)
{
    const void *at = __builtin_return_address(0);
    void *none = NULL;
    bool out = hawser_record_reads(record) && at == seen.left_out;
    see(record, at);
    __real_hawser_record_array(record, out ? &none : array, size, count, capacity);
    free(none);
}

/* -------------------------------------------------------------------------------------------------------- trainings ---- */

/* Columns that share a factor, and a target. */
static hawser_dataset *make_data(data_shape shape, factor_target target)
{
    return factor_data(shapes[shape].rows, shapes[shape].columns, shapes[shape].density, target);
}

/* What two equal models have in common. */
static uint64_t digest_of(const hawser_model *model, const char *reason, char notes[HAWSER_NOTES][300])
{
    static const char *const names[] = {"coefficients",       "intercepts",         "centres",        "intercept",
                                        "coefficients.index", "coefficients.value", "path.objective", "path.intercept",
                                        "path.offsets",       "path.value",         "path.index",     "path.error"};
    uint64_t digest = 0;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        size_t dims[2] = {0};
        const uint64_t *values = hawser_model_get(model, names[k], NULL, dims); /* all of 64 bits */
        size_t count = dims[0] * (dims[1] > 0 ? dims[1] : 1);
        for (size_t at = 0; values != NULL && at < count; at++)
            digest = hw_mix(digest ^ values[at]);
    }
    for (; *reason != '\0'; reason++)
        digest = hw_mix(digest ^ (unsigned char)*reason);
    for (size_t k = 0; k < HAWSER_NOTES; k++)
        for (const char *at = notes[k]; *at != '\0'; at++)
            digest = hw_mix(digest ^ (unsigned char)*at);
    const char *key, *value;
    for (size_t k = 0; hawser_model_fact_at(model, k, &key, &value); k++)
        for (const char *at = value; *at != '\0'; at++)
            digest = hw_mix(digest ^ (unsigned char)*at);
    return digest;
}

static hawser_status set_options(const work *given, const char *workers, hawser_options **options, hawser_error *error)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(),
                                           hawser_algorithm_find(given->algorithm)->rows, NULL};
    HAWSER_TRY(hawser_options_new(tables, options, error));
    for (const char *const *pairs = given->pairs; *pairs != NULL; pairs += 2)
        workers = strcmp(pairs[0], "workers") == 0 ? pairs[1] : workers;
    HAWSER_TRY(hawser_options_set(*options, "workers", workers, HAWSER_FROM_COMMAND_LINE, "test", error));
    for (const char *const *pairs = given->pairs; *pairs != NULL; pairs += 2)
        HAWSER_TRY(hawser_options_set(*options, pairs[0], pairs[1], HAWSER_FROM_PROGRAM, "test", error)); /* may be idle */
    return HAWSER_OK;
}

static outcome train(const work *given, const char *workers, drops dropped)
{
    const hawser_algorithm *algorithm = hawser_algorithm_find(given->algorithm);
    hawser_dataset *data = make_data(given->shape, factor_target_of(given->algorithm));
    hawser_error error = {0};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_training training;
    outcome out = {0};
    if (set_options(given, workers, &options, &error) != HAWSER_OK ||
        hawser_open_options(options, &job, &error) != HAWSER_OK)
        fail_msg("%s: %s", given->algorithm, error.text);
    hawser_training_input input = {.options = options, .data = data};
    hw_job_drop_scratch(job, dropped.every, dropped.seed, NULL);
    hw_job_change_view(job, dropped.changes, dropped.seed);
    job->rehearse = dropped.rehearse;
    job->checkpointer = dropped.checkpoints != NULL ? &dropped.checkpoints->own : NULL;
    out.failed = algorithm->train(algorithm, job, &input, &training, &error) != HAWSER_OK;
    if (!out.failed) {
        const hawser_figures *figures = hawser_run_figures(training.run);
        out = (outcome){false,
                        figures->repeatable == NULL,
                        digest_of(training.model, training.stop_reason, training.notes),
                        figures->clocks,
                        job->drops.count,
                        job->changes.count,
                        job->changes.tests};
        hawser_model_free(training.model);
        hawser_run_free(training.run);
    } else if (seen.left_out == NULL) {
        fail_msg("%s: %s", given->algorithm, error.text);
    }
    hawser_close(job);
    hawser_options_free(options);
    hawser_dataset_free(data);
    return out;
}

static bool same(outcome a, outcome b)
{
    return a.failed == b.failed && a.digest == b.digest && a.clocks == b.clocks;
}

static const char *const workers[WORKERS] = {"2", "1", "3"};

/* clang-format off */
static const work works[] = {
    {"linear", SPARSE, {"max-clocks", "60", NULL}},
    {"linear", SPARSE, {"max-clocks", "30", "exchange", "weights", NULL}},
    {"linear", DENSE, {"solver", "minibatch", "batch", "20", "epochs", "6", NULL}},
    {"linear", SPARSE, {"solver", "sgd", "epochs", "2", NULL}},
    /* diverges: the best weights are the result */
    {"linear", SPARSE, {"solver", "minibatch", "batch", "2", "epochs", "4", "step", "0.1", NULL}},
    {"linear", SPARSE, {"solver", "minibatch", "batch", "10", "epochs", "8", "step", "0.06", NULL}},
    {"linear", SPARSE, {"solver", "minibatch", "batch", "2", "epochs", "8", "step", "0.03", NULL}},
    {"linear", DENSE, {"solver", "gd", "max-clocks", "40", "step", "0.2", NULL}},
    {"lasso", SPARSE, {"lambda-ratio", "0.1", NULL}}, /* solved as one */
    {"lasso", DENSE, {"lambda-ratio", "0.05", "certify-every", "3", "sync", "bsp", NULL}},
    {"lasso", DENSE, {"path", "6", "cv", "3", NULL}}, /* one worker certifies by products of columns */
    {"lasso", SPARSE, {"lambda-ratio", "0.1", "l1-ratio", "0.5", "filter", "absolute", "quota", "300", NULL}},
    {"lasso", SPARSE, {"path", "5", "cv", "3", NULL}},
    {"lasso", SPARSE, {"path", "3", "workers", "10", NULL}}, /* predictions once per process */
    {"lasso", SPARSE, {"lambda-ratio", "0.1", "solver", "cd", "max-clocks", "60", NULL}},
    {"lasso", WIDE, {"lambda-ratio", "0.02", NULL}},
    {"lasso", WIDE, {"path", "6", "lambda-min-ratio", "0.05", "merge", "average", "max-clocks", "300", NULL}},
    {"lasso", LARGE, {"lambda-ratio", "0.001", "l1-ratio", "0.05", NULL}},
    {"multitask", SPARSE, {"path", "4", "cv", "3", NULL}}, /* solved as one */
    {"multitask", WIDE, {"lambda-ratio", "0.05", NULL}},
    {"multitask", DENSE, {"lambda-ratio", "0.05", "merge", "average", "certify-every", "2", "max-clocks", "60", NULL}},
    {"logistic", SPARSE, {"lambda-ratio", "0.1", NULL}}, /* solved as one */
    {"logistic", WIDE, {"path", "6", "lambda-min-ratio", "0.05", NULL}},
    {"logistic", DENSE, {"lambda-ratio", "0.02", NULL}},
    {"logistic", SPARSE, {"path", "5", "cv", "3", NULL}},
    {"logistic", SPARSE, {"lambda-ratio", "0.1", "l1-ratio", "0.5", "class-weight", "balanced", NULL}},
    {"logistic", SPARSE, {"lambda-ratio", "0.1", "merge", "average", NULL}}, /* rounds */
    {"logistic", DENSE, {"lambda-ratio", "0.05", "sigma", "2", NULL}},
    {"logistic", SPARSE, {"certify-every", "3", "path", "3", "max-clocks", "100", NULL}},
    {"logistic", SPARSE, {"lambda-ratio", "0.1", "exchange-every", "0.5", "filter", "absolute", "quota", "300", NULL}},
    /* repeatable with one worker */
    {"logistic", SPARSE, {"lambda-ratio", "0.05", "solver", "dbpg", "max-clocks", "300", NULL}},
    {"logistic", SPARSE, {"lambda-ratio", "0.05", "solver", "dbpg", "sync", "dc:0", "max-clocks", "300", NULL}},
    {"logistic", DENSE, {"solver", "dbpg", "groups", "3", "sync", "dc:0", "path", "2", "max-clocks", "300", NULL}},
    {"logistic", SPARSE, {"lambda-ratio", "0.1", "solver", "gd", "max-clocks", "150", "certify-every", "30", NULL}},
    {"logistic", DENSE, {"lambda-ratio", "0.1", "solver", "minibatch", "batch", "20", "epochs", "6", "sync", "dc:0", NULL}},
    {"logistic", SPARSE, {"solver", "minibatch", "batch", "20", "epochs", "4", "exchange", "weights", "path", "2", "cv", "2", NULL}},
    {"logistic", SPARSE, {"lambda-ratio", "0.1", "solver", "sgd", "epochs", "2", "certify-every", "40", NULL}},
    {"poisson", SPARSE, {"lambda-ratio", "0.1", NULL}}, /* solved as one */
    {"poisson", DENSE, {"path", "4", "cv", "2", "l1-ratio", "0.5", NULL}},
    {"poisson", SPARSE, {"lambda-ratio", "0.1", "merge", "average", NULL}}, /* rounds */
    {"poisson", SPARSE, {"certify-every", "3", "lambda-ratio", "0.05", "max-clocks", "100", NULL}},
    {"kmeans", DENSE, {"clusters", "4", "starts", "2", "tol", "0", NULL}}, /* ends when no row moves */
    {"kmeans", DENSE, {"clusters", "3", "batch", "20", "epochs", "4", NULL}},
    {"svm", DENSE, {"C", "0.1", "solver", "dual", "max-iterations", "30", NULL}},
    {"svm", DENSE, {"C", "0.1", "tol", "0", "max-iterations", "60", NULL}}, /* the best model is not the last one */
    {"svm", DENSE, {"path", "0.01,0.1", "solver", "primal", "max-iterations", "4", NULL}},
    {"svm", DENSE, {"cv", "2", "solver", "primal", "max-iterations", "3", NULL}}, /* folds are abreast */
    {"svm", DENSE, {"cv", "2", "solver", "dual", "max-iterations", "2", NULL}},
    {"svm", DENSE, {"loss", "squared-hinge", "solver", "primal", "tol", "0", NULL}}, /* ends where no step improves it */
    /* turns from the dual to the primal */
    {"svm", SMALL, {"C", "100", "loss", "epsilon", "tol", "1e-12", "max-iterations", "135", NULL}},
    {"softmax", DENSE, {"lambda-ratio", "0.05", "l1-ratio", "0.5", NULL}},
    {"softmax", DENSE, {"cv", "2", "max-iterations", "1", "seed", "3", NULL}}, /* folds are abreast */
    /* all blocks solve it together */
    {"logistic", LARGE, {"lambda-ratio", "0.001", "l1-ratio", "0.05", "tol", "1e-5", NULL}},
    {"logistic", LARGE, {"path", "3", "lambda-min-ratio", "0.001", "l1-ratio", "0.05", "tol", "1e-8", NULL}},
    /* without an L1 part */
    {"logistic", LARGE, {"lambda", "0.001", "l1-ratio", "0", "tol", "1e-15", "max-clocks", "40", NULL}},
    {"lasso", SPARSE, {"lambda-ratio", "0.1", "merge", "average", NULL}}, /* rounds */
};
/* clang-format on */

enum { WORKS = sizeof works / sizeof *works };

/* Without drops. */
static outcome whole[WORKS][WORKERS];

/* A sanitizer sees the paths of each algorithm in a third of its trainings. */
static size_t workers_of(size_t k)
{
    return SANITIZED ? (k % 3 == 2 && works[k].shape != LARGE) : works[k].shape != LARGE ? WORKERS : 1;
}

/* Whether a training is tried with workers[w]: each with one of these numbers, and in the longer form with all. */
static bool chosen(size_t k, size_t w)
{
    return runs_long() || w == k % workers_of(k);
}

/* After each clock, and after drawn ones. */
static void drops_do_not_change_models(void **state)
{
    (void)state;
    const uint64_t most = runs_long() ? 3 : 1;
    for (size_t k = 0; k < WORKS; k++)
        for (size_t w = 0; w < workers_of(k); w++) {
            seen.work = k;
            outcome kept = whole[k][w] = train(&works[k], workers[w], (drops){0});
            if (!chosen(k, w))
                continue;
            for (uint64_t every = 1; every <= most + (w == 0 ? 2 : 0); every += 2) {
                outcome dropped = train(&works[k], workers[w], (drops){.every = every, .seed = k});
                if ((every == 1 && dropped.drops == 0) || (kept.repeatable && !same(kept, dropped)))
                    fail_msg("training %zu of %s, %s workers: after %" PRIu64 " drops it has other bits", k,
                             works[k].algorithm, workers[w], dropped.drops);
            }
        }
}

/* The tests of these have a memory (glm/record.h). Those of the others decide by metrics alone. */
static bool has_tests(const char *algorithm)
{
    static const char *const names[] = {"lasso", "multitask", "logistic", "poisson"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(names[k], algorithm) == 0)
            return true;
    return false;
}

/* Stages and tests are done over from their last commit. Needs the models of the test before. */
static void changes_of_the_view_do_not_change_models(void **state)
{
    (void)state;
    uint64_t changes = 0, linear = 0;
    seen.all = true;
    for (size_t k = 0; k < WORKS; k++)
        for (size_t w = 0; w < workers_of(k); w++) {
            if (!chosen(k, w))
                continue;
            outcome redone = train(&works[k], workers[w], (drops){.seed = k, .changes = 3});
            changes += redone.changes;
            linear += has_tests(works[k].algorithm) ? redone.tests : 0;
            if (!has_tests(works[k].algorithm))
                assert_int_equal(redone.tests, 0);
            if (whole[k][w].repeatable && !same(whole[k][w], redone))
                fail_msg("training %zu of %s, %s workers: after %" PRIu64 " changes of the view it has other bits", k,
                         works[k].algorithm, workers[w], redone.changes);
        }
    assert_true(SANITIZED || (changes > WORKS && linear > 10 * WORKS));
}

/* All that a training remembers is in states and records. Needs the models of the first test. */
static void rehearsals_do_not_change_models(void **state)
{
    (void)state;
    for (size_t k = 0; k < WORKS; k++)
        for (size_t w = 0; w < workers_of(k); w++) {
            if (!chosen(k, w))
                continue;
            outcome rehearsed = train(&works[k], workers[w], (drops){.rehearse = w == 0 ? 1 : 3});
            if (whole[k][w].repeatable && !same(whole[k][w], rehearsed))
                fail_msg("training %zu of %s, %s workers: under --rehearse it has other bits", k, works[k].algorithm,
                         workers[w]);
        }
}

/* What a scan and a Gram matrix have is read back: models hardly depend on what speeds up a scan, or on which products are
 * there already. */
static void visit_scan(hawser_record *record, void *object)
{
    hw_linear_scan_visit(record, object, &(hawser_matrix){.rows = 3, .cols = 4});
}

static void visit_gram(hawser_record *record, void *object)
{
    hw_linear_gram_visit(record, object, 4);
}

static bool again(hawser_record_function *visit, const void *object, void *made)
{
    void *bytes = NULL;
    size_t size = 0;
    hawser_error error = {0};
    bool read = hawser_record_save(visit, object, &bytes, &size, &error) == HAWSER_OK &&
                hawser_record_restore(visit, made, bytes, size, &error) == HAWSER_OK;
    free(bytes);
    return read;
}

static bool scan_is_read_back(void)
{
    const hawser_matrix X = {.rows = 3, .cols = 4};
    hw_linear_scan scan = {0}, made = {0};
    hawser_error error = {0};
    if (hw_linear_scan_new(&scan, &X, &error) != HAWSER_OK || hw_linear_scan_new(&made, &X, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < X.rows; i++)
        scan.dual[i] = -(scan.reference_dual[i] = 1.0 + (double)i);
    for (size_t j = 0; j < X.cols; j++) {
        scan.reference_gradient[j] = 2.0 * (scan.gradient[j] = 3.0 + (double)j);
        scan.screened_count += scan.screened[j] = j % 2 == 0;
    }
    scan.referenced = scan.exact[2] = true;
    scan.live[scan.live_count++] = scan.computed[scan.computed_count++] = 2;
    scan.live_far = scan.live_lambda = scan.wasted = 1.0;
    bool read = again(visit_scan, &scan, &made) && made.referenced && made.screened_count == scan.screened_count &&
                memcmp(made.screened, scan.screened, 2 * X.cols) == 0 && made.live_far == 1.0 && made.live_lambda == 1.0 &&
                made.wasted == 1.0 && made.live_count == 1 && made.live[0] == 2 && made.computed_count == 1 &&
                made.computed[0] == 2 && memcmp(made.gradient, scan.gradient, 2 * X.cols * sizeof *scan.gradient) == 0 &&
                memcmp(made.reference_dual, scan.reference_dual, 2 * X.rows * sizeof *scan.reference_dual) == 0;
    hw_linear_scan_free(&scan);
    hw_linear_scan_free(&made);
    return read;
}

static bool gram_is_read_back(void)
{
    static const uint32_t list[] = {3, 1, 2};
    hw_linear_gram gram = {0}, made = {0};
    hawser_error error = {0};
    size_t fresh = 0;
    if (hw_linear_gram_new(&gram, 4, &error) != HAWSER_OK || hw_linear_gram_new(&made, 4, &error) != HAWSER_OK ||
        hw_linear_gram_admit(&gram, list, 3, &fresh, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    for (size_t k = 0; k < 9; k++)
        gram.values[k / 3 * gram.capacity + k % 3] = 1.0 + (double)(k / 3 + k % 3);
    gram.whole = true;
    bool read = again(visit_gram, &gram, &made) && made.whole && made.count == 3 && made.capacity == gram.capacity &&
                memcmp(made.slot, gram.slot, 4 * sizeof *gram.slot) == 0;
    for (size_t k = 0; read && k < 9; k++)
        read = made.values[k / 3 * made.capacity + k % 3] == 1.0 + (double)(k / 3 + k % 3);
    hw_linear_gram_free(&gram);
    hw_linear_gram_free(&made);
    return read;
}

static void parts_are_read_back(void **state)
{
    (void)state;
    assert_true(scan_is_read_back());
    assert_true(gram_is_read_back());
}

static bool notices(size_t k)
{
    for (size_t w = 0; w < workers_of(k); w++)
        if (whole[k][w].repeatable && !same(whole[k][w], train(&works[k], workers[w], (drops){.every = 1})))
            return true;
    return false;
}

/* Runs in a process of its own, because a block that lacks a field may do anything. */
static bool noticed_by(size_t k)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0}, some = {4, 4}; /* seconds of CPU; a training takes far less, unless it does not end */
        for (size_t s = 0; s < sizeof deadly / sizeof *deadly; s++)
            signal(deadly[s], SIG_DFL);
        if (setrlimit(RLIMIT_CORE, &none) != 0 || setrlimit(RLIMIT_CPU, &some) != 0 ||
            freopen("/dev/null", "w", stderr) == NULL)
            _exit(0);
        alarm(100);
        _exit(notices(k));
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        fail_msg("no process for a training");
    return status != 0;
}

/* Needs the calls and models of the test before. */
static void field_that_is_left_out_changes_a_model(void **state)
{
    (void)state;
    extern const char __executable_start[];
    if (SANITIZED)
        skip();
    size_t unnoticed = 0, by_parts = 0, count = seen.count;
    for (size_t c = 0; c < count; c++) {
        seen.left_out = seen.calls[c].at;
        bool noticed = !scan_is_read_back() || !gram_is_read_back(); /* first, because trainings take longer */
        by_parts += noticed;
        for (size_t k = 0; k < WORKS && !noticed; k++)
            noticed = seen.calls[c].in[k] && noticed_by(k);
        unnoticed += !noticed;
        if (!noticed)
            print_error("no model changes without the call before 0x%zx (addr2line -e says which)\n",
                        (size_t)((const char *)seen.left_out - __executable_start));
    }
    seen.left_out = NULL;
    print_message("%zu of %zu fields are noticed, %zu of them by parts\n", count - unnoticed, count, by_parts);
    assert_int_equal(unnoticed, 0);
}

/* Each training is thrown away and goes on from the bytes of a drawn clock, or from two of them in turn. */
static void trainings_go_on_from_their_bytes(void **state)
{
    (void)state;
    static memory_checkpointer kept;
    size_t went_on = 0, all = 0;
    for (size_t k = 0; k < WORKS; k++)
        for (size_t w = 0; w < workers_of(k); w++) {
            if (!chosen(k, w))
                continue;
            if (whole[k][w].digest == 0)
                whole[k][w] = train(&works[k], workers[w], (drops){0});
            memory_open(&kept, 1 + k % 3, 1 + (3 * k + w) % 12, k + 7 * w);
            const drops with = {.checkpoints = &kept};
            outcome written = train(&works[k], workers[w], with);
            all++;
            if (whole[k][w].repeatable && !same(whole[k][w], written))
                fail_msg("training %zu of %s, %s workers: with checkpoints it has other bits", k, works[k].algorithm,
                         workers[w]);
            for (int turn = 0; turn < 2 && kept.complete > 0; turn++) {
                memory_again(&kept, 2, turn == 0 ? 2 : 0);
                outcome read = train(&works[k], workers[w], with);
                went_on++;
                if (whole[k][w].repeatable && !same(whole[k][w], read))
                    fail_msg("training %zu of %s, %s workers: from a checkpoint it has other bits", k, works[k].algorithm,
                             workers[w]);
            }
            memory_close(&kept);
        }
    printf("%zu trainings, %zu went on\n", all, went_on);
    assert_true(SANITIZED || went_on > all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_read_back),
        cmocka_unit_test(drops_do_not_change_models),
        cmocka_unit_test(changes_of_the_view_do_not_change_models),
        cmocka_unit_test(rehearsals_do_not_change_models),
        cmocka_unit_test(field_that_is_left_out_changes_a_model),
        cmocka_unit_test(trainings_go_on_from_their_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
