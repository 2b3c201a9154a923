/* wait.c - how a collective call waits for a node. */
#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "cluster/internal.h"

#define WARN_PART 0.25 /* of --timeout: then a warning, if that is less than HW_WARN_SECONDS */

bool hw_cluster_wait_until(hw_cluster *cluster, double deadline)
{
    if (isinf(deadline))
        return pthread_cond_wait(&cluster->changed, &cluster->mutex) == 0;
    struct timespec until = hw_timespec(deadline);
    return pthread_cond_timedwait(&cluster->changed, &cluster->mutex, &until) != ETIMEDOUT;
}

/* Returns whether a node has left before it has completed the present collective call. One that has completed it left
 * nothing undone: its messages are on their way, over other nodes if not from itself. One that has ended a later job may
 * have failed in this one. */
static bool has_left_early(const hw_cluster *cluster, uint32_t node)
{
    const hw_joiner *joiner = &cluster->joiners[node];
    const bool completed = joiner->ended_job == cluster->job && joiner->completed >= cluster->rounds;
    return hw_cluster_gone(cluster, node) && !completed;
}

/* Returns the node itself if it has left, else a node that has left with a reason: it has failed, and no collective call can
 * complete. */
static uint32_t node_that_left(const hw_cluster *cluster, uint32_t node)
{
    if (!cluster->parted)
        return cluster->nodes;
    if (has_left_early(cluster, node))
        return node;
    uint32_t i = 0;
    while (i < cluster->nodes && !(has_left_early(cluster, i) && cluster->joiners[i].words != NULL))
        i++;
    return i;
}

hawser_status hw_cluster_check_wait(hw_cluster *cluster, uint32_t node, hawser_error *error)
{
    uint32_t gone = node_that_left(cluster, node);
    if (gone < cluster->nodes)
        return hw_cluster_has_left(cluster, gone, error);
    if (!hw_cluster_is_lost(cluster))
        return HAWSER_OK;
    hw_cluster_await_losses(cluster);
    return hw_cluster_fail_lost(cluster, error);
}

hawser_status hw_cluster_check_late(hw_cluster *cluster, uint32_t node, bool late, double seconds, hawser_error *error)
{
    if (late) {
        hw_cluster_blame(cluster, node, "the others timed out waiting for it");
        return hawser_fail(error, HAWSER_TIMEOUT,
                           "timed out after %.3g s (--timeout) waiting for node %u (%s), which is alive; the job was "
                           "%s. Does that node read "
                           "from a pipe without a writer or from an unreachable file server?",
                           seconds, node, hw_cluster_name(cluster, node), cluster->doing);
    }
    if (hw_cancelled(cluster->cancellation))
        return hawser_fail(error, HAWSER_STOP, "waiting for node %u (%s) was cancelled; the job was %s", node,
                           hw_cluster_name(cluster, node), cluster->doing);
    return HAWSER_OK;
}

double hw_cluster_pause(double seconds)
{
    return fmin(HW_WARN_SECONDS, WARN_PART * seconds);
}

/* A node that reads for long may be at work, so nothing ends before --timeout. But a line names the node that the others
 * wait for. Node 0 prints it, or node 1 if node 0 is that one. */
void hw_cluster_warn_of_delay(const hw_cluster *cluster, uint32_t node, double waited, double most)
{
    if (cluster->self != (node == 0))
        return;
    hw_notify(cluster->messages, HAWSER_WARNING, cluster->self,
              "node %u (%.100s) lives, but has kept the others waiting for %.3g s; the job is %.100s; it ends after %.4g s "
              "(--timeout)",
              node, hw_cluster_name(cluster, node), waited, cluster->doing, most);
}

hawser_status hw_cluster_wait(hw_cluster *cluster, bool (*ready)(const hw_cluster *cluster, uint32_t node), uint32_t node,
                              double seconds, bool warns, hawser_error *error)
{
    double begun = hw_seconds(), deadline = begun + seconds, pause = hw_cluster_pause(seconds), now = begun;
    while (!ready(cluster, node)) {
        HAWSER_TRY(hw_cluster_check_wait(cluster, node, error));
        HAWSER_TRY(hw_cluster_check_late(cluster, node, now >= deadline, seconds, error));
        if (now - begun >= pause) {
            if (warns)
                hw_cluster_warn_of_delay(cluster, node, now - begun, seconds);
            pause *= 2;
        }
        (void)hw_cluster_wait_until(cluster, hw_cancellation_slice(cluster->cancellation, fmin(deadline, begun + pause)));
        now = hw_seconds();
    }
    return HAWSER_OK;
}
