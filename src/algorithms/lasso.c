/*
 * lasso.c - lasso and elastic net by CoCoA+ (ALT section 2.1.3, Algorithm 3) as states, units and loops.
 *
 * Columns are split over the blocks. Every block keeps its coefficients alpha to itself and a copy of v = X alpha, which is all
 * that the blocks exchange. A round: solve the local subproblem, move v. Between rounds, at quiescent clocks, a duality gap
 * certifies the result, chooses the next working sets and ends the work. Around that go the path of lambdas and the folds of a
 * cross-validation.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/lasso/block.h"
#include "algorithms/lasso/evaluate.h"
#include "algorithms/lasso/kind.h"
#include "algorithms/lasso/options.h"
#include "algorithms/linear/fold.h"
#include "algorithms/linear/model.h"
#include "algorithms/linear/train.h"
#include "algorithms/list.h"

enum {
    SMALLEST_SET = 100, /* columns of all blocks' working sets together, where the support is small */
    SEARCH_CLOCKS = 40  /* iterations of a search over all blocks */
};

static const double NEVER = 1e300; /* a penalty or a slack that nothing has, and that may be added up */

static uint64_t draw(void *context, uint64_t below)
{
    return hawser_random_below(context, below);
}

static bool stopping(void *context)
{
    return hawser_stopping(context);
}

static hawser_status fail(hawser_context *context, const hawser_error *error)
{
    return hawser_unit_fail(context, error->status, "%s", error->text);
}

/* Once a fold: weights, means, penalties, and the lambda at which everything is zero. */
static hawser_status prepare(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    const hw_linear *lasso = hawser_user(context);
    double fold = hawser_metric(context, "fold");
    hawser_error error = {0};
    if (hw_lasso_block_prepare(block, lasso, hawser_data_view(context, "X"), fold >= 1.0 ? (uint32_t)fold : 0, &error) !=
        HAWSER_OK)
        return fail(context, &error);
    HAWSER_TRY(hawser_report(context, "zero_objective", block->zero_objective));
    return hawser_report(context, "lambda_max", fold >= 1.0 ? 0.0 : hw_lasso_block_lambda_max(block));
}

/* The full scan at a quiescent clock: residual, correlations, and this block's share of the certificate's sums. */
static hawser_status measure(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    const double *alpha = hawser_local(context, "alpha");
    double lambda = hawser_metric(context, "lambda");
    hw_linear_sums sums;
    hw_lasso_block_residual(block, hawser_view(context, "v"), true);
    hw_lasso_block_scan(block, alpha, lambda);
    size_t nonzeros = hw_lasso_block_sums(block, alpha, lambda, &sums);
    block->fresh = block->lasso->free_count == 0; /* else the gradient is that of a projected residual */
    HAWSER_TRY(hawser_report(context, "loss", sums.loss));
    HAWSER_TRY(hawser_report(context, "square", sums.square));
    HAWSER_TRY(hawser_report(context, "target", sums.target));
    HAWSER_TRY(hawser_report(context, "penalty", sums.penalty));
    HAWSER_TRY(hawser_report(context, "curved", sums.curved));
    HAWSER_TRY(hawser_report(context, "ratio", sums.ratio));
    HAWSER_TRY(hawser_report(context, "intercept", block->intercept));
    return hawser_report(context, "nonzeros", (double)nonzeros);
}

static double combined_scale(const hawser_context *context)
{
    return hw_linear_scale(&(hw_linear_sums){.square = hawser_metric(context, "square"),
                                             .target = hawser_metric(context, "target"),
                                             .curved = hawser_metric(context, "curved"),
                                             .ratio = hawser_metric(context, "ratio")});
}

/* The dual's part of the certificate, now that the scaling by all blocks' columns is known. */
static hawser_status bound(hawser_context *context)
{
    const hw_lasso_block *block = hawser_scratch(context);
    double scaled = 0.0, plain = 0.0;
    hw_lasso_block_conjugate(block, hawser_metric(context, "lambda"), combined_scale(context), &scaled, &plain);
    HAWSER_TRY(hawser_report(context, "conjugate", scaled));
    return hawser_report(context, "plain_conjugate", plain);
}

