#include "algorithms/glm/row_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/coefficients.h"
#include "algorithms/glm/crossed.h"
#include "algorithms/glm/path.h"

static const double *line_of(const hw_row_result *r, size_t fold, size_t member)
{
    const double *table = hawser_result(r->training->run, "table", NULL);
    return table + (fold * r->path->members + member) * HW_ROW_FIELDS;
}

void hw_row_result_take(hw_row_result *r, size_t member)
{
    for (size_t e = 0; e < r->path->width; e++)
        r->model[e] = r->fit.path != NULL ? r->fit.path[e * r->path->members + member] : r->last[e];
}

/* Returns the columns that have a coefficient in r->model. */
static double count_columns(const hw_row_result *r)
{
    size_t k = r->path->outputs, count = 0;
    for (size_t e = 0; e + k < r->path->width; e += k)
        count += hw_linear_any(r->model + e, k);
    return (double)count;
}

static void take_rows(hw_row_result *r, const char *parameter)
{
    const hawser_run *run = r->training->run;
    size_t k = r->path->outputs;
    for (size_t l = 0; l < r->path->members; l++) {
        const double *line = line_of(r, 0, l);
        hw_linear_row *row = &r->record.rows[l];
        *row = (hw_linear_row){.lambda = line[HW_ROW_PARAMETER],
                               .objective = line[HW_ROW_OBJECTIVE],
                               .gap = line[HW_ROW_GAP],
                               .penalty = line[HW_ROW_PENALTY],
                               .error = NAN,
                               .standard_error = NAN,
                               .done = line[HW_ROW_DONE] > 0.0};
        if (l == 0 && !row->done) {
            row->lambda = hawser_result_metric(run, parameter);
            row->objective = hawser_result_metric(run, "objective");
            row->gap = hawser_result_metric(run, "gap");
            row->penalty = hawser_result_metric(run, "penalty");
        }
        if (l > 0 && !row->done)
            continue;
        hw_row_result_take(r, l);
        row->nonzeros = count_columns(r);
        memcpy(r->intercepts + l * k, r->model + r->path->width - k, k * sizeof *r->intercepts);
    }
}

/* Fills the errors of the folds, if all are done. */
static void take_folds(hw_row_result *r)
{
    hw_linear_record *record = &r->record;
    size_t folds = record->folds;
    if (folds == 0 || !(line_of(r, folds, record->most - 1)[HW_ROW_DONE] > 0.0))
        return;
    for (size_t f = 0; f < folds; f++) {
        record->fold_weights[f] = line_of(r, f + 1, 0)[HW_ROW_WEIGHT];
        for (size_t l = 0; l < record->most; l++)
            record->errors[f * record->most + l] = line_of(r, f + 1, l)[HW_ROW_ERROR];
    }
    record->fold_at = record->folds;
    record->at = record->lambda_count;
}

hawser_status hw_row_result_new(hw_row_result *r, const hw_row_path *path, hawser_training *training, const double *last,
                                const char *parameter, hawser_error *error)
{
    hw_linear_choices choices = {.settings = path->choice, .lambda_count = path->members, .lambda_first = path->members};
    *r = (hw_row_result){.path = path, .training = training, .last = last};
    r->fit = (hw_linear_fit){.parameter = parameter,
                             .lambda_count = path->members,
                             .outputs = path->outputs,
                             .stride = path->members,
                             .folds = path->choice.folds,
                             .metric = path->choice.metric,
                             .rule = path->choice.one_standard_error ? "1se" : "min"};
    HAWSER_TRY(hw_linear_record_new(&r->record, &choices, error));
    HAWSER_TRY(hw_linear_new_doubles(&r->model, path->width, error));
    HAWSER_TRY(hw_linear_new_doubles(&r->intercepts, path->members * path->outputs, error));
    r->fit.rows = r->record.rows;
    r->fit.fold_errors = r->record.errors;
    r->fit.fold_weights = r->record.fold_weights;
    r->fit.intercepts = r->intercepts;
    if (hw_row_keeps_path(path) && line_of(r, 0, 0)[HW_ROW_DONE] > 0.0)
        r->fit.path = hawser_result(training->run, "path", NULL);
    take_rows(r, parameter);
    take_folds(r);
    return HAWSER_OK;
}

void hw_row_result_free(hw_row_result *r)
{
    hw_linear_record_free(&r->record);
    free(r->model);
    free(r->intercepts);
}

size_t hw_row_result_members(const hw_row_result *r)
{
    size_t count = 1;
    while (count < r->path->members && r->record.rows[count].done)
        count++;
    return count;
}

const hw_linear_row *hw_row_result_choose(hw_row_result *r)
{
    r->fit.selection = hw_linear_select(&r->record, r->path->choice.one_standard_error);
    hw_row_result_take(r, r->fit.selection.chosen);
    return &r->record.rows[r->fit.selection.chosen];
}

hawser_status hw_row_result_store(const hw_row_result *r, hawser_model *model, hawser_error *error)
{
    if (r->fit.path != NULL)
        HAWSER_TRY(hw_linear_model_members(&r->fit, r->path->width / r->path->outputs - 1, model, error));
    return hw_linear_crossed_put(&r->fit, model, error);
}

double hw_row_result_rounding(const hw_row_result *r)
{
    const double *line = line_of(r, 0, r->fit.selection.chosen);
    return line[HW_ROW_DONE] > 0.0 ? line[HW_ROW_ROUNDING] : hawser_result_metric(r->training->run, "rounding");
}

size_t hw_row_result_describe(const hw_row_result *r, const char *error, size_t at)
{
    const hw_linear_row *row = &r->record.rows[r->fit.selection.chosen];
    hawser_fact *facts = r->training->facts;
    if (r->path->choice.path_count > 0 && strcmp(r->training->stop_reason, "precision") == 0)
        hw_linear_note(
            r->training,
            "for some members of the path or folds, no smaller objective was found within the precision of numbers; "
            "the gap that is left for the chosen %s is %.3g, which rounding may have changed by %.3g",
            r->fit.parameter, row->gap, hw_row_result_rounding(r));
    else if (strcmp(r->training->stop_reason, "precision") == 0)
        hw_linear_note(r->training,
                       "no smaller objective was found within the precision of numbers; the gap that is left is %.3g, which "
                       "rounding may have changed by %.3g",
                       row->gap, hw_row_result_rounding(r));
    if (r->path->one)
        hw_linear_note(r->training,
                       "every column has equal values only, so the model is its intercepts, and one %s suffices",
                       r->fit.parameter);
    if (strcmp(r->training->stop_reason, "precision") == 0)
        facts[at++] = (hawser_fact){"rounding", hw_row_result_rounding(r)};
    hw_linear_crossed_lines(&r->fit, r->training);
    if (r->path->choice.path_count > 0)
        hw_linear_note_choice(&r->fit, &r->path->choice, r->training);
    if (r->fit.folds > 0 && !r->fit.selection.crossed)
        hw_linear_note(
            r->training,
            "--cv %u did not finish: %s %.6g is the last finished one of the path, not chosen by cross-validation",
            (unsigned)r->fit.folds, r->fit.parameter, row->lambda);
    if (r->fit.selection.crossed) {
        facts[at++] = (hawser_fact){error, row->error};
        facts[at++] = (hawser_fact){"cv_standard_error", row->standard_error};
    }
    return at;
}
