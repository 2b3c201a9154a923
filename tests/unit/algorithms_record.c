/* algorithms_record.c - the driver's record of linear models: it is written, zeroed and read back between the driver's
 * tests, and the training has the same bits. With a record that loses a field it has others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/driver.h"
#include "factor_data.h"
#include "hawser/algorithm.h"
#include "job.h"
#include "runtime/drive/driver.h"
#include "sanitized.h"

enum { EXAMPLES = 90, FEATURES = 40, OPTIONS_MOST = 20 };

/* A training: an algorithm, and option names and values. */
typedef struct work {
    const char *algorithm;
    const char *pairs[OPTIONS_MOST];
} work;

/* A function that is called with the driver's progress. */
typedef struct watch {
    hawser_observer *observer;
    void *user;
} watch;

typedef struct outcome {
    uint64_t digest, clocks;
    hawser_error failure; /* status HAWSER_OK: there is a model */
} outcome;

/* Sparse columns that share a factor, and a target. */
static hawser_dataset *make_data(const char *algorithm)
{
    return factor_data(EXAMPLES, FEATURES, 0.6, factor_target_of(algorithm));
}

static uint64_t digest_text(uint64_t digest, const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        digest = hw_mix(digest ^ (unsigned char)*at);
    return digest;
}

/* Returns what two equal trainings have in common: the model, the facts, the notes, and why they ended. */
static uint64_t digest_of(const hawser_training *training)
{
    const hawser_model *model = training->model;
    static const char *const names[] = {"intercept",      "coefficients.index", "coefficients.value",
                                        "path.objective", "path.intercept",     "path.offsets",
                                        "path.value",     "path.index",         "path.error"};
    uint64_t digest = 0;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        size_t dims[2] = {0};
        const uint64_t *values = hawser_model_get(model, names[k], NULL, dims); /* all of 64 bits */
        size_t count = dims[0] * (dims[1] > 0 ? dims[1] : 1);
        for (size_t at = 0; values != NULL && at < count; at++)
            digest = hw_mix(digest ^ values[at]);
    }
    const char *key, *value;
    for (size_t k = 0; hawser_model_fact_at(model, k, &key, &value); k++)
        digest = digest_text(digest, value);
    for (const hawser_fact *fact = training->facts; fact->name != NULL; fact++) {
        uint64_t bits;
        memcpy(&bits, &fact->value, sizeof bits);
        digest = hw_mix(digest_text(digest, fact->name) ^ bits);
    }
    for (size_t n = 0; n < HAWSER_NOTES; n++)
        digest = digest_text(digest, training->notes[n]);
    return digest_text(digest_text(digest, training->stop_reason), training->failure.text);
}

/* Trains in this process. Without a job the test fails; without a model the outcome has the reason. */
static outcome run_training(const work *given, const char *workers, watch watched)
{
    const hawser_algorithm *algorithm = hawser_algorithm_find(given->algorithm);
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), algorithm->rows, NULL};
    hawser_dataset *data = make_data(given->algorithm);
    hawser_error error = {0};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_training training = {0};
    hawser_status status = hawser_options_new(tables, &options, &error);
    if (status == HAWSER_OK)
        status = hawser_options_set(options, "workers", workers, HAWSER_FROM_COMMAND_LINE, "test", &error);
    for (const char *const *pairs = given->pairs; status == HAWSER_OK && *pairs != NULL; pairs += 2)
        status = hawser_options_set(options, pairs[0], pairs[1], HAWSER_FROM_COMMAND_LINE, "test", &error);
    if (status == HAWSER_OK)
        status = hawser_open_options(options, &job, &error);
    hawser_training_input input = {
        .options = options, .data = data, .observer = watched.observer, .observer_user = watched.user};
    if (status == HAWSER_OK)
        status = algorithm->train(algorithm, job, &input, &training, &error);
    if (job == NULL)
        fail_msg("%s: %s", given->algorithm, error.text);
    outcome out = {.failure = error};
    out.failure.status = status;
    if (status == HAWSER_OK) {
        out.digest = digest_of(&training);
        out.clocks = hawser_run_figures(training.run)->clocks;
    }
    hawser_model_free(training.model);
    hawser_run_free(training.run);
    hawser_close(job);
    hawser_options_free(options);
    hawser_dataset_free(data);
    return out;
}

