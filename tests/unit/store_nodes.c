/* The store API over one node and several: pushed rows are stored, whichever node serves; order, clocks, losses, wrong
 * calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/internal.h"
#include "hawser/store.h"
#include "nodes.h"
#include "runtime/store/hub.h"

enum { N = 3000, ROUNDS = 20, THREADS = 3 };

#define MUST(call)                                                                                                          \
    do {                                                                                                                    \
        if ((call) != HAWSER_OK)                                                                                            \
            return;                                                                                                         \
    } while (0)

/* ---------------------------------------------------------------------------------------- sums from every node ---- */

typedef struct sums {
    uint32_t servers;
    bool sparse;
    atomic_uint completed;
} sums;

static void completed(void *user, uint64_t task, hawser_status status)
{
    sums *how = user;
    if (task > 0 && status == HAWSER_OK)
        atomic_fetch_add(&how->completed, 1);
}

static uint64_t key_of(bool sparse, uint64_t i)
{
    return sparse ? i * UINT64_C(0x123456789ab) : i;
}

typedef struct pusher {
    hawser_store *store;
    uint32_t table, seed;
    sums *how;
    hawser_status status;
    hawser_error error;
} pusher;

/* Adds 1 to every third key, and then to every key, ROUNDS times; some of it as a range. */
static void *push_all(void *argument)
{
    pusher *p = argument;
    static const uint64_t everything = N;
    double *one = malloc(N * sizeof *one), *out = malloc(N * sizeof *out);
    uint64_t *keys = malloc(N * sizeof *keys), task = 0;
    for (uint64_t i = 0; i < N; i++)
        one[i] = 1;
    for (int round = 0; round < ROUNDS && p->status == HAWSER_OK; round++) {
        size_t count = 0;
        for (uint64_t i = 0; i < everything; i += 3)
            keys[count++] = key_of(p->how->sparse, i);
        hawser_request request = {
            .table = p->table, .keys = keys, .count = count, .values = one, .done = completed, .user = p->how};
        p->status = hawser_push(p->store, &request, &task, &p->error);
        if (p->status == HAWSER_OK)
            p->status = hawser_store_wait(p->store, task, &p->error);
        for (uint64_t i = 0; i < everything; i++)
            keys[i] = key_of(p->how->sparse, i);
        request = (hawser_request){
            .table = p->table, .keys = p->how->sparse ? keys : NULL, .count = N, .last = N - 1, .values = one, .out = out};
        if (p->status == HAWSER_OK)
            p->status = hawser_push_pull(p->store, &request, &task, &p->error);
        if (p->status == HAWSER_OK)
            p->status = hawser_store_wait(p->store, task, &p->error);
        for (uint64_t i = 0; i < everything && p->status == HAWSER_OK; i++)
            if (out[i] < (round + 1) * (i % 3 == 0 ? 2.0 : 1.0))
                p->status = hawser_fail(&p->error, HAWSER_INTERNAL, "own pushes are not there");
    }
    free(one);
    free(out);
    free(keys);
    return NULL;
}

