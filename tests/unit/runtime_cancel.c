/* Jobs whose handle is cancelled, on one node and on two: loads, waits of the store, and runs. No other node waits for a
 * cancelled one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancellation.h"
#include "directory.h"
#include "hawser/job_data.h"
#include "hawser/store.h"
#include "nodes.h"

#define MUST(call)                                                                                                          \
    do {                                                                                                                    \
        if ((call) != HAWSER_OK)                                                                                            \
            return;                                                                                                         \
    } while (0)

static const char *const pairs[] = {"workers", "2", "join-timeout", "20", "failure-timeout", "20", "timeout", "50", NULL};

/* What the nodes of a test share. */
typedef struct shared {
    uint32_t who; /* the node whose handle is cancelled */
    int how;
    hawser_cancellation *handle; /* of that node */
    bool watches;                /* the handle has the first end of `ends`, and is cancelled by a byte to the second */
    int ends[2];
    atomic_uint entered, done;        /* nodes that are about to make the call, and that have returned from it */
    hawser_status status[NODES_MOST]; /* of the call */
    char text[NODES_MOST][sizeof((hawser_error *)0)->text];
} shared;

static void keep(shared *s, const test_node *node, hawser_status status)
{
    s->status[node->node] = status;
    memcpy(s->text[node->node], node->error.text, sizeof node->error.text);
    atomic_fetch_add(&s->done, 1);
}

/* As if the node's job had been opened with the handle. */
static hawser_status enter(test_node *node)
{
    shared *s = node->user;
    if (node->node == s->who) {
        node->job->cancellation = s->handle;
        atomic_store(&node->job->waits, s->handle);
    }
    atomic_fetch_add(&s->entered, 1);
    return HAWSER_OK;
}

static void *cancel_soon(void *argument)
{
    shared *s = argument;
    while (atomic_load(&s->entered) == 0)
        (void)poll(NULL, 0, 1);
    (void)poll(NULL, 0, 30);
    if (s->watches)
        assert_int_equal(write(s->ends[1], "", 1), 1);
    else
        hawser_cancel(s->handle);
    return NULL;
}

static void play(shared *s, uint32_t count, void (*body)(test_node *node))
{
    test_node nodes[NODES_MOST];
    hawser_error error = {0};
    pthread_t thread;
    assert_int_equal(hawser_cancellation_new(&s->handle, &error), HAWSER_OK);
    assert_int_equal(pipe(s->ends), 0);
    if (s->watches)
        assert_int_equal(hawser_cancellation_watch(s->handle, s->ends[0], &error), HAWSER_OK);
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, s), 0);
    run_nodes(nodes, count, pairs, body, s);
    pthread_join(thread, NULL);
    check_all(nodes, count, "cancelled");
    hawser_cancellation_free(s->handle);
    close(s->ends[0]);
    close(s->ends[1]);
}

static void expect(const shared *s, uint32_t node, hawser_status status, const char *words)
{
    if (s->status[node] != status || strstr(s->text[node], words) == NULL)
        fail_msg("node %u: '%s' is expected, and it returned '%s': %s", node, words, hawser_status_name(s->status[node]),
                 s->text[node]);
}

/* ---------------------------------------------------------------------------------------------------- joins ---- */

/* Joins two or three nodes, of which the last never comes. A node that is told `address` dials there. */
typedef struct joining {
    test_node node;
    shared *shared;
} joining;

static void *join_main(void *argument)
{
    joining *j = argument;
    test_node *node = &j->node;
    hw_place place = test_place(node->node, node->nodes, node->launcher);
    const hw_entry entry = {.place = &place, .cancellation = node->node == j->shared->who ? j->shared->handle : NULL};
    hawser_status status = hw_job_enter(node->options, &entry, &node->job, &node->error);
    keep(j->shared, node, status);
    hawser_close(node->job);
    return NULL;
}