/* What the next rounds work on: columns that the published certificate does not prove to be zero, most promising first. */
static hawser_status choose(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    const hw_linear_solver *solver = block->lasso->settings.solver;
    const double *alpha = hawser_local(context, "alpha");
    double lambda = hawser_metric(context, "lambda");
    hawser_error error = {0};
    double scale =
        combined_scale(context); /* the radius is of the gap at this very dual point, which may not be the best one */
    hw_linear_sums sums = {.square = hawser_metric(context, "square"), .target = hawser_metric(context, "target")};
    double primal = hawser_metric(context, "loss") + hawser_metric(context, "penalty");
    double gap = primal - hw_linear_dual(&sums, scale, hawser_metric(context, "conjugate"));
    hw_lasso_block_screen(block, alpha, lambda, scale, fmax(gap, hawser_metric(context, "gap")));
    if (solver->choose(block->solver, &block->columns, lambda, alpha, block->gradient, block->screened,
                       SMALLEST_SET / block->lasso->blocks + 8, &error) != HAWSER_OK)
        return fail(context, &error);
    size_t members = 0;
    (void)solver->members(block->solver, &members);
    HAWSER_TRY(hawser_report(context, "working_set", (double)members));
    HAWSER_TRY(hawser_report(context, "largest_set", (double)members));
    return hawser_report(context, "screened", (double)block->screened_count);
}

/* Where one clock is all, leaving the loop derives v from alpha in any case: moving it too would be the same work again. */
static bool one_clock(const hw_linear *lasso)
{
    return lasso->blocks == 1 && lasso->settings.exchange_every <= 0.0 && lasso->settings.certify_every == 0;
}

static hw_linear_round make_round(hawser_context *context, hw_lasso_block *block, double *alpha, double *v)
{
    const hw_linear *lasso = block->lasso;
    /* Exact solutions of subproblems that stale neighbours have changed already are wasted, and blocks' sizes differ. */
    double every = lasso->strided ? 1.0 : lasso->settings.exchange_every;
    double share = every * (double)block->columns.X.cols;
    return (hw_linear_round){.columns = &block->columns,
                             .lambda = hawser_metric(context, "lambda"),
                             .gain = hawser_gain(context, "v"),
                             .residual = block->residual,
                             .sum = block->sum,
                             .square = block->square,
                             .gradient = block->gradient,
                             .fresh = block->fresh,
                             .alpha = alpha,
                             .image = v,
                             .gap = hawser_metric(context, "gap"),
                             .tolerance = 0.3 * lasso->settings.tolerance * hawser_metric(context, "zero_objective"),
                             .steps = every > 0.0 ? (uint64_t)ceil(share) : UINT64_MAX,
                             .draw = draw,
                             .source = context,
                             .stop = {stopping, context}};
}

/* Joint working sets (joint.h): all blocks say what they chose, ... */
static hawser_status post(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    if (!block->fresh)
        hw_lasso_block_residual(block, hawser_view(context, "v"), false);
    hw_lasso_joint_post(block, hawser_local(context, "alpha"), hawser_local(context, "board"));
    return HAWSER_OK;
}

/* ... share the work of the union's Gram matrix, ... */
static hawser_status products(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    const hawser_matrix *whole = hawser_data_view(context, "whole");
    const hw_linear_members *members = &block->joint.members;
    size_t first = 0, count = 0;
    hawser_error error = {0};
    if (hw_lasso_joint_union(block, whole, hawser_view(context, "board"), &error) != HAWSER_OK)
        return fail(context, &error);
    HAWSER_TRY(hawser_data_want(context, "whole", members->columns, members->count));
    if (hw_lasso_joint_products(block, whole, hawser_block(context), hawser_cache(context, "products"), &first, &count,
                                (hw_linear_stop){stopping, context}, &error) != HAWSER_OK)
        return fail(context, &error);
    HAWSER_TRY(hawser_report(context, "shared", block->joint.shared));
    return hawser_touch(context, "products", first, count);
}

/* ... solve it together, a product a clock, ... */
static hawser_status descend(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    size_t first = 0, count = 0;
    hawser_error error = {0};
    hw_linear_round round = make_round(context, block, NULL, NULL);
    if (hw_lasso_joint_descend(block, hawser_view(context, "products"), &round, hawser_block(context),
                               hawser_cache(context, "sums"), &first, &count, &error) != HAWSER_OK)
        return fail(context, &error);
    HAWSER_TRY(hawser_report(context, "unsolved", !block->joint.solved));
    HAWSER_TRY(hawser_touch(context, "sums", 0, 1));
    return hawser_touch(context, "sums", first, count);
}

