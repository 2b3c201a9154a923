#include "algorithms/glm/program.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/best.h"
#include "algorithms/glm/fold.h"
#include "algorithms/glm/validation.h"
#include "algorithms/model/add.h"
#include "algorithms/solve/grades.h"

enum {
    SMALLEST_SET = 100,  /* columns of all blocks' working sets together if the support is small */
    MOST_ADDED = 1 << 16 /* numbers of one reduction: longer sums take several, and less memory */
};

static const char *const grade_names[HW_LINEAR_GRADES] = {
    "grade_0", "grade_1", "grade_2",  "grade_3",  "grade_4",  "grade_5",  "grade_6",  "grade_7",
    "grade_8", "grade_9", "grade_10", "grade_11", "grade_12", "grade_13", "grade_14", "grade_15"};

static void declare_metrics(hawser_program *program)
{
    static const struct {
        const char *name;
        hawser_combine_by by;
    } metrics[] = {{"fold", HAWSER_LAST},      {"lambda", HAWSER_LAST},         {"lambda_number", HAWSER_LAST},
                   {"fits_left", HAWSER_LAST}, {"lambdas_free", HAWSER_LAST},   {"objective", HAWSER_LAST},
                   {"gap", HAWSER_LAST},       {"keep", HAWSER_LAST},           {"best", HAWSER_LAST},
                   {"failure", HAWSER_LAST},   {"zero_objective", HAWSER_LAST}, {"lambda_max", HAWSER_MAX},
                   {"reach", HAWSER_MAX},      {"weakest", HAWSER_MAX},         {"loss", HAWSER_LAST},
                   {"intercept", HAWSER_LAST}, {"penalty", HAWSER_SUM},         {"ratio", HAWSER_MAX},
                   {"nonzeros", HAWSER_SUM},   {"conjugate", HAWSER_SUM},       {"plain_conjugate", HAWSER_SUM},
                   {"slack", HAWSER_SUM},      {"working_set", HAWSER_SUM},     {"largest_set", HAWSER_MAX},
                   {"screened", HAWSER_SUM},   {"held_weight", HAWSER_LAST},    {"held_errors", HAWSER_LAST}};
    for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++)
        hawser_metric_declare(program, metrics[k].name, metrics[k].by);
    for (size_t g = 0; g < HW_LINEAR_GRADES; g++)
        hawser_metric_declare(program, grade_names[g], HAWSER_SUM);
    hawser_metric_numbers_fits(program, "fold");
    hawser_metric_numbers_fits(program, "lambda");
}

static void declare_validation(hawser_program *program, const hw_linear_kind *kind)
{
    const char *const metrics[] = {kind->validation_name, "evaluations", "valid_weight", "valid_errors", "valid_keep"};
    for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++)
        hawser_metric_declare(program, metrics[k], HAWSER_LAST);
}

/* Adds the unit that measures the error on validation data at each certificate. */
static void validate_work(hawser_operator *certify, const hw_linear_frame *frame, hawser_unit_function *validate)
{
    const hw_linear *linear = frame->driver->linear;
    if (!hw_linear_validates(linear))
        return;
    hawser_operator *unit = hawser_unit(certify, "validate", validate, HAWSER_READS(frame->X, frame->v, frame->alpha), NULL);
    if (linear->validated)
        hw_linear_adds(unit, linear->problem.X->cols * linear->problem.outputs);
}

/* Adds the way back to the certificate of the least error on validation data, for a training of one lambda. */
static void return_work(hawser_operator *lambdas, const hw_linear_frame *frame)
{
    if (!hw_linear_keeps_valid(frame->driver->linear))
        return;
    hawser_operator *branch = hawser_branch(lambdas, "earlier", hw_linear_returns, frame->driver);
    hawser_operator *once = hawser_loop(branch, "return", (hawser_until){.clocks = 1}, hawser_bsp());
    hawser_unit(once, "return", hw_linear_return, HAWSER_READS(frame->X), HAWSER_UPDATES(frame->v, frame->alpha));
}