static void join_all(shared *s, uint32_t first, uint32_t last, uint32_t nodes, const char *address)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    test_launcher launcher = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    hawser_options *options = NULL;
    hawser_error error = {0};
    joining all[NODES_MOST];
    pthread_t threads[NODES_MOST], thread;
    snprintf(launcher.address, sizeof launcher.address, "%s", address);
    assert_int_equal(hawser_cancellation_new(&s->handle, &error), HAWSER_OK);
    assert_int_equal(hawser_options_new(tables, &options, &error), HAWSER_OK);
    assert_int_equal(hawser_options_set(options, "join-timeout", "20", HAWSER_FROM_PROGRAM, "test", &error), HAWSER_OK);
    for (uint32_t i = first; i <= last; i++) {
        all[i] = (joining){{.node = i, .nodes = nodes, .launcher = &launcher, .options = options}, s};
        assert_int_equal(pthread_create(&threads[i], NULL, join_main, &all[i]), 0);
    }
    (void)poll(NULL, 0, 100); /* at any moment the nodes end; most often they have met by then */
    atomic_store(&s->entered, 1);
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, s), 0);
    pthread_join(thread, NULL);
    for (uint32_t i = first; i <= last; i++)
        pthread_join(threads[i], NULL);
    hawser_options_free(options);
    hawser_cancellation_free(s->handle);
}

static void a_join_is_cancelled(void **state)
{
    (void)state;
    shared manager = {.who = 0};
    join_all(&manager, 0, 0, 2, "");
    expect(&manager, 0, HAWSER_STOP, "the join was cancelled; not all nodes have joined: missing node 1");
    shared member = {.who = 1};
    join_all(&member, 1, 1, 2, "127.0.0.1:9");
    expect(&member, 1, HAWSER_STOP, "joining 127.0.0.1:9 was cancelled after ");
    for (uint32_t who = 0; who < 2; who++) {
        shared s = {.who = who};
        join_all(&s, 0, 1, 3, "");
        expect(&s, who, HAWSER_STOP, "cancelled");
        bool met = strstr(s.text[1], "cannot join ") == NULL && strstr(s.text[1], "joining ") == NULL;
        if (met) /* else the nodes are so slow that they did not meet in time */
            expect(&s, !who, HAWSER_PEER_LOST,
                   who == 0 ? "the join was cancelled" : "it was cancelled while it was joining");
    }
}

/* ---------------------------------------------------------------------------------------------------- loads ---- */

/* One node reads a pipe that has nothing to read, the other one a file. */
static void load_body(test_node *node)
{
    shared *s = node->user;
    hawser_dataset *dataset = NULL;
    bool reads_pipe = node->nodes == 1 || (s->how % 2 == 0) == (node->node == s->who);
    const char *path = reads_pipe ? "silent" : "small";
    MUST(enter(node));
    const hawser_load load = {.format = HAWSER_SVMLIGHT, .split = s->how < 2 ? HAWSER_BY_COLUMN : HAWSER_BY_ROW};
    keep(s, node, hawser_job_load(node->job, &path, 1, &load, &dataset, &node->error));
    hawser_dataset_free(dataset);
}

static void a_node_that_reads_is_cancelled(void **state)
{
    (void)state;
    put_file("small", "1 1:2\n0 2:3\n");
    assert_int_equal(mkfifo("silent", 0600), 0);
    int fd = open("silent", O_RDWR | O_CLOEXEC);
    for (int how = 0; how < 4; how += 2) {
        shared alone = {.how = how};
        play(&alone, 1, load_body);
        expect(&alone, 0, HAWSER_STOP, "reading silent was cancelled after 0.0 MB");
        for (uint32_t who = 0; who < 2; who++) {
            char words[100];
            shared s = {.who = who, .how = how};
            play(&s, 2, load_body);
            expect(&s, who, HAWSER_STOP, "reading silent was cancelled after 0.0 MB");
            snprintf(words, sizeof words, "node %u (host-%u) was cancelled while it was reading the input: ", who, who);
            expect(&s, !who, HAWSER_PEER_LOST, words);
        }
    }
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink("silent"), 0);
}

/* Ends the pipe of the other node once this one has returned. */
static void *end_pipe(void *argument)
{
    shared *s = argument;
    int fd = open("silent", O_WRONLY | O_CLOEXEC);
    while (atomic_load(&s->done) == 0)
        (void)poll(NULL, 0, 1);
    return write(fd, "1 1:2\n", 6) == 6 && close(fd) == 0 ? NULL : argument;
}

