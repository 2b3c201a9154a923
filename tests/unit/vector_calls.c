/* Calls on vectors one by one: barriers, receivers by name, how a gather mixes, waits that end, and everything that is
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "hawser/vector.h"
#include "nodes.h"

enum { COUNT = 3 };

static const char *const plain[] = {"workers", "4", "timeout", "60", NULL};
static const char *const hasty[] = {"workers", "4", "timeout", "1", NULL};
static const char *const small[] = {"workers", "4", "timeout", "60", "memory-limit", "200M", NULL};

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

typedef struct story {
    hawser_vector_options options;
    hawser_status (*act)(test_node *node, hawser_vector *vector);
} story;

static void body(test_node *node)
{
    const story *of = node->user;
    hawser_vector *vector = NULL;
    node->status = hawser_vector_open(node->job, &of->options, &vector, &node->error);
    if (node->status == HAWSER_OK)
        node->status = of->act(node, vector);
    hawser_vector_close(vector);
}

static void tell(uint32_t count, const char *const *pairs, const story *of)
{
    test_node nodes[NODES_MOST];
    run_nodes(nodes, count, pairs, body, (void *)(uintptr_t)of);
    check_all(nodes, count, of->options.name);
}

static hawser_status send_number(test_node *node, hawser_vector *vector, uint64_t iteration, double number)
{
    const double values[COUNT] = {number, -number, 0};
    return hawser_vector_scatter(vector, &(hawser_scatter){.iteration = iteration, .values = values}, &node->error);
}

static hawser_status gather(test_node *node, hawser_vector *vector, uint64_t iteration, hawser_gather_how how, double *array)
{
    return hawser_vector_gather(vector, iteration, how, NULL, array, &node->error);
}

/* -------------------------------------------------------------------------------------------------------- gathers ---- */

static hawser_status sum_after_barrier(test_node *node, hawser_vector *vector)
{
    double array[COUNT] = {0};
    for (uint64_t t = 0; t < 5; t++) { /* one is sent, and the others wait as one sum */
        HAWSER_TRY(send_number(node, vector, t, (double)(node->node + 1)));
        if (t == 2)
            HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    }
    HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    HAWSER_TRY(gather(node, vector, 4, HAWSER_GATHER_SUM, array));
    double others = 5 * (1 + 2 + 3) - 5 * (node->node + 1.0);
    SEE(node, array[0] == others && array[1] == -others && array[2] == 0);
    HAWSER_TRY(gather(node, vector, 4, HAWSER_GATHER_SUM, array)); /* nothing is new */
    SEE(node, array[0] == others);
    hawser_vector_facts facts;
    HAWSER_TRY(hawser_vector_describe(vector, &facts, &node->error));
    SEE(node, facts.source_count == 2 && facts.receiver_count == 2 && facts.overwritten == 0 && facts.generation == 1);
    SEE(node, facts.sent + facts.added == 10 && facts.sent == 6 && facts.sent_bytes == facts.sent * sizeof array);
    HAWSER_TRY(hawser_vector_barrier(vector, &node->error)); /* what was gathered is acknowledged before the next is sent */
    for (uint64_t t = 9; t < 12; t++)
        HAWSER_TRY(send_number(node, vector, t, 1));
    HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    double mean[COUNT] = {8, 0, 0};
    HAWSER_TRY(gather(node, vector, 11, HAWSER_GATHER_AVERAGE, mean));
    SEE(node, mean[0] == 2); /* the own delta and six scatters */
    return hawser_vector_finish(vector, array, &node->error);
}

static hawser_status newest_after_barrier(test_node *node, hawser_vector *vector)
{
    double array[COUNT] = {100.0 + node->node, 0, 0};
    for (uint64_t t = 0; t < 5; t++)
        HAWSER_TRY(send_number(node, vector, t, (double)t + 10 * node->node));
    HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    HAWSER_TRY(gather(node, vector, 4, HAWSER_GATHER_REPLACE, array));
    SEE(node, array[0] == 4 + 10 * (node->node == 2 ? 1.0 : 2.0)); /* of the last other replica */
    HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    HAWSER_TRY(send_number(node, vector, 7, 3 * (double)node->node));
    HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    array[0] = 3 * (double)node->node;
    HAWSER_TRY(gather(node, vector, 7, HAWSER_GATHER_AVERAGE, array));
    SEE(node, array[0] == 3);
    hawser_vector_facts facts;
    HAWSER_TRY(hawser_vector_describe(vector, &facts, &node->error));
    SEE(node, facts.overwritten == 8); /* to each of two: three on their way, and one when the second has arrived */
    array[0] = node->node;
    HAWSER_TRY(hawser_vector_finish(vector, array, &node->error));
    SEE(node, array[0] == 1);
    return HAWSER_OK;
}

