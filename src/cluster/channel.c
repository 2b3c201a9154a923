/* channel.c - channels beside the runs, for messages that belong to a job and to no run. */

#include "base/clock.h"
#include "cluster/internal.h"

/* Returns the open channel that receives a kind of message, or NULL. `beside` is held. */
static hw_open_channel *channel_of(hw_cluster *cluster, uint8_t kind)
{
    for (size_t i = 0; i < HW_CHANNELS_MOST; i++) {
        const hw_channel *channel = cluster->channels[i].channel;
        for (size_t k = 0; channel != NULL && k < sizeof channel->kinds && channel->kinds[k] != 0; k++)
            if (channel->kinds[k] == kind)
                return &cluster->channels[i];
    }
    return NULL;
}

/* Returns a free place, or NULL if there is none or another channel has one of the kinds. */
static hw_open_channel *place_for(hw_cluster *cluster, const hw_channel *channel)
{
    hw_open_channel *place = NULL;
    for (size_t k = 0; k < sizeof channel->kinds && channel->kinds[k] != 0; k++)
        if (channel_of(cluster, channel->kinds[k]) != NULL || hw_message_scope(channel->kinds[k]) != HW_SCOPE_CHANNEL)
            return NULL;
    for (size_t i = HW_CHANNELS_MOST; i > 0; i--)
        place = cluster->channels[i - 1].channel == NULL ? &cluster->channels[i - 1] : place;
    return place;
}

hawser_status hw_cluster_open_channel(hw_cluster *cluster, const hw_channel *channel, void *argument, hawser_error *error)
{
    pthread_rwlock_wrlock(&cluster->beside);
    hw_open_channel *place = place_for(cluster, channel);
    if (place != NULL)
        *place = (hw_open_channel){channel, argument, {.changed = channel->lost, .argument = argument}};
    pthread_rwlock_unlock(&cluster->beside);
    if (place == NULL)
        return hawser_fail(error, HAWSER_INTERNAL,
                           "the channel of %s cannot be opened: another one is open for its messages", channel->name);
    if (channel->lost != NULL)
        hw_members_subscribe(cluster->members, &place->subscriber);
    return HAWSER_OK;
}

void hw_cluster_close_channel(hw_cluster *cluster, const hw_channel *channel)
{
    hw_open_channel *place = NULL;
    pthread_rwlock_rdlock(&cluster->beside);
    for (size_t i = 0; i < HW_CHANNELS_MOST; i++)
        place = cluster->channels[i].channel == channel ? &cluster->channels[i] : place;
    pthread_rwlock_unlock(&cluster->beside);
    if (place == NULL)
        return;
    hw_members_unsubscribe(cluster->members, &place->subscriber); /* without the lock, which its function may take */
    pthread_rwlock_wrlock(&cluster->beside);
    *place = (hw_open_channel){0};
    pthread_rwlock_unlock(&cluster->beside);
}

hawser_status hw_cluster_send(hw_cluster *cluster, uint32_t node, hw_message *message, hawser_error *error)
{
    message->envelope.session = cluster->job;
    hawser_status status = hw_net_send(cluster->net, node, message, error);
    if (status != HAWSER_PEER_LOST)
        return status;
    /* The reason of the loss, or that for which the node left, helps more than the broken link. */
    pthread_mutex_lock(&cluster->mutex);
    hw_member_event event;
    if (hw_members_loss_of(cluster->members, node, &event))
        status = hw_cluster_fail_event(&event, error);
    else if (hw_cluster_gone(cluster, node))
        status = hw_cluster_has_left(cluster, node, error);
    else
        status = HAWSER_OK; /* the loss is reported in a moment */
    pthread_mutex_unlock(&cluster->mutex);
    return status;
}

void hw_cluster_tell(hw_cluster *cluster, uint32_t node, hw_message *message)
{
    hawser_error error = {0};
    message->envelope.session = cluster->job;
    (void)!hw_net_send(cluster->net, node, message, &error);
}

/* Returns the channel for a message of the present job, or NULL. `beside` is held. */
static const hw_open_channel *present(hw_cluster *cluster, const hw_message *message)
{
    return hw_cluster_when(cluster, &message->envelope) == HW_NOW ? channel_of(cluster, message->envelope.kind) : NULL;
}

