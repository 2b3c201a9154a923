/*
 * program.c - a penalised linear model with any loss of loss.h, as states, units and loops: Newton's method on working sets
 * of columns, between certificates of all of them.
 *
 * Columns are split over the blocks; they exchange v = X alpha. If all blocks work in step, the problem over the working
 * sets of all blocks is solved as one: by one block, or if it is large by all of them (joint.h). Otherwise (under SSP or
 * TAP, with filters, or if the sets are too large to be gathered) all blocks solve each of Newton's quadratic models in
 * CoCoA rounds, as the lasso does.
 */
#include "algorithms/newton/program.h"

#include <math.h>

#include "algorithms/glm/metrics.h"
#include "algorithms/glm/sets.h"
#include "algorithms/newton/block.h"
#include "algorithms/newton/joint.h"
#include "algorithms/newton/rounds.h"
#include "algorithms/solve/memory.h"
#include "hawser/job_data.h"

enum {
    MOST_MODELS = 4, /* of Newton's, between two certificates, where rounds solve them */
    LARGE = 1 << 19, /* stored entries from which on a product is worth an exchange */
    SOLVED = 1,      /* where members begin in a solution, after the intercept */
    FULL_SHARE = 8   /* a working set of that share of the columns costs no more than a certificate */
};

static const double NEVER = 1e300; /* stands for no slack or no bound; sums of it stay finite */

/* Prepares a fold: weights, means, penalties, the loss at zero and the lambda at which all coefficients are zero. */
hawser_status hw_newton_prepare(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    const hw_linear *linear = hawser_user(context);
    double most = 0.0;
    uint32_t fold = hw_linear_fold_of(context);
    HAWSER_READ(context, hawser_matrix, X);
    HW_UNIT_TRY(context, hw_newton_block_prepare(block, linear, X, fold, fold == 0 ? &most : NULL, &error));
    return hw_linear_report_fold(context, block->zero_objective, &block->columns, most);
}

/* Scans all columns at a quiescent clock, and reports this block's part of the certificate's sums. */
hawser_status hw_newton_measure(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    HAWSER_READ(context, double, v);
    HAWSER_READ(context, double, alpha);
    hw_linear_sums sums;
    size_t nonzeros = hw_newton_block_measure(block, v, alpha, hawser_metric(context, "lambda"), &sums);
    HAWSER_TRY(hw_linear_report(context, "loss", sums.loss));
    HAWSER_TRY(hw_linear_report(context, "intercept", block->point.intercept));
    HAWSER_TRY(hw_linear_report(context, "rounding", block->point.rounding));
    HAWSER_TRY(hw_linear_report(context, "penalty", sums.penalty));
    HAWSER_TRY(hw_linear_report(context, "ratio", sums.ratio));
    return hawser_report(context, "nonzeros", (double)nonzeros);
}

/* Reports the dual's part of the certificate: the scaling by the columns of all blocks is known now. With an L2 part any
 * scaling is feasible. */
hawser_status hw_newton_bound(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    double ratio = hawser_metric(context, "ratio"), scale = hw_newton_scale(ratio), scaled = 0.0, plain = 0.0;
    bool both = scale < 1.0 && block->linear->choices.settings.l1_ratio < 1.0;
    hw_linear_scan_conjugate(&block->scan, &block->columns, hawser_metric(context, "lambda"), scale, &scaled, &plain);
    HAWSER_TRY(hw_linear_report(context, "conjugate", scaled));
    HAWSER_TRY(hw_linear_report(context, "plain_conjugate", both ? plain : 0.0));
    size_t first, last;
    const hw_newton_rows *rows = &block->rows;
    const double *theta = block->dual.theta, intercept = block->point.intercept;
    hw_newton_block_rows(block, hawser_block(context), &first, &last);
    HAWSER_TRY(hw_linear_report(context, "dual_loss", rows->loss->dual(rows, theta, scale, intercept, first, last)));
    return hw_linear_report(context, "plain_dual_loss",
                            both ? rows->loss->dual(rows, theta, 1.0, intercept, first, last)
                                 : -NEVER / block->linear->choices.blocks);
}

/* Chooses the next working set: columns that the certificate does not prove to be zero, most promising first. */
hawser_status hw_newton_choose(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    double primal = hawser_metric(context, "loss") + hawser_metric(context, "penalty");
    double gap = primal - (hawser_metric(context, "dual_loss") - hawser_metric(context, "conjugate"));
    if (block->scan.screened_at != hawser_metric(context, "lambda"))
        block->search.reference = 0.0; /* another problem begins */
    double scale = hw_newton_scale(hawser_metric(context, "ratio"));
    double radius =
        block->rows.loss->radius(&block->rows, block->dual.theta, scale, fmax(gap, hawser_metric(context, "gap")));
    return hw_linear_choose(context, &block->scan, &block->columns, block->solver, scale, radius,
                            (double)(block->linear->problem.X->cols / FULL_SHARE));
}