/* Adds the unit that prepares a fold. With several outputs it stores the means of the columns, from which the intercepts of all lambdas follow. */
static void prepare_work(hawser_operator *folds, const hw_linear *linear, hawser_program *program, hawser_state *X,
                         hawser_unit_function *prepare)
{
    hawser_state *means = linear->problem.outputs > 1 ? hawser_local_state(program, "means", X, 1, NULL) : NULL;
    hawser_result_expect(means);
    hawser_unit(folds, "prepare", prepare, HAWSER_READS(X), means != NULL ? HAWSER_UPDATES(means) : NULL);
}

static hawser_program *new_program(const char *name, hw_linear *linear, const hw_linear_units *units)
{
    hawser_program *program = hawser_program_new(name, linear);
    declare_metrics(program);
    if (hw_linear_validates(linear))
        declare_validation(program, units->kind);
    units->declare(program);
    hawser_scratch_size(program, units->scratch, units->release);
    hawser_scratch_record(program, units->visit);
    return program;
}

/* Makes all of a program but the work between two certificates. Returns the loop over lambdas. */
static hawser_operator *begin_frame(hw_linear_frame *frame, hw_linear_driver *driver, const hw_linear_units *units)
{
    hw_linear *linear = driver->linear;
    const hw_linear_choices *choices = &linear->choices;
    frame->driver = driver;
    hawser_program *p = frame->program = new_program(units->kind->name, linear, units);
    hawser_state *X = frame->X = hawser_data_state(p, "X", linear->problem.X, HAWSER_BY_COLUMN);
    hawser_data_costs(X, choices->costs);
    hawser_rule rule = {.damping = choices->damping, .gain = choices->gain};
    size_t outputs = linear->problem.outputs;
    hawser_state *v = frame->v =
        hawser_replicated_state(p, "v", linear->problem.X->rows * outputs, 1, linear->problem.image, rule);
    hawser_state *alpha = frame->alpha = hawser_local_state(p, "alpha", X, outputs, linear->problem.alpha);
    frame->path =
        hw_linear_keeps_path(choices) ? hawser_local_state(p, "path", X, choices->lambda_count * outputs, NULL) : NULL;
    hawser_result_expect(alpha);
    hawser_result_expect(frame->path);
    hawser_tie(alpha, v);
    hawser_derive(v, hw_linear_rebuild);
    hawser_encoding(v, choices->form);

    hawser_until certified = {.test = hw_linear_certified, .user = driver};
    hawser_until path_done = {.test = hw_linear_next_lambda, .user = driver};
    hawser_until folds_done = {.test = hw_linear_next_fold, .user = driver};
    hawser_operator *folds = hawser_loop(hawser_root(p), "folds", folds_done, hawser_bsp());
    prepare_work(folds, linear, p, X, units->prepare);
    if (choices->lambda_count > choices->lambda_first) {
        hawser_operator *again = hawser_branch(folds, "again", hw_linear_resumes, driver);
        again = hawser_loop(again, "resume", (hawser_until){.clocks = 1}, hawser_bsp());
        hawser_unit(again, "resume", hw_linear_resume, HAWSER_READS(X, frame->path), HAWSER_UPDATES(v, alpha));
    }
    hawser_operator *begin = hawser_branch(folds, "begin", hw_linear_begin_path, driver);
    hawser_operator *lambdas = hawser_loop(begin, "path", path_done, hawser_bsp());
    hawser_operator *certify = hawser_loop(lambdas, "certify", certified, hawser_bsp());
    hawser_unit(certify, "measure", units->measure, HAWSER_READS(X, v, alpha), NULL);
    hawser_unit(certify, "bound", units->bound, HAWSER_READS(X, alpha), NULL);
    validate_work(certify, frame, units->validate);
    hawser_operator *worse =
        hawser_branch(hawser_branch(certify, "open", hw_linear_open, driver), "worse", hw_linear_restoring, driver);
    hawser_operator *back = hawser_loop(worse, "back", (hawser_until){.clocks = 1}, hawser_bsp());
    hawser_unit(back, "restore", hw_linear_restore, HAWSER_READS(X), HAWSER_UPDATES(v, alpha));
    frame->work = hawser_sequence(worse);
    hawser_unit(frame->work, "choose", units->choose, HAWSER_READS(X, alpha), NULL);
    return lambdas;
}

