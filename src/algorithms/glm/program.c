#include "algorithms/glm/program.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/glm/expect.h"
#include "algorithms/glm/finished.h"
#include "algorithms/glm/fold.h"
#include "algorithms/glm/validation.h"
#include "algorithms/model/add.h"
#include "algorithms/model/unit.h"
#include "algorithms/solve/grades.h"
#include "algorithms/solve/shared.h"
#include "hawser/kept_points.h"

enum {
    SMALLEST_SET = 100,  /* columns of all blocks' working sets together if the support is small */
    JOINT_SHARERS = 16,  /* blocks for which a joint set is larger */
    MOST_ADDED = 1 << 16 /* numbers of one reduction: longer sums take several, and less memory */
};

/* How far --auto may change rounds. */
static const double LEAST_WORK = 0.25, MOST_WORK = 4.0;
enum { MOST_STALENESS = 8 };

static hawser_status linear_rebuild(hawser_context *context);
static hawser_status validate(hawser_context *context);
static hawser_status record(hawser_context *context);

static void declare_metrics(hawser_program *program)
{
    static const struct {
        const char *name;
        hawser_combine_by by;
    } metrics[] = {{"fold", HAWSER_LAST},        {"apart", HAWSER_LAST},
                   {"lambda", HAWSER_LAST},      {"lambda_number", HAWSER_LAST},
                   {"fits_left", HAWSER_LAST},   {"lambdas_free", HAWSER_LAST},
                   {"objective", HAWSER_LAST},   {"gap", HAWSER_LAST},
                   {"failure", HAWSER_LAST},     {"zero_objective", HAWSER_LAST},
                   {"lambda_max", HAWSER_MAX},   {"reach", HAWSER_MAX},
                   {"weakest", HAWSER_MAX},      {"loss", HAWSER_LAST},
                   {"intercept", HAWSER_LAST},   {"penalty", HAWSER_SUM},
                   {"ratio", HAWSER_MAX},        {"nonzeros", HAWSER_SUM},
                   {"conjugate", HAWSER_SUM},    {"plain_conjugate", HAWSER_SUM},
                   {"slack", HAWSER_SUM},        {"working_set", HAWSER_SUM},
                   {"largest_set", HAWSER_MAX},  {"screened", HAWSER_SUM},
                   {"held_weight", HAWSER_LAST}, {"held_errors", HAWSER_LAST}};
    for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++)
        hawser_metric_declare(program, metrics[k].name, metrics[k].by);
    hawser_metric_numbers_fits(program, "fold");
    hawser_metric_numbers_fits(program, "lambda");
}

static void declare_validation(hawser_program *program, const hw_linear_kind *kind)
{
    const char *const metrics[] = {kind->validation_name, "evaluations", "valid_weight", "valid_errors"};
    for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++)
        hawser_metric_declare(program, metrics[k], HAWSER_LAST);
}

/* Adds the unit that measures the error on validation data at each certificate. */
static void validate_work(hawser_operator *certify, const hw_linear_frame *frame)
{
    const hw_linear *linear = frame->driver->linear;
    if (!hw_linear_validates(linear))
        return;
    size_t reduces = linear->early.validated ? hw_linear_adds(linear->problem.X->cols * linear->problem.outputs) : 0;
    HAWSER_UNIT(certify, "validate", validate, .reads = {frame->X, frame->v, frame->alpha}, .reduces = reduces);
}

static hawser_program *new_program(const char *name, hw_linear *linear, const hw_linear_units *units)
{
    hawser_program *program = hawser_program_new(name, linear);
    linear->intercepts = units->intercepts;
    declare_metrics(program);
    if (!linear->choices.settings.intercept)
        hawser_metric_declare(program, "far", HAWSER_MAX);
    if (hw_linear_validates(linear))
        declare_validation(program, units->kind);
    units->declare(program);
    hawser_scratch_size(program, units->scratch, units->release);
    hawser_scratch_record(program, units->visit);
    return program;
}

/* Moves this block's coefficients to values[0], values[stride] ..., or to zero if there are none. Under averaging, the cut
 * takes only the damping's share of a change, so the change is divided by it. */
