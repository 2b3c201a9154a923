/* goodbye.c - how a node reports that it leaves a job or the cluster, and what it knows of nodes that have left. */
#include <inttypes.h>
#include <stdio.h>
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

/* Reports to all how many runs this node has ended; the run in progress does not count. closed: it has closed its job,
 * too. */
static void report_end(hw_cluster *cluster, hw_join_word what, bool closed)
{
    hawser_error ignored;
    char words[sizeof cluster->words];
    pthread_mutex_lock(&cluster->mutex);
    memcpy(words, cluster->words, sizeof words);
    uint32_t ended = hw_cluster_runs_ended(cluster);
    cluster->leaving |= what == HW_JOIN_LEAVE;
    uint32_t job = cluster->job;
    bool cancelled = cluster->cancelled;
    uint32_t completed = cluster->completed;
    pthread_mutex_unlock(&cluster->mutex);
    for (uint32_t i = 0; i < hw_cluster_numbers(cluster); i++) {
        hw_message *message = NULL;
        if (i == cluster->self || !hw_net_linked(cluster->net, i) ||
            hw_cluster_make_word(cluster, what, words, strlen(words), &message, &ignored) != HAWSER_OK)
            continue;
        message->envelope.session = ended;
        message->envelope.count = cancelled;
        message->envelope.epoch = job;
        message->envelope.clock = completed;
        message->envelope.last = closed;
        (void)!hw_net_send(cluster->net, i, message, &ignored);
    }
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
