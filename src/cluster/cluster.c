/* cluster.c - what a node knows of the other nodes, and how messages reach the run that they are for. */
#include "cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cluster/internal.h"

uint32_t hw_cluster_self(const hw_cluster *cluster)
{
    return cluster->self;
}

uint32_t hw_cluster_nodes(const hw_cluster *cluster)
{
    return cluster->nodes;
}

const hw_member *hw_cluster_member(const hw_cluster *cluster, uint32_t node)
{
    return node < cluster->nodes ? &cluster->members[node].member : NULL;
}

uint32_t hw_cluster_host_members(const hw_cluster *cluster, uint32_t host)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < cluster->nodes; i++)
        count += cluster->members[i].member.host == host;
    return count;
}

uint64_t hw_cluster_shared_bytes(const hw_cluster *cluster)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < cluster->nodes; i++) {
        hw_net_path path;
        if (i != cluster->self && hw_net_path_of(cluster->net, i, &path))
            bytes += path.shared;
    }
    return bytes;
}

/* Members of one host share its processors, so each host counts once, with the most that one of its members may use. */
uint32_t hw_cluster_processors(const hw_cluster *cluster)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < cluster->nodes; i++) {
        const hw_member *own = &cluster->members[i].member;
        bool counts = true;
        for (uint32_t k = 0; k < cluster->nodes && counts; k++) {
            const hw_member *other = &cluster->members[k].member;
            if (k != i && other->host == own->host)
                counts = other->processors < own->processors || (other->processors == own->processors && i < k);
        }
        sum += counts ? own->processors : 0;
    }
    return sum;
}

hw_net *hw_cluster_net(hw_cluster *cluster)
{
    return cluster->net;
}

void hw_cluster_set_reason(hw_cluster *cluster, const char *words)
{
    pthread_mutex_lock(&cluster->mutex);
    snprintf(cluster->words, sizeof cluster->words, "%s", words);
    pthread_mutex_unlock(&cluster->mutex);
}

void hw_cluster_set_phase(hw_cluster *cluster, const char *what)
{
    pthread_mutex_lock(&cluster->mutex);
    cluster->doing = what;
    pthread_mutex_unlock(&cluster->mutex);
}

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
                               : hawser_fail(error, HAWSER_PEER_LOST, "%s; the job was %s", text, cluster->doing);
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

/* ------------------------------------------------------------------------------------------------------- losses ---- */

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

