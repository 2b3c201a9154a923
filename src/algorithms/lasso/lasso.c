/*
 * lasso.c - lasso and elastic net by CoCoA+ (ALT section 2.1.3, Algorithm 3) as states, units and loops.
 *
 * Columns are split over the blocks. Every block keeps its coefficients alpha and a copy of v = X alpha; blocks exchange
 * only v. A round solves the local subproblem and moves v. Between rounds, at quiescent clocks, a duality gap certifies the
 * result, chooses the next working sets and ends the work. The path of lambdas and the folds of a cross-validation are loops
 * around this.
 */
#include <math.h>
#include <stdlib.h>

#include "algorithms/glm/coefficients.h"
#include "algorithms/glm/expect.h"
#include "algorithms/glm/sets.h"
#include "algorithms/glm/squared.h"
#include "algorithms/glm/train.h"
#include "algorithms/lasso/block.h"
#include "algorithms/lasso/joint.h"
#include "algorithms/lasso/parts.h"
#include "algorithms/list.h"
#include "algorithms/measures/errors.h"
#include "algorithms/model/add.h"
#include "algorithms/solve/memory.h"
#include "hawser/job_data.h"

enum {
    PRODUCTS = 400, /* expected products of conjugate gradients in a clock */
    APART = 8       /* more blocks than these compute X alpha of a joint solution once per process, and send no v */
};

static const double NEVER = 1e300; /* larger than any penalty or slack, and finite after adding up */

static uint64_t draw(void *context, uint64_t below)
{
    return hawser_random_below(context, below);
}

/* Prepares a fold: weights, means, penalties, and the lambda at which all coefficients are zero. */
static hawser_status prepare(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    const hw_linear *lasso = hawser_user(context);
    uint32_t fold = hw_linear_fold_of(context);
    HAWSER_READ(context, hawser_matrix, X);
    HW_UNIT_TRY(context, hw_lasso_block_prepare(block, lasso, X, fold, &error));
    if (fold == 0)
        HAWSER_TRY(hw_linear_record_means(context, block->columns.mean));
    double most = 0.0;
    if (fold == 0)
        HW_UNIT_TRY(context, hw_lasso_block_lambda_max(block, &most, &error));
    return hw_linear_report_fold(context, block->zero_objective, &block->columns, most);
}

/* Scans at a quiescent clock: computes the residual, correlations, and this block's share of the certificate's sums. */
static hawser_status measure(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    HAWSER_READ(context, double, alpha);
    double lambda = hawser_metric(context, "lambda");
    hw_linear_sums sums;
    bool done = false;
    HW_UNIT_TRY(context, hw_lasso_block_by_products(block, alpha, lambda, (hw_linear_stop){hw_linear_must_stop, context},
                                                    &done, &error));
    if (!done) {
        const double *v;
        HAWSER_TRY(hw_linear_read_image(context, &v));
        HW_UNIT_TRY(context, hw_lasso_block_measure(block, v, &error));
        hw_lasso_block_scan(block, alpha, lambda);
    }
    size_t nonzeros = hw_lasso_block_sums(block, alpha, lambda, &sums);
    block->fresh = block->lasso->problem.free_count == 0; /* else the gradient is that of a projected residual */
    HAWSER_TRY(hw_linear_squared_report(context, &sums));
    HAWSER_TRY(hw_linear_report(context, "intercept", block->intercept));
    if (block->lasso->image != NULL)
        HAWSER_TRY(hw_linear_report(context, "blur", block->covariance.blur)); /* 0 where rows were read */
    return hawser_report(context, "nonzeros", (double)nonzeros);
}

/* Computes the dual part of the certificate, once the scaling by all blocks' columns is known. */
static hawser_status bound(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    double scaled = 0.0, plain = 0.0;
    hw_linear_scan_conjugate(&block->scan, &block->columns, hawser_metric(context, "lambda"),
                             hw_linear_squared_scale(context), &scaled, &plain);
    HAWSER_TRY(hw_linear_report(context, "conjugate", scaled));
    return hw_linear_report(context, "plain_conjugate", plain);
}

/* Chooses the columns of the next rounds: those that the published certificate does not prove to be zero, most promising
 * first. */
static hawser_status choose(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    double scale = hw_linear_squared_scale(context), radius = hw_linear_squared_radius(context, scale);
    if (block->covariance.blur > 0.0)
        radius = sqrt(radius * radius + 2.0 * block->covariance.blur);
    return hw_linear_choose(context, &block->scan, &block->columns, block->solver, scale, radius, 0.0);
}

