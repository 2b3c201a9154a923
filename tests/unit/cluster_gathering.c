/*
 * cluster_gathering.c - what every node sends to all: the tree alone, in worlds drawn by a seed and with a loss at every
 * step; and the calls on twelve nodes, with failures, departures, timeouts and different calls at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "cluster/cluster.h"
#include "cluster/gathering.h"
#include "cluster/internal.h"
#define NODES_OF_TEST 12
#include "nodes.h"
#include "sanitized.h"

/* -------------------------------------------------------------------------------------------------- the tree alone ---- */

enum { TREE_MOST = 90, SENT_MOST = 4 * TREE_MOST, LINK_MOST = 64 };

/* A message in flight. Those of one link arrive in order. */
typedef struct flight {
    uint32_t from, to;
    bool up;
    hw_bytes bytes;
} flight;

typedef struct world {
    uint32_t nodes;
    uint64_t draws; /* the state of the draws */
    hw_gathering trees[TREE_MOST];
    hw_bytes in[TREE_MOST][TREE_MOST];
    bool entered[TREE_MOST], sent_down[TREE_MOST], dead[TREE_MOST], absent[TREE_MOST];
    flight flights[SENT_MOST];
    uint32_t in_flight, messages;
    bool hurries; /* nodes send a part of their branch up, */
    bool late;    /* and all do, because nothing else happens */
} world;

static uint32_t draw(world *w, uint32_t below)
{
    w->draws = w->draws * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((w->draws >> 33) % below);
}

/* The length of a node's block; every seventh is too large for the tree. */
static size_t length_of(uint32_t node)
{
    return node % 7 == 3 ? HW_GATHERING_MOST + 1 : (size_t)node * node % 300;
}

static void fill(uint32_t node, unsigned char *bytes)
{
    for (size_t i = 0; i < length_of(node); i++)
        bytes[i] = (unsigned char)(node * 31 + i * 7);
}

static void put(world *w, uint32_t from, uint32_t to, bool up, hw_bytes bytes)
{
    assert_true(w->in_flight < SENT_MOST);
    w->flights[w->in_flight++] = (flight){from, to, up, bytes};
    w->messages++;
}

static hw_bytes copy_of(hw_bytes bytes)
{
    hw_bytes copy = {malloc(bytes.length + 1), bytes.length};
    assert_non_null(copy.data);
    memcpy(copy.data, bytes.data, bytes.length);
    return copy;
}

/* Does what a node has to do now, as allgather.c does. */
static void act(world *w, uint32_t node)
{
    hw_gathering *tree = &w->trees[node];
    hw_bytes bytes;
    if (node > 0 && tree->unsent > 0 && !tree->complete &&
        (tree->lacking == 0 || w->late || (w->hurries && draw(w, 3) == 0))) {
        assert_int_equal(hw_gathering_make_up(tree, &bytes, NULL), HAWSER_OK);
        put(w, node, hw_gathering_parent(node), true, bytes);
    }
    if (!tree->complete || w->sent_down[node])
        return;
    uint32_t first, end;
    hw_gathering_children(node, w->nodes, &first, &end);
    w->sent_down[node] = true;
    assert_int_equal(hw_gathering_make_down(tree, &bytes, NULL), HAWSER_OK);
    for (uint32_t child = first; child < end; child++)
        put(w, node, child, false, copy_of(bytes));
    free(bytes.data);
}

static void come(world *w, uint32_t node)
{
    unsigned char *bytes = malloc(HW_GATHERING_MOST + 1);
    assert_non_null(bytes);
    fill(node, bytes);
    assert_int_equal(
        hw_gathering_begin(&w->trees[node], node, w->nodes, (hw_bytes){bytes, length_of(node)}, w->in[node], NULL),
        HAWSER_OK);
    free(bytes);
    w->entered[node] = true;
    act(w, node);
}

