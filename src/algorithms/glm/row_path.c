#include "algorithms/glm/row_path.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/choices.h"
#include "algorithms/glm/problem.h"
#include "algorithms/glm/row_folds.h"
#include "algorithms/model/add.h"
#include "algorithms/model/labels.h"

hawser_status hw_row_path_new(hw_row_path *path, hawser_job *job, const hawser_training_input *input, bool classes,
                              hawser_error *error)
{
    HAWSER_TRY(hw_linear_read_choice(job, input->options, &path->choice, error));
    HAWSER_TRY(hw_early_new(&path->early, job, input, hawser_dataset_matrix(input->data)->cols, error));
    HAWSER_TRY(hw_linear_check_validation(input->options, path->early.validated, error));
    const hawser_dataset *others = path->early.data;
    hawser_status status = others != NULL && hawser_dataset_target(others) == NULL
                               ? hawser_fail(error, HAWSER_BAD_INPUT, "the validation data have no target")
                               : HAWSER_OK;
    HAWSER_TRY(hawser_job_agree(job, status, error));
    path->members = path->choice.path_count > 0 ? path->choice.path_count : 1;
    return path->choice.folds > 0 ? hw_row_folds(job, input, &path->choice, classes, &path->fold, error) : HAWSER_OK;
}

void hw_row_path_one(hw_row_path *path)
{
    if (path->choice.path_count == 0)
        return;
    path->one = true;
    path->members = path->choice.path_count = 1;
}

void hw_row_path_free(hw_row_path *path)
{
    free(path->fold);
    free(path->class_weights);
    free(path->choice.path_list);
    path->fold = NULL;
    path->class_weights = NULL;
    path->choice.path_list = NULL;
}

void hw_row_path_states(hawser_program *program, const hw_row_path *path, hawser_state **table, hawser_state **numbers)
{
    size_t models = (path->choice.folds + (size_t)1) * path->members;
    *table = hawser_partitioned_state(program, "table", models * HW_ROW_FIELDS, NULL, NULL);
    *numbers =
        hw_row_keeps_path(path) ? hawser_partitioned_state(program, "path", path->width * path->members, NULL, NULL) : NULL;
}

/* ---- folds ---- */

/* Writes the name of a class. */
static const char *class_name(const hawser_dataset *data, double label, char text[80])
{
    size_t words = 0;
    const char *const *names = hawser_schema_target(hawser_dataset_schema(data), &words);
    if (names != NULL && (size_t)label < words)
        (void)snprintf(text, 80, "%.70s", names[(size_t)label]);
    else
        (void)hawser_print_number(text, 80, label);
    return text;
}

/* Fails for the first fold that cannot be held out. `weights` has the weight of each class in each fold. */
static hawser_status judge_folds(hawser_context *context, const hawser_dataset *data, const double *weights, size_t folds,
                                 const double *labels, size_t classes)
{
    for (size_t f = 0; f < folds; f++) {
        double own = 0.0;
        char text[80];
        for (size_t c = 0; c < classes; c++)
            own += weights[f * classes + c];
        if (!(own > 0.0))
            return hawser_unit_fail(context, HAWSER_BAD_INPUT,
                                    "--cv %zu: fold %zu (from 1) has no row with a weight above 0; use fewer folds", folds,
                                    f + 1);
        for (size_t c = 0; c < classes; c++) {
            double others = 0.0;
            for (size_t g = 0; g < folds; g++)
                others += g != f ? weights[g * classes + c] : 0.0;
            if (others > 0.0)
                continue;
            return hawser_unit_fail(context, HAWSER_BAD_INPUT,
                                    "--cv %zu: all rows %s%s are in fold %zu (from 1), so the training without this fold "
                                    "has none of them; use --folds stratified, other folds or no such class",
                                    folds, labels != NULL ? "of class " : "with a weight above 0",
                                    labels != NULL ? class_name(data, labels[c], text) : "", f + 1);
        }
    }
    return HAWSER_OK;
}