void hw_cluster_beside(hw_cluster *cluster, uint32_t node, hw_message *message)
{
    pthread_rwlock_rdlock(&cluster->beside);
    const hw_open_channel *open = present(cluster, message);
    if (open != NULL)
        open->channel->arrived(open->argument, node, message);
    else
        hw_cluster_drop(cluster, message);
    pthread_rwlock_unlock(&cluster->beside);
}

void hw_cluster_notify_left(hw_cluster *cluster, uint32_t node)
{
    pthread_rwlock_rdlock(&cluster->beside);
    for (size_t i = 0; i < HW_CHANNELS_MOST; i++) {
        const hw_open_channel *open = &cluster->channels[i];
        if (open->channel != NULL && open->channel->left != NULL)
            open->channel->left(open->argument, node);
    }
    pthread_rwlock_unlock(&cluster->beside);
}

hawser_status hw_cluster_why_left(hw_cluster *cluster, uint32_t node, hawser_error *error)
{
    pthread_mutex_lock(&cluster->mutex);
    hawser_status status = hw_cluster_has_left(cluster, node, error);
    pthread_mutex_unlock(&cluster->mutex);
    return status;
}

void *hw_cluster_acquire(void *argument, uint32_t node, const hw_message *message)
{
    hw_cluster *cluster = argument;
    void *place = NULL;
    pthread_rwlock_rdlock(&cluster->beside);
    const hw_open_channel *open = present(cluster, message);
    if (open != NULL && open->channel->acquire != NULL)
        place = open->channel->acquire(open->argument, node, message);
    cluster->acquired = open;
    if (place == NULL)
        pthread_rwlock_unlock(&cluster->beside);
    return place;
}

void hw_cluster_release(void *argument)
{
    hw_cluster *cluster = argument;
    cluster->acquired->channel->release(cluster->acquired->argument);
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
              "node %u waits to close the job: node %u (%.100s), or one that it waits for, may still read results here, and "
              "has not closed the job for %.3g s",
              cluster->self, node, hw_cluster_name(cluster, node), waited);
}

/* Returns whether a node sends nothing more of this job. If there never was a link, neither node has needed one yet. */
static bool is_away(const hw_cluster *cluster, uint32_t node)
{
    hw_net_path path;
    const hw_joiner *joiner = &cluster->joiners[node];
    return joiner->closes > cluster->job ||
           (!hw_net_linked(cluster->net, node) && (joiner->departed || hw_net_path_of(cluster->net, node, &path)));
}

/* Returns the node, or any if it is HW_NET_ANY, from which nothing can come any more; HW_NET_ANY: none. */
static uint32_t unlinked(const hw_cluster *cluster, uint32_t node)
{
    for (uint32_t i = 0; i < cluster->nodes; i++)
        if ((node == HW_NET_ANY ? i != cluster->self : i == node) && is_away(cluster, i))
            return i;
    return HW_NET_ANY;
}

hawser_status hw_cluster_await(hw_cluster *cluster, bool (*ready)(void *argument), void *argument, uint32_t node,
                               double seconds, bool warns, hawser_error *error)
{
    const double look = 0.2, without_reason = 1.0; /* the end of a link that was announced wakes no thread */
    double begun = hw_seconds(), pause = HW_WARN_SECONDS, linked = begun;
    hawser_status status = HAWSER_OK;
    pthread_mutex_lock(&cluster->mutex);
    for (double now = begun; status == HAWSER_OK && !ready(argument); now = hw_seconds()) {
        uint32_t away = unlinked(cluster, node);
        linked = away == HW_NET_ANY ? now : linked;
        if (cluster->cancelled) {
            status = hw_cluster_fail_again(cluster, error);
        } else if (hw_cluster_is_lost(cluster)) {
            hw_cluster_await_losses(cluster);
            status = hw_cluster_fail_lost(cluster, error);
        } else if (now - linked > (away != HW_NET_ANY && hw_cluster_gone(cluster, away) ? 0.0 : without_reason)) {
            status = hw_cluster_has_left(cluster, away, error);
        } else if (now - begun >= seconds && node == HW_NET_ANY) {
            status = hawser_fail(error, HAWSER_TIMEOUT, "timed out after %.3g s (--timeout)", seconds);
        } else if (now - begun >= seconds) {
            hw_cluster_blame(cluster, node, "another node timed out waiting for it");
            status = hawser_fail(error, HAWSER_TIMEOUT, "timed out after %.3g s (--timeout) waiting for node %u (%s)",
                                 seconds, node, hw_cluster_name(cluster, node));
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
