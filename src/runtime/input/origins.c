/* origins.c - hawser_job_origins: each node looks at its own columns, and all learn what was found. */
#include <stdlib.h>

#include "base/layout.h"
#include "base/memory.h"
#include "base/type.h"
#include "data/centre.h"
#include "data/residence.h"
#include "hawser/job_data.h"
#include "runtime/input/loading.h"

static hawser_status check(const hawser_matrix *A, hawser_error *error)
{
    if (A->residence != NULL && A->residence->rows != NULL)
        return hawser_matrix_whole(A, error);
    if (A->layout == HAWSER_CSR)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT,
                           "hawser_job_origins: the data are sparse and stored by row; turn them by hawser_dataset_turn");
    return HAWSER_OK;
}

/* Fails if the data and a copy of them without their origins do not fit the memory. */
static hawser_status afford(const hawser_job *job, const hawser_matrix *A, const double *origin, hawser_error *error)
{
    uint64_t entry = hw_type_size(A->type) + (hw_is_dense(A) ? 0 : sizeof *A->indices), own = 0, copy = 0;
    for (size_t j = 0; j < A->cols; j++) {
        if (A->residence != NULL && !hw_is_here(A->residence, (uint32_t)j))
            continue;
        uint64_t stored = hw_is_dense(A) ? A->rows : A->offsets[j + 1] - A->offsets[j];
        own += stored * entry;
        copy += (origin[j] != 0.0 ? A->rows : stored) * entry;
    }
    own = A->mapped ? 0 : own;
    if (own + copy <= job->settings.memory)
        return HAWSER_OK;
    return hawser_fail(
        error, HAWSER_NO_MEMORY,
        "columns are far from zero, so the training needs a copy of the data: %.1f MiB besides %.1f MiB, but the limit is "
        "%.1f MiB; subtract numbers near their means from the columns, use --type f32 or raise --memory-limit",
        (double)copy / 0x1p20, (double)own / 0x1p20, (double)job->settings.memory / 0x1p20);
}

hawser_status hawser_job_origins(hawser_job *job, const hawser_dataset *dataset, double **origin, hawser_error *error)
{
    HW_GIVEN_JOB(job);
    HW_GIVEN(dataset);
    HW_GIVEN(origin);
    const hawser_matrix *A = &dataset->matrix;
    hw_loading l = hw_loading_of(job, NULL);
    double *found = NULL;
    bool any = false;
    *origin = NULL;
    hawser_status status = check(A, error);
    HAWSER_THEN(status, HW_NEW(&found, A->cols, "the origins of columns", error));
    if (status == HAWSER_OK)
        hw_centre_columns(dataset, found);
    if (A->residence != NULL) /* else all nodes have all columns, and have found the same */
        status = hw_loading_by_owner(&l, status, &A->residence->owners, found, A->cols, error);
    status = hw_loading_agree(&l, status, error);
    for (size_t j = 0; status == HAWSER_OK && j < A->cols; j++)
        any |= found[j] != 0.0;
    if (status == HAWSER_OK && any) /* the same on all nodes */
        status = hw_loading_agree(&l, afford(job, A, found, error), error);
    if (status == HAWSER_OK && any)
        *origin = found;
    else
        free(found);
    return status;
}