static hawser_status to_one(test_node *node, hawser_vector *vector)
{
    const uint32_t next = (node->node + 1) % node->nodes;
    const double values[COUNT] = {node->node, 1, 2};
    double array[COUNT] = {0};
    HAWSER_TRY(hawser_vector_scatter(vector, &(hawser_scatter){.iteration = 3, .values = values, .to = &next, .to_count = 1},
                                     &node->error));
    HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    HAWSER_TRY(gather(node, vector, 3, HAWSER_GATHER_SUM, array));
    SEE(node, array[0] == (node->node + node->nodes - 1) % node->nodes && array[1] == 1);
    return hawser_vector_finish(vector, array, &node->error);
}

static void test_what_is_gathered(void **state)
{
    (void)state;
    tell(3, plain, &(story){{.name = "sums", .count = COUNT, .content = HAWSER_VECTOR_DELTAS}, sum_after_barrier});
    tell(3, plain, &(story){{.name = "values", .count = COUNT}, newest_after_barrier});
    tell(4, plain, &(story){{.name = "one tap", .count = COUNT}, to_one});
    tell(4, plain, &(story){{.name = "one bsp", .count = COUNT, .sync = "bsp"}, to_one});
    tell(3, plain, &(story){{.name = "one ssp", .count = COUNT, .sync = "ssp:1", .content = HAWSER_VECTOR_DELTAS}, to_one});
}

static hawser_status alone(test_node *node, hawser_vector *vector)
{
    double array[COUNT] = {1, 2, 3};
    HAWSER_TRY(send_number(node, vector, 0, 5));
    HAWSER_TRY(gather(node, vector, 0, HAWSER_GATHER_AVERAGE, array));
    HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    HAWSER_TRY(hawser_vector_finish(vector, array, &node->error));
    SEE(node, array[0] == 1 && array[1] == 2 && array[2] == 3);
    return HAWSER_OK;
}

static void test_one_node(void **state)
{
    (void)state;
    static const char *const syncs[] = {"tap", "bsp", "ssp:3"};
    for (int i = 0; i < 3; i++) {
        const story of = {{.name = "alone", .count = COUNT, .dataflow = "halton", .sync = syncs[i]}, alone};
        tell(1, plain, &of);
        test_job job = OPEN_JOB("workers", "1"); /* without a net */
        test_node node = {.job = job.job, .nodes = 1, .user = (void *)(uintptr_t)&of};
        body(&node);
        check_all(&node, 1, "alone");
        close_job(job);
    }
}

/* ---------------------------------------------------------------------------------------------------------- waits ---- */

/* Node 1 gathers late; with `waits` no scatter of node 0 is overwritten. */
static hawser_status in_turn(test_node *node, hawser_vector *vector)
{
    double array[COUNT] = {0};
    for (uint64_t t = 0; t < 20; t++) {
        HAWSER_TRY(send_number(node, vector, t, (double)t));
        for (array[0] = -1; array[0] < 0;)
            HAWSER_TRY(gather(node, vector, t, HAWSER_GATHER_REPLACE, array));
        SEE(node, array[0] == (double)t);
    }
    hawser_vector_facts facts;
    HAWSER_TRY(hawser_vector_describe(vector, &facts, &node->error));
    SEE(node, facts.overwritten == 0 && facts.sent == 20);
    return hawser_vector_finish(vector, array, &node->error);
}

static atomic_bool refused;

/* A node that neither gathers nor scatters, until the other one has waited in vain. */
static hawser_status stay(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    while (!atomic_load(&refused))
        nanosleep(&pause, NULL);
    atomic_store(&refused, false);
    return HAWSER_OK;
}

