/* Three nodes with a vector, with the n-th allocation failing on whichever comes to it, alone or with all that follow: all
 * end, in words, and nothing is left in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "failing.h"
#include "hawser/vector.h"
#include "nodes.h"
#include "sanitized.h"

enum { NODES = 3, COUNT = 5, STEPS = 3, HANGS_SECONDS = 60, EARLY = 20 /* allocations that no vector can do without */ };

typedef struct want {
    const char *sync;
    bool deltas, sparse, servers, rounds;
    long nth;         /* allocation that fails, from the moment at which all nodes are there */
    bool for_good;    /* and so do those after it */
    atomic_uint here; /* nodes */
} want;

static hawser_status loop(test_node *node, hawser_vector *vector, bool sparse, hawser_gather_how by)
{
    double array[COUNT] = {node->node, 1, 2, 3, 4};
    const uint64_t keys[] = {node->node, 3, 4};
    for (uint64_t t = 0; t < STEPS; t++) {
        hawser_scatter scatter = {.iteration = t, .values = array};
        if (sparse) {
            scatter.keys = keys;
            scatter.key_count = 3;
        }
        HAWSER_TRY(hawser_vector_scatter(vector, &scatter, &node->error));
        HAWSER_TRY(hawser_vector_gather(vector, t, by, NULL, array, &node->error));
        if (t == 1)
            HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    }
    return hawser_vector_finish(vector, array, &node->error);
}

static void body(test_node *node)
{
    want *how = node->user;
    if (atomic_fetch_add(&how->here, 1) + 1 == NODES) {
        atomic_store(&for_good, how->for_good);
        atomic_store(&countdown, how->nth);
        atomic_fetch_add(&how->here, 1);
    }
    while (atomic_load(&how->here) <= NODES)
        sched_yield();
    hawser_vector *vector = NULL;
    const hawser_vector_options options = {.name = "w",
                                           .count = COUNT,
                                           .sync = how->sync,
                                           .sparse = how->sparse,
                                           .edges = how->servers ? NULL : "0 1\n1 2\n2 0\n1 0\n",
                                           .dataflow = how->servers ? "servers:2" : NULL,
                                           .rounding = how->rounds ? HAWSER_AS_BF16 : HAWSER_EXACT,
                                           .content = how->deltas ? HAWSER_VECTOR_DELTAS : HAWSER_VECTOR_VALUES};
    node->status = hawser_vector_open(node->job, &options, &vector, &node->error);
    if (node->status == HAWSER_OK)
        node->status = loop(node, vector, how->sparse, how->servers ? HAWSER_GATHER_SUM : HAWSER_GATHER_AVERAGE);
    hawser_vector_close(vector);
}

static void check(const test_node *nodes, const want *how)
{
    bool named = false;
    for (uint32_t i = 0; i < NODES; i++) {
        bool fits =
            nodes[i].status == HAWSER_OK || nodes[i].status == HAWSER_NO_MEMORY || nodes[i].status == HAWSER_PEER_LOST;
        if (!fits || (nodes[i].status != HAWSER_OK && nodes[i].error.text[0] == '\0'))
            fail_msg("%s, allocation %ld fails: node %u: %s, '%s'", how->sync, how->nth, i,
                     hawser_status_name(nodes[i].status), nodes[i].error.text);
        named |= nodes[i].status != HAWSER_OK;
    }
    if (how->for_good && how->nth < EARLY && !named)
        fail_msg("%s, allocation %ld and all that follow fail, and no node says so", how->sync, how->nth);
}

/* False: the vector needs fewer allocations. */
static bool fail_at(const char *sync, bool deltas, bool sparse, bool servers, bool rounds, long nth, bool forever)
{
    static const char *const pairs[] = {"workers", "3", "timeout", "20", NULL};
    want how = {.sync = sync, .deltas = deltas, .sparse = sparse, .servers = servers, .nth = nth, .for_good = forever};
    how.rounds = rounds;
    test_node nodes[NODES_MOST];
    alarm(HANGS_SECONDS);
    run_nodes(nodes, NODES, pairs, body, &how);
    bool failed = atomic_load(&countdown) <= 0;
    atomic_store(&for_good, false);
    atomic_store(&countdown, 0);
    alarm(0);
    check(nodes, &how);
    assert_int_equal(atomic_load(&live), 0);
    return failed;
}

static void every_failure_ends_in_words(void **state)
{
    (void)state;
    for (int kind = 0; kind < 14; kind++) {
        bool forever = kind % 2 == 1, servers = kind >= 8 && kind < 12, deltas = kind >= 8 || kind / 2 % 2 == 1,
             sparse = kind / 4 == 1;
        bool rounds = kind >= 12 || kind / 2 == 3;
        const char *sync = kind / 2 % 2 == 1 ? "tap" : "bsp";
        long growth = runs_long() ? 12 : 1, most = forever ? 60 : 1000;
        for (long nth = 1 + kind; nth < most; nth += 1 + nth / growth)
            if (!fail_at(sync, deltas, sparse, servers, rounds, nth, forever))
                break;
    }
}