static void sum_body(test_node *node)
{
    sums *how = node->user;
    hawser_store *store = NULL;
    const hawser_store_options options = {.servers = how->servers, .threads = 2};
    MUST(node->status = hawser_store_open(node->job, &options, &store, &node->error));
    uint32_t table = 9;
    node->status =
        hawser_store_table(store, &(hawser_table){.name = "t", .sparse = how->sparse, .last = N - 1}, &table, &node->error);
    pusher pushers[THREADS];
    pthread_t threads[THREADS];
    for (uint32_t t = 0; t < THREADS && node->status == HAWSER_OK; t++) {
        pushers[t] = (pusher){.store = store, .table = table, .how = how};
        pthread_create(&threads[t], NULL, push_all, &pushers[t]);
    }
    for (uint32_t t = 0; t < THREADS && node->status == HAWSER_OK; t++)
        pthread_join(threads[t], NULL);
    for (uint32_t t = 0; t < THREADS && node->status == HAWSER_OK; t++)
        if (pushers[t].status != HAWSER_OK)
            node->status = hawser_fail(&node->error, pushers[t].status, "%.400s", pushers[t].error.text);
    /* After a second table, which all make together, all pushes of all nodes are there. */
    uint32_t other;
    if (node->status == HAWSER_OK)
        node->status = hawser_store_table(store, &(hawser_table){.name = "u", .type = HAWSER_I64}, &other, &node->error);
    double *out = malloc(N * sizeof *out);
    uint64_t *keys = malloc(N * sizeof *keys), task;
    for (uint64_t i = 0; i < N; i++)
        keys[i] = key_of(how->sparse, i);
    if (node->status == HAWSER_OK)
        node->status =
            hawser_pull(store, &(hawser_request){.table = table, .keys = keys, .count = N, .out = out}, &task, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_store_wait(store, task, &node->error);
    for (uint64_t i = 0; i < N && node->status == HAWSER_OK; i++)
        if (out[i] != (double)(node->nodes * THREADS * ROUNDS) * (i % 3 == 0 ? 2 : 1))
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "key %llu has %g", (unsigned long long)i, out[i]);
    hawser_store_figures figures;
    hawser_store_figures_of(store, &figures);
    if (node->status == HAWSER_OK && (how->servers > 0 && node->node >= how->servers) != (figures.keys == 0))
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "node %u keeps %llu keys", node->node,
                                   (unsigned long long)figures.keys);
    if (node->status == HAWSER_OK && (figures.lists_known == 0 || figures.bytes_sent >= figures.bytes_plain))
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "nothing was saved");
    free(out);
    free(keys);
    hawser_store_close(store);
}

static const char *const plain[] = {"workers", "1", NULL};

static void sums_over(uint32_t count, uint32_t servers, bool sparse)
{
    test_node nodes[NODES_MOST];
    sums how = {.servers = servers, .sparse = sparse};
    run_nodes(nodes, count, plain, sum_body, &how);
    check_all(nodes, count, "sums");
    assert_int_equal(atomic_load(&how.completed), count * THREADS * ROUNDS);
}

static void sums_are_whole(void **state)
{
    (void)state;
    sums_over(1, 0, false);
    sums_over(1, 0, true);
    sums_over(2, 1, false);
    sums_over(3, 0, false);
    sums_over(3, 2, true);
    sums_over(4, 1, true);
}

/* ---------------------------------------------------------------------------------- staleness, thread by thread ---- */

enum { WORKERS = 2, CLOCKS = 30, KEYS = 500 };

typedef struct worker {
    hawser_store *store;
    uint32_t table, number, all;
    uint64_t staleness;
    hawser_status status;
    hawser_error error;
} worker;

/* SSP (Ho et al. 2013): what a worker in clock t reads has all updates of clocks <= t - s - 1 and its own. */
static hawser_status one_clock(worker *w, uint64_t t, const double *one, double *out)
{
    uint64_t task, oldest = 0;
    hawser_request request = {.table = w->table,
                              .last = KEYS - 1,
                              .out = out,
                              .oldest = &oldest,
                              .least = t > w->staleness ? t - w->staleness : 0};
    HAWSER_TRY(hawser_pull(w->store, &request, &task, &w->error));
    HAWSER_TRY(hawser_store_wait(w->store, task, &w->error));
    for (uint64_t i = 0; i < KEYS; i++)
        if (out[i] < (double)t + (double)(w->all - 1) * (double)request.least || out[i] < (double)w->all * (double)oldest ||
            out[i] > (double)t + (double)(w->all - 1) * (double)(t + w->staleness + 1))
            return hawser_fail(&w->error, HAWSER_INTERNAL, "clock %llu reads %g", (unsigned long long)t, out[i]);
    request = (hawser_request){.table = w->table, .last = KEYS - 1, .values = one};
    HAWSER_TRY(hawser_push(w->store, &request, &task, &w->error));
    return hawser_store_clock(w->store, w->table, w->number, t, 0, KEYS - 1, &w->error);
}