static hawser_status never_gathers(test_node *node, hawser_vector *vector)
{
    if (node->node == 0) {
        HAWSER_TRY(send_number(node, vector, 0, 1));
        REFUSED(node, send_number(node, vector, 1, 1), HAWSER_TIMEOUT,
                "iteration 1: node 0 (host-0) has waited 1 s (--timeout) for node 1 (host-1) to gather");
        atomic_store(&refused, true);
        return HAWSER_OK;
    }
    return stay();
}

static hawser_status never_scatters(test_node *node, hawser_vector *vector)
{
    double array[COUNT] = {0};
    if (node->node == 1) {
        HAWSER_TRY(send_number(node, vector, 0, 1));
        REFUSED(node, gather(node, vector, 0, HAWSER_GATHER_SUM, array), HAWSER_TIMEOUT,
                "iteration 0: node 1 (host-1) has waited 1 s (--timeout) for node 0 (host-0) to scatter");
        atomic_store(&refused, true);
        return HAWSER_OK;
    }
    return stay();
}

static hawser_status closes_early(test_node *node, hawser_vector *vector)
{
    double array[COUNT] = {0};
    if (node->node == 0)
        return HAWSER_OK;
    hawser_status status = send_number(node, vector, 0, 1); /* it may have closed before that */
    REFUSED(node, status != HAWSER_OK ? status : gather(node, vector, 0, HAWSER_GATHER_SUM, array), HAWSER_PEER_LOST,
            "node 0 (host-0) has closed the vector before its finish");
    return HAWSER_OK;
}

static atomic_uint opened;

static hawser_status leaves(test_node *node, hawser_vector *vector)
{
    double array[COUNT] = {0};
    atomic_fetch_add(&opened, 1);
    if (node->node == 2) {
        while (atomic_load(&opened) < 3) /* else the others' open is what fails */
            sched_yield();
        hw_cluster_abort(node->job->cluster, "it was ended by SIGTEST", 1);
        return HAWSER_OK;
    }
    hawser_status status = send_number(node, vector, 0, 1);
    REFUSED(node, status != HAWSER_OK ? status : gather(node, vector, 0, HAWSER_GATHER_SUM, array), HAWSER_PEER_LOST,
            "node 2 (host-2)");
    return HAWSER_OK;
}

static void test_waits_end(void **state)
{
    (void)state;
    tell(2, plain, &(story){{.name = "turns", .count = COUNT, .waits = true}, in_turn});
    tell(2, hasty, &(story){{.name = "full", .count = COUNT, .waits = true}, never_gathers});
    tell(2, hasty, &(story){{.name = "silent", .count = COUNT, .sync = "bsp"}, never_scatters});
    tell(2, plain, &(story){{.name = "closed", .count = COUNT, .sync = "ssp:0"}, closes_early});
    atomic_store(&opened, 0);
    tell(3, plain, &(story){{.name = "left", .count = COUNT, .sync = "bsp"}, leaves});
}

/* A replica that has finished stalls no other, whatever the others send to it. */
static hawser_status of_different_length(test_node *node, hawser_vector *vector)
{
    double array[COUNT] = {0};
    for (uint64_t t = 0; t < (node->node == 0 ? 2 : 40); t++) {
        HAWSER_TRY(send_number(node, vector, t, 1));
        array[0] = 1;
        HAWSER_TRY(gather(node, vector, t, HAWSER_GATHER_SUM, array));
    }
    array[0] = 0;
    HAWSER_TRY(hawser_vector_finish(vector, array, &node->error));
    bool deltas = strcmp(((const story *)node->user)->options.name, "long deltas") == 0;
    SEE(node, deltas ? array[0] >= (node->node == 0 ? 2 * (40 - 2) - 2 * 6 : 0) : array[0] == 0);
    return HAWSER_OK;
}

/* An iteration that an ended replica was not named in may be missing before the last numbers for it. */
static hawser_status ended_is_not_named(test_node *node, hawser_vector *vector)
{
    double array[COUNT] = {1, 0, 0};
    const uint32_t other = 3 - node->node;
    for (uint64_t t = 0; t < (node->node == 0 ? 2 : 7); t++) {
        const double one[COUNT] = {1, 0, 0};
        const bool some = t % 2 == 1 && node->node > 0;
        const hawser_scatter scatter = {.iteration = t, .values = one, .to = some ? &other : NULL, .to_count = some ? 1 : 0};
        HAWSER_TRY(hawser_vector_scatter(vector, &scatter, &node->error));
        HAWSER_TRY(gather(node, vector, t, HAWSER_GATHER_SUM, array));
    }
    array[0] = 0;
    HAWSER_TRY(hawser_vector_finish(vector, array, &node->error));
    SEE(node, array[0] == (node->node == 0 ? 2 * 3 : 0)); /* iterations 2, 4 and 6 of both */
    return HAWSER_OK;
}

