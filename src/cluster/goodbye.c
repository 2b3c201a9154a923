/* goodbye.c - how a node reports that it leaves a job or the cluster, and what it knows of nodes that have left. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/internal.h"

hawser_status hw_cluster_make_word(const hw_cluster *cluster, hw_join_word what, const void *payload, size_t length,
                                   hw_message **message, hawser_error *error)
{
    HAWSER_TRY(hw_message_new(length, message, error));
    if (length != 0)
        memcpy((*message)->payload, payload, length);
    (*message)->envelope.kind = HW_MESSAGE_JOIN;
    (*message)->envelope.part = what;
    (*message)->envelope.session = cluster->session;
    return HAWSER_OK;
}

uint32_t hw_cluster_about(const hw_cluster *cluster, uint32_t node, const char *words)
{
    uint32_t other = 0;
    int length = 0;
    if (sscanf(words, "node %" SCNu32 " (%n", &other, &length) != 1 || length == 0 || other >= cluster->nodes ||
        other == cluster->self)
        return node;
    size_t name = strlen(hw_cluster_name(cluster, other));
    return strncmp(words + length, hw_cluster_name(cluster, other), name) == 0 && words[length + name] == ')' ? other : node;
}

bool hw_cluster_gone(const hw_cluster *cluster, uint32_t node)
{
    const hw_joiner *joiner = &cluster->joiners[node];
    return joiner->left || joiner->ends > cluster->job;
}

uint32_t hw_cluster_first_to_leave(const hw_cluster *cluster)
{
    uint32_t first = cluster->nodes;
    for (uint32_t i = 0; i < cluster->nodes; i++)
        if (cluster->joiners[i].left && (first == cluster->nodes || cluster->joiners[i].ends < cluster->joiners[first].ends))
            first = i;
    return first;
}

/* Fails with a node that has gone without a reason: it has closed the cluster, or its last job, while this node still needs
 * it. */
static hawser_status fail_gone(const hw_cluster *cluster, uint32_t node, hawser_error *error)
{
    const hw_joiner *joiner = &cluster->joiners[node];
    uint32_t jobs = joiner->ends > 1 ? joiner->ends - 1 : 0;
    if (!joiner->left)
        return hawser_fail(error, HAWSER_PEER_LOST,
                           "node %u (%s) has closed job %u of the cluster, and this node has not: every node must make the "
                           "same collective calls",
                           node, hw_cluster_name(cluster, node), jobs);
    return hawser_fail(error, HAWSER_PEER_LOST, "node %u (%s) has left the cluster after %u job%s, and this is job %u", node,
                       hw_cluster_name(cluster, node), jobs, jobs == 1 ? "" : "s", cluster->job);
}

/* Returns why a node has left, or "". The reason for which a job failed that it has closed is none for the end of a later
 * one. */
static const char *reason_of(const hw_cluster *cluster, const hw_joiner *joiner)
{
    bool is_past = joiner->words_job < cluster->job && joiner->closes > joiner->words_job;
    return is_past ? "" : hw_joiner_words(joiner);
}

hawser_status hw_cluster_has_left(hw_cluster *cluster, uint32_t node, hawser_error *error)
{
    const hw_joiner *joiner = &cluster->joiners[node];
    const char *words = reason_of(cluster, joiner);
    uint32_t about = hw_cluster_about(cluster, node, words);
    hw_cluster_blame(cluster, about, words[0] != '\0' ? words : "it has left the job");
    if (about != node) /* the first cause is reported once, whichever node it comes from */
        return hawser_fail(error, HAWSER_PEER_LOST, "%s", words);
    if (cluster->job > 0 && words[0] == '\0')
        return fail_gone(cluster, node, error);
    return hawser_fail(error, HAWSER_PEER_LOST, "node %u (%s) has left the job: %s", node, hw_cluster_name(cluster, node),
                       words[0] != '\0' ? words : "its own words say why");
}

/* What a node reports to all: the number of runs that it has ended, of which job, and why. The envelope has the
 * report's own number in `state`, and 1 + the node in `range` if node 0 forwards it. To node 0 the payload ends with
 * `span` bytes, which have a bit for each node that was sent the message directly. */
typedef struct goodbye {
    hw_join_word what;
    uint32_t number, job, ended, completed;
    bool cancelled, closed;
    char words[HW_REASON];
    unsigned char *reached;
    size_t size; /* of `reached`; 0: node 0 forwards it to no node */
} goodbye;

static bool has_bit(const unsigned char *bits, uint32_t node)
{
    return (bits[node / 8] >> node % 8 & 1) != 0;
}