static hawser_status move(hawser_context *context, const double *values, size_t stride)
{
    HAWSER_WRITE(context, double, alpha);
    double damping = hawser_damping(context, "v");
    size_t count = hawser_part(context, "alpha", NULL);
    for (size_t j = 0; j < count; j++) {
        double to = values != NULL ? values[j * stride] : 0.0;
        alpha[j] = damping == 1.0 ? to : alpha[j] + (to - alpha[j]) / damping;
    }
    return hawser_touch(context, "v", 0, 0);
}

/* Goes on from the coefficients of lambda "lambda_number". */
static hawser_status resume(hawser_context *context)
{
    HAWSER_READ(context, double, path);
    size_t lambda = (size_t)hawser_metric(context, "lambda_number");
    return move(context, path + lambda, ((const hw_linear *)hawser_user(context))->choices.lambda_count);
}

/* Goes on from zero, which is within all bounds: nothing was certified yet, because the objective of the start overflows. */
static hawser_status start_from_zero(hawser_context *context)
{
    return move(context, NULL, 0);
}

/* Changes no coefficient: v is derived when the loop is left. */
static hawser_status derive(hawser_context *context)
{
    return hawser_touch(context, "v", 0, 0);
}

/* Adds a loop of one clock, after which v is that of the coefficients that `unit` has set. */
static void move_work(hawser_operator *branch, const hw_linear_frame *frame, const char *name, hawser_unit_function *unit,
                      hawser_state *from)
{
    hawser_operator *once = hawser_loop(branch, name, (hawser_until){.clocks = 1}, hawser_bsp());
    HAWSER_UNIT(once, name, unit, .reads = {frame->X, from}, .updates = {frame->v, frame->alpha});
}

/* Returns the factor of a change of the cache of v that changes the state by the whole of it. */
static double whole_of(hawser_context *context)
{
    return hawser_gain(context, "v") / hawser_damping(context, "v");
}

/* Sets v to zero, for the next unit to make it anew: weights that a store kept have come to alpha, and no loop has derived v
 * since (hw_linear_settle_work). */
static hawser_status clear_image(hawser_context *context)
{
    const hw_linear *linear = hawser_user(context);
    HAWSER_WRITE(context, double, v);
    double factor = whole_of(context);
    for (size_t i = 0; hawser_block(context) == 0 && i < linear->problem.X->rows * linear->problem.outputs; i++)
        v[i] -= factor * v[i];
    return HAWSER_OK;
}

static hawser_status make_image(hawser_context *context)
{
    HAWSER_WRITE(context, double, v);
    HAWSER_READ(context, double, alpha);
    const hw_linear_problem *problem = &((const hw_linear *)hawser_user(context))->problem;
    size_t count = problem->X->rows * problem->outputs;
    double *sum = NULL, factor = whole_of(context);
    HW_UNIT_TRY(context, hw_linear_new_doubles(&sum, count, &error));
    HAWSER_READ(context, hawser_matrix, X);
    for (size_t o = 0; o < problem->outputs; o++)
        hw_linear_combine(X, alpha + o, problem->outputs, sum + o * X->rows);
    for (size_t i = 0; i < count; i++)
        v[i] += factor * sum[i];
    free(sum);
    return HAWSER_OK;
}

/* Adds the certificate of an early end. */
static void rest_work(const hw_linear_frame *frame, const hw_linear_units *units)
{
    hw_linear_driver *driver = frame->driver;
    hawser_state *X = frame->X, *v = frame->v, *alpha = frame->alpha;
    hawser_operator *rest = hawser_sequence(hawser_branch(frame->rest, "rest", hw_linear_has_rest, driver));
    hawser_operator *unprepared = hawser_branch(rest, "unprepared", hw_linear_unprepared, driver);
    HAWSER_UNIT(unprepared, "prepare the rest", units->prepare, .reads = {X}, .updates = {frame->means});
    if (driver->linear->choices.settings.stored || driver->linear->apart) {
        HAWSER_UNIT(rest, "clear the image", clear_image, .reads = {X}, .updates = {v});
        HAWSER_UNIT(rest, "make the image", make_image, .reads = {X, alpha}, .updates = {v});
    }
    HAWSER_UNIT(rest, "measure the rest", units->measure, .reads = {X, v, alpha});
    HAWSER_UNIT(rest, "bound the rest", units->bound, .reads = {X, alpha});
    (void)hawser_sequence(hawser_branch(rest, "take", hw_linear_take_rest, driver));
}

