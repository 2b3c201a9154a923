/* nodes.h - several nodes of one job as threads of the test: each has its own place, net and job. */
#ifndef HW_TESTS_UNIT_NODES_H
#define HW_TESTS_UNIT_NODES_H

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "job.h"

#ifndef NODES_OF_TEST
#define NODES_OF_TEST 8
#endif
enum { NODES_MOST = NODES_OF_TEST };

/* Stands in for a launcher: passes the manager's address on. */
typedef struct test_launcher {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    char address[HW_NET_ADDRESS];
} test_launcher;

static hawser_status launcher_publish(hw_place *place, const char *address, hawser_error *error)
{
    test_launcher *launcher = place->state;
    (void)error;
    pthread_mutex_lock(&launcher->mutex);
    snprintf(launcher->address, sizeof launcher->address, "%s", address);
    pthread_cond_broadcast(&launcher->changed);
    pthread_mutex_unlock(&launcher->mutex);
    return HAWSER_OK;
}

static hawser_status launcher_fetch(hw_place *place, double seconds, char address[HW_NET_ADDRESS], hawser_error *error)
{
    test_launcher *launcher = place->state;
    (void)error, (void)seconds;
    pthread_mutex_lock(&launcher->mutex);
    while (launcher->address[0] == '\0')
        pthread_cond_wait(&launcher->changed, &launcher->mutex);
    memcpy(address, launcher->address, HW_NET_ADDRESS);
    pthread_mutex_unlock(&launcher->mutex);
    return HAWSER_OK;
}

static void launcher_close(hw_place *place)
{
    (void)place;
}

/* Returns the place of a node, as a launcher would give it. */
static hw_place test_place(uint32_t node, uint32_t nodes, test_launcher *launcher)
{
    static const hw_place_ops ops = {"test", launcher_publish, launcher_fetch, NULL, NULL, launcher_close};
    hw_place place = {.ops = &ops,
                      .node = node,
                      .nodes = nodes,
                      .key = "0123456789abcdef",
                      .key_length = 16,
                      .local = true,
                      .lifeline = -1,
                      .channel = {-1, -1},
                      .state = launcher};
    snprintf(place.job, sizeof place.job, "test");
    snprintf(place.name, sizeof place.name, "host-%u", node);
    return place;
}

/* One node: what it is to do, and what came out. */
typedef struct test_node {
    uint32_t node, nodes; /* HW_NET_ANY, 0: it receives them, as if started by hand */
    test_launcher *launcher;
    const char *const *pairs; /* options */
    hawser_options *options;
    hawser_job *job;
    hawser_status status;
    hawser_error error;
    void (*body)(struct test_node *node); /* called with the job open; sets status and error */
    void *user;
} test_node;

static void *node_main(void *argument)
{
    test_node *node = argument;
    hw_place place = test_place(node->node, node->nodes, node->launcher);
    node->status = hw_job_open_at(node->options, &place, &node->job, &node->error);
    if (node->status == HAWSER_OK)
        node->body(node);
    hawser_close(node->job);
    return NULL;
}

/* Sets an option of a node. A key like "1:memory-limit" is for node 1 alone. */
static inline hawser_status set_pair(test_node *node, uint32_t number, const char *const *pair, hawser_error *error)
{
    const char *key = pair[0];
    bool single = key[0] >= '0' && key[0] <= '9';
    if (single && (uint32_t)(key[0] - '0') != number)
        return HAWSER_OK;
    return hawser_options_set(node->options, single ? key + 2 : key, pair[1], HAWSER_FROM_PROGRAM, "test", error);
}

/* Runs `body` on every node of `count`, each with the options `pairs` over `tables`; all of `nodes` are filled when it
 * returns. by_hand: all but node 0 receive their number and the number of nodes from node 0, as if they were started by
 * hand. */
static inline void run_nodes_with(const hawser_option *const *tables, test_node *nodes, uint32_t count, bool by_hand,
                                  const char *const *pairs, void (*body)(test_node *node), void *user)
{
    test_launcher launcher = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    pthread_t threads[NODES_MOST];
    for (uint32_t i = 0; i < count; i++) {
        bool knows = !by_hand || i == 0;
        nodes[i] = (test_node){.node = knows ? i : HW_NET_ANY,
                               .nodes = knows ? count : 0,
                               .launcher = &launcher,
                               .pairs = pairs,
                               .body = body,
                               .user = user};
        hawser_error error = {0};
        hawser_status status = hawser_options_new(tables, &nodes[i].options, &error);
        for (const char *const *pair = pairs; status == HAWSER_OK && *pair != NULL; pair += 2)
            status = set_pair(&nodes[i], i, pair, &error);
        if (status != HAWSER_OK)
            fail_msg("%s", error.text);
    }
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, node_main, &nodes[i]), 0);
    for (uint32_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < count; i++)
        hawser_options_free(nodes[i].options);
}

static inline void run_nodes_launched(test_node *nodes, uint32_t count, bool by_hand, const char *const *pairs,
                                      void (*body)(test_node *node), void *user)
{
    const hawser_option *const tables[] = {hawser_job_rows(), hw_machine_rows(), NULL};
    run_nodes_with(tables, nodes, count, by_hand, pairs, body, user);
}

static inline void run_nodes(test_node *nodes, uint32_t count, const char *const *pairs, void (*body)(test_node *node),
                             void *user)
{
    run_nodes_launched(nodes, count, false, pairs, body, user);
}

static inline void check_all(const test_node *nodes, uint32_t count, const char *what)
{
    for (uint32_t i = 0; i < count; i++)
        if (nodes[i].status != HAWSER_OK)
            fail_msg("%s: node %u of %u: %s", what, i, count, nodes[i].error.text);
}

/* Returns how many messages this node has sent, when none waits to be sent any more. */
static inline uint64_t messages_of(hw_cluster *cluster)
{
    hw_net *net = hw_cluster_net(cluster);
    uint64_t sent = 0;
    while (hw_net_pending(net) > 0)
        sched_yield();
    for (uint32_t node = 0; node < hw_cluster_nodes(cluster); node++) {
        hw_net_path path;
        sent += hw_net_path_of(net, node, &path) ? path.messages_sent : 0;
    }
    return sent;
}

#endif