/* ------------------------------------------------------------------------------------------------ joint problem ---- */

/* One block, and no option asks for rounds. */
static bool alone(const hw_linear *linear)
{
    return linear->choices.route == HW_LINEAR_SINGLE && linear->choices.settings.sigma <= 0.0;
}

static hw_newton_effort effort_of(hawser_context *context, const hw_linear *linear, double gain)
{
    double tolerance = linear->choices.settings.tolerance * hawser_metric(context, "zero_objective");
    return (hw_newton_effort){.gain = gain,
                              .gap = hawser_metric(context, "gap"),
                              .tolerance = 0.3 * tolerance,
                              .steps = UINT64_MAX,
                              .stop = {hw_linear_must_stop, context}};
}

/* Writes this block's working set to the gathered sets. */
static hawser_status post(hawser_context *context)
{
    HAWSER_READ(context, double, alpha);
    HAWSER_WRITE(context, double, sets);
    size_t first = 0, most = hawser_part(context, "sets", &first);
    double members = 0.0, entries = 0.0;
    size_t posted = hw_newton_joint_post(hawser_scratch(context), alpha, sets, &members, &entries);
    HAWSER_TRY(hawser_report(context, "gathered", members));
    HAWSER_TRY(hawser_report(context, "entries", entries));
    return hawser_touch(context, "sets", first, posted < most ? posted : most);
}

static bool divides(hawser_progress *progress, void *user)
{
    const hw_linear_driver *driver = user;
    return hw_newton_joint_divides(driver->linear, hawser_progress_metric(progress, "entries"),
                                   (size_t)hawser_progress_metric(progress, "gathered"));
}

/* Solves the problem over the gathered sets from v. Stores the number of their members. */
static hawser_status solve_joint(hawser_context *context, const double *v, hw_linear_part *part, size_t *members)
{
    hw_newton_block *block = hawser_scratch(context);
    HAWSER_READ(context, double, sets);
    hw_newton_effort effort = effort_of(context, block->linear, 1.0);
    hawser_error error = {0};
    HAWSER_READ(context, hawser_matrix, whole);
    HAWSER_TRY(
        hw_unit_ends(context, hw_newton_block_for_all(block, whole, hw_linear_most_members(block->linear), &error), &error));
    *members = hw_newton_joint_list(block, sets);
    HAWSER_TRY(hawser_data_fetch(context, "whole", block->whole_list, *members));
    return hw_unit_ends(
        context, hw_newton_joint_solve(block, sets, *members, v, hawser_metric(context, "lambda"), &effort, part, &error),
        &error);
}

/* Solves a large problem together with all blocks. Each block takes its own coefficients from the solution. */
static hawser_status descend(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    HAWSER_WRITE(context, double, v);
    HAWSER_WRITE(context, double, alpha);
    hw_linear_part part = hw_linear_part_of(context);
    size_t members = 0;
    HAWSER_TRY(solve_joint(context, v, &part, &members));
    hw_newton_joint_take(block, members, alpha);
    return hawser_touch(context, "v", 0, 0); /* derived when the loop is left */
}

/* Solves a smaller problem on one block. */
static hawser_status solve(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    HAWSER_READ(context, double, v);
    HAWSER_WRITE(context, double, solution);
    size_t members = 0;
    HAWSER_TRY(solve_joint(context, v, NULL, &members));
    solution[0] = block->point.intercept;
    hw_newton_joint_solution(block, members, solution + SOLVED);
    return hawser_touch(context, "solution", 0, SOLVED + members);
}

/* Takes this block's coefficients from the solution of the block that solved it. */
static hawser_status move(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    HAWSER_READ(context, double, sets);
    HAWSER_READ(context, double, solution);
    HAWSER_WRITE(context, double, alpha);
    hw_newton_joint_move(block, sets, solution + SOLVED, alpha);
    block->point.intercept = solution[0];    /* where the next certificate begins on all blocks */
    return hawser_touch(context, "v", 0, 0); /* derived when the loop is left */
}

/* ------------------------------------------------------------------------------------------------- CoCoA rounds ---- */

static hawser_status model(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    HAWSER_READ(context, double, v);
    HAWSER_READ(context, double, alpha);
    hawser_error error = {0};
    double tolerance = effort_of(context, block->linear, 1.0).tolerance;
    return hw_unit_ends(context,
                        hw_newton_rounds_begin(block, v, alpha, hawser_metric(context, "lambda"), 0.01 * tolerance, &error),
                        &error);
}