hawser_status hw_row_class_sums(hawser_context *context, const hw_row_path *path, const hawser_dataset *data,
                                const double *labels, size_t classes, double **weights)
{
    size_t folds = path->fold != NULL ? path->choice.folds : 1, kinds = labels != NULL ? classes : 1;
    const hawser_matrix *X = hawser_data_view(context, "X");
    hawser_beside beside;
    hawser_error error = {0};
    if (hawser_dataset_beside(data, X->first, X->rows, &beside, &error) != HAWSER_OK)
        return hawser_unit_fail(context, error.status, "%s", error.text);
    double *sums = *weights = calloc(folds * kinds, sizeof *sums);
    if (sums == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for %zu folds of %zu classes", folds, kinds);
    for (size_t i = 0; i < X->rows; i++) {
        double weight = beside.weights != NULL ? beside.weights[i] : 1.0;
        size_t kind = labels == NULL ? 0 : weight > 0.0 ? hw_labels_place(labels, classes, beside.target[i]) : kinds;
        size_t fold = path->fold != NULL ? path->fold[X->first + i] - 1 : 0;
        if (kind < kinds)
            sums[fold * kinds + kind] += weight;
    }
    return hw_add_up(context, sums, folds * kinds, &(hw_addends){.rest = "the example weights", .of = "them"});
}

hawser_status hw_row_path_check(hawser_context *context, const hw_row_path *path, const hawser_dataset *data,
                                const double *labels, size_t classes)
{
    double *weights = NULL, total = 0.0;
    size_t folds = path->choice.folds, kinds = folds > 0 && labels != NULL ? classes : 1;
    hawser_error error = {0};
    hawser_status status = hw_row_class_sums(context, path, data, folds > 0 ? labels : NULL, classes, &weights);
    for (size_t e = 0; status == HAWSER_OK && e < (folds > 0 ? folds : 1) * kinds; e++)
        total += weights[e];
    if (status == HAWSER_OK && hw_linear_check_weights(total, &error) != HAWSER_OK)
        status = hawser_unit_fail(context, error.status, "%s", error.text);
    if (status == HAWSER_OK && folds > 0)
        status = judge_folds(context, data, weights, folds, labels, kinds);
    free(weights);
    return status;
}

/* ---- from one model to the next ---- */

double hw_row_models_left(const hw_row_path *path, const hw_row_turn *turn)
{
    double folds = path->choice.folds, members = (double)path->members;
    return (folds + 1.0 - (double)turn->fold) * members - (double)(turn->member + turn->finished);
}

/* Writes the block's share of a model of all rows. */
static void write_model(hawser_context *context, const hw_row_path *path, size_t member, const double *model)
{
    size_t first = 0, count = hawser_part(context, "path", &first), members = path->members;
    double *share = count > 0 ? hawser_local(context, "path") : NULL;
    for (size_t e = (first + members - 1 - member) / members; e * members + member < first + count; e++)
        share[e * members + member - first] = model[e];
}

hawser_status hw_row_take_error(hawser_context *context, const hw_row_path *path, hw_row_turn *turn, double error,
                                bool *keep)
{
    HAWSER_TRY(hw_early_measure(context, &turn->early, error));
    bool lower = hw_row_keeps_lowest(path) && hw_early_compare(&path->early, &turn->early);
    *keep = lower || !hw_row_keeps_lowest(path) || isinf(turn->early.lowest);
    return HAWSER_OK;
}

void hw_row_keep(hawser_context *context, const hw_row_path *path, const hw_row_turn *turn,
                 const double fields[HW_ROW_FIELDS])
{
    size_t line = (turn->fold * path->members + turn->member) * HW_ROW_FIELDS, first = 0;
    size_t count = hawser_part(context, "table", &first);
    double *share = count > 0 ? hawser_local(context, "table") : NULL;
    for (size_t k = 0; k < HW_ROW_FIELDS; k++)
        if (line + k >= first && line + k < first + count)
            share[line + k - first] = fields[k];
}

/* Compares the error of a finished member. Returns whether the path ends. */
static bool path_ends(const hw_row_path *path, hw_row_turn *turn)
{
    if (path->early.patience == 0 || path->members == 1)
        return false;
    (void)hw_early_compare(&path->early, &turn->early);
    return hw_early_ends(&path->early, &turn->early);
}

hw_row_end hw_row_finish(hawser_context *context, const hw_row_path *path, hw_row_turn *turn, const double *model,
                         const double fields[HW_ROW_FIELDS], hw_row_end ended)
{
    if (turn->fold == 0 && hw_row_keeps_path(path))
        write_model(context, path, turn->member, model);
    if (!hw_row_keeps_lowest(path))
        hw_row_keep(context, path, turn, fields);
    turn->worst = ended > turn->worst ? ended : turn->worst;
    turn->finished = 1;
    if (path_ends(path, turn))
        return HW_END_EARLY;
    return hw_row_models_left(path, turn) > 0.0 ? HW_END_GOES_ON : turn->worst;
}

bool hw_row_go_on(const hw_row_path *path, hw_row_turn *turn, uint64_t iterations)
{
    if (turn->finished == 0)
        return false;
    turn->finished = 0;
    turn->before += iterations;
    if (++turn->member == path->members) {
        turn->member = 0;
        turn->fold++;
    }
    return true;
}

/* ---- the run ---- */

bool hw_row_has_ended(hawser_progress *progress, void *user)
{
    (void)user;
    return hawser_progress_metric(progress, "ended") > HW_END_GOES_ON;
}

static const char *reason_of(double ended)
{
    return ended == HW_END_GAP          ? "gap"
           : ended == HW_END_ITERATIONS ? "iterations"
           : ended == HW_END_PRECISION  ? "precision"
           : ended == HW_END_EARLY      ? "early-stopping"
                                        : "end";
}

hawser_status hw_row_run(hawser_program *program, hawser_job *job, const hawser_training_input *input,
                         hawser_training *training, hawser_error *error)
{
    hawser_observe(job, input->observer, input->observer_user);
    hawser_status status = hawser_run_program(job, program, &training->run, error);
    hawser_program_free(program);
    bool early = status == HAWSER_STOP;
    if (status != HAWSER_OK && !early)
        return status;
    const char *reason = hawser_run_figures(training->run)->stop_reason;
    if (isnan(hawser_result_metric(training->run, "objective")))
        return hawser_fail(error, HAWSER_STOP, "the training ended before its first iteration; no model is kept");
    training->interrupted = early && strcmp(reason, "signal") == 0;
    snprintf(training->stop_reason, sizeof training->stop_reason, "%s",
             early ? reason : reason_of(hawser_result_metric(training->run, "ended")));
    return HAWSER_OK;
}
