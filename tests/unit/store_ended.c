/* The queue of ended tasks: on one node, on two, and of clients of stand-alone servers. Its reader may be as slow as it
 * likes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "servers.h"

enum { TASKS = 200, N = 500 };

#define MUST(call)                                                                                                          \
    do {                                                                                                                    \
        if ((call) != HAWSER_OK)                                                                                            \
            return;                                                                                                         \
    } while (0)

/* What a node needs of the others. */
typedef struct shared {
    servers *set; /* NULL: the nodes of the job serve */
    atomic_uint failed;
    char text[200];
} shared;

static void wrong(shared *s, const char *text)
{
    if (atomic_fetch_add(&s->failed, 1) == 0)
        snprintf(s->text, sizeof s->text, "%s", text);
}
#define CHECK(condition)                                                                                                    \
    do {                                                                                                                    \
        if (!(condition))                                                                                                   \
            wrong(s, #condition);                                                                                           \
    } while (0)

/* One request, and what its callback saw. */
typedef struct work {
    pthread_t reader;
    hawser_store *store;
    uint32_t table;
    uint64_t task, next; /* `next`: started by the callback */
    unsigned calls;
    hawser_status status;
    bool on_reader;
    double out[N];
} work;

/* Blocks, as a callback in a host language may, and starts a further task. */
static void finished(void *user, uint64_t task, hawser_status status)
{
    work *w = user;
    hawser_error error;
    w->calls++;
    w->status = task == w->task ? status : HAWSER_INTERNAL;
    w->on_reader = pthread_equal(pthread_self(), w->reader) != 0;
    const hawser_request request = {.table = w->table, .last = N - 1, .out = w->out, .user = w};
    if (hawser_pull(w->store, &request, &w->next, &error) == HAWSER_OK)
        w->status = hawser_store_wait(w->store, w->next, &error);
}

static bool readable(const hawser_store *store, int wait)
{
    struct pollfd one = {.fd = hawser_store_descriptor(store), .events = POLLIN};
    return poll(&one, 1, wait) == 1 && (one.revents & POLLIN) != 0;
}

/* Reads as an event loop does: waits for the descriptor, then empties the queue. Returns the number of records. */
static unsigned read_some(hawser_store *store, int loop, unsigned count, hawser_ended *last, hawser_error *error)
{
    struct epoll_event event;
    unsigned read = 0;
    while (read < count && epoll_wait(loop, &event, 1, 20000) == 1)
        while (read < count && hawser_store_ended(store, last, error))
            read++;
    return read;
}

static void use_queue(shared *s, hawser_store *store, uint32_t table, hawser_error *error)
{
    static const uint64_t key = 3;
    const double one = 1, bad = 1e308;
    uint64_t task = 0;
    hawser_ended record = {0};
    struct epoll_event event = {.events = EPOLLIN};
    int loop = epoll_create1(EPOLL_CLOEXEC);
    work *w = calloc(1, sizeof *w);
    *w = (work){.reader = pthread_self(), .store = store, .table = table};
    CHECK(epoll_ctl(loop, EPOLL_CTL_ADD, hawser_store_descriptor(store), &event) == 0);
    CHECK(!readable(store, 0) && !hawser_store_ended(store, &record, error));
    /* Nothing is read while TASKS tasks run, and all of them end. */
    for (uint64_t i = 0; i < TASKS; i++) {
        const hawser_request push = {
            .table = table, .keys = &key, .count = 1, .values = &one, .user = (void *)(uintptr_t)(i + 1)};
        CHECK(hawser_push(store, &push, &task, error) == HAWSER_OK);
    }
    CHECK(hawser_store_wait_all(store, error) == HAWSER_OK);
    uint64_t seen = 0;
    for (unsigned i = 0; i < TASKS; i++) {
        CHECK(readable(store, 0) && hawser_store_ended(store, &record, error));
        CHECK(record.kind == HAWSER_ENDED_TASK && record.status == HAWSER_OK && record.task > 0);
        seen += (uintptr_t)record.user;
    }
    CHECK(seen == (uint64_t)TASKS * (TASKS + 1) / 2 && !readable(store, 0));
    /* The callback runs here, and what it starts has a record, too. */
    const hawser_request push = {.table = table, .keys = &key, .count = 1, .values = &one, .done = finished, .user = w};
    CHECK(hawser_push(store, &push, &w->task, error) == HAWSER_OK);
    CHECK(hawser_store_wait(store, w->task, error) == HAWSER_OK && w->calls == 0);
    CHECK(read_some(store, loop, 2, &record, error) == 2 && record.task == w->next && record.user == w);
    CHECK(w->calls == 1 && w->status == HAWSER_OK && w->on_reader && w->out[key] >= TASKS + 1);
    /* A clock has no record; a failure has its text, once. */
    CHECK(hawser_store_clock(store, table, 0, 0, 0, N - 1, error) == HAWSER_OK);
    const hawser_request high = {.table = table, .keys = &key, .count = 1, .values = &bad};
    for (int i = 0; i < 2; i++)
        CHECK(hawser_push(store, &high, &task, error) == HAWSER_OK && read_some(store, loop, 1, &record, error) == 1);
    CHECK(record.task == task && record.status == HAWSER_NOT_FINITE && strstr(error->text, "table 't'") != NULL);
    CHECK(hawser_store_wait(store, task, error) == HAWSER_OK && hawser_store_wait_all(store, error) == HAWSER_OK);
    CHECK(!readable(store, 0) && !hawser_store_ended(store, &record, error));
    /* These records are never read. */
    for (int i = 0; i < 3; i++)
        CHECK(hawser_push(store, &push, &task, error) == HAWSER_OK);
    CHECK(close(loop) == 0);
    hawser_store_close(store);
    CHECK(w->calls == 1);
    free(w);
}

static void queue_body(test_node *node)
{
    shared *s = node->user;
    hawser_store *store = NULL;
    uint32_t table = 0;
    const hawser_store_options options = {
        .queue = true, .at = s->set != NULL ? s->set->address : NULL, .key_file = s->set != NULL ? "key" : NULL};
    MUST(node->status = hawser_store_open(node->job, &options, &store, &node->error));
    node->status = hawser_store_table(store, &(hawser_table){.name = "t", .last = N - 1}, &table, &node->error);
    if (node->status == HAWSER_OK && node->node == 0)
        use_queue(s, store, table, &node->error);
    else
        hawser_store_close(store);
}

static void play(shared *s, uint32_t count)
{
    test_node nodes[NODES_MOST];
    run_nodes(nodes, count, plain_pairs, queue_body, s);
    check_all(nodes, count, "a queue");
    if (atomic_load(&s->failed) > 0)
        fail_msg("%u nodes, %s: %s", count, s->set != NULL ? "with servers" : "alone", s->text);
}

static void ended_tasks_are_in_the_queue(void **state)
{
    (void)state;
    for (uint32_t count = 1; count < 3; count++) {
        shared s = {0};
        play(&s, count);
    }
}

static void clients_of_servers_have_a_queue(void **state)
{
    (void)state;
    for (uint32_t count = 1; count < 3; count++) {
        servers set = {.count = count};
        open_servers(&set);
        shared s = {.set = &set};
        play(&s, 1);
        end_servers(&set);
    }
}

/* All open tasks end with the servers, and the reader is woken. */
static void lost_body(test_node *node)
{
    shared *s = node->user;
    hawser_store *store = NULL;
    hawser_ended record;
    uint32_t table = 0;
    uint64_t task;
    double *out = calloc(N, sizeof *out);
    const hawser_store_options options = {.queue = true, .at = s->set->address, .key_file = "key"};
    node->status = hawser_store_open(node->job, &options, &store, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_store_table(store, &(hawser_table){.name = "t", .last = N - 1}, &table, &node->error);
    const hawser_request request = {.table = table, .last = N - 1, .out = out, .least = 1}; /* no clock ever comes */
    for (int i = 0; i < 2 && node->status == HAWSER_OK; i++)
        node->status = hawser_pull(store, &request, &task, &node->error);
    if (node->status == HAWSER_OK) {
        hawser_interrupt(s->set->first);
        for (int i = 0; i < 2; i++) {
            CHECK(readable(store, 20000) && hawser_store_ended(store, &record, &node->error));
            CHECK(record.status == HAWSER_PEER_LOST && node->error.text[0] != '\0');
        }
        CHECK(!readable(store, 0));
    }
    hawser_store_close(store);
    free(out);
}

static void a_loss_ends_the_tasks_in_the_queue(void **state)
{
    (void)state;
    servers set = {.count = 1};
    test_node node;
    open_servers(&set);
    shared s = {.set = &set};
    run_nodes(&node, 1, plain_pairs, lost_body, &s);
    await_servers(&set);
    check_all(&node, 1, "a loss");
    if (atomic_load(&s.failed) > 0)
        fail_msg("%s", s.text);
}

static void a_store_without_a_queue_has_no_descriptor(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "1");
    hawser_store *store = NULL;
    hawser_error error = {0};
    hawser_ended record;
    assert_int_equal(hawser_store_open(test.job, NULL, &store, &error), HAWSER_OK);
    assert_int_equal(hawser_store_descriptor(store), -1);
    assert_int_equal(hawser_store_descriptor(NULL), -1);
    assert_false(hawser_store_ended(store, &record, &error));
    assert_false(hawser_store_ended(store, NULL, &error));
    hawser_store_close(store);
    close_job(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ended_tasks_are_in_the_queue),
        cmocka_unit_test(clients_of_servers_have_a_queue),
        cmocka_unit_test(a_loss_ends_the_tasks_in_the_queue),
        cmocka_unit_test(a_store_without_a_queue_has_no_descriptor),
    };
    return cmocka_run_group_tests(tests, prepare_servers, remove_directory);
}