static void test_loops_of_different_length(void **state)
{
    (void)state;
    tell(3, plain,
         &(story){{.name = "some deltas", .count = COUNT, .sync = "bsp", .content = HAWSER_VECTOR_DELTAS},
                  ended_is_not_named});
    static const char *const syncs[] = {"bsp", "ssp:0", "ssp:4"};
    for (int i = 0; i < 3; i++) {
        tell(3, plain,
             &(story){{.name = "long deltas", .count = COUNT, .sync = syncs[i], .content = HAWSER_VECTOR_DELTAS},
                      of_different_length});
        tell(3, plain, &(story){{.name = "long values", .count = COUNT, .sync = syncs[i]}, of_different_length});
    }
}

/* ------------------------------------------------------------------------------------------------------- refusals ---- */

static hawser_status fail_function(void *user, void *array, const hawser_arrival *arrival)
{
    (void)user, (void)array, (void)arrival;
    return HAWSER_DIVERGED;
}

static hawser_status wrong_calls(test_node *node, hawser_vector *vector)
{
    double array[COUNT] = {0};
    const double bad[COUNT] = {1, NAN, 0};
    const uint32_t far = 9, twice[2] = {1 - node->node, 1 - node->node};
    const hawser_gather_function function = {fail_function, NULL};
    hawser_error *error = &node->error;
    REFUSED(node, gather(node, vector, 0, HAWSER_GATHER_SUM, array), HAWSER_BAD_ARGUMENT, "before its scatter");
    REFUSED(node, hawser_vector_scatter(vector, &(hawser_scatter){.values = bad}, error), HAWSER_NOT_FINITE,
            "number 1 of the scattered values is nan");
    REFUSED(node, hawser_vector_scatter(vector, &(hawser_scatter){.values = array, .to = &far, .to_count = 1}, error),
            HAWSER_BAD_ARGUMENT, "no edge to node 9");
    REFUSED(node, hawser_vector_scatter(vector, &(hawser_scatter){.values = array, .to = twice, .to_count = 2}, error),
            HAWSER_BAD_ARGUMENT, "twice");
    REFUSED(node, hawser_vector_scatter(vector, &(hawser_scatter){.values = array, .to_count = 2}, error),
            HAWSER_BAD_ARGUMENT, "not to which");
    HAWSER_TRY(send_number(node, vector, 5, 1));
    REFUSED(node, send_number(node, vector, 5, 1), HAWSER_BAD_ARGUMENT, "iteration 5 after that of iteration 5");
    REFUSED(node, send_number(node, vector, 6, 1), HAWSER_BAD_ARGUMENT, "iteration 5 is not gathered");
    REFUSED(node, gather(node, vector, 6, HAWSER_GATHER_SUM, array), HAWSER_BAD_ARGUMENT, "before its scatter");
    REFUSED(node, gather(node, vector, 5, (hawser_gather_how)7, array), HAWSER_BAD_ARGUMENT, "no gather 7");
    REFUSED(node, gather(node, vector, 5, HAWSER_GATHER_FUNCTION, array), HAWSER_BAD_ARGUMENT, "needs a function");
    REFUSED(node, hawser_vector_gather(vector, 5, HAWSER_GATHER_SUM, &function, array, error), HAWSER_BAD_ARGUMENT,
            "no other gather takes one");
    REFUSED(node, gather(node, vector, 5, HAWSER_GATHER_REPLACE, array), HAWSER_BAD_ARGUMENT, "would lose deltas");
    HAWSER_TRY(gather(node, vector, 5, HAWSER_GATHER_SUM, array));
    REFUSED(node, gather(node, vector, 5, HAWSER_GATHER_SUM, array), HAWSER_BAD_ARGUMENT, "after that of iteration 5");
    REFUSED(node, send_number(node, vector, 7, 1), HAWSER_BAD_ARGUMENT, "count by one");
    HAWSER_TRY(send_number(node, vector, 6, 1));
    HAWSER_TRY(hawser_vector_barrier(vector, error)); /* from here on the other one may close it */
    REFUSED(node, hawser_vector_gather(vector, 6, HAWSER_GATHER_FUNCTION, &function, array, error), HAWSER_DIVERGED,
            "returned");
    REFUSED(node, hawser_vector_barrier(vector, error), HAWSER_BAD_ARGUMENT, "a call on it that failed");
    return HAWSER_OK;
}

