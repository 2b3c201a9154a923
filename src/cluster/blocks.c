/* blocks.c - the messages of a collective call: sent in pieces, kept when they arrive, and joined again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cluster/internal.h"

/* A block is cut into messages, so that heartbeats and other messages are sent in between. */
static const size_t MOST_AT_ONCE = (size_t)16 << 20;

static void acknowledge(hw_cluster *cluster, uint32_t node, const hw_message *mark)
{
    hw_message *message = NULL;
    hawser_error ignored;
    if (hw_message_new(0, &message, &ignored) != HAWSER_OK) {
        hw_cluster_starved(cluster, node);
        return;
    }
    message->envelope = mark->envelope;
    message->envelope.length = 0;
    message->envelope.part = HW_DATA_MARKED;
    (void)!hw_net_send(cluster->net, node, message, &ignored); /* a lost node needs none */
}

/* Takes a message that is no part of a block, and returns whether it is one. The mutex is held. */
static bool take_word(hw_cluster *cluster, uint32_t node, const hw_message *message)
{
    const hw_envelope *envelope = &message->envelope;
    const bool present = envelope->session == cluster->job, of_call = envelope->epoch == cluster->rounds;
    if (envelope->part == HW_DATA_AWAITED && node == 0 && present) {
        cluster->awaited = (uint32_t)envelope->count;
        cluster->awaited_round = (uint32_t)envelope->epoch;
    }
    if (envelope->part == HW_DATA_MARKED && present && of_call) {
        cluster->joiners[node].marked = false;
        pthread_cond_broadcast(&cluster->changed);
    }
    return envelope->part == HW_DATA_AWAITED || envelope->part == HW_DATA_MARK || envelope->part == HW_DATA_MARKED;
}

void hw_cluster_keep_data(hw_cluster *cluster, uint32_t node, hw_message *message)
{
    message->next = NULL;
    pthread_mutex_lock(&cluster->mutex);
    hw_joiner *joiner = &cluster->joiners[node];
    if (hw_cluster_when(cluster, &message->envelope) == HW_LATE) {
        pthread_mutex_unlock(&cluster->mutex);
        hw_cluster_drop(cluster, message);
        return;
    }
    if (take_word(cluster, node, message)) {
        pthread_mutex_unlock(&cluster->mutex);
        if (message->envelope.part == HW_DATA_MARK)
            acknowledge(cluster, node, message);
        hw_message_free(message);
        return;
    }
    if (joiner->data_last != NULL)
        joiner->data_last->next = message;
    else
        joiner->data = message;
    joiner->data_last = message;
    if (message->envelope.last != 0)
        pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->mutex);
}

void hw_cluster_drop_data(hw_cluster *cluster)
{
    for (uint32_t node = 0; node < hw_cluster_numbers(cluster); node++)
        hw_messages_free(cluster->joiners[node].data);
}

void hw_cluster_drop_old_data(hw_cluster *cluster)
{
    for (uint32_t node = 0; node < cluster->nodes; node++) {
        hw_joiner *joiner = &cluster->joiners[node];
        while (joiner->data != NULL && hw_cluster_when(cluster, &joiner->data->envelope) == HW_LATE) {
            hw_message *next = joiner->data->next;
            hw_message_free(joiner->data);
            joiner->data = next;
        }
        if (joiner->data == NULL)
            joiner->data_last = NULL;
    }
}

static bool never(const hw_cluster *cluster, uint32_t node)
{
    (void)cluster;
    (void)node;
    return false;
}

/* The receiver of a message is gone. Waits for the reason, which arrives in a moment. Without one, returns HAWSER_PEER_LOST
 * and keeps the net's text. */
static hawser_status said_gone(hw_cluster *cluster, uint32_t node, hawser_error *error)
{
    hawser_error better = {0};
    pthread_mutex_lock(&cluster->mutex);
    hawser_status status = hw_cluster_wait(cluster, never, node, cluster->reason_timeout, false, &better);
    pthread_mutex_unlock(&cluster->mutex);
    return status == HAWSER_TIMEOUT ? HAWSER_PEER_LOST : hawser_fail(error, status, "%s", better.text);
}

