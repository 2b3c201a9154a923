#include "algorithms/learner/members.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/learner/outcome.h"
#include "algorithms/model/add.h"
#include "algorithms/model/unit.h"
#include "hawser/advanced.h"
#include "hawser/kept_points.h"

/* ---- a block ---- */

static hawser_status open_block(hawser_context *context, hw_member_block **block)
{
    hw_member_block *b = *block = hawser_scratch(context);
    const hw_row_path *path = hawser_user(context);
    hawser_error error = {0};
    if (b->path != NULL)
        return HAWSER_OK;
    HAWSER_READ(context, hawser_matrix, X);
    b->path = path;
    b->model = calloc(path->width, sizeof *b->model);
    if (b->model == NULL)
        return hawser_unit_fail(context, HAWSER_NO_MEMORY, "no memory for a model of %zu numbers", path->width);
    return hw_unit_ends(context, path->method->make(b, path, X, hawser_block(context), &error), &error);
}

static void drop_block(void *scratch)
{
    hw_member_block *b = scratch;
    if (b->path != NULL)
        b->path->method->drop(b);
    free(b->model);
}

static void visit_block(hawser_record *record, hawser_context *context)
{
    hw_member_block *b = hawser_scratch(context);
    bool made = b->path != NULL;
    hawser_record_bytes(record, &made, sizeof made);
    if (!made || (hawser_record_reads(record) && open_block(context, &b) != HAWSER_OK))
        return;
    hawser_record_bytes(record, &b->turn, sizeof b->turn);
    b->path->method->visit(record, context, b);
}

/* ---- what is known of a model ---- */

static void find_fields(const hw_member_block *b, double fields[HW_ROW_FIELDS])
{
    memset(fields, 0, HW_ROW_FIELDS * sizeof *fields);
    b->path->method->look(b, fields);
    fields[HW_ROW_DONE] = 1.0;
}

/* Measures the model, if there are validation data for it. *kept becomes whether it is the one of the lowest error so
 * far. */
static hawser_status validate(hawser_context *context, hw_member_block *b, bool *kept)
{
    const hw_row_path *path = b->path;
    double values[2] = {INFINITY, NAN};
    hawser_error error = {0};
    *kept = true;
    if (!hw_row_validates(path, &b->turn))
        return HAWSER_OK;
    if (hawser_block(context) == 0) {
        path->method->model(b, b->model);
        HAWSER_TRY(hw_unit_ends(context, hw_member_error(path, b->model, values, &error), &error));
    }
    HAWSER_TRY(hw_row_take_error(context, path, &b->turn, values[0], kept));
    HAWSER_TRY(hawser_report(context, path->error_name, hw_member_shown(path, b->turn.early.error)));
    return hawser_report(context, "evaluations", (double)b->turn.early.evaluations);
}

/* Writes the block's shares of a model of all rows and of its fields, if it may be the result. */
static hawser_status write_model(hawser_context *context, hw_member_block *b)
{
    double fields[HW_ROW_FIELDS];
    size_t first = 0, count = hawser_part(context, "model", &first);
    HAWSER_WRITE(context, double, model);
    if (b->turn.fold == 0)
        b->path->method->model(b, b->model);
    if (b->turn.fold == 0 && count > 0)
        memcpy(model, b->model + first, count * sizeof *model);
    find_fields(b, fields);
    if (hw_row_keeps_lowest(b->path))
        hw_row_keep(context, b->path, &b->turn, fields);
    return HAWSER_OK;
}

static hawser_status take_model(hawser_context *context, hw_member_block *b)
{
    bool kept;
    HAWSER_TRY(validate(context, b, &kept));
    HAWSER_TRY(write_model(context, b));
    return hw_row_keeps_lowest(b->path) ? hawser_report(context, "kept", kept) : HAWSER_OK;
}

static hawser_status report(hawser_context *context, const hw_member_block *b, hw_row_end ended)
{
    const hw_row_path *path = b->path;
    double fields[HW_ROW_FIELDS];
    find_fields(b, fields);
    HAWSER_TRY(path->method->report(context, b));
    HAWSER_TRY(hawser_report(context, "objective", fields[HW_ROW_OBJECTIVE]));
    HAWSER_TRY(hawser_report(context, "gap", fields[HW_ROW_GAP]));
    HAWSER_TRY(hawser_report(context, "rounding", fields[HW_ROW_ROUNDING]));
    HAWSER_TRY(hawser_report(context, path->method->parameter, fields[HW_ROW_PARAMETER]));
    if (path->method->penalised)
        HAWSER_TRY(hawser_report(context, "penalty", fields[HW_ROW_PENALTY]));
    HAWSER_TRY(hawser_report(context, "iterations", (double)(b->turn.before + b->turn.iteration)));
    if (path->choice.folds > 0)
        HAWSER_TRY(hawser_report(context, "fold", (double)b->turn.fold));
    HAWSER_TRY(hawser_report(context, "fits_left", hw_row_models_left(path, &b->turn)));
    return hawser_report(context, "ended", ended);
}

/* ---- the units ---- */

static hawser_status prepare(hawser_context *context)
{
    hw_member_block *b;
    bool changed = false;
    HAWSER_TRY(open_block(context, &b));
    b->turn.early = hw_early_begin();
    HAWSER_TRY(hw_row_path_check(context, b->path));
    HAWSER_TRY(b->path->method->prepare(context, b, &changed));
    if (!changed)
        return HAWSER_OK;
    HAWSER_TRY(take_model(context, b));
    return report(context, b, HW_END_GOES_ON);
}

/* Finishes a model: writes the block's shares of it. `current`: block->model has it already. *ended becomes GOES_ON if
 * another model follows, else the end that weighs most. */
