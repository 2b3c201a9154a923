/* depends.c - what a program says of its runs: what a run that is compared with another one must have in common with it,
 * besides program, options and data, and which run is the last one. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/argument.h"
#include "base/hash.h"
#include "hawser/job_data.h"
#include "runtime/job/job.h"

hawser_status hawser_job_depends(hawser_job *job, const char *name, const void *bytes, size_t size, hawser_error *error)
{
    char *text = NULL;
    HW_GIVEN_JOB(job);
    HW_GIVEN(name);
    if (bytes == NULL && size > 0)
        return hawser_fail(error, HAWSER_BAD_ARGUMENT, "hawser_job_depends: bytes is NULL");
    if (!hw_job_identifies(job))
        return HAWSER_OK;
    if (asprintf(&text, "%s%s = digest %016" PRIx64 "\n", job->depends != NULL ? job->depends : "", name,
                 hw_hash(size > 0 ? bytes : "", size, size)) < 0)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for what a run depends on");
    free(job->depends);
    job->depends = text;
    return HAWSER_OK;
}

void hawser_job_last_run(hawser_job *job)
{
    if (job != NULL)
        job->last_run = true;
}