hawser_program *hw_linear_program(hw_linear_driver *driver, const hw_linear_units *units)
{
    hw_linear_frame frame;
    hawser_operator *lambdas = begin_frame(&frame, driver, units);
    units->work(&frame);
    return_work(lambdas, &frame);
    hawser_tests_record(frame.program, hw_linear_driver_visit, driver);
    hawser_unit(lambdas, "record", units->record, HAWSER_READS(frame.X, frame.v, frame.alpha),
                frame.path != NULL ? HAWSER_UPDATES(frame.path) : NULL);
    return frame.program;
}

static bool stopping(hawser_progress *progress, void *user)
{
    (void)user;
    return hawser_progress_stopping(progress);
}

void hw_linear_settle_work(const hw_linear_frame *frame, hawser_state *weights, hawser_unit_function *settle)
{
    hawser_operator *once = hawser_loop(frame->work, "arrive", (hawser_until){.clocks = 1}, hawser_bsp());
    hawser_unit(once, "settle", settle, HAWSER_READS(weights), HAWSER_UPDATES(frame->v, frame->alpha));
    hawser_operator *early = hawser_sequence(hawser_branch(frame->work, "early", stopping, NULL));
    hawser_unit(early, "keep", settle, HAWSER_READS(weights), HAWSER_UPDATES(frame->v, frame->alpha));
}

hawser_program *hw_linear_certificate_program(hw_linear_driver *driver, const hw_linear_units *units, const double *alpha,
                                              bool path)
{
    hw_linear *linear = driver->linear;
    hawser_program *p = new_program("certificate", linear, units);
    hawser_state *X = hawser_data_state(p, "X", linear->problem.X, HAWSER_BY_COLUMN);
    size_t outputs = linear->problem.outputs;
    hawser_state *v = hawser_replicated_state(p, "v", linear->problem.X->rows * outputs, 1, NULL, (hawser_rule){0});
    hawser_state *a = hawser_local_state(p, "alpha", X, outputs, alpha);
    hawser_result_expect(a);
    if (path)
        hw_linear_add_path(linear, p, X);
    hawser_operator *all = hawser_sequence(hawser_branch(hawser_root(p), "begin", hw_linear_set_rest, driver));
    prepare_work(all, linear, p, X, units->prepare);
    hawser_unit(all, "image", hw_linear_rebuild, HAWSER_READS(X, a), HAWSER_UPDATES(v));
    hawser_unit(all, "measure", units->measure, HAWSER_READS(X, v, a), NULL);
    hawser_unit(all, "bound", units->bound, HAWSER_READS(X, a), NULL);
    return p;
}

void hw_linear_rounds_work(const hw_linear_frame *frame, hawser_operator *work, uint64_t clocks, hawser_unit_function *sweep)
{
    hawser_until done = {.clocks = clocks, .test = clocks > 0 ? NULL : hw_linear_rounds_done, .user = frame->driver};
    hawser_operator *rounds = hawser_loop(work, "rounds", done, frame->driver->linear->choices.sync);
    hawser_unit(rounds, "sweep", sweep, HAWSER_READS(frame->X), HAWSER_UPDATES(frame->v, frame->alpha));
}

void hw_linear_search_work(const hw_linear_frame *frame, hawser_operator *work,
                           bool (*slow)(hawser_progress *progress, void *user), hawser_unit_function *search)
{
    const hw_linear *linear = frame->driver->linear;
    size_t numbers = linear->problem.X->rows + HW_LINEAR_SEARCH_SUMS;
    bool joint = linear->choices.route == HW_LINEAR_JOINT;
    if (!hw_linear_searches(&linear->choices))
        return;
    hawser_operator *unit = hawser_unit(hawser_branch(work, "slow", slow, frame->driver), "search", search,
                                        HAWSER_READS(frame->X), HAWSER_UPDATES(frame->v, frame->alpha));
    hw_linear_adds(unit, numbers);
    /* Joint working sets are rarely too large to be solved as one. */
    hawser_reduces_expect(unit, joint ? 1 : numbers, joint ? 1 : numbers * HW_LINEAR_SEARCH_STEPS);
}