static hawser_status end_member(hawser_context *context, hw_member_block *b, bool current, hw_row_end *ended)
{
    static const hw_addends errors = {.rest = "the errors of rows", .of = "the columns or weights"};
    double fields[HW_ROW_FIELDS], sums[2] = {0.0, 0.0};
    find_fields(b, fields);
    if (b->turn.fold > 0) {
        HAWSER_TRY(b->path->method->held_out(context, b, sums));
        HAWSER_TRY(hw_add_up(context, sums, 2, &errors));
        fields[HW_ROW_WEIGHT] = sums[0];
        fields[HW_ROW_ERROR] = sums[1] / sums[0];
    } else if (!current)
        b->path->method->model(b, b->model);
    *ended = hw_row_finish(context, b->path, &b->turn, b->model, fields, *ended);
    return HAWSER_OK;
}

static hawser_status step(hawser_context *context)
{
    hw_member_block *b;
    hw_member_step did = {0};
    HAWSER_TRY(open_block(context, &b));
    if (hw_row_go_on(b->path, &b->turn))
        HAWSER_TRY(b->path->method->begin(context, b));
    HAWSER_TRY(b->path->method->step(context, b, &did));
    if (did.changed)
        HAWSER_TRY(take_model(context, b));
    else if (hw_row_keeps_lowest(b->path))
        HAWSER_TRY(hawser_report(context, "kept", 0.0));
    hw_row_end ended = did.done                                   ? HW_END_GAP
                       : did.stuck && !hawser_stopping(context)   ? HW_END_PRECISION
                       : b->turn.iteration >= b->path->iterations ? HW_END_ITERATIONS
                       : hw_row_ends_early(b->path, &b->turn)     ? HW_END_EARLY
                                                                  : HW_END_GOES_ON;
    if (ended != HW_END_GOES_ON)
        HAWSER_TRY(end_member(context, b, did.changed, &ended));
    return report(context, b, ended);
}

/* ---- the program ---- */

/* Keeps a model of the lowest error. */
static void keep(hawser_progress *progress, const hw_row_path *path)
{
    if (hw_row_keeps_lowest(path) && hawser_progress_metric(progress, "kept") > 0.0)
        hawser_progress_keep(progress, 0);
}

/* Looks at the first model, before the first step. */
static bool begins(hawser_progress *progress, void *user)
{
    keep(progress, user);
    return true;
}

static bool has_ended(hawser_progress *progress, void *user)
{
    bool ended = hawser_progress_metric(progress, "ended") > HW_END_GOES_ON;
    keep(progress, user);
    if (ended && hawser_progress_has(progress, 0))
        hawser_progress_return(progress, 0);
    return ended;
}

static void declare(hawser_program *p, const hw_row_path *path)
{
    static const char *const common[] = {"objective", "gap", "rounding", "iterations", "fold", "fits_left", "ended", NULL};
    const struct hw_member_method *method = path->method;
    for (size_t k = 0; common[k] != NULL; k++)
        hawser_metric_declare(p, common[k], HAWSER_LAST);
    hawser_metric_declare(p, method->parameter, HAWSER_LAST);
    if (method->penalised)
        hawser_metric_declare(p, "penalty", HAWSER_LAST);
    for (size_t k = 0; method->metrics[k] != NULL; k++)
        hawser_metric_declare(p, method->metrics[k], HAWSER_LAST);
    if (path->early.validated) {
        hawser_metric_declare(p, path->error_name, HAWSER_LAST);
        hawser_metric_declare(p, "evaluations", HAWSER_LAST);
    }
    if (hw_row_keeps_lowest(path))
        hawser_metric_declare(p, "kept", HAWSER_LAST);
}

hawser_program *hw_members_build(hw_row_path *path, const struct hw_member_method *method, const hawser_job *job)
{
    hw_member_needs needs = method->needs(path, hawser_job_nodes(job));
    size_t folds = path->choice.folds * (path->classes > 0 ? path->classes : 1);
    size_t most = folds > needs.reduces ? folds : needs.reduces;
    bool kept = hw_row_keeps_lowest(path);
    path->method = method;
    hawser_program *p = hawser_program_new(method->name, path);
    declare(p, path);
    hawser_scratch_size(p, method->block, drop_block);
    hawser_scratch_record(p, visit_block);
    if (hw_row_keeps_path(path) && hawser_job_nodes(job) > 1) /* path->finished */
        needs.node += 8 * (path->width * path->members + hw_row_path_table(path));
    hawser_scratch_expect(p, needs.block + 8 * path->width, needs.node);
    hawser_record_expect(p, needs.record, needs.records > 0 ? needs.records : path->blocks * needs.record, 0);
    hawser_state *X = HAWSER_STATE(p, "X", HAWSER_DATA, .matrix = hawser_dataset_matrix(path->data), .split = HAWSER_BY_ROW);
    hawser_state *model = HAWSER_STATE(p, "model", HAWSER_PARTITIONED, .rows = path->width, .keep = kept);
    hawser_state *table, *numbers;
    hw_row_path_states(p, path, &table, &numbers);
    hawser_operator *units[2], *root = hawser_root(p);
    units[0] = HAWSER_UNIT(root, "prepare", prepare, .reads = {X}, .updates = {model, table}, .reduces = most);
    if (kept)
        root = hawser_branch(root, "fit", begins, path);
    hawser_operator *loop = HAWSER_LOOP(root, "iterations", hawser_bsp(), .test = has_ended, .user = path);
    units[1] = HAWSER_UNIT(loop, "step", step, .reads = {X}, .updates = {model, table, numbers}, .reduces = most);
    for (size_t u = 0; u < 2; u++)
        hawser_reduces_expect(units[u], needs.numbers, needs.clock);
    return p;
}