/* Delivers the first message of the link of flight i, if its node is in the call. Messages to nodes outside wait. */
static bool deliver(world *w, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (w->flights[k].from == w->flights[i].from && w->flights[k].to == w->flights[i].to) {
            i = k;
            break;
        }
    const flight f = w->flights[i];
    if (!w->entered[f.to] && !w->dead[f.to])
        return false;
    memmove(&w->flights[i], &w->flights[i + 1], (w->in_flight - i - 1) * sizeof f);
    w->in_flight--;
    if (!w->dead[f.to]) {
        hawser_error error;
        hawser_status status = f.up ? hw_gathering_take_up(&w->trees[f.to], f.from, f.bytes, &error)
                                    : hw_gathering_take_down(&w->trees[f.to], f.bytes, &error);
        if (status != HAWSER_OK)
            fail_msg("node %u: %s", f.to, error.text);
        act(w, f.to);
    }
    free(f.bytes.data);
    return true;
}

/* Takes one drawn step. Returns false if no step is left. */
static bool step(world *w)
{
    const uint32_t choices = w->nodes + w->in_flight, from = draw(w, choices);
    for (uint32_t k = 0; k < choices; k++) {
        const uint32_t choice = (from + k) % choices;
        if (choice >= w->nodes) {
            if (deliver(w, choice - w->nodes))
                return true;
        } else if (!w->entered[choice] && !w->dead[choice] && !w->absent[choice]) {
            come(w, choice);
            return true;
        }
    }
    bool acted = false;
    w->late = true;
    for (uint32_t node = 0; node < w->nodes; node++) {
        const uint32_t before = w->messages;
        if (w->entered[node] && !w->dead[node])
            act(w, node);
        acted |= w->messages != before;
    }
    return acted;
}

/* A dead node sends nothing more; what it has sent arrives, or not. */
static void kill_node(world *w, uint32_t node)
{
    w->dead[node] = true;
    for (uint32_t i = w->in_flight; i-- > 0;)
        if (w->flights[i].from == node && draw(w, 2) == 0) {
            bool last = true; /* of a link the end is lost, and not the middle */
            for (uint32_t k = i + 1; k < w->in_flight; k++)
                last = last && (w->flights[k].from != node || w->flights[k].to != w->flights[i].to);
            if (!last)
                continue;
            free(w->flights[i].bytes.data);
            memmove(&w->flights[i], &w->flights[i + 1], (w->in_flight - i - 1) * sizeof *w->flights);
            w->in_flight--;
        }
}

static void check_blocks(const world *w, uint32_t node)
{
    unsigned char wanted[HW_GATHERING_MOST + 1];
    for (uint32_t i = 0; i < w->nodes; i++) {
        const hw_bytes *got = &w->in[node][i];
        const bool apart = length_of(i) > HW_GATHERING_MOST;
        fill(i, wanted);
        assert_int_equal(w->trees[node].known[i], apart ? HW_GATHERING_APART : HW_GATHERING_KNOWN);
        if (apart && i != node)
            assert_null(got->data);
        else {
            assert_int_equal(got->length, length_of(i));
            assert_memory_equal(got->data, wanted, got->length);
        }
    }
}

static void end_world(world *w)
{
    for (uint32_t i = 0; i < w->in_flight; i++)
        free(w->flights[i].bytes.data);
    for (uint32_t node = 0; node < w->nodes; node++) {
        if (w->entered[node])
            hw_gathering_free(&w->trees[node]);
        for (uint32_t i = 0; i < w->nodes; i++)
            free(w->in[node][i].data);
    }
    free(w);
}

static world *begin_world(uint32_t nodes, uint64_t seed, bool hurries)
{
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->nodes = nodes;
    w->draws = seed * 2654435769u + 17;
    w->hurries = hurries;
    return w;
}

/* In any order of steps every node gets all blocks, with N - 1 messages each way if no node sends a part. */
static void every_node_gets_all_blocks(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < tried_of(300); seed++) {
        world *w = begin_world(1 + (uint32_t)(seed * 37 % TREE_MOST), seed, seed % 2 == 1);
        while (step(w))
            ;
        for (uint32_t node = 0; node < w->nodes; node++) {
            assert_true(w->trees[node].complete && w->sent_down[node]);
            assert_int_equal(hw_gathering_missing(&w->trees[node]), UINT32_MAX);
            check_blocks(w, node);
        }
        assert_int_equal(w->in_flight, 0);
        assert_true(w->hurries ? w->messages >= 2 * (w->nodes - 1) : w->messages == 2 * (w->nodes - 1));
        end_world(w);
    }
}