static void a_node_that_waits_for_a_reader_is_cancelled(void **state)
{
    (void)state;
    for (uint32_t who = 0; who < 2; who++)
        for (int how = 1; how < 4; how += 2) {
            char words[100];
            shared s = {.who = who, .how = how};
            pthread_t thread;
            assert_int_equal(mkfifo("silent", 0600), 0);
            assert_int_equal(pthread_create(&thread, NULL, end_pipe, &s), 0);
            play(&s, 2, load_body);
            pthread_join(thread, NULL);
            snprintf(words, sizeof words, "waiting for node %u (host-%u) was cancelled; the job was reading the input", !who,
                     !who);
            expect(&s, who, HAWSER_STOP, words);
            snprintf(words, sizeof words,
                     "node %u (host-%u) has left the job: it was cancelled while it was reading the input", who, who);
            expect(&s, !who, HAWSER_PEER_LOST, words);
            assert_int_equal(unlink("silent"), 0);
        }
}

/* The other node comes late to hawser_job_data. */
static void data_body(test_node *node)
{
    shared *s = node->user;
    hawser_dataset *own = NULL, *dataset = NULL;
    const double values[2] = {1, 2};
    const hawser_matrix matrix = {
        .rows = 1, .cols = 2, .stored = 2, .layout = HAWSER_DENSE_ROWS, .values = values, .stride = 2};
    MUST(node->status = hawser_dataset_from(&matrix, values, &own, &node->error));
    if (node->node == s->who)
        MUST(enter(node));
    while (node->node != s->who && atomic_load(&s->done) == 0)
        (void)poll(NULL, 0, 1);
    hawser_status status = s->how == 0 ? hawser_job_data(node->job, own, HAWSER_BY_ROW, &dataset, &node->error)
                                       : hawser_job_own_rows(node->job, own, 0, 0, &dataset, &node->error);
    keep(s, node, status);
    hawser_dataset_free(dataset);
    hawser_dataset_free(own);
}

static void a_node_that_waits_for_rows_is_cancelled(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++) {
        shared s = {.who = 1, .how = how};
        play(&s, 2, data_body);
        expect(&s, 1, HAWSER_STOP, "waiting for node 0 (host-0) was cancelled");
        expect(&s, 0, HAWSER_PEER_LOST, "node 1 (host-1) has left the job: it was cancelled while it was ");
    }
}

/* ------------------------------------------------------------------------------------------------- the store ---- */

static hawser_status open_store(test_node *node, hawser_store **store, uint32_t *table)
{
    HAWSER_TRY(hawser_store_open(node->job, NULL, store, &node->error));
    return hawser_store_table(*store, &(hawser_table){.name = "t", .last = 99, .staleness = 0}, table, &node->error);
}

/* The node's pull, or its read of the worker cache, waits for its own second worker's clock, or for the other node's. */
static hawser_status wait_in_store(hawser_store *store, uint32_t table, int how, double *out, hawser_error *error)
{
    uint64_t task;
    static const uint64_t key = 7;
    if (how == 2)
        return hawser_table_get(store, table, 0, &key, 1, out, error);
    const hawser_request request = {.table = table, .last = 99, .out = out, .least = 1};
    HAWSER_TRY(hawser_pull(store, &request, &task, error));
    return how == 0 ? hawser_store_wait(store, task, error) : hawser_store_wait_all(store, error);
}

static void store_body(test_node *node)
{
    shared *s = node->user;
    hawser_store *store = NULL;
    uint32_t table = 0;
    double *out = calloc(100, sizeof *out); /* the pull of a cancelled wait goes on until the store is closed */
    const hawser_store_options two = {.workers = 2};
    node->status = hawser_store_open(node->job, &two, &store, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_store_table(store, &(hawser_table){.name = "t", .last = 99}, &table, &node->error);
    if (node->status == HAWSER_OK && s->how == 2)
        node->status = hawser_table_clock(store, table, 0, &node->error);
    if (node->status == HAWSER_OK) {
        (void)!enter(node);
        keep(s, node, wait_in_store(store, table, s->how, out, &node->error));
    }
    hawser_store_close(store);
    free(out);
}

static void a_wait_of_the_store_is_cancelled(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++)
        for (uint32_t nodes = 1; nodes < 3; nodes++)
            for (uint32_t who = 0; who < nodes; who++) {
                char words[100];
                shared s = {.who = who, .how = how};
                play(&s, nodes, store_body);
                expect(&s, who, HAWSER_STOP, "a wait for the store was cancelled");
                snprintf(words, sizeof words,
                         "node %u (host-%u) has left the job: it was cancelled while it was using the store", who, who);
                if (nodes == 2)
                    expect(&s, !who, HAWSER_PEER_LOST, words);
            }
}

