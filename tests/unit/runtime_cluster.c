/*
 * Jobs one after another on one cluster: each has the bits of a job that joins by itself, with options of its own; a node
 * that ends a job early ends it on all, and the next job works; a node that closes the cluster, a second job at a time and
 * options of joining are refused by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "directory.h"
#include "hawser/store.h"
#include "nodes.h"
#include "runtime/job/cluster.h"

enum { SIZE = 9, JOBS_MOST = 40, TEXT = 1200 };

static hawser_status sweep(hawser_context *context)
{
    HAWSER_WRITE(context, double, v);
    for (size_t i = 0; i < SIZE; i++)
        v[i] += 0.1 * hawser_random_uniform(context) * (1 - v[i]);
    return HAWSER_OK;
}

static hawser_program *make_program(void)
{
    hawser_program *program = hawser_program_new("jobs", NULL);
    hawser_state *v = HAWSER_STATE(program, "v", HAWSER_REPLICATED, .rows = SIZE, .damping = 1, .gain = 1);
    hawser_operator *loop = hawser_loop(hawser_root(program), "loop", (hawser_until){.clocks = 3}, hawser_bsp());
    HAWSER_UNIT(loop, "sweep", sweep, .updates = {v});
    return program;
}

static hawser_status run_program(hawser_job *job, double result[SIZE], hawser_error *error)
{
    hawser_program *program = make_program();
    hawser_run *run = NULL;
    hawser_status status = hawser_run_program(job, program, &run, error);
    if (status == HAWSER_OK)
        memcpy(result, RESULT(double, run, "v", NULL), SIZE * sizeof *result);
    hawser_run_free(run);
    hawser_program_free(program);
    return status;
}

static hawser_options *make_options(const char *const *pairs, hawser_source source)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    hawser_options *options = NULL;
    hawser_error error = {0};
    hawser_status status = hawser_options_new(tables, &options, &error);
    for (; status == HAWSER_OK && *pairs != NULL; pairs += 2)
        status = hawser_options_set(options, pairs[0], pairs[1], source, "test", &error);
    if (status != HAWSER_OK)
        fail_msg("%s", error.text);
    return options;
}

/* ------------------------------------------------------------------------------------------------------ clusters ---- */

typedef struct member {
    uint32_t node, nodes;
    test_launcher *launcher;
    hawser_cluster *cluster;
    hawser_cancellation *cancellation; /* of its jobs; NULL: none */
    const struct scene_plan *scene;
    hawser_membership view;
    char token[40];
    hawser_status statuses[JOBS_MOST];
    char texts[JOBS_MOST][TEXT];
    double results[JOBS_MOST][SIZE];
    hawser_status opened;
    hawser_error error;
} member;

/* What each node does with its cluster. */
typedef struct scene_plan {
    void (*body)(member *m);
    uint32_t jobs;
    pthread_barrier_t *barrier; /* of all nodes; NULL: none */
} scene_plan;

static void *member_main(void *argument)
{
    const char *const none[] = {NULL};
    member *m = argument;
    hw_place place = test_place(m->node, m->nodes, m->launcher);
    hawser_options *options = make_options(none, HAWSER_FROM_PROGRAM);
    m->opened = hw_cluster_open_at(options, &place, NULL, &m->cluster, &m->error);
    hawser_options_free(options);
    if (m->opened != HAWSER_OK && m->scene->barrier != NULL) { /* the others would wait for this node */
        fprintf(stderr, "node %u of %u did not join: %s\n", m->node, m->nodes, m->error.text);
        abort();
    }
    if (m->opened != HAWSER_OK)
        return NULL;
    m->view = *hawser_cluster_view(m->cluster);
    snprintf(m->token, sizeof m->token, "%s", m->view.token);
    m->scene->body(m);
    hawser_cluster_close(m->cluster);
    return NULL;
}

static void play(member *members, uint32_t count, const scene_plan *scene)
{
    test_launcher launcher = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    pthread_t threads[NODES_MOST];
    for (uint32_t i = 0; i < count; i++)
        members[i] = (member){.node = i, .nodes = count, .launcher = &launcher, .scene = scene};
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, member_main, &members[i]), 0);
    for (uint32_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < count; i++)
        if (members[i].opened != HAWSER_OK)
            fail_msg("node %u of %u: %s", i, count, members[i].error.text);
}

