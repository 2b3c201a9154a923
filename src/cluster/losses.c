/* losses.c - notes the nodes that were lost, reports them to runs, and words their messages. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/internal.h"

uint32_t hw_cluster_lost_node(hw_cluster *cluster)
{
    pthread_mutex_lock(&cluster->mutex);
    uint32_t node = cluster->is_lost ? cluster->loss.node : HW_NET_ANY;
    pthread_mutex_unlock(&cluster->mutex);
    return node;
}

/* Appends the names of other lost nodes, in place of an earlier list; without any it changes nothing. The mutex is held. */
static void name_others(const hw_cluster *cluster, hawser_error *error)
{
    const char *said = strstr(error->text, "; lost too: ");
    size_t used = said != NULL ? (size_t)(said - error->text) : strlen(error->text);
    bool any = false;
    for (uint32_t node = 0; node < cluster->nodes_most; node++) {
        char own[sizeof cluster->members->member.name + sizeof "; lost too: node 4294967295 ()"];
        if (!cluster->members[node].lost || node == cluster->loss.node)
            continue;
        int length = snprintf(own, sizeof own, "%snode %u (%s)", any ? ", " : "; lost too: ", node,
                              cluster->members[node].member.name);
        if (used + (size_t)length + sizeof ", ..." > sizeof error->text) {
            snprintf(error->text + used, sizeof error->text - used, ", ...");
            return;
        }
        memcpy(error->text + used, own, (size_t)length + 1);
        used += (size_t)length;
        any = true;
    }
}

static bool any_other_is_linked(const hw_cluster *cluster)
{
    bool any = false;
    for (uint32_t node = 0; node < cluster->nodes; node++)
        any |= node != cluster->self && !cluster->members[node].lost && !cluster->members[node].left;
    return any;
}

void hw_cluster_await_losses(hw_cluster *cluster)
{
    const double together = 0.2; /* seconds within which the losses of nodes that were killed at once are noticed */
    double until = cluster->lost_at + together;
    struct timespec deadline = hw_timespec(until);
    while (!hw_net_is_own_thread(cluster->net) && any_other_is_linked(cluster) && hw_seconds() < until)
        (void)pthread_cond_timedwait(&cluster->changed, &cluster->mutex, &deadline);
}

void hw_cluster_name_lost(hw_cluster *cluster, hawser_error *error)
{
    pthread_mutex_lock(&cluster->mutex);
    if (cluster->is_lost) {
        hw_cluster_await_losses(cluster);
        name_others(cluster, error);
    }
    pthread_mutex_unlock(&cluster->mutex);
}

hawser_status hw_cluster_fail_lost(const hw_cluster *cluster, hawser_error *error)
{
    char text[700];
    hw_loss_text(&cluster->loss, text, sizeof text);
    hawser_status status = cluster->loss.reported != 0
                               ? hawser_fail(error, hw_loss_status(&cluster->loss), "%s", text)
                               : hawser_fail(error, HAWSER_PEER_LOST, "%s; the job was %s", text, cluster->lost_in);
    if (error != NULL)
        name_others(cluster, error);
    return status;
}

hawser_status hw_loss_status(const hw_loss *loss)
{
    return loss->reported == HW_LOSS_OWN ? HAWSER_NO_MEMORY : HAWSER_PEER_LOST;
}

void hw_loss_text(const hw_loss *loss, char *text, size_t size)
{
    if (loss->node == HW_NET_ANY || loss->reported != 0)
        snprintf(text, size, "%s", loss->why);
    else
        snprintf(text, size, "node %u (%s) was lost: %s; last heard %.1f s ago", loss->node, loss->name, loss->why,
                 loss->silent);
}

/* Puts the loss into every local inbox. The messages were allocated when the run began, so lack of memory cannot hide a loss. */
static void notify_inboxes(hw_cluster *cluster, const hw_loss *loss)
{
    for (uint32_t i = 0; cluster->transport != NULL && i < cluster->endpoints; i++) {
        hw_message *message = cluster->loss_messages[i];
        if (message == NULL)
            continue;
        cluster->loss_messages[i] = NULL;
        memcpy(message->payload, loss, sizeof *loss);
        message->envelope.kind = HW_MESSAGE_LOST;
        hw_envelope_stamp(&message->envelope, cluster->session);
        message->envelope.source = message->envelope.destination = i;
        hawser_error ignored;
        if (hw_net_transport_arrived(cluster->transport, cluster->self, message, &ignored) != HAWSER_OK)
            continue; /* no thread reads a closed inbox */
    }
}