/* ... or one of them solves it, ... */
static hawser_status solve_jointly(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    hawser_error error = {0};
    hw_linear_round round = make_round(context, block, NULL, NULL);
    if (hw_lasso_joint_solve(block, hawser_view(context, "products"), &round, hawser_cache(context, "solution"), &error) !=
        HAWSER_OK)
        return fail(context, &error);
    return hawser_touch(context, "solution", 0, block->joint.members.count);
}

/* ... and all move their own part. */
static hawser_status move(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    block->fresh = false;
    hw_lasso_joint_move(block, hawser_view(context, "products"), hawser_view(context, "solution"),
                        hawser_local(context, "alpha"));
    return hawser_touch(context, "v", 0, 0);
}

/* One CoCoA round: an approximate solution of the local subproblem; alpha is tied to v. */
static hawser_status sweep(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    const hw_linear *lasso = block->lasso;
    double *v = hawser_cache(context, "v"), *alpha = hawser_local(context, "alpha"), slack = 0.0;
    hawser_error error = {0};
    hw_lasso_block_residual(block, v, false);
    if (lasso->accelerated && hw_lasso_block_remember(block, alpha, (size_t)hawser_clock(context), &error) != HAWSER_OK)
        return fail(context, &error);
    hw_linear_round round = make_round(context, block, alpha, one_clock(lasso) ? NULL : v);
    round.slack = lasso->blocks > 1 ? &slack : NULL;
    block->fresh = false;
    if (lasso->settings.solver->solve(block->solver, &round, &error) != HAWSER_OK)
        return fail(context, &error);
    if (one_clock(lasso))
        HAWSER_TRY(hawser_touch(context, "v", 0, 0));
    return hawser_report(context, "slack", slack < NEVER ? slack : NEVER);
}

/* The point before a sprint under SSP or TAP: between sprints all blocks agree on the residual, within one they do not. */
static hawser_status remember(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    hawser_error error = {0};
    hw_lasso_block_residual(block, hawser_view(context, "v"), false);
    size_t at = (size_t)(hawser_clock(context) % HW_LINEAR_HISTORY);
    if (hw_lasso_block_remember(block, hawser_local(context, "alpha"), at, &error) != HAWSER_OK)
        return fail(context, &error);
    return HAWSER_OK;
}

/* Where the last rounds, or the last sprints, were heading; see accelerate.h. */
static hawser_status propose(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    const double *alpha = hawser_local(context, "alpha");
    hawser_error error = {0};
    double now = 0.0;
    if (block->lasso->strided && (hawser_clock(context) + 1) % HW_LINEAR_HISTORY != 0) {
        HAWSER_TRY(hawser_report(context, "present_penalty", 0.0));
        return hawser_report(context, "candidate_penalty", NEVER);
    }
    hw_lasso_block_residual(block, hawser_view(context, "v"), false);
    if (hw_lasso_block_remember(block, alpha, HW_LINEAR_HISTORY, &error) != HAWSER_OK)
        return fail(context, &error);
    double then = hw_lasso_block_propose(block, alpha, hawser_metric(context, "lambda"), &now);
    HAWSER_TRY(hawser_report(context, "present_penalty", now));
    return hawser_report(context, "candidate_penalty", then < NEVER ? then : NEVER);
}

/* All blocks go there, or none: the objective has to fall. */
static hawser_status take(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    double present = block->loss + hawser_metric(context, "present_penalty");
    double candidate = block->accelerator.loss + hawser_metric(context, "candidate_penalty");
    if (candidate < present)
        hw_lasso_block_take(block, hawser_gain(context, "v"), hawser_local(context, "alpha"), hawser_cache(context, "v"));
    return HAWSER_OK;
}

/* A search over all blocks (search.h): from where all of them are, ... */
static hawser_status face(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    hawser_error error = {0};
    size_t count = 0;
    const uint32_t *list = block->lasso->settings.solver->members(block->solver, &count);
    hw_lasso_block_residual(block, hawser_view(context, "v"), false);
    if (hw_linear_search_begin(&block->search, &block->columns, list, count, hawser_local(context, "alpha"),
                               hawser_metric(context, "lambda"), block->residual, block->sum, &error) != HAWSER_OK)
        return fail(context, &error);
    return HAWSER_OK;
}

/* ... an exchange an iteration, ... */
static hawser_status search(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    if (!hawser_stopping(context))
        hw_linear_search_advance(&block->search, &block->columns, hawser_metric(context, "lambda"),
                                 hawser_clock(context) == 0, hawser_cache(context, "shares"));
    return HAWSER_OK;
}