static bool is_below(uint32_t node, uint32_t top)
{
    while (node > top)
        node = hw_gathering_parent(node);
    return node == top;
}

/* A node dies at each step of a world. A node that completes has all blocks. One that does not waits for the dead one or a
 * node below it, or is below it, or node 0 waits so: no node waits for one that could go on. */
static void a_loss_at_every_step_leaves_no_node_waiting_for_another(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < tried_of(400); seed++) {
        const uint32_t nodes = 2 + (uint32_t)(seed % 24), victim = (uint32_t)(seed * 7 % nodes);
        world *w = begin_world(nodes, seed, seed % 3 == 0);
        uint32_t steps = (uint32_t)(seed * 13 % (3 * nodes));
        while (steps-- > 0 && step(w))
            ;
        kill_node(w, victim);
        while (step(w))
            ;
        for (uint32_t node = 0; node < nodes; node++) {
            if (node == victim)
                continue;
            if (w->trees[node].complete) {
                check_blocks(w, node);
                continue;
            }
            const uint32_t at_root = victim == 0 ? 0 : hw_gathering_missing(&w->trees[0]);
            const uint32_t here = hw_gathering_missing(&w->trees[node]);
            assert_true(is_below(node, victim) || (at_root != UINT32_MAX && is_below(at_root, victim)));
            assert_true(here == UINT32_MAX || is_below(here, victim));
        }
        end_world(w);
    }
}

/* Of the nodes that do not come, node 0 names one that has none above it. */
static void node_0_names_a_node_that_has_not_come(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < tried_of(200); seed++) {
        const uint32_t nodes = 10 + (uint32_t)(seed * 3 % 80);
        world *w = begin_world(nodes, seed, true);
        uint32_t lowest = nodes;
        for (uint32_t k = 0; k < 1 + seed % 3; k++) {
            const uint32_t node = 1 + draw(w, nodes - 1);
            w->absent[node] = true;
            lowest = node < lowest ? node : lowest;
        }
        while (step(w))
            ;
        assert_int_equal(hw_gathering_missing(&w->trees[0]), lowest);
        for (uint32_t node = 0; node < nodes; node++)
            assert_true(w->absent[node] || !w->trees[node].complete);
        end_world(w);
    }
}

static void messages_that_no_node_sends_are_refused(void **state)
{
    (void)state;
    world *w = begin_world(30, 5, false);
    hw_bytes bytes, up, down;
    for (uint32_t node = 0; node < 30; node++)
        come(w, node);
    while (step(w))
        ;
    assert_int_equal(hw_gathering_make_down(&w->trees[0], &down, NULL), HAWSER_OK);
    hw_gathering late, again;
    hw_bytes in[30] = {{0}}, others[30] = {{0}};
    assert_int_equal(hw_gathering_begin(&late, 1, 30, (hw_bytes){0}, in, NULL), HAWSER_OK);
    assert_int_equal(hw_gathering_begin(&again, 9, 30, (hw_bytes){0}, others, NULL), HAWSER_OK);
    assert_int_equal(hw_gathering_make_up(&again, &up, NULL), HAWSER_OK);
    assert_int_equal(hw_gathering_take_down(&late, down, NULL), HAWSER_INTERNAL); /* its branch is not here */
    assert_int_equal(hw_gathering_take_up(&late, 10, up, NULL), HAWSER_INTERNAL); /* 9 is not below 10 */
    assert_int_equal(hw_gathering_take_up(&late, 9, up, NULL), HAWSER_OK);
    assert_int_equal(hw_gathering_take_up(&late, 9, up, NULL), HAWSER_INTERNAL); /* a second time */
    for (uint64_t seed = 0; seed < tried_of(2000); seed++) {
        w->draws = seed;
        bytes = copy_of(seed % 2 == 0 ? up : down);
        for (uint32_t k = 0; k < 1 + seed % 3; k++)
            ((unsigned char *)bytes.data)[draw(w, (uint32_t)bytes.length)] = (unsigned char)draw(w, 256);
        bytes.length -= draw(w, 3) == 0 ? draw(w, (uint32_t)bytes.length) : 0;
        hw_gathering tree;
        hw_bytes got[30] = {{0}};
        assert_int_equal(hw_gathering_begin(&tree, seed % 2 == 0 ? 1 : 29, 30, (hw_bytes){0}, got, NULL), HAWSER_OK);
        if (seed % 2 == 0)
            (void)!hw_gathering_take_up(&tree, 9, bytes, NULL);
        else
            (void)!hw_gathering_take_down(&tree, bytes, NULL);
        hw_gathering_free(&tree);
        for (uint32_t i = 0; i < 30; i++)
            free(got[i].data);
        free(bytes.data);
    }
    hw_gathering_free(&late);
    hw_gathering_free(&again);
    for (uint32_t i = 0; i < 30; i++) {
        free(in[i].data);
        free(others[i].data);
    }
    free(up.data);
    free(down.data);
    end_world(w);
}