/* Returns true if the work has a single clock. Leaving its loop derives v from alpha anyway, so moving v would be double
 * work. */
static bool one_clock(const hw_linear *lasso)
{
    return lasso->choices.route == HW_LINEAR_SINGLE;
}

static hw_linear_round make_round(hawser_context *context, hw_lasso_block *block, double *alpha, double *v)
{
    const hw_linear *lasso = block->lasso;
    block->kept = false; /* descents change the residual */
    return (hw_linear_round){.columns = &block->columns,
                             .lambda = hawser_metric(context, "lambda"),
                             .gain = hawser_gain(context, "v"),
                             .residual = block->residual,
                             .sum = block->sum,
                             .square = block->square,
                             .gradient = block->scan.gradient,
                             .fresh = block->fresh,
                             .alpha = alpha,
                             .image = v,
                             .gap = hawser_metric(context, "gap"),
                             .tolerance = 0.3 * lasso->choices.settings.tolerance * hawser_metric(context, "zero_objective"),
                             .steps = hw_linear_round_steps(&lasso->choices, block->columns.X.cols, hawser_work(context)),
                             .draw = draw,
                             .source = context,
                             .stop = {hw_linear_must_stop, context}};
}

/* Notes whether columns of any block are far from zero, for the union. */
static void mark_far(hawser_context *context, hw_lasso_block *block)
{
    block->joint.whole.far = !block->columns.centred && hawser_metric(context, "far") > 0.0;
}

/* Joint working sets (joint.h), first unit: all blocks write the members that they chose. */
static hawser_status post(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    const double *v;
    HAWSER_TRY(hw_linear_read_image(context, &v));
    HAWSER_READ(context, double, alpha);
    HAWSER_WRITE(context, double, sets);
    if (!block->fresh)
        hw_lasso_block_residual(block, v, false);
    size_t first = 0, most = hawser_part(context, "sets", &first);
    size_t posted = hw_lasso_joint_post(block, alpha, sets);
    return hawser_touch(context, "sets", first, posted < most ? posted : most);
}

/* Each block computes its part of the products of the union's Gram matrix. */
static hawser_status products_of(hawser_context *context, hw_linear_sets sets)
{
    hw_lasso_block *block = hawser_scratch(context);
    HAWSER_READ(context, hawser_matrix, whole);
    const hw_linear_members *members = &block->joint.members;
    hawser_error error = {0};
    HAWSER_TRY(hw_unit_ends(context, hw_lasso_joint_union(block, whole, sets, &error), &error));
    mark_far(context, block);
    HAWSER_TRY(hawser_data_fetch(context, "whole", members->columns, members->count));
    return hw_unit_ends(
        context,
        hw_lasso_joint_products(block, hawser_block(context), (hw_linear_stop){hw_linear_must_stop, context}, &error),
        &error);
}

/* Joint working sets, second unit. */
static hawser_status products_unit(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    HAWSER_READ(context, double, sets);
    return products_of(context, hw_linear_sets_of(block->lasso, HW_LASSO_JOINT_FIELDS, sets));
}

/* Adds up numbers of which each is zero on all blocks but one. */
static hawser_status collect(hawser_context *context, double *values, size_t count)
{
    for (size_t at = 0, most = hw_linear_adds(SIZE_MAX); at < count; at += most)
        HAWSER_TRY(hawser_allreduce(context, values + at, count - at < most ? count - at : most, HAWSER_SUM));
    return HAWSER_OK;
}

/* Joint working sets of many blocks, in place of the first two units: sums gather the members with fewer messages than a
 * state, whose shares each block sends to each. */