static hawser_status aim(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    double now = 0.0, then = 0.0;
    hw_linear_search_aim(&block->search, &block->columns, hawser_metric(context, "lambda"), hawser_local(context, "alpha"),
                         hawser_cache(context, "shares"), &now, &then);
    HAWSER_TRY(hawser_report(context, "present_penalty", now));
    return hawser_report(context, "candidate_penalty", then);
}

/* ... and all go as far as the objective surely falls. */
static hawser_status arrive(hawser_context *context)
{
    hw_lasso_block *block = hawser_scratch(context);
    double reach =
        hw_linear_search_reach(&block->search, &block->columns, hawser_view(context, "shares"), block->residual, block->sum,
                               hawser_metric(context, "present_penalty"), hawser_metric(context, "candidate_penalty"));
    hw_linear_search_go(&block->search, reach, hawser_gain(context, "v"), hawser_local(context, "alpha"),
                        hawser_cache(context, "v"));
    return HAWSER_OK;
}

/* v = X alpha from nothing: what keeps rounding and held-back updates out of certificates. */
static hawser_status rebuild(hawser_context *context)
{
    hw_linear_combine(hawser_data_view(context, "X"), hawser_local(context, "alpha"), hawser_cache(context, "v"));
    return HAWSER_OK;
}

/* Keeps the result of a lambda; measures it on the rows that this fold holds out. */
static hawser_status record(hawser_context *context)
{
    const hw_lasso_block *block = hawser_scratch(context);
    const hw_linear *lasso = hawser_user(context);
    const double *alpha = hawser_local(context, "alpha");
    double fold = hawser_metric(context, "fold"), weight = 0.0, errors = 0.0;
    if (lasso->lambda_count > 1 && !(fold >= 1.0)) {
        double *path = hawser_local(context, "path");
        size_t at = (size_t)hawser_metric(context, "lambda_number");
        for (size_t j = 0; j < block->columns.X.cols; j++)
            if (alpha[j] != 0.0)
                path[j * lasso->lambda_count + at] = alpha[j];
    }
    hw_linear_held_out(lasso, hawser_view(context, "v"), block->intercept, fold >= 1.0 ? (uint32_t)fold : 0, &weight,
                       &errors);
    HAWSER_TRY(hawser_report(context, "held_weight", weight));
    return hawser_report(context, "held_errors", errors);
}

static void declare_metrics(hawser_program *program)
{
    static const struct {
        const char *name;
        hawser_combine_by by;
    } metrics[] = {{"fold", HAWSER_LAST},
                   {"lambda", HAWSER_LAST},
                   {"lambda_number", HAWSER_LAST},
                   {"objective", HAWSER_LAST},
                   {"gap", HAWSER_LAST},
                   {"zero_objective", HAWSER_LAST},
                   {"lambda_max", HAWSER_MAX},
                   {"loss", HAWSER_LAST},
                   {"square", HAWSER_LAST},
                   {"target", HAWSER_LAST},
                   {"intercept", HAWSER_LAST},
                   {"penalty", HAWSER_SUM},
                   {"curved", HAWSER_SUM},
                   {"ratio", HAWSER_MAX},
                   {"nonzeros", HAWSER_SUM},
                   {"conjugate", HAWSER_SUM},
                   {"plain_conjugate", HAWSER_SUM},
                   {"slack", HAWSER_SUM},
                   {"working_set", HAWSER_SUM},
                   {"screened", HAWSER_SUM},
                   {"held_weight", HAWSER_LAST},
                   {"held_errors", HAWSER_LAST},
                   {"present_penalty", HAWSER_SUM},
                   {"candidate_penalty", HAWSER_SUM},
                   {"largest_set", HAWSER_MAX},
                   {"shared", HAWSER_MAX},
                   {"unsolved", HAWSER_MAX}};
    for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++)
        hawser_metric_declare(program, metrics[k].name, metrics[k].by);
}

static void release(void *scratch)
{
    hw_lasso_block_release(scratch);
}