static hawser_status begin_apart(test_node *node, hawser_vector *vector)
{
    double array[COUNT] = {0};
    hawser_status status = send_number(node, vector, 10 * node->node + 5, 1);
    if (status == HAWSER_OK)
        status = gather(node, vector, 10 * node->node + 5, HAWSER_GATHER_SUM, array);
    if (status == HAWSER_PEER_LOST) /* the other one has found it and closed */
        return HAWSER_OK;
    SEE(node, status == HAWSER_BAD_ARGUMENT && strstr(node->error.text, "begin with the same") != NULL);
    return HAWSER_OK;
}

static hawser_status ended(test_node *node, hawser_vector *vector)
{
    double array[COUNT] = {0};
    HAWSER_TRY(hawser_vector_finish(vector, array, &node->error));
    REFUSED(node, send_number(node, vector, 0, 1), HAWSER_BAD_ARGUMENT, "after its finish");
    REFUSED(node, hawser_vector_finish(vector, array, &node->error), HAWSER_BAD_ARGUMENT, "after its finish");
    return HAWSER_OK;
}

/* A sum of deltas that becomes infinite while it waits never leaves. */
static hawser_status overflow(test_node *node, hawser_vector *vector)
{
    HAWSER_TRY(send_number(node, vector, 0, 1));
    HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    if (node->node == 1)
        return stay(); /* it gathers nothing, so that deltas wait */
    HAWSER_TRY(send_number(node, vector, 1, 1e308));
    REFUSED(node, send_number(node, vector, 2, 1e308), HAWSER_NOT_FINITE, "the sum of deltas that waits");
    atomic_store(&refused, true);
    return HAWSER_OK;
}

/* The sum of finite numbers may be none, and no result is infinite in silence. */
static hawser_status infinite_mean(test_node *node, hawser_vector *vector)
{
    double array[COUNT] = {1.5e308, 0, 0};
    REFUSED(node, hawser_vector_finish(vector, array, &node->error), HAWSER_NOT_FINITE,
            "number 0 of the mean of all replicas is inf");
    return HAWSER_OK;
}

static hawser_status any_number(test_node *node, hawser_vector *vector)
{
    double array[COUNT] = {0};
    HAWSER_TRY(send_number(node, vector, 0, node->node == 0 ? (double)NAN : 1));
    HAWSER_TRY(gather(node, vector, 0, HAWSER_GATHER_SUM, array));
    SEE(node, node->node == 0 ? array[0] == 1 : isnan(array[0]));
    array[0] = INFINITY;
    HAWSER_TRY(hawser_vector_finish(vector, array, &node->error));
    SEE(node, isinf(array[0]));
    return HAWSER_OK;
}

static void test_wrong_calls_are_refused(void **state)
{
    (void)state;
    tell(2, plain, &(story){{.name = "wrong", .count = COUNT, .sync = "bsp", .content = HAWSER_VECTOR_DELTAS}, wrong_calls});
    tell(2, plain, &(story){{.name = "apart", .count = COUNT, .sync = "bsp"}, begin_apart});
    tell(2, plain, &(story){{.name = "ended", .count = COUNT}, ended});
    tell(2, plain, &(story){{.name = "overflow", .count = COUNT, .content = HAWSER_VECTOR_DELTAS}, overflow});
    tell(2, plain, &(story){{.name = "large", .count = COUNT}, infinite_mean});
    tell(2, plain, &(story){{.name = "any", .count = COUNT, .sync = "bsp", .any_number = true}, any_number});
}

