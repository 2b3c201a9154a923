#include "algorithms/learner/row_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/choice/crossed.h"
#include "algorithms/choice/fit.h"
#include "algorithms/model/facts.h"

static const double *line_of(const hw_row_result *r, size_t fold, size_t member)
{
    return r->table + (fold * r->path->members + member) * HW_ROW_FIELDS;
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
        count += hw_any(r->model + e, k);
    return (double)count;
}

static void take_rows(hw_row_result *r)
{
    const hawser_run *run = r->training->run;
    size_t k = r->path->outputs, done = hw_row_members_done(r->path, r->table);
    for (size_t l = 0; l < r->path->members; l++) {
        const double *line = line_of(r, 0, l);
        hw_member_row *row = &r->results.rows[l];
        *row = (hw_member_row){.lambda = line[HW_ROW_PARAMETER],
                               .objective = line[HW_ROW_OBJECTIVE],
                               .gap = line[HW_ROW_GAP],
                               .penalty = r->path->method->penalised ? line[HW_ROW_PENALTY] : NAN,
                               .error = NAN,
                               .standard_error = NAN,
                               .done = l < done};
        if (l == 0 && !row->done) {
            row->lambda = hawser_result_metric(run, r->fit.parameter);
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

/* Fills the errors of the folds that are done: with all members, or, if they are abreast, with the first one. */
static void take_folds(hw_row_result *r)
{
    hw_results *results = &r->results;
    size_t folds = results->folds, last = r->path->abreast ? 0 : results->most - 1;
    for (size_t f = 0; f < folds && line_of(r, f + 1, last)[HW_ROW_DONE] > 0.0; f++) {
        results->folds_done++;
        results->fold_weights[f] = line_of(r, f + 1, 0)[HW_ROW_WEIGHT];
        for (size_t l = 0; l < results->most; l++)
            results->errors[f * results->most + l] = line_of(r, f + 1, l)[HW_ROW_ERROR];
    }
}

hawser_status hw_row_result_new(hw_row_result *r, const hw_row_path *path, hawser_training *training, bool ended,
                                hawser_error *error)
{
    const hawser_run *run = training->run;
    *r = (hw_row_result){.path = path, .training = training, .table = run != NULL ? NULL : path->finished->table};
    if (run != NULL) {
        HAWSER_TRY(hawser_result(run, "table", &r->table, NULL, error));
        HAWSER_TRY(hawser_result(run, "model", &r->last, NULL, error));
    }
    r->fit = (hw_fit){.parameter = path->method->parameter,
                      .results = &r->results,
                      .outputs = path->outputs,
                      .choice = &path->choice,
                      .planned = ended ? path->members : 0,
                      .ended = training->stop_reason};
    HAWSER_TRY(hw_results_new(&r->results, path->members, path->members, path->choice.folds, error));
    r->model = calloc(path->width, sizeof *r->model);
    r->intercepts = calloc(path->members * path->outputs, sizeof *r->intercepts);
    if (r->model == NULL || r->intercepts == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for the results of %zu models", path->members);
    r->fit.intercepts = r->intercepts;
    bool keeps = hw_row_keeps_path(path) && line_of(r, 0, 0)[HW_ROW_DONE] > 0.0;
    if (keeps && run != NULL)
        HAWSER_TRY(hawser_result(run, "path", &r->fit.path, NULL, error));
    else if (keeps)
        r->fit.path = path->finished->numbers;
    take_rows(r);
    take_folds(r);
    if (r->path->abreast && !ended)
        r->results.count = hw_results_finished(&r->results);
    return HAWSER_OK;
}

void hw_row_result_free(hw_row_result *r)
{
    hw_results_free(&r->results);
    free(r->model);
    free(r->intercepts);
}

size_t hw_row_result_members(const hw_row_result *r)
{
    size_t count = hw_results_finished(&r->results);
    return count > 0 ? count : 1;
}

const hw_member_row *hw_row_result_choose(hw_row_result *r)
{
    r->fit.selection = hw_results_select(&r->results, r->path->choice.one_standard_error);
    hw_row_result_take(r, r->fit.selection.chosen);
    return &r->results.rows[r->fit.selection.chosen];
}

hawser_status hw_row_result_store(const hw_row_result *r, hawser_model *model, hawser_error *error)
{
    if (r->fit.path != NULL)
        HAWSER_TRY(hw_fit_put_path(&r->fit, r->path->width / r->path->outputs - 1, model, error));
    return hw_crossed_put(&r->fit, model, error);
}

double hw_row_result_rounding(const hw_row_result *r)
{
    const double *line = line_of(r, 0, r->fit.selection.chosen);
    return line[HW_ROW_DONE] > 0.0 ? line[HW_ROW_ROUNDING] : hawser_result_metric(r->training->run, "rounding");
}

void hw_row_result_describe(const hw_row_result *r, size_t at)
{
    const hw_member_row *row = &r->results.rows[r->fit.selection.chosen];
    hawser_fact *facts = r->training->facts;
    if (r->path->choice.path_count > 0 && strcmp(r->training->stop_reason, "precision") == 0)
        hw_note(r->training,
                "for some members of the path or folds, no smaller objective was found within the precision of numbers; "
                "the gap that is left for the chosen %s is %.3g, which rounding may have changed by %.3g",
                r->fit.parameter, row->gap, hw_row_result_rounding(r));
    else if (strcmp(r->training->stop_reason, "precision") == 0)
        hw_note(r->training,
                "no smaller objective was found within the precision of numbers; the gap that is left is %.3g, which "
                "rounding may have changed by %.3g",
                row->gap, hw_row_result_rounding(r));
    if (r->path->one)
        hw_note(r->training, "every column has equal values only, so the model is its intercepts, and one %s suffices",
                r->fit.parameter);
    if (strcmp(r->training->stop_reason, "precision") == 0)
        facts[at++] = (hawser_fact){"rounding", hw_row_result_rounding(r)};
    hw_crossed_describe(&r->fit, r->path->cv_name, r->training, at);
}
