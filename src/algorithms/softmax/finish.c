#include "algorithms/softmax/finish.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/coefficients.h"
#include "algorithms/glm/crossed.h"
#include "algorithms/glm/path.h"
#include "algorithms/softmax/model.h"
#include "algorithms/softmax/path.h"

/* What the result is made from. */
typedef struct outcome {
    const hw_softmax *softmax;
    const hawser_training_input *input;
    hawser_training *training;
    hw_linear_record record; /* of the lambdas and folds */
    hw_linear_fit fit;
    double *model;      /* one model, as "model" has it */
    double *intercepts; /* by lambda, then by class */
    double accuracy;    /* of the chosen model on the rows of --validation */
} outcome;

static const double *line_of(const outcome *o, size_t fold, size_t member)
{
    const double *table = hawser_result(o->training->run, "table", NULL);
    return table + (fold * o->softmax->members + member) * HW_SOFTMAX_FIELDS;
}

/* Copies the model of a lambda. */
static void take_model(outcome *o, size_t member)
{
    const double *path = o->fit.path, *model = hawser_result(o->training->run, "model", NULL);
    for (size_t e = 0; e < o->softmax->width; e++)
        o->model[e] = path != NULL ? path[e * o->softmax->members + member] : model[e];
}

/* Returns the columns that have a coefficient in o->model. */
static double count_columns(const outcome *o)
{
    size_t k = o->softmax->classes, count = 0;
    for (size_t j = 0; j < o->softmax->X->cols; j++)
        count += hw_linear_any(o->model + j * k, k);
    return (double)count;
}

/* Fills the rows of the lambdas. If not even the first one is finished, it has what the last step reported. */
static void take_rows(outcome *o)
{
    const hawser_run *run = o->training->run;
    size_t k = o->softmax->classes, last = o->softmax->X->cols * k;
    for (size_t l = 0; l < o->softmax->members; l++) {
        const double *line = line_of(o, 0, l);
        hw_linear_row *row = &o->record.rows[l];
        *row = (hw_linear_row){.lambda = line[HW_SOFTMAX_LAMBDA],
                               .objective = line[HW_SOFTMAX_OBJECTIVE],
                               .gap = line[HW_SOFTMAX_GAP_LEFT],
                               .penalty = line[HW_SOFTMAX_PENALTY],
                               .error = NAN,
                               .standard_error = NAN,
                               .done = line[HW_SOFTMAX_DONE] > 0.0};
        if (l == 0 && !row->done) {
            row->lambda = hawser_result_metric(run, "lambda");
            row->objective = hawser_result_metric(run, "objective");
            row->gap = hawser_result_metric(run, "gap");
            row->penalty = hawser_result_metric(run, "penalty");
        }
        if (l > 0 && !row->done)
            continue;
        take_model(o, l);
        row->nonzeros = count_columns(o);
        memcpy(o->intercepts + l * k, o->model + last, k * sizeof *o->intercepts);
    }
}

/* Fills the errors of the folds, if all are done. */
static void take_folds(outcome *o)
{
    hw_linear_record *record = &o->record;
    size_t folds = record->folds;
    if (folds == 0 || !(line_of(o, folds, record->most - 1)[HW_SOFTMAX_DONE] > 0.0))
        return;
    for (size_t f = 0; f < folds; f++) {
        record->fold_weights[f] = line_of(o, f + 1, 0)[HW_SOFTMAX_WEIGHT];
        for (size_t l = 0; l < record->most; l++)
            record->errors[f * record->most + l] = line_of(o, f + 1, l)[HW_SOFTMAX_ERROR];
    }
    record->fold_at = record->folds;
    record->at = record->lambda_count;
}

/* Computes the errors of the finished lambdas on the rows of --validation. */
static hawser_status validate(outcome *o, size_t member, double *loss, hawser_error *error)
{
    size_t k = o->softmax->classes, d = o->softmax->X->cols;
    double *columns = calloc(k * d + 1, sizeof *columns);
    if (columns == NULL)
        return hawser_fail(error, HAWSER_NO_MEMORY, "no memory for %zu classes of %zu columns", k, d);
    take_model(o, member);
    for (size_t e = 0; e < k * d; e++)
        columns[e % k * d + e / k] = o->model[e];
    hw_classed f = {.coefficients = columns,
                    .intercepts = o->model + k * d,
                    .labels = o->softmax->labels,
                    .problems = k,
                    .columns = d,
                    .classes = k};
    hawser_status status = hw_softmax_validate(&f, o->input->validation, loss, &o->accuracy, error);
    free(columns);
    return status;
}

/* Chooses the lambda. */
static hawser_status choose(outcome *o, hawser_error *error)
{
    const hw_softmax *s = o->softmax;
    hw_linear_fit *fit = &o->fit;
    for (size_t l = 0; o->input->validation != NULL && l < s->members && (l == 0 || o->record.rows[l].done); l++)
        HAWSER_TRY(validate(o, l, &o->record.rows[l].error, error));
    *fit = (hw_linear_fit){.rows = o->record.rows,
                           .lambda_count = s->members,
                           .selection = hw_linear_select(&o->record, s->choice.one_standard_error),
                           .outputs = s->classes,
                           .path = fit->path,
                           .stride = s->members,
                           .intercepts = o->intercepts,
                           .folds = s->choice.folds,
                           .metric = s->choice.metric,
                           .rule = s->choice.one_standard_error ? "1se" : "min"};
    double ignored;
    return o->input->validation != NULL ? validate(o, fit->selection.chosen, &ignored, error) : HAWSER_OK;
}

