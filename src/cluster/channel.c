/* channel.c - messages that belong to no run: those of a store, and of stored results. */
#include <stdio.h>

#include "base/clock.h"
#include "cluster/internal.h"

hawser_status hw_cluster_channel(hw_cluster *cluster, hw_channel_of which, const hw_channel *channel, hawser_error *error)
{
    pthread_rwlock_wrlock(&cluster->beside);
    cluster->channels[which] = channel != NULL ? *channel : (hw_channel){0};
    pthread_rwlock_unlock(&cluster->beside);
    if (channel == NULL)
        return HAWSER_OK;
    if (which == HW_CHANNEL_STORE)
        hw_net_pace_again(cluster->net);
    pthread_mutex_lock(&cluster->mutex);
    hawser_status status = cluster->is_lost ? hw_cluster_fail_lost(cluster, error) : HAWSER_OK;
    pthread_mutex_unlock(&cluster->mutex);
    return status;
}

hawser_status hw_cluster_send(hw_cluster *cluster, uint32_t node, hw_message *message, hawser_error *error)
{
    message->envelope.session = cluster->job;
    hawser_status status = hw_net_send(cluster->net, node, message, error);
    if (status != HAWSER_PEER_LOST)
        return status;
    /* The reason why the node left, or the node that it has lost, helps more than the broken link. */
    pthread_mutex_lock(&cluster->mutex);
    if (hw_cluster_gone(cluster, node))
        status = hw_cluster_has_left(cluster, node, error);
    else
        status = cluster->is_lost ? hw_cluster_fail_lost(cluster, error) : HAWSER_OK; /* the loss is reported in a moment */
    pthread_mutex_unlock(&cluster->mutex);
    return status;
}

/* Returns false for a message of a job before. */
static bool is_present(const hw_cluster *cluster, const hw_message *message)
{
    return message->envelope.session == cluster->job;
}

void hw_cluster_beside(hw_cluster *cluster, uint32_t node, hw_message *message)
{
    pthread_rwlock_rdlock(&cluster->beside);
    const hw_channel *channel =
        &cluster->channels[message->envelope.kind == HW_MESSAGE_KEPT ? HW_CHANNEL_RESULTS : HW_CHANNEL_STORE];
    if (channel->arrived != NULL && is_present(cluster, message))
        channel->arrived(channel->argument, node, message);
    else
        hw_message_free(message);
    pthread_rwlock_unlock(&cluster->beside);
}

void *hw_cluster_acquire(void *argument, uint32_t node, const hw_message *message)
{
    hw_cluster *cluster = argument;
    void *place = NULL;
    pthread_rwlock_rdlock(&cluster->beside);
    const hw_channel *channel = &cluster->channels[HW_CHANNEL_STORE];
    if (channel->acquire != NULL && is_present(cluster, message))
        place = channel->acquire(channel->argument, node, message);
    if (place == NULL)
        pthread_rwlock_unlock(&cluster->beside);
    return place;
}

void hw_cluster_release(void *argument)
{
    hw_cluster *cluster = argument;
    cluster->channels[HW_CHANNEL_STORE].release(cluster->channels[HW_CHANNEL_STORE].argument);
    pthread_rwlock_unlock(&cluster->beside);
}

void hw_cluster_notify_channel(hw_cluster *cluster)
{
    hawser_error error = {0};
    pthread_mutex_lock(&cluster->mutex);
    (void)!hw_cluster_fail_lost(cluster, &error);
    pthread_mutex_unlock(&cluster->mutex);
    pthread_rwlock_rdlock(&cluster->beside);
    for (int i = 0; i < HW_CHANNELS; i++)
        if (cluster->channels[i].lost != NULL)
            cluster->channels[i].lost(cluster->channels[i].argument, &error);
    pthread_rwlock_unlock(&cluster->beside);
}

/* ----------------------------------------------------------------------------------------------------- waiting ---- */

void hw_cluster_wake(hw_cluster *cluster)
{
    pthread_mutex_lock(&cluster->mutex);
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->mutex);
}

static void warn_of_open_job(const hw_cluster *cluster, uint32_t node, double waited)
{
    hw_notify(cluster->messages, HAWSER_WARNING, cluster->self,
              "node %u waits to close the job: node %u (%.100s) may still read results here, and has not "
              "closed the job for %.3g s",
              cluster->self, node, cluster->members[node].member.name, waited);
}

hawser_status hw_cluster_await(hw_cluster *cluster, bool (*ready)(void *argument), void *argument, uint32_t node,
                               double seconds, bool warns, hawser_error *error)
{
    const double look = 0.2, without_reason = 1.0; /* the end of a link that was announced wakes no thread */
    double begun = hw_seconds(), pause = HW_WARN_SECONDS, linked = begun;
    hawser_status status = HAWSER_OK;
    pthread_mutex_lock(&cluster->mutex);
    for (double now = begun; status == HAWSER_OK && !ready(argument); now = hw_seconds()) {
        bool open = hw_net_linked(cluster->net, node) && cluster->members[node].closes <= cluster->job;
        linked = open ? now : linked;
        if (cluster->cancelled) {
            status = hawser_fail(error, HAWSER_STOP, "a collective call of this job was cancelled; close the job");
        } else if (cluster->is_lost) {
            hw_cluster_await_losses(cluster);
            status = hw_cluster_fail_lost(cluster, error);
        } else if (now - linked > (hw_cluster_gone(cluster, node) ? 0.0 : without_reason)) {
            status = hw_cluster_has_left(cluster, node, error);
        } else if (now - begun >= seconds) {
            hw_cluster_blame(cluster, node, "another node timed out waiting for it");
            status = hawser_fail(error, HAWSER_TIMEOUT, "timed out after %.3g s (--timeout) waiting for node %u (%s)",
                                 seconds, node, cluster->members[node].member.name);
        } else {
            struct timespec until = hw_timespec(now + look);
            (void)pthread_cond_timedwait(&cluster->changed, &cluster->mutex, &until);
        }
        if (warns && now - begun >= pause) {
            warn_of_open_job(cluster, node, now - begun);
            pause *= 2;
        }
    }
    pthread_mutex_unlock(&cluster->mutex);
    return status;
}