/* Runs one CoCoA round: solves the local subproblem approximately. alpha is tied to v. */
static hawser_status sweep(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    HAWSER_WRITE(context, double, v);
    HAWSER_WRITE(context, double, alpha);
    const hw_linear *linear = block->linear;
    double slack = 0.0;
    hw_newton_effort effort = effort_of(context, linear, hawser_gain(context, "v"));
    effort.steps = hw_linear_round_steps(&linear->choices, block->columns.X.cols, hawser_work(context));
    effort.slack = &slack;
    HW_UNIT_TRY(context, hw_newton_rounds_sweep(block, &effort, alpha, v, &error));
    return hawser_report(context, "slack", slack < NEVER ? slack : NEVER);
}

/* Searches over all blocks on the model, from the point where all of them are. */
static hawser_status search(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    HAWSER_WRITE(context, double, v);
    HAWSER_WRITE(context, double, alpha);
    hw_linear_part part = hw_linear_part_of(context);
    HW_UNIT_TRY(context,
                hw_newton_rounds_search(block, &part, v, alpha, hawser_metric(context, "lambda"), HW_LINEAR_SEARCH_STEPS,
                                        (hw_linear_stop){hw_linear_must_stop, context}, &error));
    hw_linear_search_move(&block->search, hawser_gain(context, "v"), v);
    return HAWSER_OK;
}

/* Moves all blocks back as far as a line search on the objective requires, because the model only approximates it. */
static hawser_status back(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    HAWSER_WRITE(context, double, v);
    HAWSER_WRITE(context, double, alpha);
    double share = 0.0, fall = 0.0;
    double tolerance = 0.01 * effort_of(context, block->linear, 1.0).tolerance;
    hw_linear_part part = hw_linear_part_of(context);
    for (size_t i = 0; i < block->rows.count; i++)
        block->move[i] = v[i] - block->start[i];
    HW_UNIT_TRY(context, hw_newton_rounds_line(block, &part, alpha, hawser_metric(context, "lambda"), tolerance, &share,
                                               &fall, &error));
    if (share < 1.0)
        hw_newton_rounds_back(block, share, hawser_gain(context, "v"), hawser_damping(context, "v"), alpha, v);
    return hawser_report(context, "fall", fall);
}

/* Ends the models when the last one lowered the objective by little compared with the gap: then the other columns matter
 * more. */
static bool models_done(hawser_progress *progress, void *user)
{
    const hw_linear_driver *driver = user;
    const hw_linear_settings *settings = &driver->linear->choices.settings;
    uint64_t models = hawser_progress_clock(progress) + 1;
    double least = 0.3 * settings->tolerance * driver->record.zero_objective;
    return settings->certify_every > 0 || models >= MOST_MODELS || hawser_progress_stopping(progress) ||
           hawser_progress_metric(progress, "fall") <= fmax(0.05 * driver->record.gap, least);
}

/* Rounds find signs, but are slow on a face. With a squared penalty alone there is only one face. */
static bool slow(hawser_progress *progress, void *user)
{
    const hw_linear_driver *driver = user;
    return driver->linear->choices.settings.l1_ratio == 0.0 || hw_linear_slow(progress, user);
}

/* ------------------------------------------------------------------------------------- rounds without an L1 part ---- */

/* Whether each model is solved by one search over all blocks, because no sign and no bound can stop it. */
static bool smooth(const hw_linear *linear)
{
    const hw_linear_problem *problem = &linear->problem;
    return (linear->choices.route == HW_LINEAR_JOINT || alone(linear)) && linear->choices.settings.l1_ratio == 0.0 &&
           problem->lower == NULL && problem->upper == NULL && problem->X->stored >= LARGE;
}

/* Solves the problem by Newton's method, all blocks together. */
static hawser_status smooth_newton(hawser_context *context)
{
    hw_newton_block *block = hawser_scratch(context);
    HAWSER_WRITE(context, double, v);
    HAWSER_WRITE(context, double, alpha);
    hw_linear_part part = hw_linear_part_of(context);
    hw_newton_effort effort = effort_of(context, block->linear, 1.0);
    HW_UNIT_TRY(context, hw_newton_rounds_smooth(block, &part, v, alpha, hawser_metric(context, "lambda"), &effort, &error));
    return hawser_touch(context, "v", 0, 0); /* derived when the loop is left */
}

/* ------------------------------------------------------------------------------------------------------ program ---- */

const double *hw_newton_intercepts(const void *scratch)
{
    return &((const hw_newton_block *)scratch)->point.intercept;
}

void hw_newton_declare(hawser_program *program)
{
    hawser_metric_declare(program, "rounding", HAWSER_LAST);
    hawser_metric_declare(program, "dual_loss", HAWSER_SUM);
    hawser_metric_declare(program, "plain_dual_loss", HAWSER_SUM);
    hawser_metric_declare(program, "fall", HAWSER_LAST);
    hawser_metric_declare(program, "gathered", HAWSER_SUM);
    hawser_metric_declare(program, "entries", HAWSER_SUM);
}