/* Whether a training that has a model is the same in another run. */
static bool same(outcome model, outcome other)
{
    if (model.failure.status != HAWSER_OK)
        fail_msg("%s", model.failure.text);
    return other.failure.status == HAWSER_OK && model.digest == other.digest && model.clocks == other.clocks;
}

/* clang-format off */
static const work works[] = {
    {"lasso", {"path", "5", "cv", "3", "max-clocks", "400", NULL}},
    {"multitask", {"path", "4", "cv", "3", "sigma", "3", "max-clocks", "300", NULL}},
    {"lasso", {"path", "6", "validation-fraction", "0.3", "merge", "average", "max-clocks", "400", NULL}},
    /* rises: sigma' is doubled */
    {"lasso", {"lambda-ratio", "0.001", "sigma", "0.4", "exchange-every", "1", "max-clocks", "200", NULL}},
    {"lasso", {"lambda-ratio", "0.1", "tol", "1e-17", "max-clocks", "900", NULL}}, /* ends by precision */
    /* crawls */
    {"lasso", {"lambda-ratio", "0.1", "certify-every", "1", "exchange-every", "0.05", "max-clocks", "300", NULL}},
    {"logistic", {"path", "4", "cv", "3", "max-clocks", "400", NULL}},
    {"poisson", {"path", "4", "cv", "3", "max-clocks", "400", NULL}},
    /* ends with its epochs */
    {"logistic", {"path", "3", "solver", "minibatch", "batch", "20", "epochs", "6", "max-clocks", "400", NULL}},
};
/* clang-format on */

enum { MOST_LOSSES = 300 }; /* in a training: without end, some trainings would have none either */

/* A field, zeroed each time that the record has been read. An array has its numbers zeroed. */
typedef struct loss {
    const char *name;
    size_t offset, size;
    bool array;
} loss;

typedef struct drop {
    const loss *lost; /* NULL: nothing */
    uint64_t count;
} drop;

static hw_linear_record *find_record(const hawser_program *program)
{
    for (size_t k = 0; k < program->operator_count; k++)
        if (program->operators[k]->until.test == hw_linear_certified)
            return &((hw_linear_driver *)program->operators[k]->until.user)->record;
    fail_msg("the program has no loop of certificates");
    return NULL;
}

static size_t array_bytes(const hw_linear_record *record, size_t offset)
{
    size_t count = record->results.most, folds = record->results.folds;
    return offset == offsetof(hw_linear_record, lambdas)          ? count * sizeof *record->lambdas
           : offset == offsetof(hw_linear_record, results.rows)   ? count * sizeof *record->results.rows
           : offset == offsetof(hw_linear_record, results.errors) ? count * folds * sizeof *record->results.errors
                                                                  : folds * sizeof *record->results.fold_weights;
}