static void *run_clocks(void *argument)
{
    worker *w = argument;
    double one[KEYS], out[KEYS];
    for (uint64_t i = 0; i < KEYS; i++)
        one[i] = 1;
    for (uint64_t t = 0; t < CLOCKS && w->status == HAWSER_OK; t++)
        w->status = one_clock(w, t, one, out);
    w->status = w->status == HAWSER_OK ? hawser_store_wait_all(w->store, &w->error) : w->status;
    return NULL;
}

static void clock_body(test_node *node)
{
    hawser_store *store = NULL;
    const hawser_store_options options = {.workers = WORKERS};
    MUST(node->status = hawser_store_open(node->job, &options, &store, &node->error));
    uint32_t table = 0;
    node->status = hawser_store_table(store, &(hawser_table){.name = "t", .last = KEYS - 1}, &table, &node->error);
    worker workers[WORKERS];
    pthread_t threads[WORKERS];
    for (uint32_t k = 0; k < WORKERS && node->status == HAWSER_OK; k++) {
        workers[k] = (worker){
            .store = store, .table = table, .number = k, .all = node->nodes * WORKERS, .staleness = *(uint64_t *)node->user};
        pthread_create(&threads[k], NULL, run_clocks, &workers[k]);
    }
    for (uint32_t k = 0; k < WORKERS && node->status == HAWSER_OK; k++)
        pthread_join(threads[k], NULL);
    for (uint32_t k = 0; k < WORKERS && node->status == HAWSER_OK; k++)
        if (workers[k].status != HAWSER_OK)
            node->status = hawser_fail(&node->error, workers[k].status, "%.400s", workers[k].error.text);
    hawser_store_close(store);
}

static void staleness_is_bounded(void **state)
{
    (void)state;
    for (uint64_t staleness = 0; staleness < 3; staleness++)
        for (uint32_t count = 1; count <= 3; count++) {
            test_node nodes[NODES_MOST];
            run_nodes(nodes, count, plain, clock_body, &staleness);
            check_all(nodes, count, "clocks");
        }
}

/* -------------------------------------------------------------------------------------------- a range that is hot ---- */

enum { HOT = 200000, LONG = 20000 /* numbers that a server has one of its threads do */ };

/* What holds up one thread of a server, as long as it likes. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned inside;
    bool open;
} gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* "add", which stays inside while it is given a 7. */
static void add_or_wait(const hawser_applying *applying)
{
    double *values = applying->values;
    const double *updates = applying->updates;
    if (updates[0] == 7) {
        pthread_mutex_lock(&gate.mutex);
        gate.inside++;
        pthread_cond_broadcast(&gate.changed);
        while (!gate.open)
            pthread_cond_wait(&gate.changed, &gate.mutex);
        pthread_mutex_unlock(&gate.mutex);
    }
    for (size_t i = 0; i < applying->rows * applying->width; i++)
        values[i] += updates[i];
}

static void open_acceptor(bool open)
{
    pthread_mutex_lock(&gate.mutex);
    if (!open)
        while (gate.inside == 0)
            pthread_cond_wait(&gate.changed, &gate.mutex);
    gate.open = open;
    gate.inside = 0;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.mutex);
}

