/* start.c - the model from which a training starts. Node 0 reads it, so only its host needs the file. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "data/model/model.h"
#include "runtime/job/job.h"

static hawser_status read_model(const char *path, bool if_exists, hw_bytes *bytes, hawser_model **model, hawser_error *error)
{
    if (path == NULL || (if_exists && access(path, F_OK) != 0 && errno == ENOENT))
        return HAWSER_OK;
    unsigned char *data = NULL;
    size_t size = 0;
    hawser_status status = hw_model_read(path, &data, &size, error);
    if (status == HAWSER_OK)
        status = hw_model_parse(data, size, path, model, error);
    *bytes = (hw_bytes){data, size};
    return status;
}

/* Sends node 0's model to all; no bytes mean that it has none. */
static hawser_status send_model(hw_cluster *cluster, hw_bytes own, hawser_model **model, hawser_error *error)
{
    uint32_t nodes = hw_cluster_nodes(cluster), self = hw_cluster_self(cluster);
    hw_bytes *out = NULL, *in = NULL;
    hawser_status status = HW_NEW(&out, nodes, "the model to start from", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&in, nodes, "the model to start from", error);
    for (uint32_t i = 1; status == HAWSER_OK && self == 0 && i < nodes; i++)
        out[i] = own;
    status = hw_cluster_agree(cluster, status, error);
    if (status == HAWSER_OK)
        status = hw_cluster_alltoall(cluster, out, in, error);
    if (status == HAWSER_OK && self != 0 && in[0].length != 0)
        status = hw_model_parse(in[0].data, in[0].length, "the model that node 0 has sent", model, error);
    hw_bytes_free(in, nodes);
    free(out);
    return hw_cluster_agree(cluster, status, error);
}

hawser_status hw_job_model(hawser_job *job, const char *path, bool if_exists, hawser_model **model, hawser_error *error)
{
    hw_cluster *cluster = job->cluster;
    hw_bytes bytes = {0};
    hawser_status status = HAWSER_OK;
    *model = NULL;
    if (cluster == NULL || hw_cluster_self(cluster) == 0)
        status = read_model(path, if_exists, &bytes, model, error);
    if (cluster != NULL) {
        hw_cluster_set_phase(cluster, "reading the model to start from");
        status = hw_cluster_agree(cluster, status, error);
        if (status == HAWSER_OK)
            status = send_model(cluster, bytes, model, error);
        hw_cluster_set_phase(cluster, "between two runs");
    }
    free(bytes.data);
    if (status != HAWSER_OK) {
        hawser_model_free(*model);
        *model = NULL;
    }
    return status;
}