static void drop_record(const hawser_progress *progress, void *user)
{
    drop *dropped = user;
    hw_linear_record *record = find_record(progress->driver->session->program);
    void *bytes = NULL;
    size_t size = 0;
    hawser_error error = {0};
    if (hawser_record_save(hw_linear_record_visit, record, &bytes, &size, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    hw_linear_record_free(record);
    if (hawser_record_restore(hw_linear_record_visit, record, bytes, size, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    free(bytes);
    dropped->count++;
    if (dropped->lost == NULL || dropped->count > MOST_LOSSES)
        return;
    char *field = (char *)record + dropped->lost->offset;
    if (dropped->lost->array)
        memset(*(void **)field, 0, array_bytes(record, dropped->lost->offset));
    else
        memset(field, 0, dropped->lost->size);
}

static void drops_of_the_record_do_not_change_trainings(void **state)
{
    (void)state;
    static const char *const workers[] = {"1", "2", "3"};
    for (size_t k = 0; k < sizeof works / sizeof *works; k++)
        for (size_t w = SANITIZED ? 2 : 0; w < sizeof workers / sizeof *workers; w++) {
            drop dropped = {0};
            outcome kept = run_training(&works[k], workers[w], (watch){0});
            outcome read = run_training(&works[k], workers[w], (watch){drop_record, &dropped});
            if (dropped.count < 4 || !same(kept, read))
                fail_msg("training %zu, %s workers: after %llu drops of the record it ends otherwise", k, workers[w],
                         (unsigned long long)dropped.count);
        }
}

/* clang-format off */
#define ARRAY(name) {#name, offsetof(hw_linear_record, name), 0, true}
#define NUMBER(name) {#name, offsetof(hw_linear_record, name), sizeof((hw_linear_record *)0)->name, false}

/* The fields that these trainings notice. The visit takes all numbers as one, so that no other field can be left out
 * alone. */
static const loss losses[] = {
    ARRAY(lambdas),
    ARRAY(results.rows),
    ARRAY(results.errors),
    ARRAY(results.fold_weights),
    NUMBER(at),
    NUMBER(fold_at),
    NUMBER(zero_objective),
    NUMBER(whole_zero_objective),
    NUMBER(lambda_max),
    NUMBER(objective),
    NUMBER(best_objective),
    NUMBER(best_gap),
    NUMBER(gap),
    NUMBER(last_gap),
    NUMBER(gain),
    NUMBER(stale_certificates),
    NUMBER(work_done),
    NUMBER(curved),
    NUMBER(watched),
    NUMBER(watched_gap),
    NUMBER(watched_clock),
    NUMBER(at_limit),
    NUMBER(crawled),
};
/* clang-format on */

static void field_that_is_lost_changes_a_training(void **state)
{
    (void)state;
    enum { WORKS = sizeof works / sizeof *works };
    outcome kept[WORKS];
    size_t missed = 0, step = SANITIZED ? 4 : 1; /* a lost field takes no path of its own */
    for (size_t k = 0; k < WORKS; k++)
        kept[k] = run_training(&works[k], "2", (watch){0});
    for (size_t f = 0; f < sizeof losses / sizeof *losses; f += step) {
        bool noticed = false;
        for (size_t k = 0; k < WORKS && !noticed; k++) {
            drop dropped = {.lost = &losses[f]};
            noticed = !same(kept[k], run_training(&works[k], "2", (watch){drop_record, &dropped}));
        }
        if (!noticed)
            print_error("no training notices that %s is lost\n", losses[f].name);
        missed += !noticed;
    }
    assert_int_equal(missed, 0);
}

/* Whatever numbers the fields have, they are the same afterwards: no field after the arrays can be left out. */
static void record_that_is_read_has_each_byte(void **state)
{
    (void)state;
    hw_linear_choices choices = {.lambda_count = 3, .settings.choice = {.folds = 4}};
    hw_linear_record record, read = {0};
    hawser_error error = {0};
    assert_int_equal(hw_linear_record_new(&record, &choices, &error), HAWSER_OK);
    size_t begin = offsetof(hw_linear_record, at);
    memset((char *)&record + begin, 1, sizeof record - begin);
    for (size_t k = 0; k < 12; k++)
        record.results.errors[k] = record.lambdas[k % 3] = record.results.rows[k % 3].gap =
            record.results.fold_weights[k % 4] = (double)(k + 1);
    void *bytes = NULL;
    size_t size = 0;
    assert_int_equal(hawser_record_save(hw_linear_record_visit, &record, &bytes, &size, &error), HAWSER_OK);
    assert_int_equal(hawser_record_restore(hw_linear_record_visit, &read, bytes, size, &error), HAWSER_OK);
    assert_memory_equal((char *)&record.results.most, (char *)&read.results.most,
                        sizeof record - offsetof(hw_linear_record, results.most));
    assert_memory_equal(record.lambdas, read.lambdas, 3 * sizeof *read.lambdas);
    assert_memory_equal(record.results.rows, read.results.rows, 3 * sizeof *read.results.rows);
    assert_memory_equal(record.results.errors, read.results.errors, 12 * sizeof *read.results.errors);
    assert_memory_equal(record.results.fold_weights, read.results.fold_weights, 4 * sizeof *read.results.fold_weights);
    assert_int_equal(hawser_record_restore(hw_linear_record_visit, &(hw_linear_record){0}, bytes, 8, &error),
                     HAWSER_BAD_INPUT);
    free(bytes);
    hw_linear_record_free(&record);
    hw_linear_record_free(&read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drops_of_the_record_do_not_change_trainings),
        cmocka_unit_test(field_that_is_lost_changes_a_training),
        cmocka_unit_test(record_that_is_read_has_each_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
