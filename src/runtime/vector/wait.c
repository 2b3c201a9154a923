/* wait.c - how a scatter waits for space, and a gather for scatters of its in-neighbours. */
#include <math.h>

#include "base/clock.h"
#include "runtime/vector/vector.h"

typedef struct edge_wait {
    hawser_vector *vector;
    uint32_t node;
    const hw_edge_out *out; /* one of both */
    const hw_edge_in *in;
    uint64_t iteration;
    bool open, closed, cancelled; /* why the wait has ended */
} edge_wait;

/* Called with the cluster's mutex held. */
static bool is_over(void *argument)
{
    edge_wait *wait = argument;
    hawser_vector *vector = wait->vector;
    pthread_mutex_lock(&vector->mutex);
    wait->open = wait->out != NULL ? hw_edge_open(wait->out) : hw_edge_ready(wait->in, wait->iteration);
    wait->closed = vector->closed[wait->node];
    pthread_mutex_unlock(&vector->mutex);
    wait->cancelled = hw_cancelled(atomic_load(&vector->job->waits));
    return wait->open || wait->closed || wait->cancelled;
}

static const char *name_of(const hawser_vector *vector, uint32_t node)
{
    return hw_cluster_member(vector->job->cluster, node)->name;
}

static hawser_status await(edge_wait *wait, double deadline, hawser_error *error)
{
    const hawser_vector *vector = wait->vector;
    if (is_over(wait) && wait->open)
        return HAWSER_OK;
    const char *what = wait->out != NULL ? "to gather what was scattered to it" : "to scatter";
    hawser_status status =
        hw_cluster_await(vector->job->cluster, is_over, wait, wait->node, fmax(0.0, deadline - hw_seconds()), false, error);
    if (status == HAWSER_TIMEOUT)
        return hawser_fail(error, HAWSER_TIMEOUT,
                           "vector '%s', iteration %llu: node %u (%s) has waited %.3g s (--timeout) for node %u (%s) %s",
                           vector->name, (unsigned long long)wait->iteration, vector->self, name_of(vector, vector->self),
                           vector->job->timeout, wait->node, name_of(vector, wait->node), what);
    if (status != HAWSER_OK || wait->open)
        return status;
    if (wait->closed)
        return hw_vector_check_closed(wait->vector, wait->node, error);
    return hawser_fail(error, HAWSER_STOP, "vector '%s', iteration %llu: the wait for node %u (%s) %s was cancelled",
                       vector->name, (unsigned long long)wait->iteration, wait->node, name_of(vector, wait->node), what);
}

hawser_status hw_vector_await_open(hawser_vector *vector, uint32_t receiver, double deadline, uint64_t iteration,
                                   hawser_error *error)
{
    edge_wait wait = {
        .vector = vector, .node = vector->receivers[receiver], .out = &vector->out[receiver], .iteration = iteration};
    return await(&wait, deadline, error);
}

hawser_status hw_vector_await_ready(hawser_vector *vector, uint32_t source, double deadline, uint64_t iteration,
                                    hawser_error *error)
{
    edge_wait wait = {.vector = vector, .node = vector->sources[source], .in = &vector->in[source], .iteration = iteration};
    return await(&wait, deadline, error);
}