static bool send_goodbye(hw_cluster *cluster, uint32_t node, const goodbye *it)
{
    hw_message *message = NULL;
    hawser_error ignored;
    const size_t length = strlen(it->words), more = node == 0 ? it->size : 0;
    if (!hw_net_linked(cluster->net, node) || hw_message_new(length + more, &message, &ignored) != HAWSER_OK)
        return false;
    if (length > 0)
        memcpy(message->payload, it->words, length);
    if (more > 0)
        memcpy((char *)message->payload + length, it->reached, more);
    message->envelope.kind = HW_MESSAGE_JOIN;
    message->envelope.part = it->what;
    message->envelope.session = it->ended;
    message->envelope.count = it->cancelled;
    message->envelope.epoch = it->job;
    message->envelope.clock = it->completed;
    message->envelope.last = it->closed;
    message->envelope.state = it->number;
    message->envelope.span = (uint32_t)more;
    return hw_net_send(cluster->net, node, message, &ignored) == HAWSER_OK;
}

/* The run in progress does not count. closed: this node has closed its job, too. */
static goodbye begin_goodbye(hw_cluster *cluster, hw_join_word what, bool closed)
{
    goodbye it = {.what = what};
    pthread_mutex_lock(&cluster->mutex);
    memcpy(it.words, cluster->words, sizeof it.words);
    cluster->leaving |= what == HW_JOIN_LEAVE;
    cluster->closes = closed ? cluster->job + 1 : cluster->closes;
    it.number = ++cluster->goodbyes;
    it.job = cluster->job;
    it.ended = hw_cluster_runs_ended(cluster);
    it.completed = cluster->completed;
    it.cancelled = cluster->cancelled;
    it.closed = cluster->closes > cluster->job;
    it.size = cluster->formed && cluster->self != 0 ? (cluster->nodes + 7) / 8 : 0;
    pthread_mutex_unlock(&cluster->mutex);
    it.reached = it.size > 0 ? calloc(1, it.size) : NULL;
    it.size = it.reached != NULL ? it.size : 0;
    return it;
}

/* Sends it over the links of this node, also those that are being dialled, behind what was sent there before. To a node
 * without a link nothing was sent: node 0 forwards the goodbye. */
static void report_end(hw_cluster *cluster, hw_join_word what, bool closed)
{
    if (what == HW_JOIN_LEAVE && closed)
        hw_net_close_to_new(cluster->net); /* a link that is made later would not get the goodbye */
    goodbye it = begin_goodbye(cluster, what, closed);
    uint32_t count = 0;
    for (uint32_t i = 1; i < hw_cluster_numbers(cluster); i++) {
        if (i != cluster->self && !send_goodbye(cluster, i, &it))
            continue;
        count++;
        if (it.size > 0)
            it.reached[i / 8] |= (unsigned char)(1 << i % 8);
    }
    it.size = count + 1 < hw_cluster_numbers(cluster) ? it.size : 0;
    if (cluster->self != 0)
        (void)send_goodbye(cluster, 0, &it);
    free(it.reached);
}

uint32_t hw_cluster_goodbye_of(const hw_cluster *cluster, uint32_t from, const hw_envelope *envelope)
{
    const uint32_t node = envelope->range != 0 ? envelope->range - 1 : from;
    const bool forwarded = envelope->range != 0, asks = envelope->span > 0; /* asks node 0 to forward it */
    if (node >= hw_cluster_numbers(cluster) || (forwarded && (from != 0 || node == cluster->self)) ||
        envelope->span > envelope->length ||
        (asks && (cluster->self != 0 || forwarded || envelope->span != (cluster->nodes + 7) / 8)))
        return HW_NET_ANY;
    return node;
}

void hw_cluster_forward_goodbye(hw_cluster *cluster, uint32_t node, const hw_message *message)
{
    hw_message *forwarded = NULL;
    hawser_error ignored;
    const size_t size = message->envelope.span, length = (size_t)message->envelope.length - size;
    if (size == 0 || hw_message_new(length, &forwarded, &ignored) != HAWSER_OK)
        return;
    const unsigned char *reached = (const unsigned char *)message->payload + length;
    forwarded->envelope = message->envelope;
    forwarded->envelope.length = length;
    forwarded->envelope.span = 0;
    forwarded->envelope.range = node + 1;
    if (length > 0)
        memcpy(forwarded->payload, message->payload, length);
    for (uint32_t i = 1; i < cluster->nodes; i++) {
        hw_message *copy = NULL;
        if (i == node || has_bit(reached, i) || !hw_net_linked(cluster->net, i) ||
            hw_message_share(forwarded, &copy, &ignored) != HAWSER_OK)
            continue;
        (void)!hw_net_send(cluster->net, i, copy, &ignored);
    }
    hw_message_free(forwarded);
}

void hw_cluster_say_leave(hw_cluster *cluster)
{
    report_end(cluster, HW_JOIN_LEAVE, true);
}

void hw_cluster_say_end(hw_cluster *cluster)
{
    report_end(cluster, cluster->job > 0 ? HW_JOIN_END : HW_JOIN_LEAVE, false);
}

void hw_cluster_say_closed(hw_cluster *cluster)
{
    report_end(cluster, HW_JOIN_END, true);
}