static hawser_status gather(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    const double *v;
    size_t most = 0, count = 0, blocks = hawser_blocks(context), own = hawser_block(context);
    HAWSER_TRY(hw_linear_read_image(context, &v));
    HAWSER_READ(context, double, alpha);
    if (!block->fresh)
        hw_lasso_block_residual(block, v, false);
    double *counts = NULL, *values = NULL;
    HW_UNIT_TRY(context, hw_linear_new_doubles(&counts, blocks, &error));
    (void)block->lasso->choices.settings.solver->members(block->solver, &count);
    counts[own] = (double)count;
    hawser_status status = collect(context, counts, blocks);
    for (size_t b = 0; b < blocks; b++)
        most = (size_t)counts[b] > most ? (size_t)counts[b] : most;
    free(counts);
    HAWSER_TRY(status);
    size_t share = 1 + most * HW_LASSO_JOINT_FIELDS;
    HW_UNIT_TRY(context, hw_linear_new_doubles(&values, blocks * share, &error));
    (void)hw_lasso_joint_post(block, alpha, values + own * share);
    status = collect(context, values, blocks * share);
    hw_linear_sets sets = {.values = values, .share = share, .fields = HW_LASSO_JOINT_FIELDS, .blocks = (uint32_t)blocks};
    if (status == HAWSER_OK)
        status = products_of(context, sets);
    free(values);
    return status;
}

/* Joint working sets, third unit: the blocks solve the union's problem together. */
static hawser_status solve(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    HAWSER_WRITE(context, double, alpha);
    hw_linear_round round = make_round(context, block, NULL, NULL);
    hw_linear_part part = hw_linear_part_of(context);
    const hw_linear *lasso = block->lasso;
    block->fresh = false;
    mark_far(context, block);
    HW_UNIT_TRY(context, hw_lasso_joint_solve(block, &round, &part, alpha, &error));
    if (lasso->apart)
        HW_UNIT_TRY(context, hw_lasso_joint_image(block, &error));
    return hawser_touch(context, "v", 0, 0);
}

/* Makes one CoCoA round: solves the local subproblem approximately. alpha is tied to v. */
static hawser_status sweep(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    HAWSER_WRITE(context, double, v);
    HAWSER_WRITE(context, double, alpha);
    const hw_linear *lasso = block->lasso;
    double slack = 0.0;
    if (!block->fresh || !one_clock(lasso))
        hw_lasso_block_residual(block, v, false);
    if (hw_linear_in_step(&lasso->choices))
        HW_UNIT_TRY(context, hw_lasso_block_remember(block, alpha, (size_t)hawser_clock(context), &error));
    hw_linear_round round = make_round(context, block, alpha, one_clock(lasso) ? NULL : v);
    round.slack = lasso->choices.blocks > 1 ? &slack : NULL;
    block->fresh = false;
    HW_UNIT_TRY(context, lasso->choices.settings.solver->solve(block->solver, &round, &error));
    if (one_clock(lasso))
        HAWSER_TRY(hawser_touch(context, "v", 0, 0));
    return hawser_report(context, "slack", slack < NEVER ? slack : NEVER);
}

/* Stores the point before a sprint under SSP or TAP: all blocks agree on the residual between sprints, but not within
 * one. */
static hawser_status remember(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    HAWSER_READ(context, double, v);
    HAWSER_READ(context, double, alpha);
    hw_lasso_block_residual(block, v, false);
    size_t at = (size_t)(hawser_clock(context) % HW_LINEAR_HISTORY);
    HW_UNIT_TRY(context, hw_lasso_block_remember(block, alpha, at, &error));
    HAWSER_TRY(hw_linear_report(context, "sprint_loss", block->loss));
    return hw_linear_report(context, "sprint_penalty",
                            hw_lasso_block_penalty(block, alpha, hawser_metric(context, "lambda")));
}

/* Extrapolates over the last rounds or sprints (accelerate.h). If the objective falls, all blocks move to the candidate,
 * else none. */
static hawser_status extrapolate(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    HAWSER_WRITE(context, double, v);
    HAWSER_WRITE(context, double, alpha);
    double lambda = hawser_metric(context, "lambda"), penalties[2] = {0.0, 0.0};
    hw_lasso_block_residual(block, v, false);
    if (block->lasso->choices.route == HW_LINEAR_ASYNCHRONOUS) {
        HAWSER_TRY(hw_linear_report(context, "reached_loss", block->loss));
        HAWSER_TRY(hw_linear_report(context, "reached_penalty", hw_lasso_block_penalty(block, alpha, lambda)));
        if ((hawser_clock(context) + 1) % HW_LINEAR_HISTORY != 0)
            return HAWSER_OK;
    }
    HW_UNIT_TRY(context, hw_lasso_block_remember(block, alpha, HW_LINEAR_HISTORY, &error));
    double then = hw_lasso_block_propose(block, alpha, lambda, &penalties[0]);
    penalties[1] = then < NEVER ? then : NEVER;
    HAWSER_TRY(
        hw_add_up(context, penalties, 2, &(hw_addends){.rest = "the penalties of coefficients", .of = "the columns"}));
    if (block->accelerator.loss + penalties[1] < block->loss + penalties[0])
        hw_lasso_block_take(block, hawser_gain(context, "v"), alpha, v);
    return HAWSER_OK;
}

