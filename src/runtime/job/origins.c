/* origins.c - hawser_job_origins: each node looks at its own columns, and all learn what was found. */
#include <stdlib.h>

#include "base/memory.h"
#include "data/centre.h"
#include "data/residence.h"
#include "runtime/job/job.h"

static hawser_status check(const hawser_matrix *A, hawser_error *error)
{
    if (A->residence != NULL && A->residence->rows != NULL)
        return hawser_matrix_whole(A, error);
    if (A->layout == HAWSER_CSR)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "hawser_job_origins: the data are sparse and stored by row; turn them by hawser_dataset_turn");
    return HAWSER_OK;
}

/* Takes what the other nodes found in their columns. Where all nodes have all columns, all have found the same. */
static hawser_status exchange(hawser_job *job, const hawser_matrix *A, double *origin, hw_bytes *in, hawser_error *error)
{
    hw_bytes own = {.data = origin, .length = A->cols * sizeof *origin};
    if (job->cluster == NULL || A->residence == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_cluster_allgather(job->cluster, own, in, error));
    for (size_t j = 0; j < A->cols; j++) {
        const hw_bytes *from = &in[hw_owner(&A->residence->owners, j)];
        if (from->length == own.length)
            origin[j] = ((const double *)from->data)[j];
    }
    return HAWSER_OK;
}

hawser_status hawser_job_origins(hawser_job *job, const hawser_dataset *dataset, double **origin, hawser_error *error)
{
    HW_GIVEN_JOB(job);
    HW_GIVEN(dataset);
    HW_GIVEN(origin);
    const hawser_matrix *A = &dataset->matrix;
    double *found = NULL;
    hw_bytes *in = NULL;
    bool any = false;
    *origin = NULL;
    hawser_status status = check(A, error);
    if (status == HAWSER_OK)
        status = HW_NEW(&found, A->cols, "the origins of columns", error);
    if (status == HAWSER_OK)
        status = HW_NEW(&in, hawser_job_nodes(job), "the origins of columns", error);
    if (status == HAWSER_OK)
        hw_centre_columns(dataset, found);
    status = hw_cluster_agree(job->cluster, status, error);
    if (status == HAWSER_OK)
        status = exchange(job, A, found, in, error);
    for (size_t j = 0; status == HAWSER_OK && j < A->cols; j++)
        any |= found[j] != 0.0;
    hw_bytes_free(in, hawser_job_nodes(job));
    if (status == HAWSER_OK && any)
        *origin = found;
    else
        free(found);
    return status;
}