/* Makes all of a program but the work between two certificates. Returns the loop over lambdas. */
static hawser_operator *begin_frame(hw_linear_frame *frame, hw_linear_driver *driver, const hw_linear_units *units)
{
    hw_linear *linear = driver->linear;
    const hw_linear_choices *choices = &linear->choices;
    frame->driver = driver;
    hawser_program *p = frame->program = new_program(units->kind->name, linear, units);
    hawser_state *X = frame->X = HAWSER_STATE(p, "X", HAWSER_DATA, .matrix = linear->problem.X, .costs = choices->costs);
    size_t outputs = linear->problem.outputs;
    hawser_state *v = frame->v = HAWSER_STATE(
        p, "v", HAWSER_REPLICATED, .rows = linear->problem.X->rows * outputs, .initial = linear->problem.image,
        .damping = choices->damping, .gain = choices->gain, .form = choices->form, .derive = linear_rebuild, .keep = true);
    hawser_state *alpha = frame->alpha = HAWSER_STATE(p, "alpha", HAWSER_LOCAL, .along = X, .cols = outputs,
                                                      .initial = linear->problem.alpha, .tie = v, .keep = true);
    frame->path = hw_linear_keeps_path(choices)
                      ? HAWSER_STATE(p, "path", HAWSER_LOCAL, .along = X, .cols = choices->lambda_count * outputs)
                      : NULL;
    hawser_result_expect(alpha);
    hawser_result_expect(frame->path);
    hawser_kept_points(p, HW_LINEAR_POINTS);

    hawser_until certified = {.test = hw_linear_certified, .user = driver};
    hawser_until path_done = {.test = hw_linear_next_lambda, .user = driver};
    hawser_until folds_done = {.test = hw_linear_next_fold, .user = driver};
    hawser_operator *training = hawser_sequence(hawser_root(p));
    frame->rest = hawser_sequence(hawser_root(p));
    hawser_operator *folds = hawser_loop(training, "folds", folds_done, hawser_bsp());
    frame->means = hw_linear_has_means(linear) ? HAWSER_STATE(p, "means", HAWSER_LOCAL, .along = X) : NULL;
    if (outputs > 1)
        hawser_result_expect(frame->means);
    HAWSER_UNIT(folds, "prepare", units->prepare, .reads = {X}, .updates = {frame->means});
    if (choices->lambda_count > choices->lambda_first) {
        hawser_operator *again = hawser_branch(folds, "again", hw_linear_resumes, driver);
        move_work(again, frame, "resume", resume, frame->path);
    }
    hawser_operator *begin = hawser_branch(folds, "begin", hw_linear_begin_path, driver);
    hawser_operator *lambdas = hawser_loop(begin, "path", path_done, hawser_bsp());
    hawser_operator *certify = hawser_loop(lambdas, "certify", certified, hawser_bsp());
    HAWSER_UNIT(certify, "measure", units->measure, .reads = {X, v, alpha});
    HAWSER_UNIT(certify, "bound", units->bound, .reads = {X, alpha});
    validate_work(certify, frame);
    hawser_operator *open = hawser_branch(certify, "open", hw_linear_open, driver);
    frame->again = hawser_branch(open, "work", hw_linear_works, driver);
    frame->work = hawser_sequence(frame->again);
    HAWSER_UNIT(frame->work, "choose", units->choose, .reads = {X, alpha}, .reduces = HW_LINEAR_GRADES);
    return lambdas;
}

/* Adds the unit that stores the model of a lambda. */
static void record_work(hawser_operator *lambdas, const hw_linear_frame *frame)
{
    const hw_linear *linear = frame->driver->linear;
    size_t blocks = linear->choices.blocks, all = linear->problem.X->cols * linear->problem.outputs;
    hawser_operator *unit =
        HAWSER_UNIT(lambdas, "record", record, .reads = {frame->X, frame->v, frame->alpha}, .updates = {frame->path},
                    .reduces = linear->finished != NULL ? hw_linear_finished_reduces(all, blocks) : 0);
    if (linear->finished != NULL)
        hawser_reduces_expect(unit, 2 * hw_linear_expected(linear) + blocks, 2 * hw_linear_expected(linear) + blocks);
}

void hw_linear_derive_work(hawser_operator *work, const hw_linear_frame *frame, const char *name,
                           bool (*test)(hawser_progress *progress, void *user))
{
    move_work(hawser_branch(work, name, test, frame->driver), frame, name, derive, NULL);
}