/* ------------------------------------------------------------------------------------------------ on twelve nodes ---- */

enum { NODES = NODES_OF_TEST };

typedef struct scene {
    uint32_t who; /* the node that does something else */
    pthread_barrier_t ready, done;
} scene;

#define PAIRS(...) ((const char *const[]){"workers", "12", __VA_ARGS__, NULL})

static void begin_scene(scene *s, uint32_t who)
{
    s->who = who;
    assert_int_equal(pthread_barrier_init(&s->ready, NULL, NODES), 0);
    assert_int_equal(pthread_barrier_init(&s->done, NULL, NODES), 0);
}

static void end_scene(scene *s)
{
    pthread_barrier_destroy(&s->ready);
    pthread_barrier_destroy(&s->done);
}

static size_t size_of(uint32_t node, uint32_t round)
{
    return round % 3 == 2 && node % 5 == 1 ? 3000 + node : (node + round) % 40;
}

/* Many calls one after another, with blocks of any size, and in between with blocks for each node. */
static void trade_much(test_node *node)
{
    hw_cluster *cluster = node->job->cluster;
    for (uint32_t round = 0; round < 40 && node->status == HAWSER_OK; round++) {
        unsigned char own[4000];
        hw_bytes in[NODES] = {{0}}, out[NODES];
        memset(own, (int)(node->node + round), sizeof own);
        for (uint32_t i = 0; i < NODES; i++)
            out[i] = (hw_bytes){own, size_of(i, round)};
        const bool each = round % 7 == 3;
        node->status = each ? hw_cluster_alltoall(cluster, out, in, &node->error)
                            : hw_cluster_allgather(cluster, (hw_bytes){own, size_of(node->node, round)}, in, &node->error);
        for (uint32_t i = 0; i < NODES && node->status == HAWSER_OK; i++) {
            const unsigned char *bytes = in[i].data;
            bool fine = in[i].length == size_of(each ? node->node : i, round);
            for (size_t k = 0; k < in[i].length; k++)
                fine = fine && bytes[k] == (unsigned char)(i + round);
            if (!fine)
                node->status =
                    hawser_fail(&node->error, HAWSER_INTERNAL, "round %u: the block of node %u is wrong", round, i);
        }
        for (uint32_t i = 0; i < NODES; i++)
            free(in[i].data);
    }
}

static void blocks_of_any_size_arrive_in_order(void **state)
{
    (void)state;
    test_node nodes[NODES];
    run_nodes(nodes, NODES, PAIRS("timeout", "60"), trade_much, NULL);
    check_all(nodes, NODES, "many calls");
}

/* A node below node 0 sends its branch up at once, or a block at a time, and what has come down to each of its children. No
 * node ends before all have counted, because node 0 forwards goodbyes. */
static void count_messages(test_node *node)
{
    enum { CALLS = 20 };
    hw_cluster *cluster = node->job->cluster;
    uint32_t first, end;
    hw_gathering_children(node->node, NODES, &first, &end);
    const uint64_t below = end - first, up = node->node != 0, before = messages_of(cluster);
    for (uint32_t call = 0; call < CALLS && node->status == HAWSER_OK; call++)
        node->status = hw_cluster_agree(cluster, HAWSER_OK, &node->error);
    const uint64_t counted = messages_of(cluster);
    pthread_barrier_wait(&((scene *)node->user)->done);
    const uint64_t sent = counted - before, least = CALLS * (below + up), most = CALLS * (below + up * (below + 1));
    if (node->status == HAWSER_OK && (sent < least || sent > most))
        node->status =
            hawser_fail(&node->error, HAWSER_INTERNAL, "%llu messages of node %u, not %llu to %llu",
                        (unsigned long long)sent, node->node, (unsigned long long)least, (unsigned long long)most);
}