/* Two nodes finish their two vectors in different orders, or one meets in a barrier and one in a finish. */
static void out_of_order(test_node *node)
{
    double array[COUNT] = {1};
    hawser_vector *two[2] = {NULL};
    const bool barrier = node->user != NULL;
    node->status = HAWSER_OK;
    for (int i = 0; i < 2 && node->status == HAWSER_OK; i++)
        node->status = hawser_vector_open(
            node->job, &(hawser_vector_options){.name = i == 0 ? "one" : "two", .count = COUNT}, &two[i], &node->error);
    hawser_status status = node->status;
    if (status == HAWSER_OK && node->node == 0 && barrier)
        status = hawser_vector_barrier(two[0], &node->error);
    else if (status == HAWSER_OK)
        status = hawser_vector_finish(two[node->node], array, &node->error);
    const char *words = barrier ? "the barrier of vector 'one'" : "the finish of vector 'one'";
    if (node->status == HAWSER_OK && (status != HAWSER_BAD_ARGUMENT || strstr(node->error.text, words) == NULL ||
                                      strstr(node->error.text, "the finish of vector 'two'") == NULL || array[0] != 1))
        node->status = HAWSER_INTERNAL;
    hawser_vector_close(two[0]);
    hawser_vector_close(two[1]);
}

static void test_collective_calls_in_another_order_are_refused(void **state)
{
    test_node nodes[NODES_MOST];
    (void)state;
    for (int barrier = 0; barrier < 2; barrier++) {
        run_nodes(nodes, 2, plain, out_of_order, barrier ? (void *)nodes : NULL);
        check_all(nodes, 2, "out of order");
    }
}

typedef struct opening {
    hawser_vector_options options;
    hawser_status status;
    const char *words;
} opening;

static void open_wrongly(test_node *node)
{
    const opening *of = node->user;
    hawser_vector *vector = NULL;
    hawser_status status = hawser_vector_open(node->job, &of->options, &vector, &node->error);
    bool right = status == of->status && vector == NULL && strstr(node->error.text, of->words) != NULL;
    if (!right) {
        char said[900];
        snprintf(said, sizeof said, "%.899s", node->error.text);
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "%d '%s' in place of '%s'", (int)status, said, of->words);
    }
    /* The next vector opens as if nothing had been. */
    hawser_error error = {0};
    status = hawser_vector_open(node->job, &(hawser_vector_options){.name = "next", .count = 1}, &vector, &error);
    if (right && status != HAWSER_OK)
        node->status = hawser_fail(&node->error, status, "the next one: %s", error.text);
    hawser_vector_close(vector);
}