/* While a push to the first keys is stuck in the server, requests for the last ones are served, large and small. */
static hawser_status ask_beside(hawser_store *store, uint32_t table, hawser_error *error)
{
    static double sevens[LONG], ones[LONG], out[LONG];
    uint64_t stuck = 0, task = 0;
    for (size_t i = 0; i < LONG; i++)
        sevens[i] = 7, ones[i] = 1;
    HAWSER_TRY(hawser_push(store, &(hawser_request){.table = table, .last = LONG - 1, .values = sevens}, &stuck, error));
    open_acceptor(false);
    hawser_request request = {.table = table, .first = HOT - LONG, .last = HOT - 1, .values = ones};
    HAWSER_TRY(hawser_push(store, &request, &task, error));
    hawser_status status = hawser_store_wait(store, task, error);
    request = (hawser_request){.table = table, .first = HOT - 10, .last = HOT - 1, .out = out};
    if (status == HAWSER_OK)
        status = hawser_pull(store, &request, &task, error);
    if (status == HAWSER_OK)
        status = hawser_store_wait(store, task, error);
    open_acceptor(true);
    HAWSER_TRY(status);
    HAWSER_TRY(hawser_store_wait(store, stuck, error));
    request = (hawser_request){.table = table, .last = LONG - 1, .out = sevens};
    HAWSER_TRY(hawser_pull(store, &request, &task, error));
    HAWSER_TRY(hawser_store_wait(store, task, error));
    for (size_t i = 0; i < 10; i++)
        if (out[i] != 1 || sevens[i * 100] != 7)
            return hawser_fail(error, HAWSER_INTERNAL, "%g instead of 1, %g instead of 7", out[i], sevens[i * 100]);
    return HAWSER_OK;
}

static void hot_body(test_node *node)
{
    static const hawser_function slow = {.name = "slow", .apply = add_or_wait};
    hawser_store *store = NULL;
    uint32_t table = 0;
    const hawser_store_options options = {.functions = &slow, .function_count = 1, .servers = 1, .threads = 2};
    MUST(node->status = hawser_store_open(node->job, &options, &store, &node->error));
    node->status =
        hawser_store_table(store, &(hawser_table){.name = "t", .last = HOT - 1, .function = "slow"}, &table, &node->error);
    if (node->status == HAWSER_OK && node->node + 1 == hawser_job_nodes(node->job))
        node->status = ask_beside(store, table, &node->error);
    hawser_store_close(store);
}

static void a_hot_range_delays_no_other(void **state)
{
    (void)state;
    static const char *const with_timeout[] = {"workers", "1", "timeout", "30", NULL};
    for (uint32_t count = 1; count <= 2; count++) {
        test_node nodes[NODES_MOST];
        run_nodes(nodes, count, with_timeout, hot_body, NULL);
        check_all(nodes, count, "a hot range");
    }
}

/* ------------------------------------------------------------------------------------------------- what goes wrong ---- */

static void wrong_body(test_node *node)
{
    const char *how = node->user;
    hawser_store *store = NULL;
    const hawser_store_options options = {.servers = strcmp(how, "servers") == 0 ? 1 + node->node : 0};
    MUST(node->status = hawser_store_open(node->job, &options, &store, &node->error));
    uint32_t table = 0;
    hawser_table asked = {.name = "t", .last = 99};
    if (strcmp(how, "width") == 0)
        asked.width = 1 + node->node;
    if (strcmp(how, "function") == 0)
        asked.function = "adagard";
    node->status = hawser_store_table(store, &asked, &table, &node->error);
    double out[100];
    uint64_t task = 0;
    const hawser_request request = {.table = table, .last = 99, .out = out, .least = 1}; /* nobody's clock ever comes */
    if (node->status == HAWSER_OK)
        node->status = hawser_pull(store, &request, &task, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_store_wait(store, task, &node->error);
    hawser_store_close(store);
}

static void expect(const char *how, const char *const *pairs, hawser_status status, const char *words)
{
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 2, pairs, wrong_body, (void *)(uintptr_t)how);
    assert_int_equal(nodes[0].status, status);
    if (strstr(nodes[0].error.text, words) == NULL)
        fail_msg("%s: no '%s' in: %s", how, words, nodes[0].error.text);
}