static void a_call_takes_a_message_up_and_one_down(void **state)
{
    (void)state;
    test_node nodes[NODES];
    scene s;
    begin_scene(&s, 0);
    run_nodes(nodes, NODES, PAIRS("timeout", "60"), count_messages, &s);
    end_scene(&s);
    check_all(nodes, NODES, "counted calls");
}

/* Each node fails once, and once with one after it: all get the text of the first. */
static void fail_in_turn(test_node *node)
{
    for (uint32_t who = 0; who < NODES; who++) {
        hawser_error error = {0};
        hawser_status own = HAWSER_OK;
        char wanted[100];
        if (node->node == who || (who % 2 == 0 && node->node == who + 3))
            own = hawser_fail(&error, HAWSER_BAD_INPUT, "file %u is damaged", node->node);
        const hawser_status got = hw_cluster_agree(node->job->cluster, own, &error);
        if (node->node == who)
            (void)snprintf(wanted, sizeof wanted, "file %u is damaged", who);
        else
            (void)snprintf(wanted, sizeof wanted, "node %u (host-%u): file %u is damaged", who, who, who);
        if (got != HAWSER_BAD_INPUT || strcmp(error.text, wanted) != 0) {
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "'%s' instead of '%s'", error.text, wanted);
            return;
        }
    }
}

static void all_nodes_fail_as_the_first_one(void **state)
{
    (void)state;
    test_node nodes[NODES];
    run_nodes(nodes, NODES, PAIRS("timeout", "60"), fail_in_turn, NULL);
    check_all(nodes, NODES, "failures in turn");
}

/* The node fails, and closes its job at once: the others, however far they are, must have its status and text. */
static void fail_and_leave(test_node *node)
{
    const scene *s = node->user;
    hawser_error error = {0};
    hawser_status own = HAWSER_OK;
    if (node->node == s->who)
        own = hawser_fail(&error, HAWSER_BAD_INPUT, "file %u is damaged", node->node);
    node->status = hw_cluster_agree(node->job->cluster, own, &error);
    node->error = error;
    hw_cluster_set_reason(node->job->cluster, error.text);
}

static void nodes_that_end_at_once_take_no_answer_from_the_others(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < tried_of(24); k++) {
        test_node nodes[NODES];
        scene s;
        begin_scene(&s, k % NODES);
        run_nodes(nodes, NODES, PAIRS("timeout", "60"), fail_and_leave, &s);
        for (uint32_t i = 0; i < NODES; i++)
            if (nodes[i].status != HAWSER_BAD_INPUT || strstr(nodes[i].error.text, "is damaged") == NULL)
                fail_msg("node %u, when node %u fails: %s: %s", i, s.who, hawser_status_name(nodes[i].status),
                         nodes[i].error.text);
        end_scene(&s);
    }
}

/* One node leaves in place of the call. */
static void leave_instead(test_node *node)
{
    scene *s = node->user;
    if (node->node == s->who)
        hw_cluster_set_reason(node->job->cluster, "its disk has gone");
    else
        node->status = hw_cluster_agree(node->job->cluster, HAWSER_OK, &node->error);
}

static void a_node_that_leaves_is_named_with_its_reason(void **state)
{
    (void)state;
    const uint32_t leavers[] = {0, 1, 4, 9, 11};
    for (size_t k = 0; k < sizeof leavers / sizeof *leavers; k++) {
        test_node nodes[NODES];
        scene s;
        char wanted[60];
        begin_scene(&s, leavers[k]);
        (void)snprintf(wanted, sizeof wanted, "node %u (host-%u) has left the job: its disk has gone", s.who, s.who);
        run_nodes(nodes, NODES, PAIRS("timeout", "60"), leave_instead, &s);
        for (uint32_t i = 0; i < NODES; i++)
            if (i != s.who && (nodes[i].status != HAWSER_PEER_LOST || strstr(nodes[i].error.text, wanted) == NULL))
                fail_msg("node %u: '%s' instead of '%s'", i, nodes[i].error.text, wanted);
        end_scene(&s);
    }
}