static void joint_work(const hw_linear_frame *frame, hawser_operator *work)
{
    const hw_linear *linear = frame->driver->linear;
    hawser_program *p = frame->program;
    hawser_state *v = frame->v, *alpha = frame->alpha;
    hawser_state *whole = hw_linear_whole_state(frame);
    hawser_state *sets = hw_linear_sets_state(frame, HW_NEWTON_JOINT_FIELDS);
    size_t most = hw_linear_most_members(linear);
    hawser_state *solution =
        HAWSER_STATE(p, "solution", HAWSER_REPLICATED, .rows = SOLVED + most, .expect = SOLVED + hw_linear_expected(linear));
    HAWSER_UNIT(work, "post", post, .reads = {alpha}, .updates = {sets});
    hawser_until once = {.clocks = 1};
    hawser_operator *single = work;
    if (linear->choices.blocks > 1) {
        hawser_operator *large = hawser_branch(work, "large", divides, frame->driver);
        hawser_operator *together = hawser_loop(large, "together", once, hawser_bsp());
        hawser_operator *descent =
            HAWSER_UNIT(together, "descend", descend, .reads = {frame->X, whole, sets}, .updates = {v, alpha},
                        .reduces = hw_linear_adds(hw_newton_joint_sums(linear)));
        hw_newton_joint_expect(descent, linear);
        single = hawser_sequence(large);
    }
    HAWSER_UNIT(single, "solve", solve, .one = true, .reads = {whole, v, sets}, .updates = {solution});
    single = hawser_loop(single, "joint", once, hawser_bsp());
    HAWSER_UNIT(single, "move", move, .reads = {sets, solution}, .updates = {v, alpha});
}

static void rounds_work(const hw_linear_frame *frame, hawser_operator *work)
{
    hw_linear_driver *driver = frame->driver;
    hawser_state *X = frame->X, *v = frame->v, *alpha = frame->alpha;
    hawser_until solved = {.test = models_done, .user = driver};
    work = hawser_loop(work, "models", solved, hawser_bsp());
    HAWSER_UNIT(work, "model", model, .reads = {X, v, alpha});
    hw_linear_rounds_work(frame, work, driver->linear->choices.settings.certify_every, sweep);
    hw_linear_search_work(frame, work, slow, search);
    HAWSER_UNIT(work, "back", back, .reads = {X}, .updates = {v, alpha}, .reduces = 2);
}

static void smooth_work(const hw_linear_frame *frame)
{
    size_t numbers = frame->driver->linear->problem.X->rows + HW_LINEAR_SEARCH_SUMS;
    hawser_operator *once = hawser_loop(frame->work, "smooth", (hawser_until){.clocks = 1}, hawser_bsp());
    hawser_operator *unit = HAWSER_UNIT(once, "newton", smooth_newton, .reads = {frame->X},
                                        .updates = {frame->v, frame->alpha}, .reduces = hw_linear_adds(numbers));
    hawser_reduces_expect(unit, numbers, numbers * HW_NEWTON_SMOOTH_PRODUCTS);
}

hw_linear_needs hw_newton_needs(const hw_linear *linear)
{
    const hw_linear_choices *choices = &linear->choices;
    hw_linear_needs needs = {.rows = 6.0 + hw_linear_weighted(&linear->problem),
                             .columns = 11.0,
                             .gram = true,
                             .kept_rows = 5.0,
                             .kept_columns = HW_LINEAR_SCAN_KEPT,
                             .kept_gram = alone(linear)};
    if (choices->settings.stored)
        return needs;
    if (alone(linear) || choices->route == HW_LINEAR_JOINT) {
        needs.node_rows = 5.0;
        needs.rows += choices->blocks > 1 && hw_newton_joint_expected(linear) ? 5.0 : 0.0;
        needs.all = sizeof(uint32_t);
    } else {
        needs.rows += 11.0;
        needs.columns += 5.0;
        needs.kept_rows += 2.0;
        needs.kept_columns += 3.0;
    }
    return needs;
}

void hw_newton_work(const hw_linear_frame *frame)
{
    hw_linear_driver *driver = frame->driver;
    const hw_linear *linear = driver->linear;
    if (smooth(linear)) {
        smooth_work(frame);
    } else if (alone(linear)) {
        joint_work(frame, frame->work);
    } else if (linear->choices.route == HW_LINEAR_JOINT) {
        hawser_operator *small = hawser_branch(frame->work, "small", hw_linear_small, driver);
        joint_work(frame, hawser_sequence(small));
        rounds_work(frame, hawser_sequence(small));
    } else {
        rounds_work(frame, frame->work);
    }
}
