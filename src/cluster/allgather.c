/* allgather.c - sends bytes of every node to all nodes, over the tree of gathering.h, and waits for those of the others. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cluster/gathering.h"
#include "cluster/internal.h"

/* So long a node waits for its branch before it sends what it has: node 0 then learns which node is missing. */
#define BRANCH_SECONDS 0.05

typedef struct gather_call {
    hw_cluster *cluster;
    const char *name;
    hw_gathering tree;
    double begun, last; /* when this node came, and when it has last received a block */
    double warns, pause;
    uint32_t awaited; /* on node 0: the node that all were sent; HW_NET_ANY: none yet */
} gather_call;

static hawser_status send_up(gather_call *call, hawser_error *error)
{
    hw_bytes message;
    HAWSER_TRY(hw_gathering_make_up(&call->tree, &message, error));
    hawser_status status =
        hw_cluster_send_block(call->cluster, hw_gathering_parent(call->tree.self), message, HW_DATA_UP, error);
    free(message.data);
    return status;
}

static hawser_status send_down(gather_call *call, hawser_error *error)
{
    hw_bytes message;
    uint32_t first, end;
    hw_gathering_children(call->tree.self, call->tree.nodes, &first, &end);
    if (first == end)
        return HAWSER_OK;
    HAWSER_TRY(hw_gathering_make_down(&call->tree, &message, error));
    hawser_status status = HAWSER_OK;
    for (uint32_t child = first; child < end && status == HAWSER_OK; child++)
        status = hw_cluster_send_block(call->cluster, child, message, HW_DATA_DOWN, error);
    free(message.data);
    return status;
}

/* Returns a node whose next block has arrived and is of this call, or HW_NET_ANY. Blocks of later calls wait: their nodes
 * have completed this one. The mutex is held. */
static uint32_t next_sender(const hw_cluster *cluster)
{
    for (uint32_t node = 0; node < cluster->nodes; node++)
        if (hw_cluster_block_is_whole(cluster, node) && cluster->joiners[node].data->envelope.epoch <= cluster->rounds)
            return node;
    return HW_NET_ANY;
}

static hawser_status take(gather_call *call, uint32_t node, hw_message *list, hawser_error *error)
{
    const hw_data_kind kind = (hw_data_kind)list->envelope.part;
    const uint32_t self = call->tree.self;
    const bool up = kind == HW_DATA_UP && node > 0 && hw_gathering_parent(node) == self;
    const bool down = kind == HW_DATA_DOWN && self > 0 && hw_gathering_parent(self) == node;
    if (list->envelope.loop != (uint32_t)call->cluster->call || (!up && !down && kind != HW_DATA_APART)) {
        hw_messages_free(list);
        return hw_cluster_fail_calls(call->cluster, call->name, node, "", error);
    }
    hw_bytes bytes = {0};
    hw_bytes *to = kind == HW_DATA_APART ? &call->tree.in[node] : &bytes;
    hawser_status status = to->data != NULL ? HAWSER_INTERNAL : HAWSER_OK;
    if (status != HAWSER_OK) {
        hw_messages_free(list);
        return hawser_fail(error, status, "node %u (%s) has sent its block twice", node,
                           hw_cluster_name(call->cluster, node));
    }
    status = hw_cluster_unpack(call->cluster, node, kind, list, to, error);
    if (status == HAWSER_OK && up)
        status = hw_gathering_take_up(&call->tree, node, bytes, error);
    if (status == HAWSER_OK && down)
        status = hw_gathering_take_down(&call->tree, bytes, error);
    if (kind != HW_DATA_APART)
        free(bytes.data);
    return status;
}

/* Takes all blocks that have arrived. */
static hawser_status take_all(gather_call *call, hawser_error *error)
{
    hw_cluster *cluster = call->cluster;
    for (;;) {
        pthread_mutex_lock(&cluster->mutex);
        const uint32_t node = next_sender(cluster);
        hw_message *list = node != HW_NET_ANY ? hw_cluster_take_block(cluster, node) : NULL;
        pthread_mutex_unlock(&cluster->mutex);
        if (list == NULL)
            return HAWSER_OK;
        call->last = hw_seconds();
        HAWSER_TRY(take(call, node, list, error));
    }
}

/* Returns the node that keeps this one waiting: a missing one of its own branch, else the one that node 0 has named. The
 * mutex is held. */
static uint32_t awaited_node(const gather_call *call)
{
    const hw_cluster *cluster = call->cluster;
    const uint32_t missing = hw_gathering_missing(&call->tree), self = call->tree.self;
    if (missing != UINT32_MAX)
        return missing;
    if (call->tree.complete) /* a large block */
        for (uint32_t node = 0; node < call->tree.nodes; node++)
            if (call->tree.known[node] == HW_GATHERING_APART && call->tree.in[node].data == NULL)
                return node;
    const bool named = cluster->awaited_round == cluster->rounds && cluster->awaited < cluster->nodes;
    return named && cluster->awaited != self ? cluster->awaited : 0;
}

