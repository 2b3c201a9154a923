/* algorithms_nodes.c - trainings over nodes: hawser_train gives every node the model of node 0, byte for byte, and all that
 * node 0 knows of the training; a failure of node 0 alone is one of all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "directory.h"
#include "factor_data.h"
#include "hawser/algorithm.h"
#include "nodes.h"
#include "sanitized.h"

enum { ROWS = 90, COLUMNS = 24, MOST_NODES = 3, BYTES_OF_SEVERAL_MESSAGES = 17 << 20 };

/* A training, and what came of it on each node. */
typedef struct work {
    const char *name;
    const char *pairs[16];
    bool stops; /* node 0's observer asks the job to end */
    /* the validation data have another label or a negative count, which node 0 notices when the training has ended */
    bool strange;
    bool aimless;  /* the validation data have no target, */
    bool misfits;  /* the validation data have too many columns, each of which node 0 notices before it */
    bool on_lead;  /* hawser_training_input.result_on_lead */
    bool plans;    /* hawser_train_plan is called, and not hawser_train */
    bool diverges; /* expected: failure is set */
    uint64_t of[NODES_MOST], predicted[NODES_MOST]; /* digests; 0: none */
    _Atomic int models;
} work;

static hawser_dataset *make_data(const char *name, size_t columns)
{
    return factor_data(ROWS, columns, 1.0, factor_target_of(name));
}

static hawser_dataset *with_target(const hawser_dataset *data, const double *target)
{
    hawser_dataset *out = NULL;
    hawser_error error = {0};
    assert_int_equal(hawser_dataset_from(hawser_dataset_matrix(data), target, &out, &error), HAWSER_OK);
    return out;
}

static uint64_t digest_text(uint64_t digest, const char *text)
{
    return hw_hash(text, strlen(text) + 1, digest);
}

/* Returns a digest of all that nodes must have in common. */
static uint64_t digest_of(const hawser_training *training)
{
    hawser_error error = {0};
    void *bytes = NULL;
    size_t size = 0;
    assert_int_equal(hawser_model_to_bytes(training->model, &bytes, &size, &error), HAWSER_OK);
    uint64_t digest = hw_hash(bytes, size, training->interrupted);
    free(bytes);
    for (const hawser_fact *fact = training->facts; fact->name != NULL; fact++)
        digest = digest_text(hw_hash(&fact->value, sizeof fact->value, digest), fact->name);
    for (size_t k = 0; k < HAWSER_NOTES; k++)
        digest = digest_text(digest, training->notes[k]);
    for (size_t k = 0; k < HAWSER_CLOSING; k++)
        digest = digest_text(digest, training->closing[k]);
    digest = digest_text(digest_text(digest, training->policy), training->assumed);
    digest = digest_text(digest, training->failure.text) ^ (uint64_t)(uint32_t)training->failure.status;
    return digest_text(digest, training->stop_reason);
}

static uint64_t predict(const hawser_algorithm *algorithm, const hawser_model *model, const hawser_dataset *data)
{
    double values[4 * ROWS] = {0};
    hawser_error error = {0};
    hawser_dataset *turned = NULL;
    if (algorithm->split == HAWSER_BY_ROW)
        assert_int_equal(hawser_dataset_turn(data, &turned, &error), HAWSER_OK);
    if (hawser_algorithm_head(algorithm, "prediction")->compute(model, turned != NULL ? turned : data, values, &error) !=
        HAWSER_OK)
        fail_msg("%s: %s", algorithm->name, error.text);
    hawser_dataset_free(turned);
    return hw_hash(values, sizeof values, 1);
}

/* The file that node 0 writes has the bytes that the others have. */
static void check_file(const hawser_model *model)
{
    hawser_error error = {0};
    void *bytes = NULL;
    size_t size = 0;
    assert_int_equal(hawser_model_save(model, "model", &error), HAWSER_OK);
    assert_int_equal(hawser_model_to_bytes(model, &bytes, &size, &error), HAWSER_OK);
    FILE *file = fopen("model", "r");
    char *read = malloc(size + 1);
    assert_true(file != NULL && read != NULL);
    assert_int_equal(fread(read, 1, size + 1, file), size);
    assert_memory_equal(read, bytes, size);
    fclose(file);
    free(read);
    free(bytes);
}

static void stop(const hawser_progress *progress, void *user)
{
    if (hawser_progress_clock(progress) >= 1)
        hawser_interrupt(user);
}