/* Searches over all blocks, from the point where all of them are. */
static hawser_status search(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    HAWSER_WRITE(context, double, v);
    HAWSER_WRITE(context, double, alpha);
    size_t count = 0;
    const uint32_t *list = block->lasso->choices.settings.solver->members(block->solver, &count);
    hw_lasso_block_residual(block, v, false);
    hw_linear_part part = hw_linear_part_of(context);
    hw_linear_round round = make_round(context, block, alpha, v);
    round.part = &part;
    HW_UNIT_TRY(context, hw_linear_search_run(&block->search, &round, list, count, HW_LINEAR_SEARCH_STEPS, &error));
    hw_linear_search_move(&block->search, round.gain, v);
    return HAWSER_OK;
}

static const double *intercepts(const void *scratch)
{
    return &((const hw_lasso_block *)scratch)->intercept;
}

static void declare(hawser_program *program)
{
    hw_linear_squared_declare(program);
    hawser_metric_declare(program, "sprint_loss", HAWSER_LAST);
    hawser_metric_declare(program, "sprint_penalty", HAWSER_SUM);
    hawser_metric_declare(program, "reached_loss", HAWSER_LAST);
    hawser_metric_declare(program, "reached_penalty", HAWSER_SUM);
}

/* Makes the branch for working sets that are small enough to be solved as one. Returns the operator for the other branch. */
static hawser_operator *joint_work(const hw_linear_frame *frame)
{
    const hw_linear *lasso = frame->driver->linear;
    hawser_state *X = frame->X, *v = frame->v, *alpha = frame->alpha;
    hawser_state *whole = hw_linear_whole_state(frame);
    hawser_operator *small = hawser_branch(frame->work, "small", hw_linear_small, frame->driver);
    hawser_operator *joint = hawser_sequence(small);
    size_t members = hw_linear_expected(lasso), products = members * (members + 1) / 2;
    if (lasso->apart) {
        size_t most = hw_linear_adds(lasso->choices.blocks * hw_linear_sets_share(lasso, HW_LASSO_JOINT_FIELDS)),
               expected = lasso->choices.blocks + HW_LASSO_JOINT_FIELDS * members;
        hawser_operator *unit = HAWSER_UNIT(joint, "gather", gather, .reads = {X, whole, v, alpha}, .reduces = most);
        hawser_reduces_expect(unit, expected < most ? expected : most, 2 * expected);
    } else {
        hawser_state *sets = hw_linear_sets_state(frame, HW_LASSO_JOINT_FIELDS);
        HAWSER_UNIT(joint, "post", post, .reads = {X, v, alpha}, .updates = {sets});
        HAWSER_UNIT(joint, "products", products_unit, .reads = {X, whole, sets});
    }
    hawser_operator *once = hawser_loop(joint, "joint", (hawser_until){.clocks = 1}, hawser_bsp());
    hawser_operator *together = HAWSER_UNIT(once, "solve", solve, .reads = {X}, .updates = {v, alpha},
                                            .reduces = hw_linear_adds(hw_lasso_joint_sums(lasso)));
    hawser_reduces_expect(together, hw_lasso_joint_expected(lasso, members), products + PRODUCTS * members);
    hawser_operator *rounds = hawser_sequence(small);
    if (lasso->apart)
        hw_linear_derive_work(rounds, frame, "gathers", hw_linear_gathers);
    return rounds;
}

static void expect(hawser_program *program, const hw_linear *lasso)
{
    hw_linear_route route = lasso->choices.route;
    hw_linear_needs needs = {.rows = 4.0 + hw_linear_weighted(&lasso->problem), .columns = 11.0, .gram = true};
    needs.kept_rows = 3.0;
    needs.kept_columns = HW_LINEAR_SCAN_KEPT;
    needs.kept_gram = true;
    needs.rows += lasso->image != NULL;
    needs.columns += lasso->image != NULL ? 2.0 : 0.0;
    /* residuals and coefficients of some rounds; the vectors of a search over all blocks */
    if (route == HW_LINEAR_ACCELERATED || route == HW_LINEAR_ASYNCHRONOUS) {
        needs.rows += HW_LINEAR_HISTORY + 5.5;
        needs.columns += HW_LINEAR_HISTORY + 2.0;
        needs.kept_rows += HW_LINEAR_HISTORY + 1.0;
    }
    if (route == HW_LINEAR_JOINT) {
        needs.gram = false;
        needs.shared_gram = true;
        needs.summed = (double)HW_LINEAR_GRAM_BATCH;
    }
    hw_linear_expect(program, lasso, &needs);
}

