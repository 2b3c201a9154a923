/*
 * cluster_reports.c - losses and goodbyes reach nodes without a link to the node that they are of: over node 0, once, and
 * only if they are of its present process.
 *
 * Twelve nodes. As long as `sparse` is set, nodes other than node 0 answer that they have no links with each other, except
 * for the victim and its friend.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/internal.h"
#define NODES_OF_TEST 12
#include "nodes.h"

enum { NODES = NODES_OF_TEST, VICTIM = 7, WITNESS = 5, FRIEND = 9 };

static atomic_bool sparse;
static atomic_uint reports[NODES], goodbyes[NODES]; /* HW_JOIN_LOST and HW_JOIN_LEAVE that each node has sent */

static bool is_hidden(uint32_t self, uint32_t node)
{
    const bool friends = self + node == VICTIM + FRIEND && (self == VICTIM || self == FRIEND);
    return atomic_load(&sparse) && node != 0 && self != 0 && !friends;
}

bool __real_hw_net_linked(const hw_net *net, uint32_t node);
bool __wrap_hw_net_linked(const hw_net *net, uint32_t node);
bool __wrap_hw_net_linked(const hw_net *net, uint32_t node)
{
    return !is_hidden(hw_net_number(net), node) && __real_hw_net_linked(net, node);
}

hawser_status __real_hw_net_send(hw_net *net, uint32_t node, hw_message *message, hawser_error *error);
hawser_status __wrap_hw_net_send(hw_net *net, uint32_t node, hw_message *message, hawser_error *error);
hawser_status __wrap_hw_net_send(hw_net *net, uint32_t node, hw_message *message, hawser_error *error)
{
    if (message->envelope.kind == HW_MESSAGE_JOIN && message->envelope.part == HW_JOIN_LOST)
        atomic_fetch_add(&reports[hw_net_number(net)], 1);
    if (message->envelope.kind == HW_MESSAGE_JOIN && message->envelope.part == HW_JOIN_LEAVE)
        atomic_fetch_add(&goodbyes[hw_net_number(net)], 1);
    return __real_hw_net_send(net, node, message, error);
}

/* What the nodes do. */
typedef struct scene {
    uint32_t witness;
    bool linked; /* all have links to the victim */
    pthread_barrier_t met;
    char texts[NODES][1024];
    unsigned sent[NODES]; /* reports, before the nodes leave */
} scene;

static void begin(scene *s)
{
    assert_int_equal(pthread_barrier_init(&s->met, NULL, NODES), 0);
    for (uint32_t i = 0; i < NODES; i++)
        atomic_store(&reports[i], 0), atomic_store(&goodbyes[i], 0);
}

static void end(scene *s)
{
    atomic_store(&sparse, false);
    pthread_barrier_destroy(&s->met);
}

static void send_join(test_node *node, uint32_t to, uint32_t part, const void *payload, size_t length)
{
    hw_message *message = NULL;
    hawser_error error = {0};
    hw_cluster *cluster = node->job->cluster;
    if (hw_cluster_make_word(cluster, (hw_join_word)part, payload, length, &message, &error) != HAWSER_OK ||
        hw_net_send(hw_cluster_net(cluster), to, message, &error) != HAWSER_OK)
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "node %u cannot send: %s", node->node, error.text);
}

/* Makes the links of all nodes, and then waits for the others. */
static void link_all(test_node *node)
{
    scene *s = node->user;
    hw_bytes out[NODES] = {{0}}, in[NODES] = {{0}};
    hawser_status status = hw_cluster_alltoall(node->job->cluster, out, in, &node->error);
    node->status = node->status == HAWSER_OK ? status : node->status;
    for (uint32_t i = 0; i < NODES; i++)
        free(in[i].data);
    pthread_barrier_wait(&s->met);
}

/* Waits for a loss, and stores its text. */
static void await_loss(test_node *node, char *text, size_t size)
{
    hw_cluster *cluster = node->job->cluster;
    hw_member_event event;
    const double until = hw_seconds() + 60;
    while (!hw_members_loss(hw_cluster_members(cluster), 0, &event) && hw_seconds() < until)
        sched_yield();
    text[0] = '\0';
    if (hw_members_loss(hw_cluster_members(cluster), 0, &event))
        hw_loss_text(&event.loss, text, size);
}