static void test_wrong_options_are_refused(void **state)
{
    (void)state;
    const size_t most = SIZE_MAX, large = 9u << 20;
    const opening all[] = {
        {{.count = 1}, HAWSER_BAD_ARGUMENT, "needs a name"},
        {{.name = "", .count = 1}, HAWSER_BAD_ARGUMENT, "needs a name"},
        {{.name = "a\nb", .count = 1}, HAWSER_BAD_ARGUMENT, "control character"},
        {{.name = "w"}, HAWSER_BAD_ARGUMENT, "of 0 numbers"},
        {{.name = "w", .count = most}, HAWSER_BAD_ARGUMENT, "expected 1 to"},
        {{.name = "w", .count = 1, .type = HAWSER_I64}, HAWSER_BAD_ARGUMENT, "HAWSER_F64 or HAWSER_F32"},
        {{.name = "w", .count = 1, .content = (hawser_vector_content)3}, HAWSER_BAD_ARGUMENT, "no content 3"},
        {{.name = "w", .count = 1, .sync = "ssp:"}, HAWSER_BAD_ARGUMENT, "expected tap, bsp, or ssp:S"},
        {{.name = "w", .count = 1, .sync = "ssp:1001"}, HAWSER_BAD_ARGUMENT, "from 0 to 1000"},
        {{.name = "w", .count = 1, .sync = "bsp", .waits = true}, HAWSER_BAD_ARGUMENT, "`waits` is for tap"},
        {{.name = "w", .count = 1, .dataflow = "ring"}, HAWSER_BAD_ARGUMENT, "expected all, halton, tree"},
        {{.name = "w", .count = 1, .dataflow = "servers"}, HAWSER_BAD_ARGUMENT, "values need edges"},
        {{.name = "w", .count = 1, .dataflow = "servers:4"}, HAWSER_BAD_ARGUMENT, "K from 1 to 3"},
        {{.name = "w", .count = 1, .dataflow = "servers:"}, HAWSER_BAD_ARGUMENT, "K from 1 to 3"},
        {{.name = "w", .count = 1, .dataflow = "servers:1x"}, HAWSER_BAD_ARGUMENT, "K from 1 to 3"},
        {{.name = "w", .count = 1, .dataflow = "servers2"}, HAWSER_BAD_ARGUMENT, "expected all, halton, tree"},
        {{.name = "w", .count = 1, .dataflow = "servers", .content = HAWSER_VECTOR_DELTAS, .waits = true},
         HAWSER_BAD_ARGUMENT,
         "`waits` is for edges"},
        {{.name = "w", .count = large, .dataflow = "servers", .content = HAWSER_VECTOR_DELTAS},
         HAWSER_NO_MEMORY,
         "its table and three copies"},
        {{.name = "w", .count = 1, .dataflow = "all", .edges = "0 1"}, HAWSER_BAD_ARGUMENT, "not both"},
        {{.name = "w", .count = 1, .dataflow = "file:/nowhere"}, HAWSER_IO, "/nowhere"},
        {{.name = "w", .count = 1, .edges = "0 1\n1 0\n0 2\n"}, HAWSER_BAD_INPUT, "node 0 cannot be reached from node 2"},
        {{.name = "w", .count = 1, .edges = "0 1\n1 5\n"}, HAWSER_BAD_INPUT, "no link from node 1 to node 5"},
        {{.name = "w", .count = 1, .content = HAWSER_VECTOR_DELTAS, .any_number = true}, HAWSER_BAD_ARGUMENT, "for values"},
        {{.name = "w", .count = 1, .rounding = HAWSER_AS_BF16}, HAWSER_BAD_ARGUMENT, "rounding to bf16 is for deltas"},
        {{.name = "w", .count = 1, .content = HAWSER_VECTOR_DELTAS, .rounding = (hawser_form)9},
         HAWSER_BAD_ARGUMENT,
         "no rounding 9"},
        {{.name = "w", .count = 1, .content = HAWSER_VECTOR_DELTAS, .dataflow = "servers:2", .rounding = HAWSER_AS_INT8},
         HAWSER_BAD_ARGUMENT,
         "rounding to int8 is for edges"},
        {{.name = "w", .count = large, .sync = "ssp:9"}, HAWSER_NO_MEMORY, "2 in-neighbours with 12 slots of 72.0 MiB"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        test_node nodes[NODES_MOST];
        run_nodes(nodes, 3, small, open_wrongly, (void *)(uintptr_t)&all[i]);
        check_all(nodes, 3, all[i].words);
    }
}

static void open_differently(test_node *node)
{
    hawser_vector *vector = NULL;
    const char *const *sync = node->user;
    hawser_vector_options options = {.name = "w", .count = 2, .sync = node->node == 1 ? sync[1] : sync[0]};
    hawser_status status = hawser_vector_open(node->job, &options, &vector, &node->error);
    if (status != HAWSER_BAD_ARGUMENT || strstr(node->error.text, "`sync` is bsp on node 0 and ssp:0 on node 1") == NULL)
        node->status = HAWSER_INTERNAL;
    hawser_vector_close(vector);
}

/* Two vectors at a time have their own messages, and not the same name. */
static void open_two(test_node *node)
{
    hawser_vector *one = NULL, *two = NULL, *three = NULL;
    hawser_vector_options options = {.name = "one", .count = 1, .sync = "bsp"};
    const double own[1] = {node->node + 1.0}, large[2] = {10 * own[0], 0};
    double sum[1] = {0}, sums[2] = {0};
    node->status = hawser_vector_open(node->job, &options, &one, &node->error);
    if (hawser_vector_open(node->job, &options, &three, &node->error) != HAWSER_BAD_ARGUMENT)
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "two of one name");
    options = (hawser_vector_options){.name = "two", .count = 2, .sync = "bsp", .edges = "0 1 # a ring\n1 2\n2 0\n"};
    if (node->status == HAWSER_OK)
        node->status = hawser_vector_open(node->job, &options, &two, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_vector_scatter(two, &(hawser_scatter){.values = large}, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_vector_scatter(one, &(hawser_scatter){.values = own}, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_vector_gather(one, 0, HAWSER_GATHER_SUM, NULL, sum, &node->error);
    if (node->status == HAWSER_OK)
        node->status = hawser_vector_gather(two, 0, HAWSER_GATHER_SUM, NULL, sums, &node->error);
    double before = (node->node + 2) % 3 + 1;
    if (node->status == HAWSER_OK && (sum[0] != 6 - own[0] || sums[0] != 10 * before))
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "%g %g", sum[0], sums[0]);
    if (node->status == HAWSER_OK)
        node->status = hawser_vector_finish(one, sum, &node->error);
    hawser_vector_close(one);
    if (node->status == HAWSER_OK)
        node->status = hawser_vector_finish(two, sums, &node->error);
    hawser_vector_close(two);
}

static void test_vectors_of_a_job(void **state)
{
    (void)state;
    static const char *const syncs[] = {"bsp", "ssp:0"};
    test_node nodes[NODES_MOST];
    run_nodes(nodes, 3, plain, open_differently, (void *)(uintptr_t)syncs);
    check_all(nodes, 3, "options that differ");
    run_nodes(nodes, 3, plain, open_two, NULL);
    check_all(nodes, 3, "two vectors");
}

/* ---------------------------------------------------------------------------------------------------- within a run ---- */

static hawser_vector *outer;

static hawser_status call_within(hawser_context *context)
{
    hawser_error error = {0};
    test_node node = {.job = hawser_user(context)};
    hawser_vector *inner = NULL;
    double array[COUNT] = {0};
    const char *const words = "within a run of a program";
    const hawser_vector_options options = {.name = "inner", .count = COUNT};
    hawser_status statuses[] = {hawser_vector_open(node.job, &options, &inner, &error), send_number(&node, outer, 1, 1),
                                gather(&node, outer, 0, HAWSER_GATHER_SUM, array), hawser_vector_barrier(outer, &error),
                                hawser_vector_finish(outer, array, &error)};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i] != HAWSER_BAD_ARGUMENT)
            return hawser_unit_fail(context, HAWSER_INTERNAL, "call %zu: %d", i, (int)statuses[i]);
    if (strstr(error.text, words) == NULL || strstr(node.error.text, words) == NULL)
        return hawser_unit_fail(context, HAWSER_INTERNAL, "'%s' '%s'", error.text, node.error.text);
    return HAWSER_OK;
}

