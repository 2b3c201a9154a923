/* losses.c - what the cluster notes as a loss, what its own subscribers do at one, and the texts. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/internal.h"

bool hw_cluster_is_lost(const hw_cluster *cluster)
{
    hw_member_event first;
    return hw_members_loss(cluster->members, 0, &first);
}

uint32_t hw_cluster_lost_node(hw_cluster *cluster)
{
    hw_member_event first;
    return hw_members_loss(cluster->members, 0, &first) ? first.loss.node : HW_NET_ANY;
}

size_t hw_cluster_lost_nodes(hw_cluster *cluster, uint32_t *nodes)
{
    hw_member_event event;
    size_t count = 0;
    for (uint32_t place = 0; hw_members_loss(cluster->members, place, &event); place++)
        if (event.loss.node < cluster->nodes && event.loss.node != cluster->self)
            nodes[count++] = event.loss.node;
    return count;
}

/* Returns whether a text names a node. A launcher's text has more behind the name. */
static bool names(const hw_cluster *cluster, const char *text, uint32_t node)
{
    char own[HW_NET_NAME + sizeof "node 4294967295 ("];
    snprintf(own, sizeof own, "node %u (%s", node, hw_cluster_name(cluster, node));
    return strstr(text, own) != NULL;
}

/* Appends the names of the lost nodes that the text does not name, in place of an earlier list; without any it changes
 * nothing. A text that names none is about the first. The mutex is held. */
static void name_others(const hw_cluster *cluster, uint32_t first, hawser_error *error)
{
    char *said = strstr(error->text, "; lost too: ");
    bool any = false, names_some = false;
    if (said != NULL)
        *said = '\0';
    size_t used = strlen(error->text);
    for (uint32_t node = 0; node < hw_cluster_numbers(cluster) && !names_some; node++)
        names_some = hw_members_is_lost(cluster->members, node) && names(cluster, error->text, node);
    for (uint32_t node = 0; node < hw_cluster_numbers(cluster); node++) {
        char own[HW_NET_NAME + sizeof "; lost too: node 4294967295 ()"];
        if (node == cluster->self || (node == first && !names_some) || !hw_members_is_lost(cluster->members, node) ||
            names(cluster, error->text, node))
            continue;
        int length =
            snprintf(own, sizeof own, "%snode %u (%s)", any ? ", " : "; lost too: ", node, hw_cluster_name(cluster, node));
        if (used + (size_t)length + sizeof ", ..." > sizeof error->text) {
            snprintf(error->text + used, sizeof error->text - used, ", ...");
            return;
        }
        memcpy(error->text + used, own, (size_t)length + 1);
        used += (size_t)length;
        any = true;
    }
    if (said != NULL && !any)
        *said = ';';
}

static bool any_other_is_linked(const hw_cluster *cluster)
{
    bool any = false;
    for (uint32_t node = 0; node < cluster->nodes; node++)
        any |= node != cluster->self && !hw_members_is_lost(cluster->members, node) && !cluster->joiners[node].left;
    return any;
}

void hw_cluster_await_losses(hw_cluster *cluster)
{
    hw_member_event first;
    if (!hw_members_loss(cluster->members, 0, &first))
        return;
    double until = first.at + cluster->losses_together;
    struct timespec deadline = hw_timespec(until);
    while (!hw_net_is_own_thread(cluster->net) && any_other_is_linked(cluster) && hw_seconds() < until)
        (void)pthread_cond_timedwait(&cluster->changed, &cluster->mutex, &deadline);
}

void hw_cluster_name_lost(hw_cluster *cluster, hawser_error *error)
{
    pthread_mutex_lock(&cluster->mutex);
    hw_member_event first;
    if (hw_members_loss(cluster->members, 0, &first)) {
        hw_cluster_await_losses(cluster);
        name_others(cluster, first.loss.node, error);
    }
    pthread_mutex_unlock(&cluster->mutex);
}

hawser_status hw_cluster_fail_event(const hw_member_event *event, hawser_error *error)
{
    char text[700];
    hw_loss_text(&event->loss, text, sizeof text);
    return event->loss.reported != 0 ? hawser_fail(error, hw_loss_status(&event->loss), "%s", text)
                                     : hawser_fail(error, HAWSER_PEER_LOST, "%s; the job was %s", text, event->during);
}