/* The victim sends the witness what no node sends, which ends its part in the job there and nowhere else. */
static void lose_one(test_node *node)
{
    scene *s = node->user;
    link_all(node);
    if (node->node == 0)
        atomic_store(&sparse, !s->linked);
    pthread_barrier_wait(&s->met);
    if (node->node == VICTIM)
        send_join(node, s->witness, 99, NULL, 0);
    else if (node->node == 0 || node->node == s->witness || (!s->linked && node->node != FRIEND))
        await_loss(node, s->texts[node->node], sizeof s->texts[0]);
    pthread_barrier_wait(&s->met);
    if (node->node == 0)
        for (uint32_t i = 0; i < NODES; i++)
            s->sent[i] = atomic_load(&reports[i]);
    atomic_store(&sparse, false); /* all receive the goodbyes */
    pthread_barrier_wait(&s->met);
}

static void run(scene *s, void (*body)(test_node *node))
{
    test_node nodes[NODES];
    begin(s);
    run_nodes(nodes, NODES, (const char *const[]){"workers", "12", "timeout", "60", NULL}, body, s);
    check_all(nodes, NODES, "reports");
    end(s);
}

static void check_texts(const scene *s)
{
    char by[40];
    snprintf(by, sizeof by, "(reported by node %u)", s->witness);
    for (uint32_t i = 0; i < NODES; i++) {
        if (i == VICTIM || i == FRIEND) /* this one's own link is up */
            continue;
        const bool own = i == s->witness;
        if (strncmp(s->texts[i], "node 7 (host-7) was lost: ", 26) != 0 || own != (strstr(s->texts[i], by) == NULL))
            fail_msg("node %u: %s", i, s->texts[i]);
    }
}

static void a_loss_reaches_all_nodes_over_node_0(void **state)
{
    (void)state;
    scene s = {.witness = WITNESS};
    run(&s, lose_one);
    check_texts(&s);
    assert_int_equal(s.sent[0], NODES - 3); /* neither itself, nor the lost node, nor who has noticed it */
    for (uint32_t i = 1; i < NODES; i++)
        assert_int_equal(s.sent[i], i == WITNESS);
}

static void a_loss_that_node_0_notices_reaches_all(void **state)
{
    (void)state;
    scene s = {.witness = 0};
    run(&s, lose_one);
    check_texts(&s);
    assert_int_equal(s.sent[0], NODES - 2);
    for (uint32_t i = 1; i < NODES; i++)
        assert_int_equal(s.sent[i], 0);
}

/* Payload of HW_JOIN_LOST. */
typedef struct forged {
    uint64_t incarnation;
    double silent;
    uint32_t node, by;
    char why[40];
} forged;

/* Reports that change nothing, each followed by a collective call of all nodes. */
static void receive_forged(test_node *node)
{
    scene *s = node->user;
    hw_cluster *cluster = node->job->cluster;
    const uint64_t present = hw_cluster_member(cluster, VICTIM)->incarnation;
    const forged old = {.incarnation = present + 1, .node = VICTIM, .why = "an old process"};
    const forged own = {.incarnation = hw_cluster_member(cluster, 2)->incarnation, .node = 2, .why = "this process"};
    const forged linked = {.incarnation = present, .node = VICTIM, .why = "its link is up"};
    const forged *const all[] = {&old, &own, &linked};
    link_all(node);
    for (int i = 0; i < 3 && node->status == HAWSER_OK; i++) {
        pthread_barrier_wait(&s->met);
        if (node->node == 0) {
            atomic_store(&sparse, all[i] != &linked);
            send_join(node, 2, HW_JOIN_LOST, all[i], sizeof **all);
        }
        pthread_barrier_wait(&s->met);
        hawser_status status = hw_cluster_agree(cluster, HAWSER_OK, &node->error);
        node->status = node->status == HAWSER_OK ? status : node->status;
        pthread_barrier_wait(&s->met);
        if (hw_cluster_lost_node(cluster) != HW_NET_ANY)
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "report %d was believed", i);
    }
}

static void a_report_of_another_process_or_of_a_linked_node_changes_nothing(void **state)
{
    (void)state;
    scene s = {0};
    run(&s, receive_forged);
}

/* A node other than node 0 passes a loss on, in the name of another: it is lost itself. */
static void receive_from_another(test_node *node)
{
    scene *s = node->user;
    hw_cluster *cluster = node->job->cluster;
    const forged report = {.incarnation = hw_cluster_member(cluster, 3)->incarnation, .node = 3, .by = 4, .why = "forged"};
    link_all(node); /* a node that still joins would fail, and not come to the barrier */
    if (node->node == VICTIM) {
        send_join(node, 0, HW_JOIN_LOST, &report, sizeof report);
        send_join(node, WITNESS, HW_JOIN_LOST, &report, sizeof report);
    }
    if (node->node == 0 || node->node == WITNESS) {
        await_loss(node, s->texts[node->node], sizeof s->texts[0]);
        if (hw_cluster_lost_node(cluster) != VICTIM)
            node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "%s", s->texts[node->node]);
    }
    pthread_barrier_wait(&s->met);
}

