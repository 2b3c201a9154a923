/* facts.c - facts about a cluster, and what this node last said about itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    return node < cluster->nodes ? hw_members_at(cluster->members, node) : NULL;
}

uint32_t hw_cluster_host_members(const hw_cluster *cluster, uint32_t host)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < cluster->nodes; i++)
        count += hw_members_at(cluster->members, i)->host == host;
    return count;
}

/* A link that is made at its first use shares as much as the others, so a job can count on it. */
uint64_t hw_cluster_shared_bytes(const hw_cluster *cluster)
{
    uint64_t bytes = 0, largest = 0;
    uint32_t unused = 0;
    for (uint32_t i = 0; i < cluster->nodes; i++) {
        hw_net_path path = {0};
        if (i == cluster->self)
            continue;
        if (hw_net_path_of(cluster->net, i, &path)) {
            bytes += path.shared;
            largest = path.shared > largest ? path.shared : largest;
        } else {
            unused += hw_members_at(cluster->members, i)->host == hw_members_at(cluster->members, cluster->self)->host;
        }
    }
    return bytes + unused * largest;
}

bool hw_cluster_shares_memory(const hw_cluster *cluster, uint32_t node)
{
    hw_net_path path;
    const hw_members *members = cluster->members;
    if (hw_net_path_of(cluster->net, node, &path) && strcmp(path.transport, HW_NET_DIALLING) != 0)
        return path.shared > 0;
    if (hw_members_at(members, node)->host != hw_members_at(members, cluster->self)->host)
        return false;
    for (uint32_t i = 0; i < cluster->nodes; i++) /* links of one host are alike */
        if (i != cluster->self && hw_net_path_of(cluster->net, i, &path) && path.shared > 0)
            return true;
    return false;
}

/* Members of one host share its processors, so each host counts once, with the most that one of its members may use. */
hawser_status hw_cluster_count_processors(hw_cluster *cluster, hawser_error *error)
{
    uint32_t *counted = NULL; /* by host; hosts are numbered from 0 */
    HAWSER_TRY(HW_NEW(&counted, cluster->nodes, "the processors of hosts", error));
    cluster->processors = 0;
    for (uint32_t i = 0; i < cluster->nodes; i++) {
        const hw_member *member = hw_members_at(cluster->members, i);
        if (member->host >= cluster->nodes || member->processors <= counted[member->host])
            continue;
        cluster->processors += member->processors - counted[member->host];
        counted[member->host] = member->processors;
    }
    free(counted);
    return HAWSER_OK;
}

uint32_t hw_cluster_processors(const hw_cluster *cluster)
{
    return cluster->processors;
}

hw_members *hw_cluster_members(hw_cluster *cluster)
{
    return cluster->members;
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

void hw_cluster_cancel_by(hw_cluster *cluster, const hawser_cancellation *cancellation)
{
    pthread_mutex_lock(&cluster->mutex);
    cluster->cancellation = cancellation;
    pthread_mutex_unlock(&cluster->mutex);
}

void hw_cluster_set_phase(hw_cluster *cluster, const char *what)
{
    pthread_mutex_lock(&cluster->mutex);
    cluster->doing = what;
    pthread_mutex_unlock(&cluster->mutex);
}

void hw_cluster_blame(hw_cluster *cluster, uint32_t node, const char *why)
{
    if (cluster->blamed || node >= cluster->nodes_most || node == cluster->self || cluster->place->ops->lost == NULL)
        return;
    cluster->blamed = true;
    cluster->place->ops->lost(cluster->place, node, why);
}
