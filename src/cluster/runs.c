/* runs.c - passes messages to the run that they are for, begins and ends runs, and leaves the cluster. */
#include <stdlib.h>
#include <string.h>

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

/* Returns the run in progress that has this number, or NULL. The mutex is held. */
static hw_cluster_run *run_of(const hw_cluster *cluster, uint32_t session)
{
    hw_cluster_run *run = cluster->runs;
    while (run != NULL && !(run->attached && run->session == session))
        run = run->next;
    return run;
}

/* Gives a message to its run: at once, when that run begins, or never if the run is over. */
static hawser_status pass_on(hw_cluster *cluster, uint32_t node, hw_message *message, hawser_error *error)
{
    if (hw_cluster_when(cluster, &message->envelope) == HW_EARLY) {
        message->origin = node; /* also for a message that was not spread: it has arrived here */
        keep_early(cluster, message);
        return HAWSER_OK;
    }
    const hw_cluster_run *run = run_of(cluster, message->envelope.session);
    if (run == NULL) {
        hw_cluster_drop(cluster, message);
        return HAWSER_OK;
    }
    if (message->envelope.kind == HW_MESSAGE_FETCH && run->serve != NULL)
        return run->serve(run->server, message, error);
    return hw_net_transport_arrived(run->transport, node, message, error);
}

void hw_cluster_pass_to_run(hw_cluster *cluster, uint32_t node, hw_message *message)
{
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

void hw_cluster_free_run(hw_cluster_run *run)
{
    if (run->attached)
        hw_members_unsubscribe(run->cluster->members, &run->subscriber);
    for (uint32_t i = 0; i < run->own_count; i++)
        hw_message_free(run->own[i].loss_message);
    if (run->transport != NULL)
        run->transport->ops->free(run->transport);
    free(run->own);
    free(run);
}

static hawser_status make_run(hw_cluster *cluster, const uint32_t *home, hw_cluster_run *run, hawser_error *error)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->endpoints; i++)
        count += home[i] == cluster->self;
    HAWSER_TRY(HW_NEW(&run->own, count, "a run's endpoints", error));
    for (uint32_t i = 0; i < run->endpoints; i++) {
        if (home[i] != cluster->self)
            continue;
        run->own[run->own_count].number = i;
        HAWSER_TRY(hw_message_new(sizeof(hw_loss), &run->own[run->own_count++].loss_message, error));
    }
    return hw_net_transport_new(cluster->net, run->session, run->endpoints, run->blocks, home, &run->transport, error);
}

static hw_cluster_run *run_with(const hw_cluster *cluster, const hw_transport *transport)
{
    hw_cluster_run *run = cluster->runs;
    while (run != NULL && run->transport != transport)
        run = run->next;
    return run;
}

static hawser_status fail_with_loss(hw_cluster *cluster, hawser_error *error)
{
    for (uint32_t i = 0; i < cluster->nodes; i++)
        if (hw_cluster_gone(cluster, i) && cluster->joiners[i].runs < cluster->session)
            return hw_cluster_has_left(cluster, i, error);
    return hw_cluster_is_lost(cluster) ? hw_cluster_fail_lost(cluster, error) : HAWSER_OK;
}

hawser_status hw_cluster_begin(hw_cluster *cluster, uint32_t endpoints, uint32_t blocks, const uint32_t *home,
                               hw_transport **transport, hawser_error *error)
{
    *transport = NULL;
    hw_cluster_run *run = NULL;
    if (cluster->runs != NULL && !cluster->runs->attached)
        return hawser_fail(error, HAWSER_INTERNAL, "the run before has begun, but its transport is not attached");
    HAWSER_TRY(HW_NEW(&run, 1, "a run", error));
    run->session = cluster->session + 1;
    run->endpoints = endpoints;
    run->blocks = blocks;
    hawser_status status = make_run(cluster, home, run, error);
    if (status != HAWSER_OK) {
        hw_cluster_free_run(run);
        return status;
    }
    pthread_mutex_lock(&cluster->mutex);
    run->cluster = cluster;
    run->next = cluster->runs;
    cluster->runs = run;
    pthread_mutex_unlock(&cluster->mutex);
    *transport = run->transport;
    return HAWSER_OK;
}

void hw_cluster_serve(hw_cluster *cluster, const hw_transport *transport,
                      hawser_status (*serve)(void *argument, hw_message *message, hawser_error *error), void *argument)
{
    pthread_mutex_lock(&cluster->mutex);
    hw_cluster_run *run = run_with(cluster, transport);
    run->serve = serve;
    run->server = argument;
    pthread_mutex_unlock(&cluster->mutex);
}

hawser_status hw_cluster_attach(hw_cluster *cluster, const hw_transport *transport, hawser_error *error)
{
    pthread_mutex_lock(&cluster->mutex);
    cluster->session++;
    hw_cluster_run *run = run_with(cluster, transport);
    run->attached = true;
    hawser_status status = fail_with_loss(cluster, error);
    HAWSER_THEN(status, replay_early(cluster, error));
    pthread_mutex_unlock(&cluster->mutex);
    run->subscriber = (hw_subscriber){.changed = hw_cluster_run_lost, .argument = run};
    hw_members_subscribe(cluster->members, &run->subscriber);
    return status;
}

void hw_cluster_drop_updates(hw_cluster *cluster)
{
    pthread_mutex_lock(&cluster->mutex);
    uint32_t session = cluster->session;
    pthread_mutex_unlock(&cluster->mutex);
    hw_net_drop_updates(cluster->net, session);
}

void hw_cluster_end(hw_cluster *cluster, hw_transport *transport)
{
    pthread_mutex_lock(&cluster->mutex);
    hw_cluster_run **at = &cluster->runs, *run = run_with(cluster, transport);
    while (run != NULL && *at != run)
        at = &(*at)->next;
    if (run != NULL)
        *at = run->next;
    pthread_mutex_unlock(&cluster->mutex);
    if (run != NULL)
        hw_cluster_free_run(run);
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