/* Opens job `number` of the member with these options, calls `work`, and closes it. Keeps the status, and the text of a
 * failure. */
static void do_job(member *m, uint32_t number, const char *const *pairs,
                   hawser_status (*work)(member *m, uint32_t number, hawser_job *job, hawser_error *error))
{
    hawser_options *options = make_options(pairs, HAWSER_FROM_PROGRAM);
    const hawser_opening opening = {.cluster = m->cluster, .cancellation = m->cancellation};
    hawser_job *job = NULL;
    hawser_error error = {0};
    hawser_status status = hawser_open_with(options, &opening, &job, &error);
    if (status == HAWSER_OK)
        status = work(m, number, job, &error);
    hawser_close(job);
    hawser_options_free(options);
    m->statuses[number] = status;
    snprintf(m->texts[number], TEXT, "%s", error.text);
}

static hawser_status run_twice(member *m, uint32_t number, hawser_job *job, hawser_error *error)
{
    HAWSER_TRY(run_program(job, m->results[number], error));
    return run_program(job, m->results[number], error);
}

static void must(const member *members, uint32_t count, uint32_t number)
{
    for (uint32_t i = 0; i < count; i++)
        if (members[i].statuses[number] != HAWSER_OK)
            fail_msg("node %u of %u, job %u: %s", i, count, number, members[i].texts[number]);
}

static void must_say(const member *m, uint32_t number, hawser_status status, const char *words)
{
    if (m->statuses[number] != status || strstr(m->texts[number], words) == NULL)
        fail_msg("node %u, job %u: %s: '%s', without '%s'", m->node, number, hawser_status_name(m->statuses[number]),
                 m->texts[number], words);
}

/* -------------------------------------------------------------------------------------------------------- the bits ---- */

#define PAIRS(...)                                                                                                          \
    (const char *const[])                                                                                                   \
    {                                                                                                                       \
        __VA_ARGS__, NULL                                                                                                   \
    }
