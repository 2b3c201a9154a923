#include "algorithms/learner/row_path.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/choice/results.h"
#include "algorithms/model/add.h"
#include "algorithms/model/class_weights.h"
#include "algorithms/model/labels.h"
#include "algorithms/model/unit.h"

size_t hw_row_path_table(const hw_row_path *path)
{
    return (path->choice.folds + (size_t)1) * path->members * HW_ROW_FIELDS;
}

void hw_row_path_states(hawser_program *program, const hw_row_path *path, hawser_state **table, hawser_state **numbers)
{
    *table = HAWSER_STATE(program, "table", HAWSER_PARTITIONED, .rows = hw_row_path_table(path),
                          .keep = hw_row_keeps_lowest(path));
    *numbers = hw_row_keeps_path(path)
                   ? HAWSER_STATE(program, "path", HAWSER_PARTITIONED, .rows = path->width * path->members)
                   : NULL;
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

hawser_status hw_row_class_sums(hawser_context *context, const hw_row_path *path, bool by_class, double **weights)
{
    const double *labels = by_class ? path->labels : NULL;
    size_t folds = path->fold != NULL ? path->choice.folds : 1, kinds = labels != NULL ? path->classes : 1;
    HAWSER_READ(context, hawser_matrix, X);
    hawser_beside beside;
    HW_UNIT_TRY(context, hawser_dataset_beside(path->data, X->first, X->rows, &beside, &error));
    double *sums = *weights = calloc(folds * kinds, sizeof *sums);
    if (sums == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for %zu folds of %zu classes", folds, kinds);
    for (size_t i = 0; i < X->rows; i++) {
        double weight = beside.weights != NULL ? beside.weights[i] : 1.0;
        size_t kind = labels == NULL ? 0 : weight > 0.0 ? hw_labels_place(labels, kinds, beside.target[i]) : kinds;
        size_t fold = path->fold != NULL ? path->fold[X->first + i] - 1 : 0;
        if (kind < kinds)
            sums[fold * kinds + kind] += weight;
    }
    return hw_add_up(context, sums, folds * kinds, &(hw_addends){.rest = "the example weights", .of = "them"});
}

hawser_status hw_row_path_check(hawser_context *context, const hw_row_path *path)
{
    double *weights = NULL, total = 0.0;
    size_t folds = path->choice.folds, kinds = folds > 0 && path->labels != NULL ? path->classes : 1;
    hawser_error error = {0};
    hawser_status status = hw_row_class_sums(context, path, folds > 0, &weights);
    for (size_t e = 0; status == HAWSER_OK && e < (folds > 0 ? folds : 1) * kinds; e++)
        total += weights[e];
    HAWSER_THEN(status, hw_unit_ends(context, hw_check_weight_sum(total, &error), &error));
    if (status == HAWSER_OK && folds > 0)
        status = judge_folds(context, path->data, weights, folds, path->labels, kinds);
    free(weights);
    return status;
}

/* ---- from one model to the next ---- */

/* Returns how many members have their model without the rows of a fold, from the first on. */
static size_t count_done(const hw_row_path *path, const double *table, size_t fold)
{
    size_t done = 0;
    while (done < path->members && table[(fold * path->members + done) * HW_ROW_FIELDS + HW_ROW_DONE] > 0.0)
        done++;
    return done;
}

size_t hw_row_members_done(const hw_row_path *path, const double *table)
{
    size_t crossed = path->abreast ? count_done(path, table, path->choice.folds) : 0;
    return crossed > 0 ? crossed : count_done(path, table, 0);
}

double hw_row_models_left(const hw_row_path *path, const hw_row_turn *turn)
{
    double folds = path->choice.folds + 1.0, members = (double)path->members;
    double before = path->abreast ? (double)turn->member * folds + (double)turn->fold
                                  : (double)turn->fold * members + (double)turn->member;
    return turn->risen > 0 ? 0.0 : folds * members - before - (double)turn->finished;
}

/* Writes the block's share of a model of all rows. */
static void write_model(hawser_context *context, const hw_row_path *path, size_t member, const double *model)
{
    size_t first = 0, count = hawser_part(context, "path", &first), members = path->members;
    double *own;
    if (hawser_write(context, "path", &own) != HAWSER_OK)
        return; /* the unit fails */
    for (size_t e = (first + members - 1 - member) / members; e * members + member < first + count; e++)
        own[e * members + member - first] = model[e];
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
    double *own;
    if (hawser_write(context, "table", &own) != HAWSER_OK)
        return; /* the unit fails */
    for (size_t k = 0; k < HW_ROW_FIELDS; k++)
        if (line + k >= first && line + k < first + count)
            own[line + k - first] = fields[k];
}

/* Brings a finished model to node 0, which has block 0: each block has all of it. */
static void remember(hw_finished *finished, const hw_row_path *path, const hw_row_turn *turn, const double *model,
                     const double fields[HW_ROW_FIELDS])
{
    memcpy(finished->table + (turn->fold * path->members + turn->member) * HW_ROW_FIELDS, fields,
           HW_ROW_FIELDS * sizeof *fields);
    for (size_t e = 0; turn->fold == 0 && e < path->width; e++)
        finished->numbers[e * path->members + turn->member] = model[e];
    finished->iterations = (double)(turn->before + turn->iteration);
}

/* Compares the error of a finished member. Returns whether the path ends. */
static bool path_ends(const hw_row_path *path, hw_row_turn *turn)
{
    if (path->early.patience == 0 || path->members == 1)
        return false;
    (void)hw_early_compare(&path->early, &turn->early);
    return hw_early_ends(&path->early, &turn->early);
}

/* Adds up the errors of a member that all folds fit before the next one. Notes whether the path ends with it. */
static void take_fold(const hw_row_path *path, hw_row_turn *turn, const double fields[HW_ROW_FIELDS])
{
    if (turn->fold == 0)
        turn->weight = turn->errors = 0.0;
    else {
        turn->weight += fields[HW_ROW_WEIGHT];
        turn->errors += fields[HW_ROW_WEIGHT] * fields[HW_ROW_ERROR];
    }
    if (turn->fold < path->choice.folds)
        return;
    double mean = turn->errors / turn->weight;
    /* Of equal errors the last one counts, unless none can be lower: the first models may all predict one class. */
    if (turn->member == 0 || mean < turn->least || (mean == turn->least && mean > 0.0)) {
        turn->least = mean;
        turn->least_at = turn->member;
    }
    turn->risen = path->beyond > 0 && hw_error_has_risen(turn->least_at, turn->member, path->beyond);
}

hw_row_end hw_row_finish(hawser_context *context, const hw_row_path *path, hw_row_turn *turn, const double *model,
                         const double fields[HW_ROW_FIELDS], hw_row_end ended)
{
    if (turn->fold == 0 && hw_row_keeps_path(path))
        write_model(context, path, turn->member, model);
    if (!hw_row_keeps_lowest(path))
        hw_row_keep(context, path, turn, fields);
    if (path->finished != NULL && hawser_block(context) == 0)
        remember(path->finished, path, turn, model, fields);
    turn->worst = ended > turn->worst ? ended : turn->worst;
    turn->finished = 1;
    if (path_ends(path, turn))
        return HW_END_EARLY;
    if (path->abreast)
        take_fold(path, turn, fields);
    return hw_row_models_left(path, turn) > 0.0 ? HW_END_GOES_ON : turn->worst;
}

bool hw_row_go_on(const hw_row_path *path, hw_row_turn *turn)
{
    if (turn->finished == 0)
        return false;
    turn->finished = 0;
    turn->before += turn->iteration;
    turn->iteration = 0;
    uint64_t *inner = path->abreast ? &turn->fold : &turn->member, *outer = path->abreast ? &turn->member : &turn->fold;
    if (++*inner == (path->abreast ? path->choice.folds + (uint64_t)1 : path->members)) {
        *inner = 0;
        ++*outer;
    }
    return true;
}