/* One node makes another call: with a name of its own, or one that sends to each node alone. */
static void call_another(test_node *node)
{
    scene *s = node->user;
    hw_cluster *cluster = node->job->cluster;
    hw_bytes out[NODES] = {{0}}, in[NODES] = {{0}};
    if (node->node != s->who % NODES)
        node->status = hw_cluster_agree_call(cluster, "the barrier of 'a'", HAWSER_OK, &node->error);
    else if (s->who < NODES)
        node->status = hw_cluster_agree_call(cluster, "the barrier of 'b'", HAWSER_OK, &node->error);
    else
        node->status = hw_cluster_alltoall(cluster, out, in, &node->error);
    for (uint32_t i = 0; i < NODES; i++)
        free(in[i].data);
    hw_cluster_set_reason(cluster, node->error.text);
}

static void different_calls_at_once_are_noticed(void **state)
{
    (void)state;
    const uint32_t callers[] = {0, 1, 10, NODES, NODES + 1, NODES + 10};
    for (size_t k = 0; k < sizeof callers / sizeof *callers; k++) {
        test_node nodes[NODES];
        scene s;
        begin_scene(&s, callers[k]);
        run_nodes(nodes, NODES, PAIRS("timeout", "60"), call_another, &s);
        for (uint32_t i = 0; i < NODES; i++) {
            const bool named = s.who < NODES;
            const bool fine = nodes[i].status == HAWSER_BAD_ARGUMENT || (!named && nodes[i].status != HAWSER_OK);
            if (!fine || (named && (strstr(nodes[i].error.text, "the barrier of 'a'") == NULL ||
                                    strstr(nodes[i].error.text, "the barrier of 'b'") == NULL)))
                fail_msg("node %u: %s: %s", i, hawser_status_name(nodes[i].status), nodes[i].error.text);
        }
        end_scene(&s);
    }
}

/* One node agrees, and the others gather. No node may take a block of one call for one of the other. */
static void gather_or_agree(test_node *node)
{
    const scene *s = node->user;
    hw_cluster *cluster = node->job->cluster;
    hw_bytes in[NODES] = {{0}};
    if (node->node == s->who)
        node->status = hw_cluster_agree(cluster, HAWSER_OK, &node->error);
    else
        node->status = hw_cluster_allgather(cluster, (hw_bytes){(char[]){"some bytes"}, 10}, in, &node->error);
    for (uint32_t i = 0; i < NODES; i++)
        free(in[i].data);
}

static void a_block_of_another_call_is_refused(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 6; k++) {
        test_node nodes[NODES];
        scene s = {.who = k % 3};
        const uint32_t count = k < 3 ? 3 : NODES;
        uint32_t told = 0;
        run_nodes(nodes, count, PAIRS("timeout", "60"), gather_or_agree, &s);
        for (uint32_t i = 0; i < count; i++) {
            told += strstr(nodes[i].error.text, "makes another collective call than node") != NULL;
            if (nodes[i].status != HAWSER_BAD_ARGUMENT && nodes[i].status != HAWSER_PEER_LOST)
                fail_msg("node %u of %u, when node %u agrees: %s", i, count, s.who, hawser_status_name(nodes[i].status));
        }
        assert_true(told > 0);
    }
}

/* Node 0 times out in a call that the others complete later, and makes another one: that call fails, and none of its blocks
 * reaches a node in a call that node 0 has not made. */
static void call_after_a_timeout(test_node *node)
{
    scene *s = node->user;
    hw_cluster *cluster = node->job->cluster;
    hw_bytes in[NODES] = {{0}};
    hawser_error error = {0};
    if (node->node == 1)
        pthread_barrier_wait(&s->ready);
    hawser_status first = hw_cluster_allgather(cluster, (hw_bytes){0}, in, &error);
    for (uint32_t i = 0; i < NODES; i++)
        free(in[i].data);
    if (node->node == 0)
        pthread_barrier_wait(&s->ready);
    memset(in, 0, sizeof in);
    hawser_status second = hw_cluster_allgather(cluster, (hw_bytes){0}, in, &node->error);
    for (uint32_t i = 0; i < NODES; i++)
        free(in[i].data);
    pthread_barrier_wait(&s->done); /* node 1 would not complete a call that node 0 has left */
    const bool fine =
        node->node == 0 ? first == HAWSER_TIMEOUT && second == HAWSER_TIMEOUT : first == HAWSER_OK && second != HAWSER_OK;
    if (!fine)
        node->status =
            hawser_fail(&node->error, HAWSER_INTERNAL, "%s, then %s", hawser_status_name(first), hawser_status_name(second));
}

