/* broadcast.c - what all nodes of a job agree on outside of runs: one status, and bytes of node 0. */
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/memory.h"
#include "runtime/job/job.h"

hawser_status hawser_job_agree(hawser_job *job, hawser_status own, hawser_error *error)
{
    HW_GIVEN_JOB(job);
    if (own < HAWSER_INTERNAL || own > HAWSER_VIEW_CHANGED)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_job_agree: there is no status %d", (int)own);
    hawser_error said = {0};
    if (own < HAWSER_OK && error != NULL)
        said = *error;
    hawser_status status = hw_cluster_agree(job->cluster, own, &said);
    if (status < HAWSER_OK && error != NULL)
        *error = said;
    return status == HAWSER_OK ? own : status;
}

hawser_status hw_job_send_all(hawser_job *job, hw_bytes own, hw_bytes *received, hawser_error *error)
{
    uint32_t nodes = hawser_job_nodes(job);
    hw_bytes *in = NULL;
    *received = (hw_bytes){0};
    if (job->cluster == NULL)
        return HAWSER_OK;
    hawser_status status = HW_NEW(&in, nodes, "what node 0 sends to all", error);
    status = hw_cluster_agree(job->cluster, status, error);
    if (status == HAWSER_OK)
        status = hw_cluster_allgather(job->cluster, hawser_job_leads(job) ? own : (hw_bytes){0}, in, error);
    if (status == HAWSER_OK && !hawser_job_leads(job)) {
        *received = in[0];
        in[0] = (hw_bytes){0};
    }
    hw_bytes_free(in, nodes);
    return status;
}

hawser_status hawser_job_broadcast(hawser_job *job, void *data, size_t size, hawser_error *error)
{
    HW_GIVEN_JOB(job);
    if (data == NULL && size > 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_job_broadcast: data is NULL, and size is %zu", size);
    if (job->cluster == NULL)
        return HAWSER_OK;
    hw_bytes received;
    hw_cluster_set_phase(job->cluster, "receiving what node 0 sends to all");
    hawser_status status = hw_job_send_all(job, (hw_bytes){data, size}, &received, error);
    HAWSER_TRY(status); /* the same on all nodes, or the job has lost one */
    if (!hawser_job_leads(job) && received.length != size)
        status =
            hawser_fail(error, HAWSER_BAD_ARGUMENT,
                        "hawser_job_broadcast: node 0 sends %zu bytes, and this node expects %zu", received.length, size);
    else if (!hawser_job_leads(job) && size > 0)
        memcpy(data, received.data, size);
    free(received.data);
    status = hw_cluster_agree(job->cluster, status, error);
    hw_cluster_set_phase(job->cluster, "between two runs");
    return status;
}