static const char *const *const settings[] = {
    PAIRS("workers", "4", "seed", "1"),
    PAIRS("workers", "3", "seed", "2", "topology", "tree"),
    PAIRS("workers", "5", "seed", "1", "filter", "absolute", "quota", "40"),
    PAIRS("workers", "4", "seed", "7", "threads", "1", "topology", "halton"),
    PAIRS("workers", "4", "seed", "1"),
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static void differ(member *m)
{
    for (uint32_t k = 0; k < m->scene->jobs; k++)
        do_job(m, k, settings[k % SETTINGS], run_twice);
}

static void jobs_have_the_bits_of_single_ones(void **unused)
{
    (void)unused;
    double alone[SETTINGS][SIZE];
    member members[NODES_MOST];
    for (uint32_t k = 0; k < SETTINGS; k++) {
        test_job test = open_job(settings[k]);
        hawser_error error = {0};
        for (int twice = 0; twice < 2; twice++)
            if (run_program(test.job, alone[k], &error) != HAWSER_OK)
                fail_msg("%s", error.text);
        close_job(test);
    }
    assert_memory_not_equal(alone[0], alone[3], sizeof alone[0]);
    for (uint32_t count = 1; count <= 3; count++) {
        play(members, count, &(scene_plan){.body = differ, .jobs = SETTINGS + 2});
        for (uint32_t k = 0; k < SETTINGS + 2; k++) {
            must(members, count, k);
            for (uint32_t i = 0; i < count; i++)
                assert_memory_equal(members[i].results[k], alone[k % SETTINGS], sizeof alone[0]);
        }
    }
}

/* -------------------------------------------------------------------------------------------------- views, refusals ---- */

static hawser_status look(member *m, uint32_t number, hawser_job *job, hawser_error *error)
{
    (void)number;
    if (hawser_job_nodes(job) != m->nodes || hawser_job_node(job) != m->node)
        return hawser_fail(error, HAWSER_INTERNAL, "node %u of %u", hawser_job_node(job), hawser_job_nodes(job));
    if (m->view.count != m->nodes || m->view.node != m->node || m->view.number != 1)
        return hawser_fail(error, HAWSER_INTERNAL, "the view has node %u of %u", m->view.node, m->view.count);
    for (uint32_t i = 0; i < m->nodes; i++) {
        char name[20];
        snprintf(name, sizeof name, "host-%u", i);
        const hawser_member *other = &m->view.members[i];
        if (other->number != i || strcmp(other->name, name) != 0 || other->host != 0 || other->incarnation == 0 ||
            (m->nodes > 1 && other->address[0] == '\0'))
            return hawser_fail(error, HAWSER_INTERNAL, "node %u is '%s' of host %u at '%s'", other->number, other->name,
                               other->host, other->address);
        for (uint32_t k = 0; k < i; k++)
            if (m->view.members[k].incarnation == other->incarnation)
                return hawser_fail(error, HAWSER_INTERNAL, "nodes %u and %u have the same incarnation", k, i);
    }
    return HAWSER_OK;
}

static void look_once(member *m)
{
    do_job(m, 0, PAIRS("workers", "4"), look);
}

static void nodes_share_a_token_and_know_each_other(void **unused)
{
    (void)unused;
    member members[NODES_MOST];
    char before[40] = "";
    for (uint32_t count = 1; count <= 3; count++) {
        play(members, count, &(scene_plan){.body = look_once, .jobs = 1});
        must(members, count, 0);
        assert_int_equal(strlen(members[0].token), 32);
        assert_string_not_equal(members[0].token, before);
        for (uint32_t i = 1; i < count; i++)
            assert_string_equal(members[i].token, members[0].token);
        snprintf(before, sizeof before, "%s", members[0].token);
    }
}

static hawser_status open_another(member *m, uint32_t number, hawser_job *job, hawser_error *error)
{
    hawser_options *options = make_options(PAIRS("workers", "4"), HAWSER_FROM_PROGRAM);
    const hawser_opening opening = {.cluster = m->cluster};
    hawser_job *second = NULL;
    hawser_error own = {0};
    hawser_status status = hawser_open_with(options, &opening, &second, &own);
    bool right = status == HAWSER_BAD_ARGUMENT && second == NULL && strstr(own.text, "one job at a time") != NULL;
    hawser_close(second);
    hawser_options_free(options);
    if (!right)
        return hawser_fail(error, HAWSER_INTERNAL, "a second job: %s: %s", hawser_status_name(status), own.text);
    return run_twice(m, number, job, error); /* the first one is not disturbed */
}

static void refuse_things(member *m)
{
    do_job(m, 0, PAIRS("workers", "4"), open_another);
    do_job(m, 1, PAIRS("workers", "4", "rate", "1M"), run_twice);
    do_job(m, 2, PAIRS("workers", "4", "join-timeout", "60"), run_twice); /* as the cluster has it */
    hawser_options *options = make_options(PAIRS("workers", "4"), HAWSER_FROM_PROGRAM);
    hawser_opening opening = {.cluster = m->cluster, .key = "0123456789abcdef", .key_length = 16};
    hawser_job *job = NULL;
    hawser_cluster *cluster = NULL;
    hawser_error error = {0};
    m->statuses[3] = hawser_open_with(options, &opening, &job, &error);
    snprintf(m->texts[3], TEXT, "%s", error.text);
    opening.key = NULL;
    m->statuses[4] = hawser_cluster_open(options, &opening, &cluster, &error);
    snprintf(m->texts[4], TEXT, "%s", error.text);
    hawser_options_free(options);
}

static void what_a_cluster_does_not_do_is_refused(void **unused)
{
    (void)unused;
    member members[NODES_MOST];
    for (uint32_t count = 1; count <= 2; count++) {
        play(members, count, &(scene_plan){.body = refuse_things, .jobs = 5});
        must(members, count, 0);
        must(members, count, 2);
        for (uint32_t i = 0; i < count; i++) {
            must_say(&members[i], 1, HAWSER_BAD_OPTION, "--rate 1M does nothing here");
            must_say(&members[i], 3, HAWSER_BAD_ARGUMENT, "give it to hawser_cluster_open");
            must_say(&members[i], 4, HAWSER_BAD_ARGUMENT, "the opening names a cluster");
        }
    }
}

/* ------------------------------------------------------------------------------------------ nodes that do not agree ---- */

static void leave_early(member *m)
{
    for (uint32_t k = 0; k < (m->node == 1 ? 2U : 3U); k++)
        do_job(m, k, settings[0], run_twice);
    if (m->node != 1)
        do_job(m, 3, settings[0], run_twice);
}

static void node_that_closes_its_cluster_is_named(void **unused)
{
    (void)unused;
    member members[NODES_MOST];
    for (uint32_t count = 2; count <= 3; count++) {
        play(members, count, &(scene_plan){.body = leave_early, .jobs = 3});
        must(members, count, 0);
        must(members, count, 1);
        for (uint32_t i = 0; i < count; i += 2)
            for (uint32_t k = 2; k < 4; k++)
                must_say(&members[i], k, HAWSER_PEER_LOST, "node 1 (host-1) has left the cluster after 2 jobs");
    }
}

/* Node 1 refuses its last job, and leaves later. */
static void leave_after_a_refusal(member *m)
{
    do_job(m, 0, settings[0], run_twice);
    do_job(m, 1, m->node == 1 ? PAIRS("workers", "4", "slow", "9:2") : settings[0], run_twice);
    pthread_barrier_wait(m->scene->barrier);
    for (uint32_t k = 2; k < (m->node == 1 ? 2U : 4U); k++)
        do_job(m, k, settings[0], run_twice);
}

static void reason_of_an_earlier_job_is_none_for_leaving(void **unused)
{
    (void)unused;
    member members[NODES_MOST];
    for (uint32_t count = 2; count <= 3; count++) {
        pthread_barrier_t barrier;
        assert_int_equal(pthread_barrier_init(&barrier, NULL, count), 0);
        play(members, count, &(scene_plan){.body = leave_after_a_refusal, .jobs = 2, .barrier = &barrier});
        pthread_barrier_destroy(&barrier);
        for (uint32_t i = 0; i < count; i += 2) {
            must_say(&members[i], 1, HAWSER_PEER_LOST, "slow = '9:2'");
            for (uint32_t k = 2; k < 4; k++)
                must_say(&members[i], k, HAWSER_PEER_LOST, "node 1 (host-1) has left the cluster after 2 jobs");
        }
    }
}

static hawser_status run_on_some(member *m, uint32_t number, hawser_job *job, hawser_error *error)
{
    HAWSER_TRY(run_program(job, m->results[number], error));
    return m->node == 0 ? HAWSER_OK : run_program(job, m->results[number], error);
}

static void disagree(member *m)
{
    do_job(m, 0, m->node == 1 ? PAIRS("workers", "4", "slow", "9:2") : settings[0], run_twice);
    do_job(m, 1, settings[0], run_twice);
    do_job(m, 2, settings[0], run_on_some);
    do_job(m, 3, settings[1], run_twice);
    do_job(m, 4, PAIRS("workers", m->node == 1 ? "5" : "4"), run_twice);
    do_job(m, 5, settings[0], run_twice);
}

static void job_that_fails_on_one_node_fails_alone(void **unused)
{
    (void)unused;
    member members[NODES_MOST];
    for (uint32_t count = 2; count <= 3; count++) {
        play(members, count, &(scene_plan){.body = disagree, .jobs = 6});
        must(members, count, 1);
        must(members, count, 3);
        must(members, count, 5);
        for (uint32_t i = 0; i < count; i++) {
            must_say(&members[i], 0, i == 1 ? HAWSER_BAD_OPTION : HAWSER_PEER_LOST, "slow = '9:2'");
            if (i > 0) /* node 0 has closed the job before its second run */
                must_say(&members[i], 2, HAWSER_PEER_LOST, "node 0 (host-0)");
            must_say(&members[i], 4, HAWSER_BAD_OPTION, "node 1 (host-1) has 5 workers, node 0 has 4");
            assert_memory_equal(members[i].results[1], members[0].results[5], sizeof members[i].results[1]);
        }
    }
}

static void give_up_waiting(member *m)
{
    hawser_error error = {0};
    hawser_cancellation *cancellation = NULL;
    if (hawser_cancellation_new(&cancellation, &error) != HAWSER_OK)
        fail_msg("%s", error.text);
    hawser_cancel(cancellation);
    m->cancellation = m->node == 0 ? cancellation : NULL;
    pthread_barrier_wait(m->scene->barrier); /* a node that still joins would fail, since node 0 leaves */
    if (m->node != 0)                        /* so that node 0 has to wait */
        pthread_barrier_wait(m->scene->barrier);
    do_job(m, 0, settings[0], run_twice);
    if (m->node == 0)
        pthread_barrier_wait(m->scene->barrier);
    hawser_cancellation_free(cancellation);
}

static void job_that_waits_for_nodes_is_cancelled(void **unused)
{
    (void)unused;
    member members[NODES_MOST];
    pthread_barrier_t barrier;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 3), 0);
    play(members, 3, &(scene_plan){.body = give_up_waiting, .jobs = 1, .barrier = &barrier});
    pthread_barrier_destroy(&barrier);
    must_say(&members[0], 0, HAWSER_STOP, "cancelled");
    for (uint32_t i = 1; i < 3; i++) { /* node 0 says what it waited for, if it did so already */
        must_say(&members[i], 0, HAWSER_PEER_LOST, "node 0 (host-0) has left the job: ");
        must_say(&members[i], 0, HAWSER_PEER_LOST, "was cancelled");
        must_say(&members[i], 0, HAWSER_PEER_LOST, "opening");
    }
}

