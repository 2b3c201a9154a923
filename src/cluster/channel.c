/* channel.c - messages that belong to no run: those of a store. */
#include "cluster/internal.h"

hawser_status hw_cluster_channel(hw_cluster *cluster, const hw_channel *channel, hawser_error *error)
{
    pthread_rwlock_wrlock(&cluster->beside);
    cluster->channel = channel != NULL ? *channel : (hw_channel){0};
    pthread_rwlock_unlock(&cluster->beside);
    if (channel == NULL)
        return HAWSER_OK;
    pthread_mutex_lock(&cluster->mutex);
    hawser_status status = cluster->is_lost ? hw_cluster_fail_lost(cluster, error) : HAWSER_OK;
    pthread_mutex_unlock(&cluster->mutex);
    return status;
}

hawser_status hw_cluster_send(hw_cluster *cluster, uint32_t node, hw_message *message, hawser_error *error)
{
    hawser_status status = hw_net_send(cluster->net, node, message, error);
    if (status != HAWSER_PEER_LOST)
        return status;
    /* The reason why the node left, or the node that it has lost, helps more than the broken link. */
    pthread_mutex_lock(&cluster->mutex);
    if (cluster->members[node].left)
        status = hw_cluster_has_left(cluster, node, error);
    else
        status = cluster->is_lost ? hw_cluster_fail_lost(cluster, error) : HAWSER_OK; /* the loss is reported in a moment */
    pthread_mutex_unlock(&cluster->mutex);
    return status;
}

void hw_cluster_beside(hw_cluster *cluster, uint32_t node, hw_message *message)
{
    pthread_rwlock_rdlock(&cluster->beside);
    if (cluster->channel.arrived != NULL)
        cluster->channel.arrived(cluster->channel.argument, node, message);
    else
        hw_message_free(message);
    pthread_rwlock_unlock(&cluster->beside);
}

void *hw_cluster_acquire(void *argument, uint32_t node, const hw_message *message)
{
    hw_cluster *cluster = argument;
    void *place = NULL;
    pthread_rwlock_rdlock(&cluster->beside);
    if (cluster->channel.acquire != NULL)
        place = cluster->channel.acquire(cluster->channel.argument, node, message);
    if (place == NULL)
        pthread_rwlock_unlock(&cluster->beside);
    return place;
}

void hw_cluster_release(void *argument)
{
    hw_cluster *cluster = argument;
    cluster->channel.release(cluster->channel.argument);
    pthread_rwlock_unlock(&cluster->beside);
}

void hw_cluster_notify_channel(hw_cluster *cluster)
{
    hawser_error error = {0};
    pthread_mutex_lock(&cluster->mutex);
    (void)!hw_cluster_fail_lost(cluster, &error);
    pthread_mutex_unlock(&cluster->mutex);
    pthread_rwlock_rdlock(&cluster->beside);
    if (cluster->channel.lost != NULL)
        cluster->channel.lost(cluster->channel.argument, &error);
    pthread_rwlock_unlock(&cluster->beside);
}