/* The branch for working sets that are small enough to be solved as one; returns where the other branch begins. */
static hawser_operator *joint_work(hawser_program *p, hw_linear *lasso, hawser_operator *work, hawser_state *X,
                                   hawser_state *v, hawser_state *alpha)
{
    size_t columns = lasso->X->cols;
    hawser_state *whole = hawser_data_state(p, "whole", lasso->X, HAWSER_WHOLE);
    hawser_state *board =
        hawser_partitioned_state(p, "board", lasso->blocks * hw_lasso_joint_share(columns, lasso->blocks), NULL, NULL);
    hawser_state *triangle =
        hawser_replicated_state(p, "products", hw_lasso_joint_triangle(lasso->X), 1, NULL, (hawser_rule){0});
    hawser_state *solution = hawser_replicated_state(p, "solution", lasso->blocks * hw_linear_room(columns, lasso->blocks),
                                                     1, NULL, (hawser_rule){0});
    hawser_operator *small = hawser_branch(work, "small", hw_linear_small, lasso);
    hawser_operator *joint = hawser_sequence(small);
    hawser_unit(joint, "post", post, HAWSER_READS(v, alpha), HAWSER_UPDATES(board));
    hawser_unit(joint, "products", products, HAWSER_READS(X, whole, board), HAWSER_UPDATES(triangle));
    hawser_operator *large = hawser_branch(joint, "large", hw_linear_shared, NULL);
    hawser_state *sums =
        hawser_replicated_state(p, "sums", hw_lasso_joint_sums(columns, lasso->blocks), 1, NULL, (hawser_rule){0});
    hawser_operator *descents = hawser_loop(large, "descents", (hawser_until){.test = hw_linear_solved}, hawser_bsp());
    hawser_operator *steps = hawser_loop(descents, "descent", (hawser_until){.clocks = HW_LASSO_JOINT_CLOCKS}, hawser_bsp());
    hawser_unit(steps, "descend", descend, HAWSER_READS(v, triangle), HAWSER_UPDATES(sums));
    hawser_unit_one(large, "solve", solve_jointly, HAWSER_READS(v, triangle), HAWSER_UPDATES(solution));
    hawser_operator *once = hawser_loop(joint, "joint", (hawser_until){.clocks = 1}, hawser_bsp());
    hawser_unit(once, "move", move, HAWSER_READS(X, triangle, solution), HAWSER_UPDATES(v, alpha));
    return hawser_sequence(small);
}

static void search_work(hawser_program *p, hw_linear *lasso, hawser_operator *work, hawser_state *X, hawser_state *v,
                        hawser_state *alpha)
{
    hawser_state *shares =
        hawser_replicated_state(p, "shares", lasso->X->rows + HW_LINEAR_SEARCH_SUMS, 1, NULL, (hawser_rule){0});
    work = hawser_sequence(hawser_branch(work, "slow", hw_linear_slow, lasso));
    hawser_unit(work, "face", face, HAWSER_READS(X, v, alpha), NULL);
    hawser_operator *steps = hawser_loop(work, "search", (hawser_until){.clocks = SEARCH_CLOCKS}, hawser_bsp());
    hawser_unit(steps, "step", search, HAWSER_READS(X), HAWSER_UPDATES(shares));
    hawser_unit(work, "aim", aim, HAWSER_READS(X, alpha), HAWSER_UPDATES(shares));
    hawser_unit(work, "arrive", arrive, HAWSER_READS(X, shares), HAWSER_UPDATES(v, alpha));
}