/* ---------------------------------------------------------------------------------------------------- many of them ---- */

/* A store in each job, so that its messages would meet those of the next. */
static hawser_status use_store(member *m, uint32_t number, hawser_job *job, hawser_error *error)
{
    const uint64_t keys[] = {1, 70, 900};
    double ones[] = {1, 2, 3}, out[3] = {0};
    hawser_store *store = NULL;
    HAWSER_TRY(run_program(job, m->results[number], error));
    HAWSER_TRY(hawser_store_open(job, NULL, &store, error));
    uint32_t table = 0;
    uint64_t task = 0;
    hawser_status status =
        hawser_store_table(store, &(hawser_table){.name = "t", .type = HAWSER_F64, .last = 999}, &table, error);
    if (status == HAWSER_OK)
        status =
            hawser_push(store, &(hawser_request){.table = table, .keys = keys, .count = 3, .values = ones}, &task, error);
    if (status == HAWSER_OK)
        status = hawser_store_wait(store, task, error);
    if (status == HAWSER_OK)
        status = hawser_pull(store, &(hawser_request){.table = table, .keys = keys, .count = 3, .out = out}, &task, error);
    if (status == HAWSER_OK)
        status = hawser_store_wait(store, task, error);
    if (status == HAWSER_OK && out[0] < 1)
        status = hawser_fail(error, HAWSER_INTERNAL, "pulled %g", out[0]);
    hawser_store_close(store);
    return status;
}