hawser_status hw_cluster_fail_lost(const hw_cluster *cluster, hawser_error *error)
{
    hw_member_event first;
    if (!hw_members_loss(cluster->members, 0, &first))
        return hawser_fail(error, HAWSER_INTERNAL, "no node was lost");
    hawser_status status = hw_cluster_fail_event(&first, error);
    if (error != NULL)
        name_others(cluster, first.loss.node, error);
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

/* Puts the loss into every local inbox of a run. The messages for the first loss were allocated when the run began, so lack
 * of memory cannot hide that one. */
static void notify_inboxes(hw_cluster *cluster, hw_cluster_run *run, const hw_loss *loss)
{
    for (uint32_t i = 0; i < run->own_count; i++) {
        hw_run_endpoint *own = &run->own[i];
        hw_message *message = own->loss_message;
        hawser_error ignored;
        own->loss_message = NULL;
        if (message == NULL && hw_message_new(sizeof *loss, &message, &ignored) != HAWSER_OK)
            continue;
        memcpy(message->payload, loss, sizeof *loss);
        message->envelope.kind = HW_MESSAGE_LOST;
        message->envelope.session = run->session;
        message->envelope.source = message->envelope.destination = own->number;
        if (hw_net_transport_arrived(run->transport, cluster->self, message, &ignored) != HAWSER_OK)
            continue; /* no thread reads a closed inbox */
    }
}

/* Sends the loss to the driver, unless it is one that node 0 has: HW_JOIN_LOST reports the loss of a link. */
static void notify_driver(hw_cluster *cluster, const hw_cluster_run *run, const hw_member_event *event)
{
    hw_message *message = NULL;
    hawser_error ignored;
    const hw_loss *loss = &event->loss;
    bool is_known = event->stays && loss->reported == 0 && loss->node < cluster->nodes;
    if (cluster->self == 0 || loss->node == 0 || loss->reported == HW_LOSS_OWN || is_known ||
        hw_message_new(sizeof *loss, &message, &ignored) != HAWSER_OK)
        return;
    memcpy(message->payload, loss, sizeof *loss);
    message->envelope.kind = HW_MESSAGE_LOST;
    message->envelope.session = run->session;
    message->envelope.source = run->blocks + 1 + cluster->self;
    message->envelope.destination = run->blocks;
    if (hw_net_send(cluster->net, 0, message, &ignored) != HAWSER_OK)
        return; /* then the manager is lost too, which is reported */
}

void hw_cluster_run_lost(void *argument, const hw_member_event *event)
{
    hw_cluster_run *run = argument;
    notify_inboxes(run->cluster, run, &event->loss);
    notify_driver(run->cluster, run, event);
}

/* The cluster's own subscriber: the launcher receives the first cause, and the waits of collective calls look again. */
static void see_loss(void *argument, const hw_member_event *event)
{
    hw_cluster *cluster = argument;
    pthread_mutex_lock(&cluster->mutex);
    hw_cluster_blame(cluster, event->loss.node, event->loss.why);
    if (!cluster->formed && cluster->net != NULL)
        hw_net_stop_dials(cluster->net);
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->mutex);
}

void hw_cluster_watch_losses(hw_cluster *cluster)
{
    cluster->own_subscriber = (hw_subscriber){.changed = see_loss, .argument = cluster};
    hw_members_subscribe(cluster->members, &cluster->own_subscriber);
}

static void note(hw_cluster *cluster, const hw_loss *loss, bool stays)
{
    pthread_mutex_lock(&cluster->mutex);
    const char *doing = cluster->doing;
    pthread_mutex_unlock(&cluster->mutex);
    (void)hw_members_lose(cluster->members, loss, stays, doing);
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
    snprintf(loss.name, sizeof loss.name, "%s", hw_cluster_name(cluster, cluster->self));
    snprintf(loss.why, sizeof loss.why, "%.*s", (int)sizeof loss.why - 1, words);
    pthread_mutex_lock(&cluster->mutex);
    cluster->gave_up |= hw_cluster_in_run(cluster);
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

void hw_cluster_starved(void *argument, uint32_t node)
{
    hw_cluster *cluster = argument;
    char words[200];
    if (node < cluster->nodes_most)
        snprintf(words, sizeof words,
                 "there is no memory for what node %u (%.60s) has sent; free memory or use a smaller input", node,
                 hw_cluster_name(cluster, node));
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
        snprintf(loss.name, sizeof loss.name, "%s", hw_cluster_name(cluster, node));
    double paused = hw_net_paused(cluster->net);
    if (paused > 0)
        snprintf(loss.why, sizeof loss.why, "%.300s (this process had not run for %.1f s, and may be the one that was lost)",
                 why, paused);
    else
        snprintf(loss.why, sizeof loss.why, "%.*s", (int)sizeof loss.why - 1, why);
    hw_cluster_report_loss(cluster, &loss, cluster->self);
    hw_cluster_note_loss(cluster, &loss);
}