void hw_cluster_note_loss(hw_cluster *cluster, const hw_loss *loss)
{
    pthread_mutex_lock(&cluster->mutex);
    bool first = !cluster->is_lost;
    if (loss->node < cluster->nodes_most)
        cluster->members[loss->node].lost = true;
    if (first) {
        cluster->is_lost = true;
        cluster->lost_at = hw_seconds();
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

void hw_cluster_give_up(hw_cluster *cluster, const char *words)
{
    hw_loss loss = {.node = cluster->self, .reported = HW_LOSS_OWN};
    memcpy(loss.name, cluster->members[cluster->self].member.name, sizeof loss.name);
    snprintf(loss.why, sizeof loss.why, "%.*s", (int)sizeof loss.why - 1, words);
    pthread_mutex_lock(&cluster->mutex);
    cluster->gave_up |= cluster->transport != NULL;
    pthread_mutex_unlock(&cluster->mutex);
    hw_cluster_set_reason(cluster, words);
    hw_cluster_say_leave(cluster);
    hw_cluster_note_loss(cluster, &loss);
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
    hw_cluster_give_up(cluster, words);
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

/* ----------------------------------------------------------------------------------------------------- messages ---- */

static void keep_early(hw_cluster *cluster, hw_message *message)
{
    message->next = NULL;
    if (cluster->early_last != NULL)
        cluster->early_last->next = message;
    else
        cluster->early = message;
    cluster->early_last = message;
}

/* Gives a message to its run: at once, when that run begins, or never if the run is over. */
static hawser_status pass_on(hw_cluster *cluster, uint32_t node, hw_message *message, hawser_error *error)
{
    uint32_t session = message->envelope.session;
    if (session > cluster->session) {
        message->origin = node; /* also for a message that was not spread: it has arrived here */
        keep_early(cluster, message);
        return HAWSER_OK;
    }
    if (session < cluster->session || cluster->transport == NULL) {
        hw_message_free(message);
        return HAWSER_OK;
    }
    if (message->envelope.kind == HW_MESSAGE_FETCH && cluster->serve != NULL) {
        hawser_status status = hw_envelope_check(&message->envelope, node, error);
        if (status == HAWSER_OK)
            return cluster->serve(cluster->server, message, error);
        hw_message_free(message);
        return status;
    }
    return hw_net_transport_arrived(cluster->transport, node, message, error);
}

void hw_cluster_arrived(void *argument, uint32_t node, hw_message *message)
{
    hw_cluster *cluster = argument;
    if (message->envelope.kind == HW_MESSAGE_JOIN) {
        hw_cluster_receive_join(cluster, node, message);
        return;
    }
    if (message->envelope.kind == HW_MESSAGE_DATA) {
        hw_cluster_keep_data(cluster, node, message);
        return;
    }
    if (message->envelope.kind == HW_MESSAGE_ASK || message->envelope.kind == HW_MESSAGE_ANSWER) {
        hw_cluster_beside(cluster, node, message);
        return;
    }
    hawser_error error;
    pthread_mutex_lock(&cluster->mutex);
    hawser_status status = pass_on(cluster, node, message, &error);
    pthread_mutex_unlock(&cluster->mutex);
    if (status == HAWSER_NO_MEMORY)
        hw_cluster_give_up(cluster, error.text);
    else if (status != HAWSER_OK)
        hw_cluster_lost(cluster, node, error.text, 0);
}

static void drop_early(hw_cluster *cluster)
{
    hw_messages_free(cluster->early);
    cluster->early = cluster->early_last = NULL;
}

/* Delivers the messages that arrived for this run before it began here. */
static hawser_status replay_early(hw_cluster *cluster, hawser_error *error)
{
    hw_message *list = cluster->early;
    cluster->early = cluster->early_last = NULL;
    hawser_status status = HAWSER_OK;
    while (list != NULL) {
        hw_message *next = list->next;
        if (status == HAWSER_OK)
            status = pass_on(cluster, list->origin, list, error);
        else
            hw_message_free(list);
        list = next;
    }
    return status;
}

/* --------------------------------------------------------------------------------------------------------- runs ---- */

static hawser_status make_loss_messages(hw_cluster *cluster, const uint32_t *home, hawser_error *error)
{
    HAWSER_TRY(HW_NEW(&cluster->loss_messages, cluster->endpoints, "a run's loss messages", error));
    for (uint32_t i = 0; i < cluster->endpoints; i++)
        if (home[i] == cluster->self)
            HAWSER_TRY(hw_message_new(sizeof(hw_loss), &cluster->loss_messages[i], error));
    return HAWSER_OK;
}

static void drop_loss_messages(hw_cluster *cluster)
{
    for (uint32_t i = 0; cluster->loss_messages != NULL && i < cluster->endpoints; i++)
        hw_message_free(cluster->loss_messages[i]);
    free(cluster->loss_messages);
    cluster->loss_messages = NULL;
}

static hawser_status fail_with_loss(hw_cluster *cluster, hawser_error *error)
{
    for (uint32_t i = 0; i < cluster->nodes; i++)
        if (cluster->members[i].left && cluster->members[i].runs < cluster->session)
            return hw_cluster_has_left(cluster, i, error);
    return cluster->is_lost ? hw_cluster_fail_lost(cluster, error) : HAWSER_OK;
}

hawser_status hw_cluster_begin(hw_cluster *cluster, uint32_t endpoints, uint32_t blocks, const uint32_t *home,
                               hw_transport **transport, hawser_error *error)
{
    *transport = NULL;
    hw_transport *made = NULL;
    cluster->endpoints = endpoints;
    cluster->blocks = blocks;
    hawser_status status = make_loss_messages(cluster, home, error);
    if (status == HAWSER_OK)
        status = hw_net_transport_new(cluster->net, cluster->session + 1, endpoints, blocks, home, &made, error);
    if (status != HAWSER_OK) {
        drop_loss_messages(cluster);
        return status;
    }
    *transport = cluster->begun = made;
    return HAWSER_OK;
}

void hw_cluster_serve(hw_cluster *cluster, hawser_status (*serve)(void *argument, hw_message *message, hawser_error *error),
                      void *argument)
{
    cluster->serve = serve;
    cluster->server = argument;
}

hawser_status hw_cluster_attach(hw_cluster *cluster, hawser_error *error)
{
    pthread_mutex_lock(&cluster->mutex);
    cluster->session++;
    cluster->transport = cluster->begun;
    hawser_status status = fail_with_loss(cluster, error);
    if (status == HAWSER_OK)
        status = replay_early(cluster, error);
    pthread_mutex_unlock(&cluster->mutex);
    return status;
}

void hw_cluster_drop_updates(hw_cluster *cluster)
{
    pthread_mutex_lock(&cluster->mutex);
    uint32_t session = cluster->session;
    pthread_mutex_unlock(&cluster->mutex);
    hw_net_drop_updates(cluster->net, session);
}

void hw_cluster_end(hw_cluster *cluster)
{
    pthread_mutex_lock(&cluster->mutex);
    hw_transport *transport = cluster->begun;
    cluster->begun = cluster->transport = NULL;
    cluster->serve = NULL;
    drop_loss_messages(cluster);
    pthread_mutex_unlock(&cluster->mutex);
    if (transport != NULL)
        transport->ops->free(transport);
}

void hw_cluster_abort(hw_cluster *cluster, const char *words, double seconds)
{
    hw_cluster_set_reason(cluster, words);
    if (cluster->net == NULL)
        return;
    hw_cluster_say_leave(cluster);
    hw_net_stop(cluster->net, seconds);
}

void hw_cluster_leave(hw_cluster *cluster)
{
    enum { GOODBYE_SECONDS = 5 };
    if (cluster == NULL)
        return;
    hw_lifeline_end(&cluster->lifeline);
    if (cluster->net != NULL) {
        hw_cluster_say_leave(cluster);
        hw_net_stop(cluster->net, GOODBYE_SECONDS);
        hw_net_free(cluster->net);
    }
    drop_early(cluster);
    drop_loss_messages(cluster);
    hw_cluster_drop_data(cluster);
    free(cluster->members);
    pthread_cond_destroy(&cluster->changed);
    pthread_mutex_destroy(&cluster->mutex);
    pthread_rwlock_destroy(&cluster->beside);
    free(cluster);
}