/* ------------------------------------------------------------------------------------------------------------ units ---- */

hawser_status hw_linear_report_grades(hawser_context *context, hw_linear_scan *scan, const hw_linear_columns *columns)
{
    hw_linear_candidates candidates = hw_linear_scan_candidates(scan, hawser_local(context, "alpha"));
    hw_linear_grade(columns, &candidates, hawser_metric(context, "lambda"), hawser_metric(context, "zero_objective"),
                    scan->grades);
    for (size_t g = 0; g < HW_LINEAR_GRADES; g++)
        HAWSER_TRY(hawser_report(context, grade_names[g], scan->grades[g]));
    return HAWSER_OK;
}

/* Returns how many columns may enter this block's working set. */
static size_t entering_most(hawser_context *context, const hw_linear_scan *scan, const hw_linear_columns *columns,
                            double least)
{
    double all[HW_LINEAR_GRADES];
    double support = hawser_metric(context, "nonzeros"), smallest = SMALLEST_SET + 8.0 * hawser_blocks(context);
    for (size_t g = 0; g < HW_LINEAR_GRADES; g++)
        all[g] = hawser_metric(context, grade_names[g]);
    const hw_linear *linear = hawser_user(context);
    size_t entering =
               hw_linear_entering(scan->grades, all, fmax(least, support > smallest / 2 ? support : smallest - support)),
           in = 0;
    if (linear->choices.route != HW_LINEAR_JOINT)
        return entering;
    const double *alpha = hawser_local(context, "alpha");
    for (size_t k = 0; k < scan->live_count; k++)
        in += alpha[scan->live[k]] != 0.0 || columns->l1[scan->live[k]] == 0.0;
    return hw_linear_within_share(entering, in, hw_linear_most_of_share(linear));
}

hawser_status hw_linear_choose(hawser_context *context, hw_linear_scan *scan, const hw_linear_columns *columns, void *solver,
                               double scale, double radius, double least)
{
    const hw_linear_solver *functions = ((const hw_linear *)hawser_user(context))->choices.settings.solver;
    const double *alpha = hawser_local(context, "alpha");
    double lambda = hawser_metric(context, "lambda");
    hawser_error error = {0};
    hw_linear_scan_screen(scan, columns, alpha, lambda, scale, radius);
    hw_linear_keep(context);
    hw_linear_candidates candidates = hw_linear_scan_candidates(scan, alpha);
    size_t most = entering_most(context, scan, columns, least), members = 0;
    if (functions->choose(solver, columns, lambda, &candidates, most, &error) != HAWSER_OK)
        return hw_linear_fail(context, &error);
    (void)functions->members(solver, &members);
    HAWSER_TRY(hawser_report(context, "working_set", (double)members));
    HAWSER_TRY(hawser_report(context, "largest_set", (double)members));
    return hawser_report(context, "screened", (double)scan->screened_count);
}

hawser_status hw_linear_rebuild(hawser_context *context)
{
    const hawser_matrix *X = hawser_data_view(context, "X");
    size_t outputs = ((const hw_linear *)hawser_user(context))->problem.outputs;
    for (size_t o = 0; o < outputs; o++)
        hw_linear_combine(X, hawser_local(context, "alpha") + o, outputs, hawser_cache(context, "v") + o * X->rows);
    return HAWSER_OK;
}