static void calls_are_collective(void **state)
{
    (void)state;
    expect("servers", plain, HAWSER_BAD_ARGUMENT, "node 0 and node 1 differ in the servers");
    expect("width", plain, HAWSER_BAD_ARGUMENT, "table 't': `width` is 1 on node 0 and 2 on node 1");
    expect("function", plain, HAWSER_BAD_ARGUMENT, "there is no function 'adagard'; there are add");
}

/* Each field in which a node's table may differ, and what the message says of it. */
static const struct {
    hawser_table table;
    const char *words;
} others[] = {
    {{.name = "v", .last = 9}, "table 't': `name` is 't' on node 0 and 'v' on node 1"},
    {{.name = "t", .last = 9, .type = HAWSER_F32}, "table 't': `type` is 'f64' on node 0 and 'f32' on node 1"},
    {{.name = "t", .last = 9, .width = 4}, "`width` is 1 on node 0 and 4 on node 1"},
    {{.name = "t", .sparse = true}, "`sparse` is 0 on node 0 and 1 on node 1"},
    {{.name = "t", .first = 3, .last = 9}, "`first` is 0 on node 0 and 3 on node 1"},
    {{.name = "t", .last = 8}, "`last` is 9 on node 0 and 8 on node 1"},
    {{.name = "t", .last = 9, .function = "max"}, "`function` is 'add' on node 0 and 'max' on node 1"},
    {{.name = "t", .last = 9, .data_centric = true}, "`data_centric` is 0 on node 0 and 1 on node 1"},
    {{.name = "t", .last = 9, .summed = true}, "`summed` is 0 on node 0 and 1 on node 1"},
    {{.name = "t", .last = 9, .rounding = HAWSER_AS_BF16}, "`rounding` is 'exact' on node 0 and 'bf16' on node 1"},
    {{.name = "t", .last = 9, .filter = "random", .level = 0.5}, "`filter` is '' on node 0 and 'random' on node 1"},
    {{.name = "t", .last = 9, .staleness = 2}, "`staleness` is 0 on node 0 and 2 on node 1"},
};