hawser_program *hw_linear_program(hw_linear_driver *driver, const hw_linear_units *units)
{
    hw_linear_frame frame;
    hawser_operator *lambdas = begin_frame(&frame, driver, units);
    units->work(&frame);
    hawser_operator *lost = hawser_branch(frame.again, "lost", hw_linear_lost, driver);
    move_work(lost, &frame, "start from zero", start_from_zero, NULL);
    if (driver->linear->apart)
        move_work(lost, &frame, "derive", derive, NULL); /* for the point to which the driver has returned */
    hawser_tests_record(frame.program, hw_linear_driver_visit, driver);
    if (driver->linear->apart)
        hw_linear_derive_work(lambdas, &frame, "returned", hw_linear_returned);
    record_work(lambdas, &frame);
    rest_work(&frame, units);
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
    HAWSER_UNIT(once, "settle", settle, .reads = {weights}, .updates = {frame->v, frame->alpha});
    hawser_operator *early = hawser_sequence(hawser_branch(frame->work, "early", stopping, NULL));
    HAWSER_UNIT(early, "keep", settle, .reads = {weights}, .updates = {frame->v, frame->alpha});
}

/* Returns sigma' that converges for any columns (Ma et al. 2015), whatever a round does. */
static double gain_of(double work, uint32_t staleness, void *user)
{
    (void)work, (void)staleness;
    return ((const hw_linear *)user)->choices.gain;
}

void hw_linear_rounds_work(const hw_linear_frame *frame, hawser_operator *work, uint64_t clocks, hawser_unit_function *sweep)
{
    hawser_until done = {.clocks = clocks, .test = clocks > 0 ? NULL : hw_linear_rounds_done, .user = frame->driver};
    hawser_operator *rounds = hawser_loop(work, "rounds", done, frame->driver->linear->choices.sync);
    HAWSER_UNIT(rounds, "sweep", sweep, .reads = {frame->X}, .updates = {frame->v, frame->alpha});
    const hw_linear_choices *choices = &frame->driver->linear->choices;
    bool of_length = choices->settings.exchange_every > 0.0;
    if (choices->route == HW_LINEAR_ROUNDS)
        HAWSER_ADAPT(frame->program, .loop = rounds, .work_least = of_length ? LEAST_WORK : 1.0,
                     .work_most = of_length ? MOST_WORK : 1.0, .shares = of_length, .staleness_most = MOST_STALENESS,
                     .metric = "gap", .metric_is_gap = true, .state = frame->v,
                     .gain_of = hw_linear_adapts_gain(choices) ? gain_of : NULL);
}

void hw_linear_search_work(const hw_linear_frame *frame, hawser_operator *work,
                           bool (*slow)(hawser_progress *progress, void *user), hawser_unit_function *search)
{
    const hw_linear *linear = frame->driver->linear;
    size_t numbers = linear->problem.X->rows + HW_LINEAR_SEARCH_SUMS;
    bool joint = linear->choices.route == HW_LINEAR_JOINT;
    if (!hw_linear_searches(&linear->choices))
        return;
    hawser_operator *unit =
        HAWSER_UNIT(hawser_branch(work, "slow", slow, frame->driver), "search", search, .reads = {frame->X},
                    .updates = {frame->v, frame->alpha}, .reduces = hw_linear_adds(numbers));
    /* Joint working sets are rarely too large to be solved as one. */
    hawser_reduces_expect(unit, joint ? 1 : numbers, joint ? 1 : numbers * HW_LINEAR_SEARCH_STEPS);
}

/* ------------------------------------------------------------------------------------------------------------ units ---- */

/* Returns how many blocks make the smallest set larger. A joint set is solved as one, and the cost of its Gram matrix grows
 * with its square, so it does not grow with every block. */
static double sharers(const hawser_context *context)
{
    const hw_linear *linear = hawser_user(context);
    double blocks = hawser_blocks(context);
    return linear->choices.route == HW_LINEAR_JOINT ? fmin(blocks, JOINT_SHARERS) : blocks;
}

