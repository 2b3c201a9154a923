/* validation.c - the data of --validation. */
#include "cli/input.h"

hawser_status hw_load_validation(const hw_call *call, const hawser_job *job, const hawser_dataset *data,
                                 hawser_dataset **validation, hawser_error *error)
{
    const char *path = hw_path_of(call, "validation");
    if (path == NULL || !hawser_job_leads(job)) /* only node 0 has the result and measures the error on it */
        return HAWSER_OK;
    hawser_load how;
    hawser_schema *named = NULL;
    HAWSER_TRY(hawser_load_from_options(call->options, &how, error));
    hw_load_for(call->algorithm, &how);
    how.rows_layout = how.split == HAWSER_BY_ROW;
    how.split = HAWSER_BY_COLUMN; /* of one node, which has all of it */
    how.outputs = hw_takes_several(call->algorithm);
    how.index_base = 0; /* that of the training data, which the option has given */
    hawser_status status = hawser_load_follow(&how, data, &named, error);
    HAWSER_THEN(status, hawser_dataset_load(&path, 1, &how, validation, error));
    hawser_schema_free(named);
    return status;
}