/* Reports the loss to the manager, whose own link to that node may still be good. */
static void notify_driver(hw_cluster *cluster, const hw_loss *loss)
{
    hw_message *message = NULL;
    hawser_error ignored;
    if (cluster->self == 0 || loss->node == 0 || loss->reported == HW_LOSS_OWN || cluster->transport == NULL ||
        hw_message_new(sizeof *loss, &message, &ignored) != HAWSER_OK)
        return;
    memcpy(message->payload, loss, sizeof *loss);
    message->envelope.kind = HW_MESSAGE_LOST;
    hw_envelope_stamp(&message->envelope, cluster->session);
    message->envelope.source = cluster->blocks + 1 + cluster->self;
    message->envelope.destination = cluster->blocks;
    if (hw_net_send(cluster->net, 0, message, &ignored) != HAWSER_OK)
        return; /* then the manager is lost too, which is reported */
}

void hw_cluster_blame(hw_cluster *cluster, uint32_t node, const char *why)
{
    if (cluster->blamed || node >= cluster->nodes_most || node == cluster->self || cluster->place->ops->lost == NULL)
        return;
    cluster->blamed = true;
    cluster->place->ops->lost(cluster->place, node, why);
}

static void note(hw_cluster *cluster, const hw_loss *loss, bool stays)
{
    pthread_mutex_lock(&cluster->mutex);
    bool first = !cluster->is_lost;
    cluster->loss_stays = stays || (!first && cluster->loss_stays);
    if (loss->node < cluster->nodes_most)
        cluster->members[loss->node].lost = true;
    if (first) {
        cluster->is_lost = true;
        cluster->lost_at = hw_seconds();
        cluster->lost_in = cluster->doing;
        cluster->loss = *loss;
        hw_cluster_blame(cluster, loss->node, loss->why);
    }
    pthread_cond_broadcast(&cluster->changed);
    if (first) {
        notify_inboxes(cluster, loss);
        notify_driver(cluster, loss);
    }
    pthread_mutex_unlock(&cluster->mutex);
    hw_cluster_notify_channel(cluster);
}

void hw_cluster_note_loss(hw_cluster *cluster, const hw_loss *loss)
{
    note(cluster, loss, true);
}

void hw_cluster_note_end(hw_cluster *cluster, const hw_loss *loss)
{
    note(cluster, loss, cluster->job == 0);
}

/* stays: no later job can run either. */
static void give_up(hw_cluster *cluster, const char *words, bool stays)
{
    hw_loss loss = {.node = cluster->self, .reported = HW_LOSS_OWN};
    memcpy(loss.name, cluster->members[cluster->self].member.name, sizeof loss.name);
    snprintf(loss.why, sizeof loss.why, "%.*s", (int)sizeof loss.why - 1, words);
    pthread_mutex_lock(&cluster->mutex);
    cluster->gave_up |= cluster->transport != NULL;
    pthread_mutex_unlock(&cluster->mutex);
    hw_cluster_set_reason(cluster, words);
    if (stays)
        hw_cluster_say_leave(cluster);
    else
        hw_cluster_say_end(cluster);
    note(cluster, &loss, stays || cluster->job == 0);
}

void hw_cluster_give_up(hw_cluster *cluster, const char *words)
{
    give_up(cluster, words, false);
}

void hw_cluster_left(void *argument, uint32_t node)
{
    hw_cluster *cluster = argument;
    pthread_mutex_lock(&cluster->mutex);
    bool expected = cluster->leaving || node >= cluster->nodes_most || cluster->members[node].left;
    pthread_mutex_unlock(&cluster->mutex);
    if (!expected)
        hw_cluster_lost(cluster, node, "it left the job without a word, as for want of memory", 0);
}

void hw_cluster_starved(void *argument, uint32_t node)
{
    hw_cluster *cluster = argument;
    char words[200];
    if (node < cluster->nodes_most)
        snprintf(words, sizeof words,
                 "there is no memory for what node %u (%.60s) has sent; free memory or use a smaller input", node,
                 cluster->members[node].member.name);
    else
        snprintf(words, sizeof words,
                 "there is no memory for what another node has sent; free memory or use a smaller input");
    give_up(cluster, words, true); /* the message may have been one of the next job */
}

void hw_cluster_lost(void *argument, uint32_t node, const char *why, double silent)
{
    hw_cluster *cluster = argument;
    hw_loss loss = {.node = node, .silent = silent};
    if (node < cluster->nodes_most)
        memcpy(loss.name, cluster->members[node].member.name, sizeof loss.name);
    double paused = hw_net_paused(cluster->net);
    if (paused > 0)
        snprintf(loss.why, sizeof loss.why, "%.300s (this process had not run for %.1f s, and may be the one that was lost)",
                 why, paused);
    else
        snprintf(loss.why, sizeof loss.why, "%.*s", (int)sizeof loss.why - 1, why);
    hw_cluster_note_loss(cluster, &loss);
}