static int entries(const char *path)
{
    int count = 0;
    DIR *directory = opendir(path);
    while (directory != NULL && readdir(directory) != NULL)
        count++;
    if (directory != NULL)
        closedir(directory);
    return count;
}

static int descriptors, threads_begun;

static void do_many(member *m)
{
    for (uint32_t k = 0; k < m->scene->jobs; k++) {
        do_job(m, k % JOBS_MOST, settings[k % 2], k % 5 == 0 ? use_store : run_twice);
        if (m->statuses[k % JOBS_MOST] != HAWSER_OK)
            return;
        if (k == 10 && m->node == 0 && m->nodes == 1) {
            descriptors = entries("/proc/self/fd");
            threads_begun = entries("/proc/self/task");
        }
    }
    if (m->node == 0 && m->nodes == 1) {
        assert_int_equal(entries("/proc/self/fd"), descriptors);
        assert_int_equal(entries("/proc/self/task"), threads_begun);
    }
}

static void jobs_leave_nothing_behind(void **unused)
{
    (void)unused;
    member members[NODES_MOST];
    for (uint32_t count = 1; count <= 2; count++) {
        play(members, count, &(scene_plan){.body = do_many, .jobs = 100});
        for (uint32_t k = 0; k < JOBS_MOST; k++)
            must(members, count, k);
    }
}

/* ------------------------------------------------------------------------------------------------------ histories ---- */

/* The name of this node's part of history `h`, or of another one. */
static const char *part_of(const member *m, const char *name, char path[20])
{
    snprintf(path, 20, m->node == 0 ? "%s" : "%s.%u", name, m->node);
    return path;
}

static off_t size_of(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 ? found.st_size : -1;
}