/* A cancelled wait may be resumed, and a request that was taken back does not end later waits. */
static void resume_body(test_node *node)
{
    shared *s = node->user;
    hawser_store *store = NULL;
    uint32_t table = 0;
    uint64_t task = 0;
    double *out = calloc(100, sizeof *out);
    const hawser_request request = {.table = table, .last = 99, .out = out, .least = 1};
    node->status = open_store(node, &store, &table);
    if (node->status == HAWSER_OK && node->node == s->who) {
        node->status = hawser_pull(store, &request, &task, &node->error);
        (void)!enter(node);
        keep(s, node, hawser_store_wait(store, task, &node->error));
        hawser_cancellation_reset(s->handle);
    }
    while (atomic_load(&s->done) == 0)
        (void)poll(NULL, 0, 1);
    if (node->status == HAWSER_OK)
        node->status = hawser_store_clock(store, table, 0, 0, 0, 99, &node->error);
    if (node->status == HAWSER_OK && task != 0)
        node->status = hawser_store_wait(store, task, &node->error);
    hawser_store_close(store);
    free(out);
}

static void a_cancelled_wait_is_resumed(void **state)
{
    (void)state;
    for (uint32_t nodes = 1; nodes < 3; nodes++) {
        shared s = {.who = nodes - 1};
        play(&s, nodes, resume_body);
        expect(&s, s.who, HAWSER_STOP, "a wait for the store was cancelled: 1 tasks are open");
    }
}

/* ------------------------------------------------------------------------------------------------------ runs ---- */

static hawser_status count(hawser_context *context)
{
    HAWSER_WRITE(context, double, n);
    n[0] += 1;
    while (hawser_user(context) != NULL && !hawser_stopping(context))
        continue;
    return HAWSER_OK;
}

/* After a cancelled run its results can be read on every node, and the nodes can still bring them together. */
static void run_body(test_node *node)
{
    shared *s = node->user;
    hawser_run *run = NULL;
    hawser_program *program = hawser_program_new("endless", s->how == 1 ? s : NULL);
    hawser_state *n = HAWSER_STATE(program, "n", HAWSER_REPLICATED, .rows = 1);
    hawser_state *stored = HAWSER_STATE(program, "stored", HAWSER_STORED, .rows = 10);
    const hawser_until until = {.clocks = UINT64_MAX / 2};
    HAWSER_UNIT(hawser_loop(hawser_root(program), "loop", until, s->how == 2 ? hawser_ssp(1) : hawser_bsp()), "count", count,
                .updates = {n});
    (void)stored;
    (void)!enter(node);
    hawser_status status = hawser_run_program(node->job, program, &run, &node->error);
    keep(s, node, status);
    if (status == HAWSER_STOP) {
        size_t length = 0;
        const double *values = RESULT(double, run, "stored", &length);
        bool fine = strcmp(hawser_run_figures(run)->stop_reason, "signal") == 0 && values != NULL && length == 10 &&
                    fmod(RESULT(double, run, "n", NULL)[0], 2.0) == 0.0; /* whole clocks of two blocks */
        node->status = fine ? hw_cluster_agree(node->job->cluster, HAWSER_OK, &node->error)
                            : hawser_fail(&node->error, HAWSER_INTERNAL, "the run has other results");
    }
    hawser_run_free(run);
    hawser_program_free(program);
}

static void a_run_ends_at_an_agreed_clock(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++)
        for (uint32_t nodes = 1; nodes < 3; nodes++)
            for (uint32_t who = 0; who < nodes; who++) {
                shared s = {.who = who, .how = how};
                play(&s, nodes, run_body);
                for (uint32_t node = 0; node < nodes; node++)
                    expect(&s, node, HAWSER_STOP, "the run was ended early: signal");
            }
}