enum { SLOT = 5000 /* numbers, enough for slots of shared memory */ };

/* Node 1 holds two sums of node 0 in slots when a barrier makes one item of them, and an allocation of the barrier fails. */
static hawser_status merge_two(test_node *node, hawser_vector *vector, long nth)
{
    static const double numbers[SLOT];
    for (int i = 0; i < 2; i++) /* the answer to the offer of slots comes before the second one ends */
        HAWSER_TRY(hawser_vector_barrier(vector, &node->error));
    for (uint64_t t = 0; node->node == 0 && t < 2; t++)
        HAWSER_TRY(hawser_vector_scatter(vector, &(hawser_scatter){.iteration = t, .values = numbers}, &node->error));
    thread_countdown = node->node == 1 ? nth : 0;
    hawser_status status = hawser_vector_barrier(vector, &node->error);
    if (node->node == 1 && status == HAWSER_OK && thread_countdown > 0)
        *(bool *)node->user = true;
    thread_countdown = 0;
    return status;
}

static long barrier_nth;

static void merge_body(test_node *node)
{
    hawser_vector *vector = NULL;
    const hawser_vector_options options = {.name = "w", .count = SLOT, .content = HAWSER_VECTOR_DELTAS};
    node->status = hawser_vector_open(node->job, &options, &vector, &node->error);
    if (node->status == HAWSER_OK)
        node->status = merge_two(node, vector, barrier_nth);
    hawser_vector_close(vector);
}

static void a_barrier_without_memory_leaves_nothing(void **state)
{
    (void)state;
    static const char *const pairs[] = {"workers", "2", "timeout", "20", "transport", "shm", NULL};
    bool succeeded = false;
    int refused = 0;
    for (barrier_nth = 1; !succeeded && barrier_nth < 60; barrier_nth++) {
        test_node nodes[NODES_MOST];
        alarm(HANGS_SECONDS);
        run_nodes(nodes, 2, pairs, merge_body, &succeeded);
        alarm(0);
        assert_true(nodes[1].status == HAWSER_OK || nodes[1].status == HAWSER_NO_MEMORY);
        refused += nodes[1].status == HAWSER_NO_MEMORY;
        assert_int_equal(atomic_load(&live), 0);
    }
    assert_true(succeeded && refused > 0);
}

/* ------------------------------------------------------------------------------------------------------ long loops ---- */

enum { EARLIER = 1000, MARGIN = 100 /* allocations, of messages on their way */ };

/* Replicas 0 and 1 exchange; what is allocated late in the loop is what was allocated early in it, and a margin. */
static void long_loop(test_node *node)
{
    const hawser_vector_options *options = node->user;
    uint64_t longest = options->content == HAWSER_VECTOR_VALUES ? 1000000 : 100000;
    uint64_t steps = runs_long() ? longest : 4000;
    hawser_vector *vector = NULL;
    double array[COUNT] = {0};
    long early = 0, late = 0;
    node->status = hawser_vector_open(node->job, options, &vector, &node->error);
    for (uint64_t t = 0; t < steps && node->status == HAWSER_OK; t++) {
        long *most = t < EARLIER ? &early : &late, now = atomic_load(&live);
        *most = now > *most ? now : *most;
        node->status = hawser_vector_scatter(vector, &(hawser_scatter){.iteration = t, .values = array}, &node->error);
        if (node->status == HAWSER_OK)
            node->status = hawser_vector_gather(vector, t, HAWSER_GATHER_SUM, NULL, array, &node->error);
    }
    if (node->status == HAWSER_OK && late > early + MARGIN)
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "%ld allocations live early, %ld late", early, late);
    if (node->status == HAWSER_OK)
        node->status = hawser_vector_finish(vector, array, &node->error);
    hawser_vector_close(vector);
}

static void memory_is_flat_over_many_scatters(void **state)
{
    (void)state;
    static const char *const pairs[] = {"workers", "2", "timeout", "60", NULL};
    for (int kind = 0; kind < 3; kind++) {
        hawser_vector_options options = {.name = "w", .count = COUNT, .sync = kind < 2 ? "bsp" : "tap"};
        options.content = kind == 0 ? HAWSER_VECTOR_VALUES : HAWSER_VECTOR_DELTAS;
        test_node nodes[NODES_MOST];
        run_nodes(nodes, 2, pairs, long_loop, &options);
        check_all(nodes, 2, "a long loop");
        assert_int_equal(atomic_load(&live), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_failure_ends_in_words),
                                       cmocka_unit_test(a_barrier_without_memory_leaves_nothing),
                                       cmocka_unit_test(memory_is_flat_over_many_scatters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