/* Node 1's table has another field each time. None is made; then all make it alike, and use it. */
static void differ_body(test_node *node)
{
    hawser_store *store = NULL;
    uint32_t table;
    uint64_t task;
    double one[10] = {1};
    MUST(node->status = hawser_store_open(node->job, NULL, &store, &node->error));
    for (size_t i = 0; i < sizeof others / sizeof *others && node->status == HAWSER_OK; i++) {
        hawser_error error = {0};
        hawser_table plain_table = {.name = "t", .last = 9};
        hawser_status status = hawser_store_table(store, node->node == 1 ? &others[i].table : &plain_table, &table, &error);
        if (status != HAWSER_BAD_ARGUMENT || strstr(error.text, others[i].words) == NULL)
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "%d: %.400s", (int)status, error.text);
    }
    hawser_table adagrad = {
        .name = "a", .last = 9, .function = "adagrad", .parameters = {0.1, node->node == 1 ? 0.25 : 0.5}};
    if (node->status == HAWSER_OK && (hawser_store_table(store, &adagrad, &table, &node->error) != HAWSER_BAD_ARGUMENT ||
                                      strstr(node->error.text, "`parameters[1]` is 0.5 on node 0 and 0.25") == NULL))
        node->status = HAWSER_INTERNAL;
    if (node->status == HAWSER_OK)
        node->status = hawser_store_table(store, &(hawser_table){.name = "t", .last = 9, .width = 1}, &table, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_push(store, &(hawser_request){.table = table, .last = 9, .values = one}, &task, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_store_wait(store, task, &node->error);
    hawser_store_close(store);
}

static void tables_that_differ_are_named_by_field(void **state)
{
    (void)state;
    for (uint32_t count = 2; count <= 3; count++) {
        test_node nodes[NODES_MOST];
        run_nodes(nodes, count, plain, differ_body, NULL);
        check_all(nodes, count, "tables that differ");
    }
}

enum { MANY = 300 };

/* Tasks that all fail with the first one: each wait returns its task's failure, in any order and for any number of tasks. */
static void fail_body(test_node *node)
{
    hawser_store *store = NULL;
    static double values[MANY];
    uint64_t tasks[MANY], never = 0;
    uint32_t table = 0;
    MUST(node->status = hawser_store_open(node->job, NULL, &store, &node->error));
    node->status = hawser_store_table(store, &(hawser_table){.name = "t", .last = MANY - 1}, &table, &node->error);
    hawser_request request = {.table = table, .last = MANY - 1, .out = values, .least = 1}; /* nobody's clock ever comes */
    if (node->status == HAWSER_OK)
        node->status = hawser_pull(store, &request, &never, &node->error);
    request = (hawser_request){.table = table, .last = MANY - 1, .values = values, .after = &never, .after_count = 1};
    for (size_t i = 0; i < MANY && node->status == HAWSER_OK; i++)
        node->status = hawser_push(store, &request, &tasks[i], &node->error);
    hawser_error lost = {0};
    (void)hawser_fail(&lost, HAWSER_PEER_LOST, "somebody is lost");
    hw_hub_end(store, &lost);
    for (size_t i = 0; i < MANY && node->status == HAWSER_OK; i++)
        if (hawser_store_wait(store, tasks[i], &node->error) != HAWSER_PEER_LOST ||
            strstr(node->error.text, "somebody is lost") == NULL)
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "task %zu is said to be well", i);
    if (node->status == HAWSER_OK && hawser_store_wait_all(store, &node->error) != HAWSER_PEER_LOST) /* `never` itself */
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "the first failure is not told");
    if (node->status == HAWSER_OK)
        node->status = hawser_store_wait_all(store, &node->error); /* all failures were returned by now */
    hawser_store_close(store);
}

static void every_failure_is_reported(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 1, plain, fail_body, NULL);
    check_all(nodes, 1, "failures");
}

/* What a callback asks for in its turn. */
typedef struct asking {
    hawser_store *store;
    hawser_request request;
    hawser_status status;
    atomic_bool asked;
} asking;

static void ask_more(void *user, uint64_t task, hawser_status status)
{
    asking *more = user;
    more->status = status == HAWSER_OK ? hawser_push(more->store, &more->request, &task, NULL) : status;
    atomic_store(&more->asked, true);
}

/* Three pulls, of which the first waits for clock 1 of all workers and the second for clock 0: they are taken as they come,
 * each once. */
