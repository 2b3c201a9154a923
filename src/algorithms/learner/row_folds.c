#include "algorithms/learner/row_folds.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/choice/folds.h"
#include "algorithms/model/unit.h"

/* What the unit reads. */
typedef struct collection {
    const hawser_dataset *data;
    bool groups; /* else targets */
} collection;

static hawser_status copy(hawser_context *context)
{
    const collection *c = hawser_user(context);
    HAWSER_READ(context, hawser_matrix, X);
    size_t first = 0, count = hawser_part(context, "values", &first);
    hawser_beside beside;
    HW_UNIT_TRY(context, hawser_dataset_beside(c->data, X->first, X->rows, &beside, &error));
    const double *values = c->groups ? beside.groups : beside.target;
    if (values == NULL)
        return hawser_unit_fail(context, HAWSER_BAD_INPUT, "--folds: the data have no column of groups");
    double *own;
    HAWSER_TRY(hawser_write(context, "values", &own));
    if (count > 0)
        memcpy(own, values, count * sizeof *values);
    return HAWSER_OK;
}

/* Stores one number per row of the whole data, in memory of the run. */
static hawser_status collect(hawser_job *job, const hawser_dataset *data, bool groups, hawser_run **run,
                             const double **values, hawser_error *error)
{
    collection c = {data, groups};
    const hawser_matrix *matrix = hawser_dataset_matrix(data);
    hawser_program *program = hawser_program_new("folds", &c);
    hawser_state *X = HAWSER_STATE(program, "X", HAWSER_DATA, .matrix = matrix, .split = HAWSER_BY_ROW);
    hawser_state *out = HAWSER_STATE(program, "values", HAWSER_PARTITIONED, .rows = matrix->rows, .along = X);
    HAWSER_UNIT(hawser_root(program), "copy", copy, .reads = {X}, .updates = {out});
    hawser_observe(job, NULL, NULL);
    hawser_status status = hawser_run_program(job, program, run, error);
    hawser_program_free(program);
    if (status == HAWSER_STOP)
        return hawser_fail(error, HAWSER_STOP, "the training ended before its folds were known; no model is kept");
    HAWSER_THEN(status, hawser_result(*run, "values", values, NULL, error));
    return status;
}

hawser_status hw_row_folds(hawser_job *job, const hawser_training_input *input, const hw_choice *choice, bool classes,
                           uint32_t **fold, hawser_error *error)
{
    const char *source = input->folds == NULL ? choice->fold_source : NULL;
    const hawser_dataset *data = input->data;
    const hawser_load_figures *figures = hawser_dataset_figures(data);
    bool groups = source != NULL && strncmp(source, "by:", 3) == 0;
    bool stratified = source != NULL && strcmp(source, "stratified") == 0;
    hw_fold_deal deal = {.rows = hawser_dataset_matrix(data)->rows,
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
    HAWSER_THEN(status, hw_deal_folds(&deal, choice, *fold, error));
    hawser_run_free(run);
    return status;
}