static void a_node_that_has_failed_in_a_call_makes_no_other(void **state)
{
    (void)state;
    test_node nodes[NODES];
    scene s = {0};
    assert_int_equal(pthread_barrier_init(&s.ready, NULL, 2), 0);
    assert_int_equal(pthread_barrier_init(&s.done, NULL, 2), 0);
    run_nodes(nodes, 2, PAIRS("timeout", "0.5"), call_after_a_timeout, &s);
    end_scene(&s);
    check_all(nodes, 2, "a call after a timeout");
}

static bool has_block(hw_cluster *cluster, uint32_t node)
{
    pthread_mutex_lock(&cluster->mutex);
    const bool has = hw_cluster_block_is_whole(cluster, node);
    pthread_mutex_unlock(&cluster->mutex);
    return has;
}

/* Node 0 notes a loss when the block of node 1 is here: it could complete the call, and makes it no more. */
static void call_after_a_loss(test_node *node)
{
    hw_cluster *cluster = node->job->cluster;
    while (node->node == 0 && !has_block(cluster, 1))
        sched_yield();
    if (node->node == 0)
        hw_cluster_note_loss(cluster, &(hw_loss){.node = 1, .name = "host-1", .why = "it was cut off"});
    const hawser_status status = hw_cluster_agree(cluster, HAWSER_OK, &node->error);
    if (status != HAWSER_PEER_LOST || (node->node == 0 && strstr(node->error.text, "it was cut off") == NULL))
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "the call ended with %s", hawser_status_name(status));
}

static void a_node_that_knows_of_a_loss_makes_no_call(void **state)
{
    (void)state;
    test_node nodes[NODES];
    run_nodes(nodes, 2, PAIRS("timeout", "60"), call_after_a_loss, NULL);
    check_all(nodes, 2, "a call after a loss");
}

/* One node lives and does not make the call: all others time out, and name it. */
static void stay_away(test_node *node)
{
    scene *s = node->user;
    pthread_barrier_wait(&s->ready);
    if (node->node != s->who)
        node->status = hw_cluster_agree(node->job->cluster, HAWSER_OK, &node->error);
    pthread_barrier_wait(&s->done);
}

static void a_node_that_stays_away_is_named_by_all(void **state)
{
    (void)state;
    test_node nodes[NODES];
    scene s;
    begin_scene(&s, 9);
    run_nodes(nodes, NODES, PAIRS("timeout", "2"), stay_away, &s);
    for (uint32_t i = 0; i < NODES; i++)
        if (i != s.who && (nodes[i].status != HAWSER_TIMEOUT || strstr(nodes[i].error.text, "for node 9 (host-9)") == NULL))
            fail_msg("node %u: %s: %s", i, hawser_status_name(nodes[i].status), nodes[i].error.text);
    end_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_gets_all_blocks),
        cmocka_unit_test(a_loss_at_every_step_leaves_no_node_waiting_for_another),
        cmocka_unit_test(node_0_names_a_node_that_has_not_come),
        cmocka_unit_test(messages_that_no_node_sends_are_refused),
        cmocka_unit_test(blocks_of_any_size_arrive_in_order),
        cmocka_unit_test(a_call_takes_a_message_up_and_one_down),
        cmocka_unit_test(all_nodes_fail_as_the_first_one),
        cmocka_unit_test(nodes_that_end_at_once_take_no_answer_from_the_others),
        cmocka_unit_test(a_node_that_leaves_is_named_with_its_reason),
        cmocka_unit_test(different_calls_at_once_are_noticed),
        cmocka_unit_test(a_block_of_another_call_is_refused),
        cmocka_unit_test(a_node_that_has_failed_in_a_call_makes_no_other),
        cmocka_unit_test(a_node_that_knows_of_a_loss_makes_no_call),
        cmocka_unit_test(a_node_that_stays_away_is_named_by_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