static hawser_status take_any(hawser_store *store, uint32_t table, hawser_error *error)
{
    double out[3][MANY], ones[MANY];
    uint64_t tasks[4] = {0};
    size_t which = 9;
    for (size_t i = 0; i < MANY; i++)
        ones[i] = 1;
    asking more = {.store = store, .request = {.table = table, .last = MANY - 1, .values = ones}, .status = HAWSER_INTERNAL};
    for (size_t i = 0; i < 3; i++) {
        hawser_request request = {.table = table, .last = MANY - 1, .out = out[i], .least = 2 - i};
        if (i == 2)
            request.done = ask_more, request.user = &more;
        HAWSER_TRY(hawser_pull(store, &request, &tasks[i], error));
    }
    for (size_t left = 3; left > 0; left--) {
        HAWSER_TRY(hawser_store_wait_any(store, tasks, 4, &which, error));
        if (which != left - 1 || tasks[which] != 0)
            return hawser_fail(error, HAWSER_INTERNAL, "number %zu has come, where %zu should, and is %llu", which, left - 1,
                               (unsigned long long)tasks[which]);
        HAWSER_TRY(hawser_store_clock(store, table, 0, 3 - left, 0, MANY - 1, error));
    }
    if (hawser_store_wait_any(store, tasks, 4, &which, error) != HAWSER_BAD_ARGUMENT)
        return hawser_fail(error, HAWSER_INTERNAL, "tasks that there are not were waited for");
    tasks[3] = 1000000;
    if (hawser_store_wait_any(store, tasks, 4, &which, error) != HAWSER_BAD_ARGUMENT || tasks[3] == 0 ||
        strstr(error->text, "there is no task 1000000 yet to wait for: the newest is ") == NULL)
        return hawser_fail(error, HAWSER_INTERNAL, "a task that nobody has begun was waited for");
    while (!atomic_load(&more.asked)) /* the callback may run after the wait returns */
        sched_yield();
    HAWSER_TRY(hawser_store_wait_all(store, error));
    if (more.status != HAWSER_OK)
        return hawser_fail(error, more.status, "a callback asked in vain");
    HAWSER_TRY(hawser_pull(store, &(hawser_request){.table = table, .last = MANY - 1, .out = out[0]}, &tasks[0], error));
    HAWSER_TRY(hawser_store_wait(store, tasks[0], error));
    if (out[2][0] != 0 || out[0][0] != 1 || out[0][MANY - 1] != 1)
        return hawser_fail(error, HAWSER_INTERNAL, "read %g and %g", out[2][0], out[0][0]);
    return HAWSER_OK;
}

static void any_body(test_node *node)
{
    hawser_store *store = NULL;
    uint32_t table = 0;
    MUST(node->status = hawser_store_open(node->job, NULL, &store, &node->error));
    node->status = hawser_store_table(store, &(hawser_table){.name = "t", .last = MANY - 1}, &table, &node->error);
    if (node->status == HAWSER_OK)
        node->status = take_any(store, table, &node->error);
    hawser_store_close(store);
}

static void tasks_complete_in_any_order(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 1, plain, any_body, NULL);
    check_all(nodes, 1, "taking");
}

/* The last node ends a clock of a worker that there is not; the others wait for clocks. */
static void clock_wrongly(test_node *node)
{
    hawser_store *store = NULL;
    double out[MANY];
    uint64_t task = 0;
    uint32_t table = 0;
    const hw_order wrong = {.operation = HW_CLOCK, .worker = 77, .clock = 5, .last = MANY - 1};
    MUST(node->status = hawser_store_open(node->job, NULL, &store, &node->error));
    node->status = hawser_store_table(store, &(hawser_table){.name = "t", .last = MANY - 1}, &table, &node->error);
    if (node->status == HAWSER_OK && node->node + 1 == node->nodes) {
        node->status = hw_ask_begin(store, &wrong, &task, &node->error);
        hw_ask_go(store);
    }
    const hawser_request request = {.table = table, .last = MANY - 1, .out = out, .least = 1};
    if (node->status == HAWSER_OK)
        node->status = hawser_pull(store, &request, &task, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_store_wait(store, task, &node->error);
    hawser_store_close(store);
}

static void a_refused_clock_ends_the_store(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 3; count++) {
        test_node nodes[NODES_MOST];
        run_nodes(nodes, count, plain, clock_wrongly, NULL);
        for (uint32_t i = 0; i < count; i++)
            if (nodes[i].status != HAWSER_BAD_INPUT ||
                strstr(nodes[i].error.text, ": clock 5 of worker 77 was refused, so requests that wait for it") == NULL)
                fail_msg("node %u of %u: %s", i, count, nodes[i].error.text);
    }
}

/* ------------------------------------------------------------------------- losses, on the thread that receives them ---- */

/* A callback on the net's thread: it receives the loss of node 2, and makes a request. */
typedef struct watch {
    hawser_store *store;
    uint32_t table;
    uint64_t keys[3]; /* of each server */
    hawser_status status, other;
    hawser_error error;
    bool own, at_once;
    atomic_bool called;
} watch;