static void a_report_by_a_node_that_may_not_send_it_ends_that_node(void **state)
{
    (void)state;
    scene s = {0};
    run(&s, receive_from_another);
}

/* Node 0 forwards a goodbye to node 2. */
static void forward(test_node *node, uint32_t of, uint32_t number, const char *words)
{
    hw_message *message = NULL;
    hawser_error error = {0};
    if (hw_cluster_make_word(node->job->cluster, HW_JOIN_END, words, strlen(words), &message, &error) == HAWSER_OK) {
        message->envelope.state = number;
        message->envelope.range = of + 1;
        if (hw_net_send(hw_cluster_net(node->job->cluster), 2, message, &error) == HAWSER_OK)
            return;
    }
    node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "node 0 cannot send: %s", error.text);
}

/* Waits until the goodbye with this number has come from a node; returns whether it has. */
static bool await_goodbye(hw_cluster *cluster, uint32_t node, uint32_t number)
{
    bool came = false;
    for (const double until = hw_seconds() + 60; !came && hw_seconds() < until; sched_yield()) {
        pthread_mutex_lock(&cluster->mutex);
        came = cluster->joiners[node].goodbyes >= number;
        pthread_mutex_unlock(&cluster->mutex);
    }
    return came;
}

/* A node leaves; node 0 then forwards a goodbye that is older than one it has forwarded. */
static void leave_one(test_node *node)
{
    scene *s = node->user;
    hw_cluster *cluster = node->job->cluster;
    const hw_joiner *victim = &cluster->joiners[VICTIM];
    link_all(node);
    atomic_store(&sparse, true);
    pthread_barrier_wait(&s->met);
    if (node->node == VICTIM) {
        hw_cluster_set_reason(cluster, "it has had enough");
        hw_cluster_say_leave(cluster);
    } else if (!await_goodbye(cluster, VICTIM, 1) || !victim->left ||
               strcmp(hw_joiner_words(victim), "it has had enough") != 0) {
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "node %u has no goodbye", node->node);
    }
    pthread_barrier_wait(&s->met);
    if (node->node == 0) {
        for (uint32_t i = 0; i < NODES; i++)
            s->sent[i] = atomic_load(&goodbyes[i]);
        forward(node, VICTIM, 100, "newer");
        forward(node, VICTIM, 50, "older");
        forward(node, 3, 1, "the last of these messages");
    }
    if (node->node == 2 && (!await_goodbye(cluster, 3, 1) || strcmp(hw_joiner_words(victim), "newer") != 0))
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "its last words are '%s'", hw_joiner_words(victim));
    pthread_barrier_wait(&s->met);
    atomic_store(&sparse, false);
    pthread_barrier_wait(&s->met);
}

static void a_goodbye_reaches_all_nodes_over_node_0(void **state)
{
    (void)state;
    scene s = {0};
    run(&s, leave_one);
    assert_int_equal(s.sent[VICTIM], 2);    /* to its friend and to node 0 */
    assert_int_equal(s.sent[0], NODES - 3); /* not to the friend, where it would overtake what the victim has sent before */
}

/* The victim has left, and then its link breaks. */
static void lose_one_that_left(test_node *node)
{
    scene *s = node->user;
    hw_cluster *cluster = node->job->cluster;
    pthread_barrier_wait(&s->met);
    if (node->node == VICTIM)
        hw_cluster_say_leave(cluster);
    else if (!await_goodbye(cluster, VICTIM, 1))
        node->status = hawser_fail(&node->error, HAWSER_INTERNAL, "node %u has not left", VICTIM);
    pthread_barrier_wait(&s->met);
    if (node->node == WITNESS || node->node == 0)
        hw_cluster_lost(cluster, VICTIM, "its link broke", 0);
    pthread_barrier_wait(&s->met);
}

static void the_end_of_a_node_that_has_left_is_not_reported(void **state)
{
    (void)state;
    scene s = {0};
    run(&s, lose_one_that_left);
    for (uint32_t i = 0; i < NODES; i++)
        assert_int_equal(atomic_load(&reports[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loss_reaches_all_nodes_over_node_0),
        cmocka_unit_test(a_loss_that_node_0_notices_reaches_all),
        cmocka_unit_test(a_report_of_another_process_or_of_a_linked_node_changes_nothing),
        cmocka_unit_test(a_report_by_a_node_that_may_not_send_it_ends_that_node),
        cmocka_unit_test(a_goodbye_reaches_all_nodes_over_node_0),
        cmocka_unit_test(the_end_of_a_node_that_has_left_is_not_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
