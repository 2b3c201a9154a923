/* algorithms_scratch.c - the ready algorithms when blocks drop their scratches between drawn clocks, and read back what their visit wrote: the model
 * has the same bits. With a visit that leaves a field out it has others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/lasso/block.h"
#include "algorithms/sgd/problem.h"
#include "hawser/algorithm.h"
#include "job.h"
#include "runtime/block/worker.h"

enum { EXAMPLES = 90, FEATURES = 40, OPTIONS_MOST = 20 };

/* A training: an algorithm, and option names and values. */
typedef struct work {
    const char *algorithm;
    const char *pairs[OPTIONS_MOST];
} work;

typedef struct drops {
    uint64_t every, seed;
    hawser_scratch_visit *visit;
} drops;

typedef struct outcome {
    uint64_t digest, clocks, drops;
} outcome;

static double mix(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) * 0x1p-53 * 2.0 - 1.0;
}

/* Sparse columns that share a factor, and a target of two labels or of any numbers. */
static hawser_dataset *make_data(bool labels)
{
    static uint64_t offsets[FEATURES + 1];
    static uint32_t indices[EXAMPLES * FEATURES];
    static double values[EXAMPLES * FEATURES], y[EXAMPLES], common[EXAMPLES];
    uint64_t seed = 5, stored = 0;
    for (size_t i = 0; i < EXAMPLES; i++) {
        common[i] = mix(&seed);
        y[i] = 0.5 * mix(&seed) + 0.3;
    }
    for (size_t j = 0; j < FEATURES; j++) {
        offsets[j] = stored;
        for (uint32_t i = 0; i < EXAMPLES; i++) {
            double x = 0.6 * common[i] + 0.4 * mix(&seed);
            if (mix(&seed) > 0.2)
                continue;
            indices[stored] = i;
            values[stored++] = x * (1.0 + (double)(j % 3));
            y[i] += j % 6 == 0 ? (j % 4 ? -1.0 : 1.5) * x : 0.0;
        }
    }
    offsets[FEATURES] = stored;
    for (size_t i = 0; labels && i < EXAMPLES; i++)
        y[i] = y[i] > 0.3 ? 1.0 : 0.0;
    hawser_matrix matrix = {.rows = EXAMPLES,
                            .cols = FEATURES,
                            .stored = stored,
                            .layout = HAWSER_CSC,
                            .values = values,
                            .offsets = offsets,
                            .indices = indices};
    hawser_dataset *data = NULL;
    hawser_error error = {0};
    if (hawser_dataset_from(&matrix, y, &data, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    return data;
}

/* What two equal models have in common. */
static uint64_t digest_of(const hawser_model *model)
{
    static const char *const names[] = {"intercept",          "coefficients",   "coefficients.index",
                                        "coefficients.value", "path.objective", "path.intercept",
                                        "path.value",         "path.index",     "path.error"};
    uint64_t digest = 0;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        size_t dims[2] = {0};
        const uint64_t *values = hawser_model_get(model, names[k], NULL, dims); /* all of 64 bits */
        for (size_t at = 0; values != NULL && at < dims[0]; at++)
            digest = hw_mix(digest ^ values[at]);
    }
    const char *key, *value;
    for (size_t k = 0; hawser_model_fact_at(model, k, &key, &value); k++)
        for (const char *at = value; *at != '\0'; at++)
            digest = hw_mix(digest ^ (unsigned char)*at);
    return digest;
}

static outcome train(const work *given, const char *workers, drops dropped)
{
    const hawser_algorithm *algorithm = hawser_algorithm_find(given->algorithm);
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), algorithm->rows, NULL};
    hawser_dataset *data = make_data(strcmp(given->algorithm, "logistic") == 0);
    hawser_error error = {0};
    hawser_options *options = NULL;
    hawser_job *job = NULL;
    hawser_training training;
    hawser_status status = hawser_options_new(tables, &options, &error);
    if (status == HAWSER_OK)
        status = hawser_options_set(options, "workers", workers, HAWSER_FROM_COMMAND_LINE, "test", &error);
    for (const char *const *pairs = given->pairs; status == HAWSER_OK && *pairs != NULL; pairs += 2)
        status = hawser_options_set(options, pairs[0], pairs[1], HAWSER_FROM_COMMAND_LINE, "test", &error);
    if (status == HAWSER_OK)
        status = hawser_open_options(options, &job, &error);
    hawser_training_input input = {.options = options, .data = data};
    if (status == HAWSER_OK) {
        hw_job_drop_scratch(job, dropped.every, dropped.seed, dropped.visit);
        status = algorithm->train(job, &input, &training, &error);
    }
    if (status != HAWSER_OK)
        fail_msg("%s: %s", given->algorithm, error.text);
    outcome out = {digest_of(training.model), hawser_run_figures(training.run)->clocks, job->drops.count};
    hawser_model_free(training.model);
    hawser_run_free(training.run);
    hawser_close(job);
    hawser_options_free(options);
    hawser_dataset_free(data);
    return out;
}

static bool same(outcome a, outcome b)
{
    return a.digest == b.digest && a.clocks == b.clocks;
}

static const char *const workers[] = {"1", "2", "3"};