/* Stores in *most how many columns may enter this block's working set. The blocks' counts by grade are added up. */
static hawser_status find_entering(hawser_context *context, const hw_linear_scan *scan, const hw_linear_columns *columns,
                                   const double *alpha, double least, size_t *most)
{
    double own[HW_LINEAR_GRADES], all[HW_LINEAR_GRADES];
    double support = hawser_metric(context, "nonzeros"), smallest = SMALLEST_SET + 8.0 * sharers(context);
    hw_linear_candidates candidates = hw_linear_scan_candidates(scan, alpha);
    hw_linear_grade(columns, &candidates, hawser_metric(context, "lambda"), hawser_metric(context, "zero_objective"), own);
    memcpy(all, own, sizeof all);
    HAWSER_TRY(hawser_allreduce(context, all, HW_LINEAR_GRADES, HAWSER_SUM));
    *most = hw_linear_entering(own, all, fmax(least, support > smallest / 2 ? support : smallest - support));
    return HAWSER_OK;
}

/* Returns `entering`, or less if joint sets would be larger than the block's share of them. */
static size_t within_share(const hw_linear *linear, const hw_linear_scan *scan, const hw_linear_columns *columns,
                           const double *alpha, size_t entering)
{
    size_t in = 0;
    if (linear->choices.route != HW_LINEAR_JOINT)
        return entering;
    for (size_t k = 0; k < scan->live_count; k++)
        in += alpha[scan->live[k]] != 0.0 || columns->l1[scan->live[k]] == 0.0;
    return hw_linear_within_share(entering, in, hw_linear_most_of_share(linear));
}

hawser_status hw_linear_choose(hawser_context *context, hw_linear_scan *scan, const hw_linear_columns *columns, void *solver,
                               double scale, double radius, double least)
{
    HAWSER_READ(context, double, alpha);
    const hw_linear *linear = hawser_user(context);
    const hw_linear_solver *functions = linear->choices.settings.solver;
    double lambda = hawser_metric(context, "lambda");
    size_t most = 0, members = 0;
    HAWSER_TRY(find_entering(context, scan, columns, alpha, least, &most));
    hw_linear_scan_screen(scan, columns, alpha, lambda, scale, radius);
    hw_linear_candidates candidates = hw_linear_scan_candidates(scan, alpha);
    most = within_share(linear, scan, columns, alpha, most);
    HW_UNIT_TRY(context, functions->choose(solver, columns, lambda, &candidates, most, &error));
    (void)functions->members(solver, &members);
    HAWSER_TRY(hawser_report(context, "working_set", (double)members));
    HAWSER_TRY(hawser_report(context, "largest_set", (double)members));
    return hawser_report(context, "screened", (double)scan->screened_count);
}

hawser_status hw_linear_report_fold(hawser_context *context, double zero_objective, const hw_linear_columns *columns,
                                    double lambda_max)
{
    HAWSER_TRY(hawser_report(context, "zero_objective", zero_objective));
    HAWSER_TRY(hawser_report(context, "reach", columns->reach));
    HAWSER_TRY(hawser_report(context, "weakest", columns->weakest));
    if (!columns->centred)
        HAWSER_TRY(hawser_report(context, "far", columns->far));
    return hawser_report(context, "lambda_max", lambda_max);
}

/* Returns whether X alpha is now that of the last joint solution, which the process has in linear->shared, and v is zero. */
static bool is_apart(const hawser_context *context)
{
    return ((const hw_linear *)hawser_user(context))->apart && hawser_metric(context, "apart") > 0.0;
}

hawser_status hw_linear_read_image(hawser_context *context, const double **image)
{
    const hw_linear *linear = hawser_user(context);
    HAWSER_READ(context, double, v);
    *image = v;
    if (is_apart(context))
        *image = linear->shared->image;
    if (linear->image == NULL)
        return HAWSER_OK;
    HAWSER_READ(context, double, alpha);
    HAWSER_READ(context, hawser_matrix, X);
    double *made_of = linear->image + X->rows; /* alpha of the last call; at first zeros */
    *image = linear->image;
    if (memcmp(made_of, alpha, X->cols * sizeof *alpha) == 0)
        return HAWSER_OK;
    memset(linear->image, 0, X->rows * sizeof *linear->image);
    hw_linear_combine(X, alpha, 1, linear->image);
    memcpy(made_of, alpha, X->cols * sizeof *alpha);
    return HAWSER_OK;
}

