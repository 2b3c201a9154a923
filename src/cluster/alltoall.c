/* alltoall.c - sends bytes from every node to every node, between runs: this brings the input to the nodes that need it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cluster/internal.h"

/* A block is cut into messages, so that heartbeats and other messages are sent in between. */
static const size_t MOST_AT_ONCE = (size_t)16 << 20;

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
    for (uint32_t node = 0; node < cluster->nodes_most; node++)
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

static hawser_status send_block(hw_cluster *cluster, uint32_t node, hw_bytes bytes, hawser_error *error)
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
static hw_message *take_block(hw_cluster *cluster, uint32_t node)
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
static bool block_is_whole(const hw_cluster *cluster, uint32_t node)
{
    const hw_message *message = cluster->joiners[node].data;
    if (message != NULL && message->envelope.session != cluster->job)
        return false;
    while (message != NULL && message->envelope.last == 0)
        message = message->next;
    return message != NULL;
}

/* Joins the messages of a block. If the sizes do not add up to the announced length, the sender is at fault. */
static hawser_status unpack(const hw_cluster *cluster, uint32_t node, hw_message *list, hw_bytes *in, hawser_error *error)
{
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

static hawser_status receive_block(hw_cluster *cluster, uint32_t node, hw_bytes *in, hawser_error *error)
{
    hw_message *list = NULL;
    pthread_mutex_lock(&cluster->mutex);
    hawser_status status = hw_cluster_wait(cluster, block_is_whole, node, cluster->alltoall_timeout, true, error);
    if (status == HAWSER_OK)
        list = take_block(cluster, node);
    pthread_mutex_unlock(&cluster->mutex);
    return status == HAWSER_OK ? unpack(cluster, node, list, in, error) : status;
}

static hawser_status copy_own(hw_bytes out, hw_bytes *in, hawser_error *error)
{
    HAWSER_TRY(hw_new_array(&in->data, out.length, 1, "a part of the input", error));
    if (out.length != 0)
        memcpy(in->data, out.data, out.length);
    in->length = out.length;
    return HAWSER_OK;
}

/* Sends out[d * step] to node d; step 0: the same to all. `taken` is NULL, or equal to `out`: then each block is freed once
 * it was sent. */
static hawser_status trade(hw_cluster *cluster, const hw_bytes *out, size_t step, hw_bytes *taken, hw_bytes *in,
                           hawser_error *error)
{
    uint32_t nodes = cluster->nodes, self = cluster->self;
    cluster->rounds++;
    for (uint32_t i = 1; i < nodes; i++) {
        uint32_t node = (self + i) % nodes;
        HAWSER_TRY(send_block(cluster, node, out[node * step], error));
        if (taken == NULL)
            continue;
        free(taken[node].data);
        taken[node] = (hw_bytes){0};
    }
    if (taken == NULL)
        HAWSER_TRY(copy_own(out[self * step], &in[self], error));
    if (taken != NULL) {
        in[self] = taken[self];
        taken[self] = (hw_bytes){0};
    }
    for (uint32_t i = 1; i < nodes; i++)
        HAWSER_TRY(receive_block(cluster, (self + nodes - i) % nodes, &in[(self + nodes - i) % nodes], error));
    return HAWSER_OK;
}

/* After a failure in the middle of a collective call no other can follow. The other nodes receive at once that this node
 * leaves, unless the failure is a loss or a timeout, which they find themselves. */
static void leave(hw_cluster *cluster, hawser_status status, const hawser_error *error)
{
    char words[sizeof cluster->words];
    const bool ends = status != HAWSER_PEER_LOST && status != HAWSER_TIMEOUT;
    if (status == HAWSER_STOP)
        snprintf(words, sizeof words, "it was cancelled while it was %.150s", cluster->doing);
    else
        snprintf(words, sizeof words, "%.*s", (int)sizeof words - 1,
                 error != NULL ? error->text : hawser_status_name(status));
    hw_cluster_set_reason(cluster, words);
    if (!ends)
        return;
    pthread_mutex_lock(&cluster->mutex);
    cluster->cancelled = true;
    cluster->failed = status == HAWSER_STOP ? HAWSER_OK : status;
    pthread_mutex_unlock(&cluster->mutex);
    hw_cluster_say_end(cluster);
}

hawser_status hw_cluster_fail_cancelled(const hw_cluster *cluster, hawser_error *error)
{
    return cluster->failed == HAWSER_OK
               ? hawser_fail(error, HAWSER_STOP, "a collective call of this job was cancelled; close the job")
               : hawser_fail(error, cluster->failed, "a collective call of this job has failed: %s; close the job",
                             cluster->words);
}

static hawser_status trade_all(hw_cluster *cluster, const hw_bytes *out, size_t step, hw_bytes *taken, hw_bytes *in,
                               hawser_error *error)
{
    uint32_t nodes = cluster != NULL ? cluster->nodes : 1;
    memset(in, 0, nodes * sizeof *in);
    if (cluster != NULL && cluster->cancelled)
        return hw_cluster_fail_cancelled(cluster, error);
    hawser_status status = cluster != NULL ? trade(cluster, out, step, taken, in, error) : copy_own(out[0], &in[0], error);
    if (cluster != NULL && status != HAWSER_OK)
        leave(cluster, status, error);
    for (uint32_t i = 0; status != HAWSER_OK && i < nodes; i++) {
        free(in[i].data);
        in[i] = (hw_bytes){0};
    }
    return status;
}

hawser_status hw_cluster_alltoall(hw_cluster *cluster, const hw_bytes *out, hw_bytes *in, hawser_error *error)
{
    return trade_all(cluster, out, 1, NULL, in, error);
}

hawser_status hw_cluster_hand_over(hw_cluster *cluster, hw_bytes *out, hw_bytes *in, hawser_error *error)
{
    return trade_all(cluster, out, 1, out, in, error);
}

hawser_status hw_cluster_allgather(hw_cluster *cluster, hw_bytes own, hw_bytes *in, hawser_error *error)
{
    return trade_all(cluster, &own, 0, NULL, in, error);
}

/* Fails with the text of this node, or with that of another node, which the launcher learns as well. To other nodes a
 * cancelled node is one that has failed: only its own caller has asked for the end. */
static hawser_status fail_as(hw_cluster *cluster, uint32_t node, const hawser_error *said, hawser_error *error)
{
    if (node == cluster->self)
        return hawser_fail(error, said->status, "%s", said->text);
    pthread_mutex_lock(&cluster->mutex);
    hw_cluster_blame(cluster, node, said->text);
    pthread_mutex_unlock(&cluster->mutex);
    const char *name = hw_cluster_name(cluster, node);
    if (said->status == HAWSER_STOP)
        return hawser_fail(error, HAWSER_PEER_LOST, "node %u (%s) was cancelled while it was %s: %s", node, name,
                           cluster->doing, said->text);
    return hawser_fail(error, said->status, "node %u (%s): %s", node, name, said->text);
}

/* What a node says where all agree. */
typedef struct node_word {
    hawser_error said;
    char call[HW_CALL_NAME];
    bool marked;
} node_word;

static bool has_failed(const node_word *word)
{
    const hawser_status status = word->said.status;
    return (status < HAWSER_OK && status >= HAWSER_INTERNAL) || status == HAWSER_STOP;
}

/* Fails if another node makes another call than this one, which would take its answer for that of its own call. */
static hawser_status same_call(const hw_cluster *cluster, const char *own, const hw_bytes *in, hawser_error *error)
{
    for (uint32_t i = 0; i < cluster->nodes; i++) {
        node_word other = {0};
        if (in[i].length == sizeof other)
            memcpy(&other, in[i].data, sizeof other);
        other.call[sizeof other.call - 1] = '\0';
        if (strcmp(other.call, own) != 0 || (in[i].length != sizeof other && own[0] != '\0'))
            return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                               "node %u (%s) calls %s while node %u (%s) calls %s; every node must make collective calls in "
                               "the same order",
                               cluster->self, hw_cluster_name(cluster, cluster->self),
                               own[0] != '\0' ? own : "another function", i, hw_cluster_name(cluster, i),
                               other.call[0] != '\0' ? other.call : "another function");
    }
    return HAWSER_OK;
}