/* clang-format off */
static const work works[] = {
    {"linear", {"max-clocks", "60", NULL}},
    {"linear", {"max-clocks", "30", "exchange", "weights", NULL}},
    {"linear", {"solver", "minibatch", "batch", "20", "epochs", "6", NULL}},
    {"linear", {"solver", "sgd", "epochs", "2", NULL}},
    {"linear", {"solver", "minibatch", "batch", "2", "epochs", "4", "step", "0.1", NULL}}, /* diverges: the best weights are the result */
    {"lasso", {"lambda-ratio", "0.1", NULL}}, /* solved as one */
    {"lasso", {"lambda-ratio", "0.05", "certify-every", "3", "sync", "bsp", NULL}},
    {"lasso", {"lambda-ratio", "0.1", "merge", "average", NULL}}, /* rounds */
    {"lasso", {"lambda-ratio", "0.1", "l1-ratio", "0.5", "filter", "absolute", "quota", "300", NULL}},
    {"lasso", {"path", "5", "cv", "3", NULL}},
    {"lasso", {"lambda-ratio", "0.1", "solver", "cd", "max-clocks", "60", NULL}},
};
/* clang-format on */

/* After each clock, and after drawn ones. */
static void drops_do_not_change_models(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof works / sizeof *works; k++)
        for (size_t w = 0; w < sizeof workers / sizeof *workers; w++) {
            outcome kept = train(&works[k], workers[w], (drops){0});
            for (uint64_t every = 1; every <= 5; every += 2) {
                outcome dropped = train(&works[k], workers[w], (drops){.every = every, .seed = k});
                if (dropped.drops == 0 || !same(kept, dropped))
                    fail_msg("training %zu of %s, %s workers: after %llu drops it has other bits", k, works[k].algorithm,
                             workers[w], (unsigned long long)dropped.drops);
            }
        }
}

/* ---------------------------------------------------------------------------------------------------------- mutants ---- */

/* The program's own visit; returns the scratch if it was read. */
static void *visited(hawser_record *record, hawser_context *context)
{
    context->worker->session->program->scratch_visit(record, context);
    return hawser_record_reads(record) ? hawser_scratch(context) : NULL;
}

static void descent_without_least(hawser_record *record, hawser_context *context)
{
    hw_descent_block *block = visited(record, context);
    if (block != NULL && block->descent != NULL)
        block->memory.least = INFINITY;
}

static void descent_without_epoch(hawser_record *record, hawser_context *context)
{
    hw_descent_block *block = visited(record, context);
    if (block != NULL)
        block->memory.epoch = 0.0;
}

static void lasso_without_fresh(hawser_record *record, hawser_context *context)
{
    hw_lasso_block *block = visited(record, context);
    if (block != NULL)
        block->fresh = false;
}

static void lasso_without_intercept(hawser_record *record, hawser_context *context)
{
    hw_lasso_block *block = visited(record, context);
    if (block != NULL)
        block->intercept = 0.0;
}

static void lasso_without_gradient(hawser_record *record, hawser_context *context)
{
    hw_lasso_block *block = visited(record, context);
    for (size_t j = 0; block != NULL && j < block->columns.X.cols; j++)
        block->scan.gradient[j] = 0.0;
}

static void lasso_without_grades(hawser_record *record, hawser_context *context)
{
    hw_lasso_block *block = visited(record, context);
    if (block != NULL)
        memset(block->scan.grades, 0, sizeof block->scan.grades);
}

static void lasso_without_residuals(hawser_record *record, hawser_context *context)
{
    hw_lasso_block *block = visited(record, context);
    if (block != NULL && block->accelerator.residuals != NULL)
        memset(block->accelerator.residuals, 0, block->accelerator.rows * sizeof(double));
}

static void lasso_without_set(hawser_record *record, hawser_context *context)
{
    hw_lasso_block *block = visited(record, context);
    if (block != NULL && block->lasso != NULL)
        block->lasso->choices.settings.solver->reset(block->solver);
}

static void lasso_without_coefficients(hawser_record *record, hawser_context *context)
{
    hw_lasso_block *block = visited(record, context);
    for (size_t k = 0; block != NULL && k < block->joint.members.count; k++)
        block->joint.members.x[k] = 0.0;
}

typedef struct mutant {
    size_t work;
    hawser_scratch_visit *visit;
} mutant;

static const mutant mutants[] = {{4, descent_without_least},  {4, descent_without_epoch},   {5, lasso_without_gradient},
                                 {5, lasso_without_grades},   {5, lasso_without_set},       {5, lasso_without_coefficients},
                                 {7, lasso_without_fresh},    {7, lasso_without_residuals}, {7, lasso_without_set},
                                 {9, lasso_without_intercept}};

static void field_that_is_left_out_changes_a_model(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof mutants / sizeof *mutants; k++) {
        outcome kept = train(&works[mutants[k].work], "2", (drops){0});
        outcome dropped = train(&works[mutants[k].work], "2", (drops){.every = 1, .visit = mutants[k].visit});
        if (same(kept, dropped))
            fail_msg("mutant %zu has the bits of the whole visit", k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drops_do_not_change_models),
        cmocka_unit_test(field_that_is_left_out_changes_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