hawser_status hw_linear_record_lambda(hawser_context *context, const double *intercepts)
{
    const hw_linear *linear = hawser_user(context);
    double weight = 0.0, errors = 0.0;
    uint32_t fold = hw_linear_fold_of(context);
    if (hw_linear_keeps_path(&linear->choices) && fold == 0) {
        const double *alpha = hawser_local(context, "alpha");
        double *path = hawser_local(context, "path");
        size_t at = (size_t)hawser_metric(context, "lambda_number"), first = 0;
        size_t columns = hawser_part(context, "alpha", &first);
        for (size_t j = 0; j < columns; j++)
            if (alpha[j] != 0.0) {
                path[j * linear->choices.lambda_count + at] = alpha[j];
                hw_linear_keep_on_path(linear, first + j, at, alpha[j]);
            }
    }
    if (fold == 0)
        return HAWSER_OK;
    hawser_error error = {0};
    if (hw_linear_held_out(&linear->problem, hawser_view(context, "v"), intercepts, fold, &weight, &errors, &error) !=
        HAWSER_OK)
        return hw_linear_fail(context, &error);
    HAWSER_TRY(hawser_report(context, "held_weight", weight));
    return hawser_report(context, "held_errors", errors);
}

/* Adds up the coefficients of all blocks, so that block 0, which is on node 0, has all of them. */
static hawser_status gather(hawser_context *context, double *values, size_t count, hawser_error *error)
{
    size_t first = 0, own = hawser_part(context, "alpha", &first);
    memcpy(values + first, hawser_local(context, "alpha"), own * sizeof *values);
    return hw_linear_add(context, values, count, error);
}

/* Measures the rows of --validation. */
static hawser_status measure_data(hawser_context *context, const double *intercepts, double *weight, double *errors,
                                  hawser_error *error)
{
    const hw_linear *linear = hawser_user(context);
    size_t count = linear->problem.X->cols * linear->problem.outputs;
    double *values = NULL;
    HAWSER_TRY(hw_linear_new_doubles(&values, count, error));
    hawser_status status = gather(context, values, count, error);
    if (status == HAWSER_OK && hawser_block(context) == 0)
        status = hw_linear_validation_errors(linear, values, 1, intercepts, weight, errors, error);
    free(values);
    return status;
}

hawser_status hw_linear_validate(hawser_context *context, const double *intercepts)
{
    const hw_linear *linear = hawser_user(context);
    double weight = 0.0, errors = 0.0;
    hawser_error error = {0};
    if (hw_linear_fold_of(context) > 0)
        return HAWSER_OK;
    hawser_status status = linear->validated ? measure_data(context, intercepts, &weight, &errors, &error)
                                             : hw_linear_held_out(&linear->problem, hawser_view(context, "v"), intercepts, 0,
                                                                  &weight, &errors, &error);
    if (status != HAWSER_OK)
        return hw_linear_fail(context, &error);
    HAWSER_TRY(hw_linear_report(context, "valid_weight", weight));
    return hw_linear_report(context, "valid_errors", errors);
}

hawser_status hw_linear_report(hawser_context *context, const char *metric, double value)
{
    return hawser_report(context, metric, isnan(value) ? INFINITY : value);
}

uint32_t hw_linear_fold_of(const hawser_context *context)
{
    double fold = hawser_metric(context, "fold");
    return fold >= 1.0 ? (uint32_t)fold : 0;
}

hawser_status hw_linear_fail(hawser_context *context, const hawser_error *error)
{
    return hawser_unit_fail(context, error->status, "%s", error->text);
}

bool hw_linear_must_stop(void *context)
{
    return hawser_stopping(context);
}

void hw_linear_adds(hawser_operator *unit, size_t most)
{
    hawser_reduces(unit, most < 1 ? 1 : most < MOST_ADDED ? most : MOST_ADDED);
}

hw_linear_part hw_linear_part_of(hawser_context *context)
{
    return (hw_linear_part){
        .block = hawser_block(context), .blocks = hawser_blocks(context), .add = hw_linear_add, .source = context};
}

hawser_status hw_linear_add(void *context, double *values, size_t count, hawser_error *error)
{
    static const hw_addends products = {.rest = "products of columns, target and weights", .of = "them"};
    for (size_t at = 0; at < count; at += MOST_ADDED) {
        size_t length = count - at < MOST_ADDED ? count - at : MOST_ADDED;
        hawser_status status = hw_add_up(context, values + at, length, &products);
        if (status != HAWSER_OK) {
            error->status = status; /* the context has the text */
            return status;
        }
    }
    return HAWSER_OK;
}
