/* Vectors over servers: what each gather has, counted scatter by scatter, what is refused, and how waits end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/random.h"
#include "hawser/cancellation.h"
#include "hawser/store.h"
#include "hawser/vector.h"
#include "nodes.h"

enum { STEPS = 9, COUNT_MOST = 2500 };

/* Returns HAWSER_INTERNAL with the place of a mistake: a node's thread must not end the test. */
#define SEE(node, condition)                                                                                                \
    do {                                                                                                                    \
        if (!(condition))                                                                                                   \
            return hawser_fail(&(node)->error, HAWSER_INTERNAL, "line %d: %s", __LINE__, #condition);                       \
    } while (0)
/* A call that must be refused with a status and a part of the text. */
#define REFUSED(node, call, wanted, words)                                                                                  \
    do {                                                                                                                    \
        hawser_status refused_ = (call);                                                                                    \
        if (refused_ != (wanted) || strstr((node)->error.text, (words)) == NULL) {                                          \
            char said_[1000];                                                                                               \
            snprintf(said_, sizeof said_, "%s", (node)->error.text);                                                        \
            return hawser_fail(&(node)->error, HAWSER_INTERNAL, "line %d: %d '%s'", __LINE__, (int)refused_, said_);        \
        }                                                                                                                   \
    } while (0)

typedef struct setting {
    const char *dataflow, *sync;
    hawser_type type;
    uint32_t nodes, width; /* width: of a sparse vector; 0: it is dense */
    size_t count;
    bool average, uneven;
    uint64_t seed;
} setting;

static uint64_t length_of(const setting *how, uint32_t node)
{
    return how->uneven ? STEPS - 2 * (node % 4) : STEPS;
}

/* Whether a node scatters the row of a number in a step: dense vectors have all rows. */
static bool has(const setting *how, uint32_t node, uint64_t t, size_t i)
{
    return how->width == 0 || hw_mix(how->seed + 1000 * node + 50 * t + i / how->width) % 3 == 0;
}

/* What a node's scatter has in number i: whole, so that sums are exact. Number `node` counts, the others are drawn. */
static double delta(const setting *how, uint32_t node, uint64_t t, size_t i)
{
    if (!has(how, node, t, i))
        return 0;
    return i < how->nodes ? (double)(i == node) : (double)(hw_mix(how->seed ^ hw_mix(100 * node + t) ^ i) % 101) - 50;
}

static double get(const setting *how, const void *array, size_t i)
{
    return how->type == HAWSER_F32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

static void put(const setting *how, void *array, size_t i, double value)
{
    if (how->type == HAWSER_F32)
        ((float *)array)[i] = (float)value;
    else
        ((double *)array)[i] = value;
}

static hawser_status scatter(test_node *node, const setting *how, hawser_vector *vector, uint64_t t, const void *array)
{
    static _Thread_local char values[COUNT_MOST * sizeof(double)];
    uint64_t keys[COUNT_MOST];
    size_t count = 0, row = how->width * (how->type == HAWSER_F32 ? sizeof(float) : sizeof(double));
    if (how->width == 0)
        return hawser_vector_scatter(vector, &(hawser_scatter){.iteration = t, .values = array}, &node->error);
    for (size_t r = 0; r < how->count / how->width; r++)
        if (has(how, node->node, t, r * how->width)) {
            memcpy(values + count * row, (const char *)array + r * row, row);
            keys[count++] = r;
        }
    hawser_scatter sparse = {.iteration = t, .values = values, .keys = keys, .key_count = count};
    hawser_status status = hawser_vector_scatter(vector, &sparse, &node->error);
    memset(values, 0x7f, sizeof values); /* they were copied */
    return status;
}

/* The sum of what a node has scattered before step `end`. */
static double sum_of(const setting *how, uint32_t node, uint64_t end, size_t i)
{
    double sum = 0;
    for (uint64_t t = 0; t < end && t < length_of(how, node); t++)
        sum += delta(how, node, t, i);
    return sum;
}

/* Under bsp the gather of step t has the own array and delta t of all others. */
static hawser_status check_step(test_node *node, const setting *how, uint64_t t, const void *array)
{
    for (size_t i = 0; i < how->count; i++) {
        double sum = 0, terms = 0;
        for (uint32_t other = 0; other < how->nodes; other++) {
            sum += t < length_of(how, other) ? delta(how, other, t, i) : 0;
            terms += t < length_of(how, other);
        }
        double wanted = how->average ? sum / terms : sum;
        SEE(node, get(how, array, i) == (how->type == HAWSER_F32 ? (double)(float)wanted : wanted));
    }
    return HAWSER_OK;
}

/* What was gathered up to step t has all that ssp:S promises of each other replica, and nothing that was not scattered. */
static hawser_status check_so_far(test_node *node, const setting *how, uint64_t t, const double *so_far)
{
    uint64_t slack = strncmp(how->sync, "ssp:", 4) == 0 ? strtoull(how->sync + 4, NULL, 10) : UINT64_MAX;
    for (uint32_t other = 0; other < how->nodes && how->width == 0; other++) {
        double least = slack != UINT64_MAX && t >= slack ? sum_of(how, other, t - slack + 1, other) : 0;
        SEE(node, so_far[other] >= least && so_far[other] <= sum_of(how, other, STEPS, other));
    }
    SEE(node, how->width != 0 || so_far[node->node] == (double)(t + 1)); /* its own scatters, each once */
    return HAWSER_OK;
}

static hawser_status loop(test_node *node, const setting *how, hawser_vector *vector, char *array, double *so_far)
{
    bool bsp = strcmp(how->sync, "bsp") == 0, tap = strcmp(how->sync, "tap") == 0;
    hawser_gather_how by = how->average ? HAWSER_GATHER_AVERAGE : HAWSER_GATHER_SUM;
    for (uint64_t t = 0; t < length_of(how, node->node); t++) {
        for (size_t i = 0; i < how->count; i++)
            put(how, array, i, delta(how, node->node, t, i));
        HAWSER_TRY(scatter(node, how, vector, t, array));
        if (!tap || hw_mix(how->seed + t + node->node) % 2 == 0)
            HAWSER_TRY(hawser_vector_gather(vector, t, by, NULL, array, &node->error));
        for (size_t i = 0; i < how->count; i++)
            so_far[i] += get(how, array, i);
        HAWSER_TRY(bsp ? check_step(node, how, t, array) : check_so_far(node, how, t, so_far));
        if (t == 2)
            HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    }
    memset(array, 0, how->count * sizeof(double));
    HAWSER_TRY(hawser_vector_finish(vector, array, &node->error));
    for (size_t i = 0; i < how->count; i++)
        so_far[i] += get(how, array, i);
    return HAWSER_OK;
}

/* Everything was gathered once, in the loop or by the finish. */
static hawser_status check_all_in(test_node *node, const setting *how, const double *so_far)
{
    for (size_t i = 0; i < how->count && !how->average; i++) {
        double wanted = 0;
        for (uint32_t other = 0; other < how->nodes; other++)
            wanted += sum_of(how, other, STEPS, i);
        SEE(node, so_far[i] == wanted);
    }
    return HAWSER_OK;
}

static void body(test_node *node)
{
    const setting *how = node->user;
    hawser_vector *vector = NULL;
    hawser_vector_facts facts = {0};
    char *array = calloc(how->count, sizeof(double));
    double *so_far = calloc(how->count, sizeof *so_far);
    hawser_vector_options options = {.name = "w",
                                     .type = how->type,
                                     .count = how->count,
                                     .sparse = how->width > 0,
                                     .width = how->width,
                                     .dataflow = how->dataflow,
                                     .sync = how->sync,
                                     .content = HAWSER_VECTOR_DELTAS};
    node->status = hawser_vector_open(node->job, &options, &vector, &node->error);
    if (node->status == HAWSER_OK)
        node->status = loop(node, how, vector, array, so_far);
    if (node->status == HAWSER_OK)
        node->status = check_all_in(node, how, so_far);
    if (node->status == HAWSER_OK)
        node->status = hawser_vector_describe(vector, &facts, &node->error);
    if (node->status == HAWSER_OK && (facts.source_count != how->nodes - 1 || facts.overwritten + facts.added > 0 ||
                                      facts.memory == 0 || (how->width == 0 && facts.sent != length_of(how, node->node))))
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "the facts are wrong");
    hawser_vector_close(vector);
    free(array);
    free(so_far);
}

static const char *const plain[] = {"workers", "8", "timeout", "60", NULL};
static const char *const hasty[] = {"workers", "8", "timeout", "1", NULL};

static void check(const setting *how)
{
    test_node nodes[NODES_MOST];
    char what[100];
    snprintf(what, sizeof what, "%s %s, %u nodes, %zu numbers", how->dataflow, how->sync, how->nodes, how->count);
    run_nodes(nodes, how->nodes, plain, body, (void *)(uintptr_t)how);
    check_all(nodes, how->nodes, what);
    if (how->nodes == 1) { /* without a net */
        test_job job = OPEN_JOB("workers", "1");
        test_node node = {.job = job.job, .nodes = 1, .user = (void *)(uintptr_t)how};
        body(&node);
        check_all(&node, 1, what);
        close_job(job);
    }
}

static void test_gathers_have_what_was_scattered(void **state)
{
    (void)state;
    static const char *const syncs[] = {"bsp", "ssp:0", "ssp:2", "tap"}, *const flows[] = {"servers", "servers:1"};
    static const size_t counts[] = {COUNT_MOST, 8, 41};
    for (uint32_t i = 0; i < 16; i++)
        check(&(setting){.dataflow = flows[i / 4 % 2],
                         .sync = syncs[i % 4],
                         .type = i % 3 == 0 ? HAWSER_F32 : HAWSER_F64,
                         .nodes = 1 + (i + i / 4) % 4 * 2,
                         .width = i % 5 == 1   ? 2
                                  : i % 5 == 3 ? 1
                                               : 0,
                         .count = i % 5 == 1 ? 40 : counts[i % 3],
                         .average = i % 8 == 0,
                         .uneven = i % 4 != 3,
                         .seed = i});
}

/* ------------------------------------------------------------------------------------------------ calls one by one ---- */

typedef struct story {
    hawser_vector_options options;
    hawser_status (*act)(test_node *node, hawser_vector *vector);
} story;

static void tell_body(test_node *node)
{
    const story *of = node->user;
    hawser_vector *vector = NULL;
    node->status = hawser_vector_open(node->job, &of->options, &vector, &node->error);
    if (node->status == HAWSER_OK)
        node->status = of->act(node, vector);
    hawser_vector_close(vector);
}

static void tell(uint32_t count, const char *const *pairs, const char *sync,
                 hawser_status (*act)(test_node *node, hawser_vector *vector))
{
    const story of = {{.name = "w", .count = 2, .dataflow = "servers", .sync = sync, .content = HAWSER_VECTOR_DELTAS}, act};
    test_node nodes[NODES_MOST];
    run_nodes(nodes, count, pairs, tell_body, (void *)(uintptr_t)&of);
    check_all(nodes, count, sync);
}

static hawser_status send_number(test_node *node, hawser_vector *vector, uint64_t t, double number)
{
    const double values[] = {number, -number};
    return hawser_vector_scatter(vector, &(hawser_scatter){.iteration = t, .values = values}, &node->error);
}

static hawser_status gather(test_node *node, hawser_vector *vector, uint64_t t, hawser_gather_how how, double *array)
{
    return hawser_vector_gather(vector, t, how, NULL, array, &node->error);
}

static hawser_status wrong_calls(test_node *node, hawser_vector *vector)
{
    const uint32_t to = 1 - node->node;
    double array[2] = {3, 4};
    hawser_scatter named = {.values = array, .to = &to, .to_count = 1};
    REFUSED(node, hawser_vector_scatter(vector, &named, &node->error), HAWSER_BAD_ARGUMENT, "receivers by name");
    REFUSED(node, send_number(node, vector, UINT64_C(1) << 62, 1), HAWSER_BAD_ARGUMENT, "over servers at most");
    HAWSER_TRY(send_number(node, vector, 0, 1));
    REFUSED(node, gather(node, vector, 0, HAWSER_GATHER_AVERAGE, array), HAWSER_BAD_ARGUMENT, "or under bsp by");
    REFUSED(node, gather(node, vector, 0, HAWSER_GATHER_REPLACE, array), HAWSER_BAD_ARGUMENT, "would lose deltas");
    const hawser_gather_function function = {(hawser_status(*)(void *, void *, const hawser_arrival *))(void (*)(void))abort,
                                             NULL};
    REFUSED(node, hawser_vector_gather(vector, 0, HAWSER_GATHER_FUNCTION, &function, array, &node->error),
            HAWSER_BAD_ARGUMENT, "sum of all deltas alone");
    SEE(node, array[0] == 3 && array[1] == 4);
    HAWSER_TRY(gather(node, vector, 0, HAWSER_GATHER_SUM, array));
    hawser_store *store = NULL;
    REFUSED(node, hawser_store_open(node->job, NULL, &store, &node->error), HAWSER_BAD_ARGUMENT, "vectors over servers");
    HAWSER_TRY(hawser_vector_finish(vector, array, &node->error));
    SEE(node, array[0] == 4 && array[1] == 3);
    HAWSER_TRY(hawser_store_open(node->job, NULL, &store, &node->error)); /* the vectors' own is closed */
    hawser_store_close(store);
    return HAWSER_OK;
}

static hawser_status begin_apart(test_node *node, hawser_vector *vector)
{
    double array[2] = {0};
    uint64_t first = node->node == 0 ? 5 : 5 + (UINT64_C(1) << 40);
    hawser_status status = send_number(node, vector, first, 1);
    if (status == HAWSER_OK)
        status = gather(node, vector, first, HAWSER_GATHER_SUM, array);
    if (status == HAWSER_PEER_LOST) /* the other one has found it and closed */
        return HAWSER_OK;
    SEE(node, status == HAWSER_BAD_ARGUMENT && strstr(node->error.text, "begin with the same") != NULL);
    return HAWSER_OK;
}

static hawser_status closes_early(test_node *node, hawser_vector *vector)
{
    double array[2] = {0};
    if (node->node == 0)
        return HAWSER_OK;
    hawser_status status = send_number(node, vector, 0, 1); /* it may have closed before that */
    REFUSED(node, status != HAWSER_OK ? status : gather(node, vector, 0, HAWSER_GATHER_SUM, array), HAWSER_PEER_LOST,
            "node 0 (host-0)");
    return HAWSER_OK;
}

static atomic_bool told;

static hawser_status never_scatters(test_node *node, hawser_vector *vector)
{
    double array[2] = {0};
    const struct timespec pause = {.tv_nsec = 1000000};
    for (; node->node == 1 && !atomic_load(&told); nanosleep(&pause, NULL))
        ;
    if (node->node == 1)
        return HAWSER_OK;
    HAWSER_TRY(send_number(node, vector, 0, 1));
    REFUSED(node, gather(node, vector, 0, HAWSER_GATHER_SUM, array), HAWSER_TIMEOUT, "for the servers");
    atomic_store(&told, true);
    return HAWSER_OK;
}

/* The wait of a gather is cancelled; afterwards another gather, and the finish, have everything once. */
static hawser_status cancelled(test_node *node, hawser_vector *vector)
{
    double array[2] = {0};
    hawser_cancellation *cancellation = NULL;
    if (node->node == 0) {
        HAWSER_TRY(hawser_cancellation_new(&cancellation, &node->error));
        hawser_cancel(cancellation);
        HAWSER_TRY(send_number(node, vector, 0, 1));
        const hawser_cancellation *before = atomic_load(&node->job->waits);
        atomic_store(&node->job->waits, cancellation);
        hawser_status status = gather(node, vector, 0, HAWSER_GATHER_SUM, array);
        atomic_store(&node->job->waits, before);
        hawser_cancellation_free(cancellation);
        SEE(node, status == HAWSER_STOP && array[0] == 0);
        atomic_store(&told, true);
    }
    const struct timespec pause = {.tv_nsec = 1000000};
    for (; !atomic_load(&told); nanosleep(&pause, NULL))
        ;
    if (node->node == 1)
        HAWSER_TRY(send_number(node, vector, 0, 1));
    array[0] = 1;
    HAWSER_TRY(gather(node, vector, 0, HAWSER_GATHER_SUM, array));
    SEE(node, array[0] == 2);
    HAWSER_TRY(hawser_vector_finish(vector, array, &node->error));
    SEE(node, array[0] == 2);
    return HAWSER_OK;
}

/* Under tap a scatter may follow a gather that was cancelled: the pull of that gather lacks it, and must not count. */
static hawser_status cancelled_tap(test_node *node, hawser_vector *vector)
{
    double array[2] = {0};
    hawser_cancellation *cancellation = NULL;
    HAWSER_TRY(hawser_cancellation_new(&cancellation, &node->error));
    hawser_cancel(cancellation);
    for (uint64_t t = 0; t < 20; t++) {
        HAWSER_TRY(send_number(node, vector, 2 * t, 1));
        const hawser_cancellation *before = atomic_load(&node->job->waits);
        atomic_store(&node->job->waits, cancellation);
        hawser_status status = gather(node, vector, 2 * t, HAWSER_GATHER_SUM, array); /* it may be quick enough */
        atomic_store(&node->job->waits, before);
        SEE(node, status == HAWSER_STOP || status == HAWSER_OK);
        HAWSER_TRY(send_number(node, vector, 2 * t + 1, 1));
        HAWSER_TRY(gather(node, vector, 2 * t + 1, HAWSER_GATHER_SUM, array));
    }
    hawser_cancellation_free(cancellation);
    HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    HAWSER_TRY(hawser_vector_finish(vector, array, &node->error));
    SEE(node, array[0] == 40.0 * (node->nodes - 1));
    return HAWSER_OK;
}

static atomic_uint passed;

static hawser_status leaves(test_node *node, hawser_vector *vector)
{
    double array[2] = {0};
    HAWSER_TRY(send_number(node, vector, 0, 1));
    HAWSER_TRY(gather(node, vector, 0, HAWSER_GATHER_SUM, array));
    HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    atomic_fetch_add(&passed, 1);
    if (node->node == 2) {
        while (atomic_load(&passed) < 3) /* else the others' barrier is what fails */
            sched_yield();
        hw_cluster_abort(node->job->cluster, "it was ended by SIGTEST", 1);
        return HAWSER_OK;
    }
    hawser_status status = send_number(node, vector, 1, 1);
    /* The other one may have been first to notice, and have closed. */
    REFUSED(node, status != HAWSER_OK ? status : gather(node, vector, 1, HAWSER_GATHER_SUM, array), HAWSER_PEER_LOST,
            "(host-");
    SEE(node, strstr(node->error.text, "host-2") != NULL || strstr(node->error.text, "has closed the vector") != NULL);
    return HAWSER_OK;
}

/* A sum that would be infinite is refused, and the vector is not usable any more. */
static hawser_status overflow(test_node *node, hawser_vector *vector)
{
    double array[2] = {0};
    HAWSER_TRY(send_number(node, vector, 0, 1e308));
    HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    if (node->node == 0) {
        hawser_status status = send_number(node, vector, 1, 1e308);
        REFUSED(node, status != HAWSER_OK ? status : gather(node, vector, 1, HAWSER_GATHER_SUM, array), HAWSER_NOT_FINITE,
                "vector 'w'");
        REFUSED(node, send_number(node, vector, 2, 1), HAWSER_BAD_ARGUMENT, "a call on it that failed");
        atomic_store(&told, true);
    }
    const struct timespec pause = {.tv_nsec = 1000000};
    for (; !atomic_load(&told); nanosleep(&pause, NULL))
        ;
    return HAWSER_OK;
}

static void test_calls(void **state)
{
    (void)state;
    tell(2, plain, "ssp:0", wrong_calls);
    tell(2, plain, "bsp", begin_apart);
    tell(2, plain, "ssp:0", begin_apart);
    tell(2, plain, "bsp", closes_early);
    atomic_store(&told, false);
    tell(2, hasty, "bsp", never_scatters);
    atomic_store(&told, false);
    tell(2, plain, "bsp", cancelled);
    atomic_store(&told, false);
    tell(1, plain, "tap", overflow);
    tell(3, plain, "tap", cancelled_tap);
    atomic_store(&passed, 0);
    tell(3, plain, "bsp", leaves);
}

/* ---------------------------------------------------------------------------------------------- the program's store ---- */

static hawser_status with_store(test_node *node, hawser_store **store)
{
    double array[2] = {1, 2};
    hawser_vector *vector = NULL, *other = NULL;
    hawser_vector_options options = {
        .name = "w", .count = 2, .dataflow = "servers", .sync = "bsp", .content = HAWSER_VECTOR_DELTAS};
    uint32_t table;
    uint64_t task;
    const hawser_table own = {.name = "own", .count = 2};
    HAWSER_TRY(hawser_store_open(node->job, &(hawser_store_options){.servers = 1, .workers = 3}, store, &node->error));
    HAWSER_TRY(hawser_store_table(*store, &own, &table, &node->error));
    HAWSER_TRY(hawser_vector_open(node->job, &options, &vector, &node->error));
    REFUSED(node, (options.name = "own", hawser_vector_open(node->job, &options, &other, &node->error)), HAWSER_BAD_ARGUMENT,
            "a table of this name");
    options = (hawser_vector_options){.name = "v", .count = 2, .dataflow = "servers:2", .content = HAWSER_VECTOR_DELTAS};
    REFUSED(node, hawser_vector_open(node->job, &options, &other, &node->error), HAWSER_BAD_ARGUMENT, "has 1 servers");
    HAWSER_TRY(send_number(node, vector, 0, 1));
    HAWSER_TRY(gather(node, vector, 0, HAWSER_GATHER_AVERAGE, array));
    SEE(node, array[0] == 1);
    HAWSER_TRY(hawser_push(*store, &(hawser_request){.table = table, .count = 2, .values = array}, &task, &node->error));
    HAWSER_TRY(hawser_vector_finish(vector, array, &node->error));
    hawser_vector_close(vector);
    HAWSER_TRY(hawser_store_barrier(*store, &node->error)); /* the program's store goes on */
    HAWSER_TRY(hawser_pull(*store, &(hawser_request){.table = table, .count = 2, .out = array}, &task, &node->error));
    HAWSER_TRY(hawser_store_wait(*store, task, &node->error));
    SEE(node, array[0] == node->nodes);
    options.dataflow = "servers:1";
    HAWSER_TRY(hawser_vector_open(node->job, &options, &vector, &node->error));
    hawser_store_close(*store);
    *store = NULL;
    REFUSED(node, send_number(node, vector, 0, 1), HAWSER_BAD_ARGUMENT, "was closed");
    hawser_vector_close(vector);
    return HAWSER_OK;
}

static void store_body(test_node *node)
{
    hawser_store *store = NULL;
    node->status = with_store(node, &store);
    hawser_store_close(store);
}

static void queue_body(test_node *node)
{
    hawser_store *store = NULL;
    hawser_vector *vector = NULL;
    const hawser_vector_options options = {.name = "w", .count = 2, .dataflow = "servers", .content = HAWSER_VECTOR_DELTAS};
    node->status = hawser_store_open(node->job, &(hawser_store_options){.queue = true}, &store, &node->error);
    if (node->status == HAWSER_OK &&
        (hawser_vector_open(node->job, &options, &vector, &node->error) != HAWSER_BAD_ARGUMENT ||
         strstr(node->error.text, "without `queue`") == NULL))
        node->status = HAWSER_INTERNAL;
    hawser_vector_close(vector);
    hawser_store_close(store);
}

static void test_the_store_of_the_program(void **state)
{
    (void)state;
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 2, plain, store_body, NULL);
    check_all(nodes, 2, "a store of the program");
    run_nodes(nodes, 2, plain, queue_body, NULL);
    check_all(nodes, 2, "a store with a queue");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gathers_have_what_was_scattered),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_the_store_of_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