static void test_calls_within_a_run_are_refused(void **state)
{
    (void)state;
    test_job test = OPEN_JOB("workers", "1");
    test_node node = {.job = test.job};
    hawser_run *run = NULL;
    double array[COUNT] = {0};
    hawser_program *program = hawser_program_new("within", test.job);
    hawser_state *own = HAWSER_STATE(program, "own", HAWSER_REPLICATED, .rows = 1);
    HAWSER_UNIT(hawser_root(program), "unit", call_within, .updates = {own});
    assert_int_equal(
        hawser_vector_open(test.job, &(hawser_vector_options){.name = "outer", .count = COUNT}, &outer, &node.error),
        HAWSER_OK);
    assert_int_equal(send_number(&node, outer, 0, 1), HAWSER_OK);
    if (hawser_run_program(test.job, program, &run, &node.error) != HAWSER_OK)
        fail_msg("%s", node.error.text);
    hawser_run_free(run);
    hawser_program_free(program);
    assert_int_equal(gather(&node, outer, 0, HAWSER_GATHER_SUM, array), HAWSER_OK); /* after it they are allowed */
    assert_int_equal(hawser_vector_finish(outer, array, &node.error), HAWSER_OK);
    hawser_vector_close(outer);
    close_job(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_gathered),
        cmocka_unit_test(test_one_node),
        cmocka_unit_test(test_waits_end),
        cmocka_unit_test(test_loops_of_different_length),
        cmocka_unit_test(test_wrong_calls_are_refused),
        cmocka_unit_test(test_collective_calls_in_another_order_are_refused),
        cmocka_unit_test(test_wrong_options_are_refused),
        cmocka_unit_test(test_vectors_of_a_job),
        cmocka_unit_test(test_calls_within_a_run_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