static void train_on_node(test_node *node)
{
    work *w = node->user;
    const hawser_algorithm *algorithm = hawser_algorithm_find(w->name);
    uint32_t self = hawser_job_node(node->job);
    hawser_dataset *data = make_data(w->name, COLUMNS);
    const double targets[ROWS] = {-7.0};
    hawser_dataset *validation = self != 0                  ? NULL
                                 : w->misfits               ? make_data(w->name, COLUMNS + 1)
                                 : w->strange || w->aimless ? with_target(data, w->aimless ? NULL : targets)
                                                            : NULL;
    hawser_training training = {0};
    const hawser_training_input input = {.options = node->options,
                                         .data = data,
                                         .validation = validation,
                                         .observer = w->stops && self == 0 ? stop : NULL,
                                         .observer_user = node->job,
                                         .result_on_lead = w->on_lead};
    char *plan = NULL;
    node->status = w->plans ? hawser_train_plan(algorithm, node->job, &input, HAWSER_PLAN_LOGICAL, &plan, &node->error)
                            : hawser_train(algorithm, node->job, &input, &training, &node->error);
    assert_true((plan != NULL) == (w->plans && node->status == HAWSER_OK));
    free(plan);
    atomic_fetch_add(&w->models, training.model != NULL);
    if (node->status == HAWSER_OK && training.model != NULL) {
        assert_int_equal(training.interrupted, w->stops);
        assert_int_equal(training.failure.status != HAWSER_OK, w->diverges);
        assert_non_null(hawser_run_figures(training.run));
        w->of[self] = digest_of(&training);
        w->predicted[self] = predict(algorithm, training.model, data);
        if (self == 0)
            check_file(training.model);
    }
    hawser_model_free(training.model);
    hawser_run_free(training.run);
    hawser_dataset_free(validation);
    hawser_dataset_free(data);
}

static void run(test_node *nodes, uint32_t count, work *w)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), hawser_algorithm_find(w->name)->rows, NULL};
    memset(w->of, 0, sizeof w->of);
    memset(w->predicted, 0, sizeof w->predicted);
    w->models = 0;
    run_nodes_with(tables, nodes, count, false, w->pairs, train_on_node, w);
}

/* ---- tests ---- */

#define SHORT "workers", "3", "timeout", "60", "max-clocks", "60"

static void every_node_has_the_result(void **state)
{
    (void)state;
    static work works[] = {
        {.name = "lasso", .pairs = {SHORT, "path", "4", "cv", "3", NULL}},
        {.name = "lasso", .pairs = {SHORT, "lambda-ratio", "0.01", "sync", "ssp:2", NULL}},
        {.name = "lasso",
         .pairs = {SHORT, "lambda-ratio", "0.0001", "sigma", "0.05", "exchange-every", "1", NULL},
         .diverges = true},
        {.name = "logistic", .pairs = {SHORT, "lambda-ratio", "0.1", "class-weight", "balanced", NULL}},
        {.name = "logistic",
         .pairs = {SHORT, "lambda-ratio", "0.1", "solver", "minibatch", "batch", "20", "epochs", "3", NULL}},
        {.name = "poisson", .pairs = {SHORT, "lambda-ratio", "0.1", NULL}},
        {.name = "multitask", .pairs = {SHORT, "lambda-ratio", "0.1", NULL}},
        {.name = "linear", .pairs = {SHORT, NULL}},
        {.name = "linear", .pairs = {SHORT, "step", "1e9", NULL}, .diverges = true},
        {.name = "kmeans", .pairs = {SHORT, "clusters", "3", NULL}},
        {.name = "svm", .pairs = {SHORT, "path", "3", NULL}},
        {.name = "softmax", .pairs = {SHORT, "lambda-ratio", "0.1", NULL}},
    };
    for (size_t k = 0; k < sizeof works / sizeof *works; k++)
        for (uint32_t count = 1; count <= (SANITIZED ? 2 : MOST_NODES); count++) {
            test_node nodes[NODES_MOST];
            run(nodes, count, &works[k]);
            check_all(nodes, count, works[k].name);
            for (uint32_t i = 0; i < count; i++) {
                if (works[k].of[i] == 0 || works[k].of[i] != works[k].of[0])
                    fail_msg("work %zu (%s): node %u of %u has another result", k, works[k].name, i, count);
                assert_true(works[k].predicted[i] == works[k].predicted[0]);
            }
        }
}

static void an_interrupted_training_is_known_everywhere(void **state)
{
    (void)state;
    static work works[] = {
        {.name = "lasso",
         .pairs = {SHORT, "lambda-ratio", "0.001", "tol", "1e-12", "exchange-every", "0.1", NULL},
         .stops = true},
        {.name = "kmeans", .pairs = {SHORT, "clusters", "5", "starts", "40", NULL}, .stops = true},
        {.name = "softmax", .pairs = {SHORT, "lambda-ratio", "0.001", "tol", "1e-12", NULL}, .stops = true},
        {.name = "linear", .pairs = {SHORT, NULL}, .stops = true}};
    for (size_t k = 0; k < sizeof works / sizeof *works; k++) {
        test_node nodes[NODES_MOST];
        run(nodes, 2, &works[k]);
        check_all(nodes, 2, works[k].name);
        assert_true(works[k].of[0] != 0 && works[k].of[0] == works[k].of[1]);
    }
}

