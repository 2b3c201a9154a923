/* start.c - what a training starts from: a model, which node 0 reads, so that only its host needs the file, or files of
 * numbers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argument.h"
#include "base/digest.h"
#include "base/memory.h"
#include "data/model/model.h"
#include "exchange/numbers.h"
#include "runtime/job/job.h"

static hawser_status read_model(const char *path, bool if_exists, hw_bytes *bytes, hawser_model **model, hawser_error *error)
{
    if (path == NULL || (if_exists && access(path, F_OK) != 0 && errno == ENOENT))
        return HAWSER_OK;
    unsigned char *data = NULL;
    size_t size = 0;
    hawser_status status = hw_model_read(path, &data, &size, error);
    HAWSER_THEN(status, hw_model_parse(data, size, path, model, error));
    *bytes = (hw_bytes){data, size};
    return status;
}

hawser_status hw_job_model(hawser_job *job, const char *path, bool if_exists, hawser_model **model, hawser_error *error)
{
    hw_cluster *cluster = job->cluster;
    hw_bytes bytes = {0}, received = {0}; /* no bytes: node 0 has no model */
    hawser_status status = HAWSER_OK;
    *model = NULL;
    if (cluster == NULL || hw_cluster_self(cluster) == 0)
        status = read_model(path, if_exists, &bytes, model, error);
    if (cluster != NULL) {
        hw_cluster_set_phase(cluster, "reading the model to start from");
        status = hw_cluster_agree(cluster, status, error);
        HAWSER_THEN(status, hw_job_send_all(job, bytes, &received, error));
        if (status == HAWSER_OK && received.length != 0)
            status = hw_model_parse(received.data, received.length, "the model that node 0 has sent", model, error);
        free(received.data);
        status = hw_cluster_agree(cluster, status, error);
        hw_cluster_set_phase(cluster, "between two runs");
    }
    free(bytes.data);
    if (status != HAWSER_OK) {
        hawser_model_free(*model);
        *model = NULL;
    }
    return status;
}

bool hawser_job_init_given(const hawser_job *job, const char *name)
{
    return job != NULL && hw_first_find(&job->first, name) != NULL;
}

hawser_status hawser_job_init_numbers(hawser_job *job, const char *name, size_t rows, size_t cols, double *values,
                                      hawser_error *error)
{
    HW_GIVEN_JOB(job);
    HW_GIVEN(name);
    HW_GIVEN(values);
    hw_first_value *value = hw_first_find(&job->first, name);
    if (value == NULL)
        return hawser_fail(error, HAWSER_BAD_OPTION, "--init names no file for '%.80s'", name);
    const hw_numbers_wanted wanted = {.type = HAWSER_F64, .rows = rows, .cols = cols, .by_row = true};
    size_t count = rows * cols, bad = count;
    hawser_error own = {0};
    value->used = true;
    hawser_status status = hw_number_file_read(value->path, &wanted, &value->file, &own);
    if (status == HAWSER_OK)
        bad = hw_numbers_of(HAWSER_F64)->first_not_finite(value->file.values, count);
    if (bad < count)
        status = hawser_fail(&own, HAWSER_NOT_FINITE, "%s: number %zu is not finite", value->path, bad);
    if (status == HAWSER_OK) {
        memcpy(values, value->file.values, count * sizeof *values);
        value->digest = hw_digest_64(values, count, 0);
        value->taken = true;
    }
    hw_number_file_close(&value->file);
    return status == HAWSER_OK ? HAWSER_OK : hawser_fail(error, status, "--init: %s: %s", name, own.text);
}
