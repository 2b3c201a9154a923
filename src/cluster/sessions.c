/* sessions.c - which messages belong to the present job or run, and which runs are in progress. */
#include "cluster/internal.h"

hw_when hw_cluster_when(const hw_cluster *cluster, const hw_envelope *envelope)
{
    uint32_t own = hw_message_scope(envelope->kind) == HW_SCOPE_RUN ? cluster->session : cluster->job;
    if (envelope->session == own)
        return HW_NOW;
    return envelope->session > own ? HW_EARLY : HW_LATE;
}

void hw_cluster_drop(hw_cluster *cluster, hw_message *message)
{
    atomic_fetch_add_explicit(&cluster->late, 1, memory_order_relaxed);
    hw_message_free(message);
}

/* The net has dropped a message. A correct node sends none such in the first view, so one line names it. */
void hw_cluster_foreign(void *argument, uint32_t node, const hw_envelope *envelope)
{
    hw_cluster *cluster = argument;
    if (atomic_fetch_add_explicit(&cluster->foreign, 1, memory_order_relaxed) > 0)
        return;
    hw_notify(
        cluster->messages, HAWSER_WARNING, cluster->self,
        "dropped a message of kind %u from node %u: it is of incarnation %u in view %u, and not of that node as it is now; "
        "further ones are counted only",
        envelope->kind, node, envelope->incarnation, envelope->view);
}

hw_cluster_dropped hw_cluster_dropped_messages(hw_cluster *cluster)
{
    return (hw_cluster_dropped){atomic_load(&cluster->late), atomic_load(&cluster->foreign)};
}

bool hw_cluster_in_run(const hw_cluster *cluster)
{
    const hw_cluster_run *run = cluster->runs;
    while (run != NULL && !run->attached)
        run = run->next;
    return run != NULL;
}

uint32_t hw_cluster_runs_ended(const hw_cluster *cluster)
{
    uint32_t ended = cluster->session - cluster->gave_up;
    for (const hw_cluster_run *run = cluster->runs; run != NULL; run = run->next)
        if (run->attached && run->session <= ended)
            ended = run->session - 1;
    return ended;
}