static hawser_status agree(hw_cluster *cluster, const char *call, hawser_status own, bool mark, bool *marked,
                           hawser_error *error)
{
    *marked = mark;
    if (cluster == NULL)
        return mark ? HAWSER_OK : own;
    node_word word = {.marked = mark}, other = {0};
    hw_bytes *in = NULL;
    if (own != HAWSER_OK && error != NULL)
        word.said = *error;
    word.said.status = own;
    (void)snprintf(word.call, sizeof word.call, "%s", call);
    hawser_status status = HW_NEW(&in, cluster->nodes, "what all nodes say", error);
    if (status != HAWSER_OK) {
        leave(cluster, status, error);
        return status;
    }
    status = hw_cluster_allgather(cluster, (hw_bytes){&word, sizeof word}, in, error);
    /* Others have received this failure and left before all blocks arrived here. */
    if (status != HAWSER_OK && own != HAWSER_OK)
        status = hawser_fail(error, own, "%s", word.said.text);
    for (uint32_t i = 0; status == HAWSER_OK && i < cluster->nodes; i++)
        *marked |= in[i].length == sizeof other && ((const node_word *)in[i].data)->marked;
    for (uint32_t i = 0; status == HAWSER_OK && i < cluster->nodes; i++) {
        if (in[i].length != sizeof other)
            continue;
        memcpy(&other, in[i].data, sizeof other);
        other.said.text[sizeof other.said.text - 1] = '\0';
        bool counts = own == HAWSER_STOP ? i == cluster->self : !*marked || other.said.status == HAWSER_STOP;
        if (has_failed(&other) && counts)
            status = fail_as(cluster, i, &other.said, error);
    }
    if (status == HAWSER_OK)
        status = same_call(cluster, word.call, in, error);
    hw_bytes_free(in, cluster->nodes);
    return status;
}

hawser_status hw_cluster_agree_marked(hw_cluster *cluster, hawser_status own, bool mark, bool *marked, hawser_error *error)
{
    return agree(cluster, "", own, mark, marked, error);
}

hawser_status hw_cluster_agree(hw_cluster *cluster, hawser_status own, hawser_error *error)
{
    bool marked;
    return agree(cluster, "", own, false, &marked, error);
}

hawser_status hw_cluster_agree_call(hw_cluster *cluster, const char *call, hawser_status own, hawser_error *error)
{
    bool marked;
    return agree(cluster, call, own, false, &marked, error);
}