/* Node 0 sends all others, now and then, for which node it waits. */
static void name_awaited(gather_call *call, uint32_t node)
{
    for (uint32_t to = 1; to < call->tree.nodes; to++) {
        hw_message *message = NULL;
        hawser_error ignored;
        if (hw_message_new(0, &message, &ignored) != HAWSER_OK)
            return; /* it names it again */
        message->envelope.kind = HW_MESSAGE_DATA;
        message->envelope.part = HW_DATA_AWAITED;
        message->envelope.session = call->cluster->job;
        message->envelope.epoch = call->cluster->rounds;
        message->envelope.count = node;
        message->envelope.last = 1;
        (void)!hw_net_send(call->cluster->net, to, message, &ignored); /* a lost node is noticed elsewhere */
    }
    call->awaited = node;
}

/* Waits for the next block, or until there is something to do without one. */
static hawser_status wait_for_more(gather_call *call, double until, hawser_error *error)
{
    hw_cluster *cluster = call->cluster;
    const double most = cluster->alltoall_timeout;
    hawser_status status = HAWSER_OK;
    pthread_mutex_lock(&cluster->mutex);
    const uint32_t node = awaited_node(call);
    double now = hw_seconds();
    if (next_sender(cluster) == HW_NET_ANY) {
        status = hw_cluster_check_wait(cluster, node, error);
        if (status == HAWSER_OK)
            status = hw_cluster_check_late(cluster, node, now >= call->last + most, most, error);
    }
    const bool pauses = status == HAWSER_OK && now >= call->warns;
    const bool names =
        call->tree.self == 0 && status == HAWSER_OK && (pauses || (call->awaited != HW_NET_ANY && call->awaited != node));
    if (pauses) {
        hw_cluster_warn_of_delay(cluster, node, now - call->begun, most);
        call->pause *= 2;
        call->warns = call->begun + call->pause;
    }
    if (status == HAWSER_OK && !names && next_sender(cluster) == HW_NET_ANY) {
        until = fmin(fmin(until, call->last + most), call->warns);
        (void)hw_cluster_wait_until(cluster, hw_cancellation_slice(cluster->cancellation, until));
    }
    pthread_mutex_unlock(&cluster->mutex);
    if (names)
        name_awaited(call, node);
    return status;
}

static bool has_all(const gather_call *call)
{
    for (uint32_t node = 0; call->tree.complete && node < call->tree.nodes; node++)
        if (call->tree.known[node] == HW_GATHERING_APART && call->tree.in[node].data == NULL)
            return false;
    return call->tree.complete;
}

/* Sends this node's part of the tree as its blocks arrive, until all are here. */
static hawser_status run(gather_call *call, hawser_error *error)
{
    bool sent_down = false;
    while (!sent_down || !has_all(call)) {
        HAWSER_TRY(take_all(call, error));
        const double patient = call->begun + fmin(BRANCH_SECONDS, hw_cluster_pause(call->cluster->alltoall_timeout) / 4);
        const bool due = call->tree.self > 0 && call->tree.unsent > 0;
        const bool partly = call->tree.lacking > 0;
        if (due && !call->tree.complete && (!partly || hw_seconds() >= patient))
            HAWSER_TRY(send_up(call, error));
        if (call->tree.complete && !sent_down) {
            HAWSER_TRY(send_down(call, error));
            sent_down = true;
        }
        if (!sent_down || !has_all(call))
            HAWSER_TRY(wait_for_more(call, due && partly ? patient : INFINITY, error));
    }
    return HAWSER_OK;
}

hawser_status hw_cluster_gather(hw_cluster *cluster, const char *name, hw_bytes own, hw_bytes *in, hawser_error *error)
{
    gather_call call = {.cluster = cluster, .name = name, .begun = hw_seconds(), .awaited = HW_NET_ANY};
    call.last = call.begun;
    call.pause = hw_cluster_pause(cluster->alltoall_timeout);
    call.warns = call.begun + call.pause;
    hawser_status status = hw_gathering_begin(&call.tree, cluster->self, cluster->nodes, own, in, error);
    const bool apart = status == HAWSER_OK && call.tree.known[cluster->self] == HW_GATHERING_APART;
    for (uint32_t i = 1; apart && status == HAWSER_OK && i < cluster->nodes; i++)
        status = hw_cluster_send_block(cluster, (cluster->self + i) % cluster->nodes, own, HW_DATA_APART, error);
    if (status == HAWSER_OK)
        status = run(&call, error);
    hw_gathering_free(&call.tree);
    return status;
}