static hawser_program *build(hw_linear *lasso)
{
    const hw_linear_settings *settings = &lasso->settings;
    hawser_program *p = hawser_program_new("lasso", lasso);
    declare_metrics(p);
    hawser_scratch_size(p, sizeof(hw_lasso_block), release);

    hawser_state *X = hawser_data_state(p, "X", lasso->X, HAWSER_BY_COLUMN);
    hawser_rule rule = {.damping = lasso->damping, .gain = lasso->gain};
    hawser_state *v = hawser_replicated_state(p, "v", lasso->X->rows, 1, lasso->image, rule);
    hawser_state *alpha = hawser_local_state(p, "alpha", X, 1, lasso->alpha);
    hawser_state *path = lasso->lambda_count > 1 ? hawser_local_state(p, "path", X, lasso->lambda_count, NULL) : NULL;
    hawser_tie(alpha, v);
    hawser_derive(v, rebuild);
    hawser_encoding(v, lasso->form);

    uint64_t clocks = settings->certify_every > 0            ? settings->certify_every
                      : one_clock(lasso)                     ? 1
                      : lasso->accelerated || lasso->strided ? HW_LINEAR_HISTORY
                                                             : 0;
    hawser_until rounds_done = {.clocks = clocks, .test = clocks > 0 ? NULL : hw_linear_rounds_done, .user = lasso};
    hawser_until sprints_done = {.test = hw_linear_sprints_done, .user = lasso};
    hawser_until certified = {.test = hw_linear_certified, .user = lasso};
    hawser_until path_done = {.test = hw_linear_next_lambda, .user = lasso};
    hawser_until folds_done = {.test = hw_linear_next_fold, .user = lasso};

    hawser_operator *folds = hawser_loop(hawser_root(p), "folds", folds_done, hawser_bsp());
    hawser_unit(folds, "prepare", prepare, HAWSER_READS(X), NULL);
    hawser_operator *begin = hawser_branch(folds, "begin", hw_linear_begin_path, lasso);
    hawser_operator *lambdas = hawser_loop(begin, "path", path_done, hawser_bsp());
    hawser_operator *certify = hawser_loop(lambdas, "certify", certified, hawser_bsp());
    hawser_unit(certify, "measure", measure, HAWSER_READS(X, v, alpha), NULL);
    hawser_unit(certify, "bound", bound, HAWSER_READS(X), NULL);
    hawser_operator *work = hawser_sequence(hawser_branch(certify, "open", hw_linear_open, lasso));
    hawser_unit(work, "choose", choose, HAWSER_READS(X, alpha), NULL);
    if (lasso->joint)
        work = joint_work(p, lasso, work, X, v, alpha);
    bool extrapolated = lasso->accelerated || lasso->strided;
    if (extrapolated)
        work = hawser_loop(work, "sprints", sprints_done, hawser_bsp());
    if (lasso->strided)
        hawser_unit(work, "remember", remember, HAWSER_READS(X, v, alpha), NULL);
    hawser_operator *rounds = hawser_loop(work, "rounds", rounds_done, lasso->sync);
    hawser_unit(rounds, "sweep", sweep, HAWSER_READS(X), HAWSER_UPDATES(v, alpha));
    if (extrapolated) {
        hawser_unit(work, "propose", propose, HAWSER_READS(X, v, alpha), NULL);
        hawser_unit(work, "take", take, HAWSER_READS(X), HAWSER_UPDATES(v, alpha));
    }
    if (lasso->searched)
        search_work(p, lasso, work, X, v, alpha);
    hawser_unit(lambdas, "record", record, HAWSER_READS(X, v, alpha), path != NULL ? HAWSER_UPDATES(path) : NULL);
    return p;
}

/* ------------------------------------------------------------------------------ what an early end has left behind ---- */

/* v's share of this block, as an update. */
static hawser_status image(hawser_context *context)
{
    return rebuild(context);
}

/* A certificate of given coefficients, and nothing else: the data may lie on several nodes. */
static hawser_program *build_certificate(hw_linear *lasso, const double *alpha)
{
    hawser_program *p = hawser_program_new("certificate", lasso);
    declare_metrics(p);
    hawser_scratch_size(p, sizeof(hw_lasso_block), release);
    hawser_state *X = hawser_data_state(p, "X", lasso->X, HAWSER_BY_COLUMN);
    hawser_state *v = hawser_replicated_state(p, "v", lasso->X->rows, 1, NULL, (hawser_rule){0});
    hawser_state *a = hawser_local_state(p, "alpha", X, 1, alpha);
    hawser_operator *all = hawser_sequence(hawser_branch(hawser_root(p), "begin", hw_linear_set_rest, lasso));
    hawser_unit(all, "prepare", prepare, HAWSER_READS(X), NULL);
    hawser_unit(all, "image", image, HAWSER_READS(X, a), HAWSER_UPDATES(v));
    hawser_unit(all, "measure", measure, HAWSER_READS(X, v, a), NULL);
    hawser_unit(all, "bound", bound, HAWSER_READS(X), NULL);
    return p;
}

static const hw_linear_programs programs = {.build = build, .build_certificate = build_certificate};

static hawser_status plan(hawser_job *job, const hawser_training_input *input, bool physical, bool dot, FILE *out,
                          hawser_error *error)
{
    return hw_linear_plan(hw_lasso_kind(), &programs, job, input, physical, dot, out, error);
}

static hawser_status train(hawser_job *job, const hawser_training_input *input, hawser_training *training,
                           hawser_error *error)
{
    return hw_linear_train(hw_lasso_kind(), &programs, job, input, training, error);
}

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
                                               .train = train,
                                               .plan = plan,
                                               .predict = hw_linear_margins,
                                               .evaluate = hw_lasso_evaluate};
    return &algorithm;
}