/* Computes v = X alpha from zero, so that certificates contain neither rounding errors nor held updates. */
static hawser_status linear_rebuild(hawser_context *context)
{
    const hw_linear *linear = hawser_user(context);
    if (linear->image != NULL)
        return HAWSER_OK;
    if (is_apart(context))
        return hawser_touch(context, "v", 0, 0);
    HAWSER_READ(context, double, alpha);
    HAWSER_WRITE(context, double, v);
    HAWSER_READ(context, hawser_matrix, X);
    size_t outputs = linear->problem.outputs;
    for (size_t o = 0; o < outputs; o++)
        hw_linear_combine(X, alpha + o, outputs, v + o * X->rows);
    return HAWSER_OK;
}

hawser_status hw_linear_record_means(hawser_context *context, const double *mean)
{
    if (!hw_linear_has_means(hawser_user(context)))
        return HAWSER_OK;
    HAWSER_WRITE(context, double, means);
    memcpy(means, mean, hawser_part(context, "means", NULL) * sizeof *means);
    return HAWSER_OK;
}

/* Stores the coefficients of a lambda, and measures them on the rows that this fold holds out. */
static hawser_status record(hawser_context *context)
{
    const hw_linear *linear = hawser_user(context);
    const double *intercepts = linear->intercepts(hawser_scratch(context));
    double weight = 0.0, errors = 0.0;
    uint32_t fold = hw_linear_fold_of(context);
    if (hw_linear_keeps_path(&linear->choices) && fold == 0) {
        HAWSER_READ(context, double, alpha);
        HAWSER_WRITE(context, double, path);
        size_t at = (size_t)hawser_metric(context, "lambda_number"), first = 0;
        size_t count = hawser_part(context, "alpha", &first);
        for (size_t j = 0; j < count; j++)
            if (alpha[j] != 0.0)
                path[j * linear->choices.lambda_count + at] = alpha[j];
        if (linear->finished != NULL)
            HAWSER_TRY(hw_linear_finished_gather(context, at, alpha, first, count, intercepts));
    }
    if (fold == 0)
        return HAWSER_OK;
    const double *v;
    HAWSER_TRY(hw_linear_read_image(context, &v));
    HW_UNIT_TRY(context, hw_linear_held_out(&linear->problem, v, intercepts, fold, &weight, &errors, &error));
    HAWSER_TRY(hawser_report(context, "held_weight", weight));
    return hawser_report(context, "held_errors", errors);
}

static hawser_status linear_add(void *context, double *values, size_t count, hawser_error *error);

/* Adds up the coefficients of all blocks, so that block 0, which is on node 0, has all of them. */
static hawser_status gather(hawser_context *context, double *values, size_t count, hawser_error *error)
{
    size_t first = 0, own = hawser_part(context, "alpha", &first);
    const double *alpha;
    error->status = hawser_read(context, "alpha", &alpha); /* the context has the text */
    if (error->status != HAWSER_OK)
        return error->status;
    memcpy(values + first, alpha, own * sizeof *values);
    return linear_add(context, values, count, error);
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

/* Measures the error of the coefficients "alpha" on validation data. */
static hawser_status validate(hawser_context *context)
{
    const hw_linear *linear = hawser_user(context);
    const double *intercepts = linear->intercepts(hawser_scratch(context));
    double weight = 0.0, errors = 0.0;
    hawser_error error = {0};
    if (hw_linear_fold_of(context) > 0)
        return HAWSER_OK;
    const double *v;
    HAWSER_TRY(hw_linear_read_image(context, &v));
    hawser_status status = linear->early.validated
                               ? measure_data(context, intercepts, &weight, &errors, &error)
                               : hw_linear_held_out(&linear->problem, v, intercepts, 0, &weight, &errors, &error);
    HAWSER_TRY(hw_unit_ends(context, status, &error));
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

bool hw_linear_must_stop(void *context)
{
    return hawser_stopping(context);
}

size_t hw_linear_adds(size_t most)
{
    return most < 1 ? 1 : most < MOST_ADDED ? most : MOST_ADDED;
}

hw_linear_part hw_linear_part_of(hawser_context *context)
{
    return (hw_linear_part){
        .block = hawser_block(context), .blocks = hawser_blocks(context), .add = linear_add, .source = context};
}

/* Adds numbers of all blocks; the `add` of a hw_linear_part. `context` is the unit's. The unit must return after a failure
 * (hw_unit_ends). */
static hawser_status linear_add(void *context, double *values, size_t count, hawser_error *error)
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
