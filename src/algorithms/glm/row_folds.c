#include "algorithms/glm/row_folds.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/folds.h"

/* What the unit reads. */
typedef struct collection {
    const hawser_dataset *data;
    bool groups; /* else targets */
} collection;

static hawser_status copy(hawser_context *context)
{
    const collection *c = hawser_user(context);
    const hawser_matrix *X = hawser_data_view(context, "X");
    size_t first = 0, count = hawser_part(context, "values", &first);
    hawser_beside beside;
    hawser_error error = {0};
    if (hawser_dataset_beside(c->data, X->first, X->rows, &beside, &error) != HAWSER_OK)
        return hawser_unit_fail(context, error.status, "%s", error.text);
    const double *values = c->groups ? beside.groups : beside.target;
    if (values == NULL)
        return hawser_unit_fail(context, HAWSER_BAD_INPUT, "--folds: the data have no column of groups");
    if (count > 0)
        memcpy(hawser_local(context, "values"), values, count * sizeof *values);
    return HAWSER_OK;
}

/* Stores one number per row of the whole data, in memory of the run. */
static hawser_status collect(hawser_job *job, const hawser_dataset *data, bool groups, hawser_run **run,
                             const double **values, hawser_error *error)
{
    collection c = {data, groups};
    const hawser_matrix *matrix = hawser_dataset_matrix(data);
    hawser_program *program = hawser_program_new("folds", &c);
    hawser_state *X = hawser_data_state(program, "X", matrix, HAWSER_BY_ROW);
    hawser_state *out = hawser_partitioned_matrix(program, "values", HAWSER_F64, matrix->rows, 1, HAWSER_BY_ROW, X, NULL);
    hawser_unit(hawser_root(program), "copy", copy, HAWSER_READS(X), HAWSER_UPDATES(out));
    hawser_observe(job, NULL, NULL);
    hawser_status status = hawser_run_program(job, program, run, error);
    hawser_program_free(program);
    if (status == HAWSER_STOP)
        return hawser_fail(error, HAWSER_STOP, "the training ended before its folds were known; no model is kept");
    if (status == HAWSER_OK)
        *values = hawser_result(*run, "values", NULL);
    return status;
}

hawser_status hw_row_folds(hawser_job *job, const hawser_training_input *input, const hw_linear_settings *settings,
                           bool classes, uint32_t **fold, hawser_error *error)
{
    const char *source = input->folds == NULL ? settings->fold_source : NULL;
    const hawser_dataset *data = input->data;
    const hawser_load_figures *figures = hawser_dataset_figures(data);
    bool groups = source != NULL && strncmp(source, "by:", 3) == 0;
    bool stratified = source != NULL && strcmp(source, "stratified") == 0;
    hw_linear_deal deal = {.rows = hawser_dataset_matrix(data)->rows,
                           .seed = hawser_job_seed(job),
                           .given = input->folds,
                           .dropped = figures != NULL && figures->rows_dropped > 0};
    const double *values = NULL;
    hawser_run *run = NULL;
    hawser_status status = HAWSER_OK;
    *fold = calloc(deal.rows + 1, sizeof **fold);
    if (*fold == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the folds of %zu rows", deal.rows);
    if (groups || (stratified && classes))
        status = collect(job, data, groups, &run, &values, error);
    if (groups)
        deal.groups = values;
    else
        deal.classes = values;
    if (status == HAWSER_OK)
        status = hw_linear_deal_folds(&deal, settings, *fold, error);
    hawser_run_free(run);
    return status;
}