static void add_work(const hw_linear_frame *frame)
{
    hw_linear_driver *driver = frame->driver;
    const hw_linear *lasso = driver->linear;
    const hw_linear_choices *choices = &lasso->choices;
    if (hw_lasso_covariance_pays(lasso) && lasso->image == NULL) /* without memory, certificates read the rows */
        driver->linear->image = calloc(lasso->problem.X->rows + lasso->problem.X->cols, sizeof *lasso->image);
    if (lasso->image != NULL)
        hawser_metric_declare(frame->program, "blur", HAWSER_LAST);
    hw_linear_shared_reset(lasso->shared);
    driver->linear->apart = choices->route == HW_LINEAR_JOINT && choices->blocks > APART;
    if (choices->route == HW_LINEAR_JOINT)
        hawser_process_record(frame->program, hw_linear_shared_visit, lasso->shared);
    hawser_state *X = frame->X, *v = frame->v, *alpha = frame->alpha;
    bool extrapolated = hw_linear_extrapolates(choices), asynchronous = choices->route == HW_LINEAR_ASYNCHRONOUS;
    uint64_t every = choices->settings.certify_every;
    uint64_t clocks = every > 0 ? every : one_clock(lasso) ? 1 : extrapolated ? HW_LINEAR_HISTORY : 0;
    hawser_until sprints_done = {.test = hw_linear_sprints_done, .user = driver};
    hawser_operator *work = choices->route == HW_LINEAR_JOINT ? joint_work(frame) : frame->work;
    if (extrapolated)
        work = hawser_loop(work, "sprints", sprints_done, hawser_bsp());
    if (asynchronous)
        HAWSER_UNIT(work, "remember", remember, .reads = {X, v, alpha});
    hw_linear_rounds_work(frame, work, clocks, sweep);
    if (extrapolated)
        HAWSER_UNIT(work, "extrapolate", extrapolate, .reads = {X}, .updates = {v, alpha}, .reduces = 2);
    hw_linear_search_work(frame, work, hw_linear_slow, search);
    expect(frame->program, lasso);
}

static const hw_linear_units units = {.kind = &hw_lasso_kind,
                                      .scratch = sizeof(hw_lasso_block),
                                      .release = hw_lasso_block_release,
                                      .visit = hw_lasso_visit,
                                      .declare = declare,
                                      .prepare = prepare,
                                      .measure = measure,
                                      .bound = bound,
                                      .choose = choose,
                                      .intercepts = intercepts,
                                      .work = add_work};

const hawser_algorithm *hw_lasso_algorithm(void)
{
    static const char citations[] =
        "T. Alt: Adaptive Consistency Management for Distributed Machine Learning. 2017 (states, units, yields; section "
        "2.1.3)\n"
        "V. Smith, S. Forte, C. Ma, M. Takac, M. Jordan, M. Jaggi: CoCoA. JMLR 18(230), 2018\n"
        "M. Massias, A. Gramfort, J. Salmon: Celer. ICML 2018 (working sets, extrapolation)\n"
        "E. Ndiaye, O. Fercoq, A. Gramfort, J. Salmon: Gap Safe Screening Rules. JMLR 18(128), 2017\n"
        "J. Friedman, T. Hastie, R. Tibshirani: Regularization Paths by Coordinate Descent. J. Stat. Softw. 33(1), 2010";
    static const hawser_algorithm algorithm = {.name = "lasso",
                                               .summary = "linear regression with an L1 or elastic-net penalty",
                                               .citations = citations,
                                               .rows = hw_lasso_rows,
                                               .metrics = hw_lasso_metrics,
                                               .topics = hw_lasso_topics,
                                               HW_LINEAR_ALGORITHM(units),
                                               .heads = hw_linear_heads,
                                               .evaluate = hw_lasso_evaluate,
                                               .measures = hw_error_measures};
    return &algorithm;
}
