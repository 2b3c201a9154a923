/* validation.c - the data of --validation. */
#include "cli/input.h"
#include "data/table/schema.h"

hawser_status hw_load_validation(const hw_call *call, const hawser_job *job, const hawser_dataset *data,
                                 hawser_dataset **validation, hawser_error *error)
{
    const char *path = hw_path_of(call, "validation");
    if (path == NULL || !hawser_job_leads(job)) /* only node 0 has the result and measures the error on it */
        return HAWSER_OK;
    hawser_load how;
    hawser_schema *named = NULL;
    HAWSER_TRY(hawser_load_from_options(call->options, &how, error));
    if (hawser_dataset_schema(data) == NULL)
        HAWSER_TRY(hw_schema_of_names(data, &named, error));
    hw_load_for(call->algorithm, &how);
    how.rows_layout = how.split == HAWSER_BY_ROW;
    how.split = HAWSER_BY_COLUMN; /* of one node, which has all of it */
    how.outputs = call->algorithm->outputs != NULL;
    how.columns = hawser_dataset_matrix(data)->cols;
    how.schema = named != NULL ? named : hawser_dataset_schema(data);
    if (how.target == NULL && how.schema != NULL)
        how.target = hawser_dataset_target_name(data);
    how.target_place = hawser_dataset_figures(data)->target_column;
    how.index_base = hawser_dataset_figures(data)->index_base + 1;
    how.means = hawser_dataset_means(data);
    hawser_status status = hawser_dataset_load(&path, 1, &how, validation, error);
    hawser_schema_free(named);
    return status;
}