static void a_descriptor_that_can_be_read_cancels(void **state)
{
    (void)state;
    for (uint32_t nodes = 1; nodes < 3; nodes++) {
        shared run = {.watches = true}, wait = {.watches = true};
        play(&run, nodes, run_body);
        expect(&run, 0, HAWSER_STOP, "the run was ended early: signal");
        play(&wait, nodes, store_body);
        expect(&wait, 0, HAWSER_STOP, "a wait for the store was cancelled");
    }
}

/* What was read counts until a reset, and what can still be read counts after it. A second descriptor replaces the first. */
static void a_descriptor_is_looked_at_again_after_a_reset(void **state)
{
    (void)state;
    hawser_error error = {0};
    hawser_cancellation *handle = NULL;
    int ends[2], other[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(other), 0);
    assert_int_equal(hawser_cancellation_new(&handle, &error), HAWSER_OK);
    assert_int_equal(hawser_cancellation_watch(handle, ends[0], &error), HAWSER_OK);
    assert_false(hw_cancelled(handle));
    assert_int_equal(write(ends[1], "", 1), 1);
    while (!hw_cancelled(handle))
        (void)poll(NULL, 0, 1);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_true(hw_cancelled(handle));
    hawser_cancellation_reset(handle);
    (void)poll(NULL, 0, 2 * HW_CANCELLATION_MS);
    assert_false(hw_cancelled(handle));
    close(ends[1]); /* the end of a pipe can be read */
    while (!hw_cancelled(handle))
        (void)poll(NULL, 0, 1);
    assert_int_equal(hawser_cancellation_watch(handle, other[0], &error), HAWSER_OK);
    assert_false(hw_cancelled(handle));
    close(ends[0]);
    assert_int_equal(hawser_cancellation_watch(handle, ends[0], &error), HAWSER_BAD_ARGUMENT);
    assert_int_equal(hawser_cancellation_watch(handle, -1, &error), HAWSER_BAD_ARGUMENT);
    assert_string_equal(error.text, "hawser_cancellation_watch: descriptor -1 is not open");
    hawser_cancellation_free(handle);
    close(other[0]);
    close(other[1]);
}

/* hawser_opening passes the handle to the job. */
static void a_job_is_opened_with_a_handle(void **state)
{
    (void)state;
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    hawser_error error = {0};
    hawser_options *options = NULL;
    hawser_cancellation *handle = NULL;
    hawser_job *job = NULL;
    hawser_dataset *dataset = NULL;
    const char *path = "small";
    put_file(path, "1 1:2\n0 2:3\n");
    assert_int_equal(hawser_options_new(tables, &options, &error), HAWSER_OK);
    assert_int_equal(hawser_cancellation_new(&handle, &error), HAWSER_OK);
    assert_int_equal(hawser_open_with(options, &(hawser_opening){.cancellation = handle}, &job, &error), HAWSER_OK);
    hawser_cancel(handle);
    assert_int_equal(hawser_job_load(job, &path, 1, &(hawser_load){0}, &dataset, &error), HAWSER_STOP);
    assert_string_equal(error.text, "reading small was cancelled after 0.0 MB");
    hawser_cancellation_reset(handle);
    assert_int_equal(hawser_job_load(job, &path, 1, &(hawser_load){0}, &dataset, &error), HAWSER_OK);
    hawser_dataset_free(dataset);
    hawser_close(job);
    hawser_cancellation_free(handle);
    hawser_options_free(options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_join_is_cancelled),
        cmocka_unit_test(a_node_that_reads_is_cancelled),
        cmocka_unit_test(a_node_that_waits_for_a_reader_is_cancelled),
        cmocka_unit_test(a_node_that_waits_for_rows_is_cancelled),
        cmocka_unit_test(a_wait_of_the_store_is_cancelled),
        cmocka_unit_test(a_cancelled_wait_is_resumed),
        cmocka_unit_test(a_run_ends_at_an_agreed_clock),
        cmocka_unit_test(a_descriptor_that_can_be_read_cancels),
        cmocka_unit_test(a_descriptor_is_looked_at_again_after_a_reset),
        cmocka_unit_test(a_job_is_opened_with_a_handle),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