static void expect_refusals(work *w)
{
    for (int on_lead = 0; on_lead < 2; on_lead++) {
        test_node nodes[NODES_MOST];
        w->on_lead = on_lead != 0;
        run(nodes, 3, w);
        for (uint32_t i = 0; i < 3; i++) {
            if (nodes[i].status != HAWSER_BAD_INPUT || strstr(nodes[i].error.text, "validation") == NULL)
                fail_msg("%s, node %u: status %d, %s", w->name, i, (int)nodes[i].status, nodes[i].error.text);
            assert_true((strncmp(nodes[i].error.text, "node 0 (host-0): ", 17) == 0) == (i > 0));
        }
    }
}

/* Node 0 alone has validation data. */
static void a_failure_of_node_0_alone_is_one_of_all(void **state)
{
    (void)state;
    static const char *const names[] = {"lasso", "logistic", "poisson", "multitask", "svm", "softmax"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        expect_refusals(&(work){.name = names[k], .pairs = {SHORT, NULL}, .aimless = true});
    expect_refusals(&(work){.name = "kmeans", .pairs = {SHORT, NULL}, .misfits = true});
    expect_refusals(&(work){.name = "lasso", .pairs = {SHORT, NULL}, .misfits = true});
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        expect_refusals(&(work){.name = names[k], .pairs = {SHORT, NULL}, .plans = true, .aimless = true});
        expect_refusals(&(work){.name = names[k], .pairs = {SHORT, NULL}, .plans = true, .misfits = true});
    }
    expect_refusals(&(work){.name = "logistic", .pairs = {SHORT, NULL}, .strange = true});
    expect_refusals(&(work){.name = "poisson", .pairs = {SHORT, NULL}, .strange = true});
    expect_refusals(&(work){.name = "softmax", .pairs = {SHORT, NULL}, .strange = true});
}

static void a_result_for_the_lead_is_not_sent(void **state)
{
    (void)state;
    static work w = {.name = "lasso", .pairs = {SHORT, "lambda-ratio", "0.1", NULL}, .on_lead = true};
    test_node nodes[NODES_MOST];
    run(nodes, 3, &w);
    check_all(nodes, 3, w.name);
    assert_int_equal(w.models, 1);
    assert_true(w.of[0] != 0);
}

/* ---- hawser_job_broadcast, hawser_job_agree ---- */

static void broadcast_body(test_node *node)
{
    static const size_t sizes[] = {0, 1, 4096, BYTES_OF_SEVERAL_MESSAGES};
    uint32_t self = hawser_job_node(node->job);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        unsigned char *data = malloc(sizes[k] + 1);
        assert_non_null(data);
        for (size_t i = 0; i <= sizes[k]; i++)
            data[i] = (unsigned char)(self == 0 ? i * 7 + k : 0xee);
        assert_int_equal(hawser_job_broadcast(node->job, data, sizes[k], &node->error), HAWSER_OK);
        for (size_t i = 0; i < sizes[k]; i++)
            if (data[i] != (unsigned char)(i * 7 + k))
                fail_msg("byte %zu of %zu", i, sizes[k]);
        assert_true(self == 0 || data[sizes[k]] == 0xee);
        free(data);
    }
    hawser_error error = {0};
    char data[16] = {0};
    bool alone = hawser_job_nodes(node->job) == 1;
    hawser_status status = hawser_job_broadcast(node->job, data, 8 + (self == 1), &error);
    assert_int_equal(status, alone ? HAWSER_OK : HAWSER_BAD_ARGUMENT);
    assert_true(alone || strstr(error.text, "node 0 sends 8 bytes, and this node expects 9") != NULL);
    assert_int_equal(hawser_job_agree(node->job, HAWSER_OK, &error), HAWSER_OK); /* the job still works */
    status = self == 0 ? HAWSER_OK : hawser_fail(&error, HAWSER_IO, "no disk on %u", self);
    assert_int_equal(hawser_job_agree(node->job, status, &error), alone ? HAWSER_OK : HAWSER_IO);
    assert_true(alone || strstr(error.text, "no disk on 1") != NULL);
    assert_int_equal(hawser_job_agree(node->job, HAWSER_STOP, NULL), HAWSER_STOP);
    assert_int_equal(hawser_job_agree(node->job, (hawser_status)99, &error), HAWSER_BAD_ARGUMENT);
}

static void nodes_agree_and_receive(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= MOST_NODES; count++) {
        test_node nodes[NODES_MOST];
        run_nodes(nodes, count, (const char *const[]){"workers", "3", "timeout", "60", NULL}, broadcast_body, NULL);
        check_all(nodes, count, "broadcast");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_has_the_result), cmocka_unit_test(an_interrupted_training_is_known_everywhere),
        cmocka_unit_test(a_failure_of_node_0_alone_is_one_of_all), cmocka_unit_test(a_result_for_the_lead_is_not_sent),
        cmocka_unit_test(nodes_agree_and_receive)};
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