hawser_status hw_cluster_send_block(hw_cluster *cluster, uint32_t node, hw_bytes bytes, hw_data_kind kind,
                                    hawser_error *error)
{
    size_t sent = 0;
    do {
        size_t length = bytes.length - sent < MOST_AT_ONCE ? bytes.length - sent : MOST_AT_ONCE;
        hw_message *message = NULL;
        HAWSER_TRY(hw_message_new(length, &message, error));
        if (length != 0)
            memcpy(message->payload, (const char *)bytes.data + sent, length);
        sent += length;
        message->envelope.kind = HW_MESSAGE_DATA;
        message->envelope.part = kind;
        message->envelope.loop = cluster->call;
        message->envelope.session = cluster->job;
        message->envelope.epoch = cluster->rounds;
        message->envelope.count = bytes.length;
        message->envelope.last = sent == bytes.length;
        hawser_status status = hw_net_send(cluster->net, node, message, error);
        if (status != HAWSER_OK)
            return status == HAWSER_PEER_LOST ? said_gone(cluster, node, error) : status;
    } while (sent < bytes.length);
    return HAWSER_OK;
}

/* Takes the messages of a whole block out of a member's list; the last one is marked. */
hw_message *hw_cluster_take_block(hw_cluster *cluster, uint32_t node)
{
    hw_joiner *joiner = &cluster->joiners[node];
    hw_message *first = joiner->data, *last = first;
    while (last->envelope.last == 0)
        last = last->next;
    joiner->data = last->next;
    if (joiner->data == NULL)
        joiner->data_last = NULL;
    last->next = NULL;
    return first;
}

/* A block of the next job is none of this one's: its sender has ended this job. */
bool hw_cluster_block_is_whole(const hw_cluster *cluster, uint32_t node)
{
    const hw_message *message = cluster->joiners[node].data;
    if (message != NULL && message->envelope.session != cluster->job)
        return false;
    while (message != NULL && message->envelope.last == 0)
        message = message->next;
    return message != NULL;
}

/* If the sizes do not add up to the announced length, the sender is at fault. */
hawser_status hw_cluster_unpack(const hw_cluster *cluster, uint32_t node, hw_data_kind kind, hw_message *list, hw_bytes *in,
                                hawser_error *error)
{
    if (list->envelope.loop != (uint32_t)cluster->call || list->envelope.part != (uint32_t)kind) {
        hw_messages_free(list);
        return hw_cluster_fail_calls(cluster, "", node, "", error);
    }
    size_t length = list->envelope.count, at = 0;
    bool fine = list->envelope.epoch == cluster->rounds;
    hawser_status status = hw_new_array(&in->data, length, 1, "a part of the input", error);
    while (list != NULL) {
        hw_message *next = list->next;
        fine = fine && list->envelope.length <= length - at;
        if (fine && status == HAWSER_OK && list->envelope.length != 0)
            memcpy((char *)in->data + at, list->payload, list->envelope.length);
        at += fine ? list->envelope.length : 0;
        hw_message_free(list);
        list = next;
    }
    in->length = length;
    if (status == HAWSER_OK && (!fine || at != length))
        status = hawser_fail(error, HAWSER_INTERNAL, "node %u (%s) is at another step of reading the input", node,
                             hw_cluster_name(cluster, node));
    return status;
}

hawser_status hw_cluster_fail_calls(const hw_cluster *cluster, const char *own, uint32_t node, const char *other,
                                    hawser_error *error)
{
    if (own[0] == '\0' && other[0] == '\0')
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "node %u (%s) makes another collective call than node %u (%s); every node must make collective "
                           "calls in the same order",
                           cluster->self, hw_cluster_name(cluster, cluster->self), node, hw_cluster_name(cluster, node));
    return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                       "node %u (%s) calls %s while node %u (%s) calls %s; every node must make collective calls in "
                       "the same order",
                       cluster->self, hw_cluster_name(cluster, cluster->self), own[0] != '\0' ? own : "another function",
                       node, hw_cluster_name(cluster, node), other[0] != '\0' ? other : "another function");
}