static hawser_status make_model(outcome *o, hawser_error *error)
{
    const hw_linear_row *row = &o->fit.rows[o->fit.selection.chosen];
    take_model(o, o->fit.selection.chosen);
    hw_softmax_result result = {.model = o->model,
                                .objective = row->objective,
                                .gap = row->gap,
                                .penalty = row->penalty,
                                .lambda = row->lambda,
                                .iterations = hawser_result_metric(o->training->run, "iterations")};
    hawser_model **model = &o->training->model;
    HAWSER_TRY(hw_softmax_model_make(o->softmax, &result, o->input, model, error));
    if (o->fit.path != NULL)
        HAWSER_TRY(hw_linear_model_members(&o->fit, o->softmax->X->cols, *model, error));
    return hw_linear_crossed_fact(&o->fit, *model, error);
}

static double count_coefficients(const outcome *o)
{
    double count = 0.0;
    for (size_t e = 0; e < o->softmax->X->cols * o->softmax->classes; e++)
        count += o->model[e] != 0.0;
    return count;
}

static void fill_facts(const outcome *o)
{
    const hw_linear_row *row = &o->fit.rows[o->fit.selection.chosen];
    const hawser_run *run = o->training->run;
    hawser_fact facts[] = {{"objective", row->objective},
                           {"gap", row->gap},
                           {"nonzero", count_coefficients(o)},
                           {"lambda", row->lambda},
                           {"iterations", hawser_result_metric(run, "iterations")},
                           {"classes", (double)o->softmax->classes}};
    size_t at = sizeof facts / sizeof *facts;
    memcpy(o->training->facts, facts, sizeof facts);
    if (o->softmax->choice.path_count > 0) {
        o->training->facts[at++] = (hawser_fact){"lambda_max", hawser_result_metric(run, "lambda_max")};
        o->training->facts[at++] = (hawser_fact){"lambdas", (double)o->softmax->members};
    }
    if (o->input->validation != NULL) {
        o->training->facts[at++] = (hawser_fact){"validation_log_loss", row->error};
        o->training->facts[at++] = (hawser_fact){"validation_accuracy", o->accuracy};
    }
    if (o->fit.selection.crossed) {
        bool loss = strcmp(o->fit.metric, "loss") == 0;
        o->training->facts[at++] = (hawser_fact){loss ? "cv_log_loss" : "cv_error", row->error};
        o->training->facts[at++] = (hawser_fact){"cv_standard_error", row->standard_error};
    }
}

static void fill_notes(const outcome *o)
{
    const hw_linear_row *row = &o->fit.rows[o->fit.selection.chosen];
    if (strcmp(o->training->stop_reason, "precision") == 0)
        hw_linear_note(o->training,
                       "no smaller objective was found within the precision of numbers; the gap that is left is %.3g%s",
                       row->gap, o->softmax->choice.path_count > 0 ? " at the chosen lambda" : "");
    hw_linear_crossed_lines(&o->fit, o->training);
    if (o->softmax->choice.path_count > 0)
        hw_linear_note_choice(&o->fit, &o->softmax->choice, o->training);
    if (o->fit.folds > 0 && !o->fit.selection.crossed)
        hw_linear_note(o->training,
                       "--cv %u did not finish: lambda %.6g is the last finished one of the path, not chosen by "
                       "cross-validation",
                       (unsigned)o->fit.folds, row->lambda);
}

static hawser_status make_outcome(outcome *o, hawser_error *error)
{
    const hw_softmax *s = o->softmax;
    hw_linear_choices choices = {.settings = s->choice, .lambda_count = s->members, .lambda_first = s->members};
    HAWSER_TRY(hw_linear_record_new(&o->record, &choices, error));
    HAWSER_TRY(hw_linear_new_doubles(&o->model, s->width, error));
    HAWSER_TRY(hw_linear_new_doubles(&o->intercepts, s->members * s->classes, error));
    if (s->members > 1 && line_of(o, 0, 0)[HW_SOFTMAX_DONE] > 0.0)
        o->fit.path = hawser_result(o->training->run, "path", NULL);
    take_rows(o);
    take_folds(o);
    HAWSER_TRY(choose(o, error));
    HAWSER_TRY(make_model(o, error));
    fill_facts(o);
    fill_notes(o);
    return HAWSER_OK;
}

hawser_status hw_softmax_finish(const hw_softmax *softmax, const hawser_training_input *input, hawser_training *training,
                                hawser_error *error)
{
    outcome o = {.softmax = softmax, .input = input, .training = training};
    hawser_status status = make_outcome(&o, error);
    hw_linear_record_free(&o.record);
    free(o.model);
    free(o.intercepts);
    return status;
}