static void record(member *m)
{
    char own[20], moved[20];
    part_of(m, "h", own);
    do_job(m, 0, PAIRS("workers", "4", "record-history", "h"), run_twice);
    off_t size = size_of(own);
    do_job(m, 1, PAIRS("workers", "4", "record-history", "h"), run_twice);
    do_job(m, 2, PAIRS("workers", "4", "record-history", "./h"), run_twice);
    do_job(m, 3, PAIRS("workers", "4", "record-history", "g"), run_twice);
    m->statuses[4] = size > 0 && size_of(own) == size ? HAWSER_OK : HAWSER_INTERNAL;
    m->statuses[5] = rename(own, part_of(m, "moved", moved)) == 0 ? HAWSER_OK : HAWSER_IO;
    do_job(m, 6, PAIRS("workers", "4", "record-history", "h"), run_twice);
    m->statuses[7] = size_of(moved) == size && size_of(own) > 0 ? HAWSER_OK : HAWSER_INTERNAL;
}

static void history_of_a_job_before_is_not_overwritten(void **unused)
{
    (void)unused;
    member members[NODES_MOST];
    for (uint32_t count = 1; count <= 2; count++) {
        play(members, count, &(scene_plan){record, 8, NULL});
        for (uint32_t k = 0; k < 8; k++)
            if (k != 1 && k != 2)
                must(members, count, k);
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t k = 1; k <= 2; k++)
                must_say(&members[i], k, HAWSER_BAD_OPTION, "the history of a job before on this cluster");
    }
}

/* ---------------------------------------------------------------------------------------------------- its own end ---- */

static void cluster_that_is_closed_first_ends_with_its_job(void **unused)
{
    (void)unused;
    hawser_options *options = make_options(PAIRS("workers", "2"), HAWSER_FROM_PROGRAM);
    hawser_cluster *cluster = NULL;
    hawser_job *job = NULL;
    hawser_error error = {0};
    double result[SIZE];
    assert_int_equal(hawser_cluster_open(options, NULL, &cluster, &error), HAWSER_OK);
    assert_int_equal(hawser_open_with(options, &(hawser_opening){.cluster = cluster}, &job, &error), HAWSER_OK);
    hawser_cluster_close(cluster);
    assert_int_equal(run_program(job, result, &error), HAWSER_OK);
    hawser_close(job); /* the leak checker sees whether the cluster is freed */
    hawser_options_free(options);
    assert_null(hawser_cluster_view(NULL));
    hawser_cluster_close(NULL);
}

/* The key is given as bytes, and the wait for a node that never comes is cancelled. */
static void wait_for_nodes_is_cancelled(void **unused)
{
    (void)unused;
    hawser_options *options = make_options(PAIRS("listen", "2", "interface", "127.0.0.1"), HAWSER_FROM_PROGRAM);
    hawser_messages *messages = NULL;
    hawser_cancellation *cancellation = NULL;
    hawser_cluster *cluster = NULL;
    hawser_error error = {0};
    assert_int_equal(hawser_messages_new(&messages, &error), HAWSER_OK);
    assert_int_equal(hawser_cancellation_new(&cancellation, &error), HAWSER_OK);
    hawser_cancel(cancellation);
    hawser_opening opening = {
        .messages = messages, .cancellation = cancellation, .key = "0123456789abcdef", .key_length = 16};
    assert_int_equal(hawser_cluster_open(options, &opening, &cluster, &error), HAWSER_STOP);
    assert_null(cluster);
    opening.node = 1; /* for the others only */
    assert_int_equal(hawser_cluster_open(options, &opening, &cluster, &error), HAWSER_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "node 1: only a node with the option join"));
    opening.node = 0;
    opening.key_length = 3;
    assert_int_equal(hawser_cluster_open(options, &opening, &cluster, &error), HAWSER_BAD_ARGUMENT);
    hawser_options_free(options);
    hawser_cancellation_free(cancellation);
    hawser_messages_free(messages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_have_the_bits_of_single_ones),
        cmocka_unit_test(nodes_share_a_token_and_know_each_other),
        cmocka_unit_test(what_a_cluster_does_not_do_is_refused),
        cmocka_unit_test(node_that_closes_its_cluster_is_named),
        cmocka_unit_test(reason_of_an_earlier_job_is_none_for_leaving),
        cmocka_unit_test(job_that_fails_on_one_node_fails_alone),
        cmocka_unit_test(job_that_waits_for_nodes_is_cancelled),
        cmocka_unit_test(jobs_leave_nothing_behind),
        cmocka_unit_test_setup_teardown(history_of_a_job_before_is_not_overwritten, make_directory, remove_directory),
        cmocka_unit_test(cluster_that_is_closed_first_ends_with_its_job),
        cmocka_unit_test(wait_for_nodes_is_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
