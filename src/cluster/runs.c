/* runs.c - passes messages to the run that they are for, begins and ends runs, and leaves the cluster. */
#include <stdlib.h>

#include "base/memory.h"
#include "cluster/internal.h"

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
    if (message->envelope.kind == HW_MESSAGE_ASK || message->envelope.kind == HW_MESSAGE_ANSWER ||
        message->envelope.kind == HW_MESSAGE_KEPT) {
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

void hw_cluster_drop_early(hw_cluster *cluster)
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
        if (hw_cluster_gone(cluster, i) && cluster->members[i].runs < cluster->session)
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
    hw_net_pace_again(cluster->net); /* what other stores of the job send waits for the limit again */
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
    hw_cluster_drop_early(cluster);
    drop_loss_messages(cluster);
    hw_cluster_drop_data(cluster);
    free(cluster->members);
    pthread_cond_destroy(&cluster->changed);
    pthread_mutex_destroy(&cluster->mutex);
    pthread_rwlock_destroy(&cluster->beside);
    free(cluster);
}