static void note_loss(void *user, uint64_t task, hawser_status status)
{
    const double window = 30; /* in which other nodes that were lost at once are noticed */
    watch *h = user;
    hw_cluster *cluster = h->store->job->cluster;
    double one = 1;
    h->own = hw_net_is_own_thread(cluster->net);
    if (status == HAWSER_OK && h->own) {
        double before = cluster->losses_together, until = hw_seconds() + window;
        cluster->losses_together = window;
        hw_cluster_lost(cluster, 2, "the test says so", 0);
        h->status = hawser_push(
            h->store, &(hawser_request){.table = h->table, .first = h->keys[2], .last = h->keys[2], .values = &one}, &task,
            &h->error);
        h->other = hawser_push(h->store,
                               &(hawser_request){.table = h->table, .first = h->keys[1], .last = h->keys[1], .values = &one},
                               &task, NULL);
        h->at_once = hw_seconds() < until;
        cluster->losses_together = before;
    }
    atomic_store(&h->called, true);
}

/* Waits until the reply of another node is received on the net's thread, and not on the requesting thread, which may poll
 * for it. */
static hawser_status watch_one(watch *h, const hw_arcs *arcs, hawser_error *error)
{
    double out;
    uint64_t task;
    for (uint32_t s = 0; s < 3; s++)
        while (arcs->arcs[hw_arcs_find(arcs, h->keys[s])].server != s)
            h->keys[s]++;
    for (int i = 0; i < 1000 && !h->own; i++) {
        atomic_store(&h->called, false);
        const hawser_request request = {
            .table = h->table, .first = h->keys[1], .last = h->keys[1], .out = &out, .done = note_loss, .user = h};
        HAWSER_TRY(hawser_pull(h->store, &request, &task, error));
        while (!atomic_load(&h->called))
            sched_yield();
    }
    return HAWSER_OK;
}

static void loss_body(test_node *node)
{
    watch h = {.status = HAWSER_INTERNAL};
    MUST(node->status = hawser_store_open(node->job, NULL, &h.store, &node->error));
    node->status = hawser_store_table(h.store, &(hawser_table){.name = "t", .last = N - 1}, &h.table, &node->error);
    if (node->status == HAWSER_OK && node->node == 0)
        node->status = watch_one(&h, hw_client_arcs(h.store->client, h.table), &node->error);
    if (node->status == HAWSER_OK && node->node == 0 &&
        (!h.own || !h.at_once || h.status != HAWSER_PEER_LOST || h.other != HAWSER_OK ||
         strstr(h.error.text, "node 2") == NULL))
        node->status =
            hawser_fail(&node->error, HAWSER_INTERNAL, "%s, %s: %s", h.own ? "the net's thread" : "another thread",
                        h.at_once ? "at once" : "late", h.error.text);
    hawser_store_close(h.store);
}

/* The loss of other nodes is received there, too: it waits for none of them. */
static void a_callback_does_not_keep_the_net(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 3, plain, loss_body, NULL);
    if (nodes[0].status != HAWSER_OK)
        fail_msg("%s", nodes[0].error.text);
}

static void no_request_waits_forever(void **state)
{
    (void)state;
    static const char *const soon[] = {"workers", "1", "timeout", "0.3", NULL};
    expect("waits", soon, HAWSER_TIMEOUT, "has not answered for 0.3 s: 1 tasks are open");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_whole),
        cmocka_unit_test(staleness_is_bounded),
        cmocka_unit_test(calls_are_collective),
        cmocka_unit_test(tables_that_differ_are_named_by_field),
        cmocka_unit_test(every_failure_is_reported),
        cmocka_unit_test(no_request_waits_forever),
        cmocka_unit_test(a_hot_range_delays_no_other),
        cmocka_unit_test(tasks_complete_in_any_order),
        cmocka_unit_test(a_refused_clock_ends_the_store),
        cmocka_unit_test(a_callback_does_not_keep_the_net),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
