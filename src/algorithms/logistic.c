/*
 * logistic.c - logistic regression with an L1, elastic-net or squared penalty, as states, units and loops: Newton's method on
 * working sets of columns, between certificates of all of them.
 *
 * Columns are split over the blocks; what they exchange is v = X alpha. Where all can work in step, one block solves the problem of
 * all blocks' working sets. Otherwise (under SSP or TAP, with filters, for sets too large to pass around) each of Newton's
 * quadratic models is solved by all blocks in CoCoA rounds, as the lasso is.
 */
#include <math.h>
#include <string.h>

#include "algorithms/linear/fold.h"
#include "algorithms/linear/train.h"
#include "algorithms/list.h"
#include "algorithms/logistic/board.h"
#include "algorithms/logistic/evaluate.h"
#include "algorithms/logistic/kind.h"
#include "algorithms/logistic/options.h"
#include "algorithms/logistic/rounds.h"

enum {
    SMALLEST_SET = 100, /* columns of all blocks' working sets together, where the support is small */
    MOST_MODELS = 4,    /* of Newton's, between two certificates, where rounds solve them */
    SEARCH_CLOCKS = 40  /* iterations of a search over all blocks */
};

static const double NEVER = 1e300; /* a slack or a bound that is none, and that may be added up */

static bool stopping(void *context)
{
    return hawser_stopping(context);
}

static hawser_status fail(hawser_context *context, const hawser_error *error)
{
    return hawser_unit_fail(context, error->status, "%s", error->text);
}

static uint32_t fold_of(const hawser_context *context)
{
    double fold = hawser_metric(context, "fold");
    return fold >= 1.0 ? (uint32_t)fold : 0;
}

/* Once a fold: weights, means, penalties, the loss at zero and the lambda at which everything is zero. */
static hawser_status prepare(hawser_context *context)
{
    hw_logistic_block *block = hawser_scratch(context);
    const hw_linear *linear = hawser_user(context);
    double most = 0.0;
    hawser_error error = {0};
    uint32_t fold = fold_of(context);
    if (hw_logistic_block_prepare(block, linear, hawser_data_view(context, "X"), fold, fold == 0 ? &most : NULL, &error) !=
        HAWSER_OK)
        return fail(context, &error);
    HAWSER_TRY(hawser_report(context, "zero_objective", block->zero_objective));
    return hawser_report(context, "lambda_max", most);
}

/* The full scan at a quiescent clock, and this block's share of the certificate's sums. */
static hawser_status measure(hawser_context *context)
{
    hw_logistic_block *block = hawser_scratch(context);
    hw_logistic_sums sums;
    hw_logistic_block_measure(block, hawser_view(context, "v"), hawser_local(context, "alpha"),
                              hawser_metric(context, "lambda"), &sums);
    HAWSER_TRY(hawser_report(context, "loss", block->point.loss));
    HAWSER_TRY(hawser_report(context, "intercept", block->point.intercept));
    HAWSER_TRY(hawser_report(context, "penalty", sums.penalty));
    HAWSER_TRY(hawser_report(context, "ratio", sums.ratio));
    return hawser_report(context, "nonzeros", (double)sums.nonzeros);
}

/* The dual's part of the certificate, now that the scaling by all blocks' columns is known. With an L2 part any scaling is feasible. */
static hawser_status bound(hawser_context *context)
{
    const hw_logistic_block *block = hawser_scratch(context);
    double ratio = hawser_metric(context, "ratio"), scale = hw_logistic_scale(ratio), scaled = 0.0, plain = 0.0;
    bool both = scale < 1.0 && block->linear->settings.l1_ratio < 1.0;
    hw_linear_scan_conjugate(&block->scan, &block->columns, hawser_metric(context, "lambda"), scale, &scaled, &plain);
    HAWSER_TRY(hawser_report(context, "conjugate", scaled));
    HAWSER_TRY(hawser_report(context, "plain_conjugate", both ? plain : 0.0));
    bool mine = hawser_block(context) == 0; /* all would say the same */
    HAWSER_TRY(
        hawser_report(context, "dual_loss", mine ? hw_logistic_entropy(&block->rows, block->dual.theta, scale) : 0.0));
    return hawser_report(context, "plain_dual_loss",
                         mine && both ? hw_logistic_entropy(&block->rows, block->dual.theta, 1.0) : -NEVER);
}

/* What to work on next: columns that the certificate does not prove to be zero, most promising first. The entropy bends at least
 * four times as much as the square of the distance, hence the radius. */
static hawser_status choose(hawser_context *context)
{
    hw_logistic_block *block = hawser_scratch(context);
    const hw_linear_solver *solver = block->linear->settings.solver;
    const double *alpha = hawser_local(context, "alpha");
    double lambda = hawser_metric(context, "lambda");
    hawser_error error = {0};
    double primal = hawser_metric(context, "loss") + hawser_metric(context, "penalty");
    double gap = primal - (hawser_metric(context, "dual_loss") - hawser_metric(context, "conjugate"));
    hw_linear_scan_screen(&block->scan, &block->columns, alpha, lambda, hw_logistic_scale(hawser_metric(context, "ratio")),
                          sqrt(0.5 * fmax(gap, hawser_metric(context, "gap"))));
    if (solver->choose(block->solver, &block->columns, lambda, alpha, block->scan.gradient, block->scan.screened,
                       SMALLEST_SET / block->linear->blocks + 8, &error) != HAWSER_OK)
        return fail(context, &error);
    size_t members = 0;
    (void)solver->members(block->solver, &members);
    HAWSER_TRY(hawser_report(context, "working_set", (double)members));
    HAWSER_TRY(hawser_report(context, "largest_set", (double)members));
    return hawser_report(context, "screened", (double)block->scan.screened_count);
}

/* ------------------------------------------------------------------------------------------- one solves for all ---- */

static bool alone(const hw_linear *linear) /* one block, and nobody wants to see its rounds */
{
    const hw_linear_settings *settings = &linear->settings;
    return linear->blocks == 1 && settings->exchange_every <= 0.0 && settings->certify_every == 0 && settings->sigma <= 0.0;
}

static hw_logistic_effort effort_of(hawser_context *context, const hw_linear *linear, double gain)
{
    double tolerance = linear->settings.tolerance * hawser_metric(context, "zero_objective");
    return (hw_logistic_effort){.gain = gain,
                                .gap = hawser_metric(context, "gap"),
                                .tolerance = 0.3 * tolerance,
                                .steps = UINT64_MAX,
                                .stop = {stopping, context}};
}

static hawser_status post(hawser_context *context)
{
    hw_logistic_board_post(hawser_scratch(context), hawser_local(context, "alpha"), hawser_local(context, "board"));
    return HAWSER_OK;
}

static hawser_status solve(hawser_context *context)
{
    hw_logistic_block *block = hawser_scratch(context);
    const hw_linear *linear = block->linear;
    const hawser_matrix *whole = hawser_data_view(context, "whole");
    const double *board = hawser_view(context, "board");
    size_t room = linear->blocks * hw_linear_room(linear->X->cols, linear->blocks);
    hawser_error error = {0};
    if (hw_logistic_block_for_all(block, whole, room, &error) != HAWSER_OK)
        return fail(context, &error);
    size_t count = hw_logistic_board_list(block, board);
    HAWSER_TRY(hawser_data_want(context, "whole", block->whole_list, count));
    hw_logistic_effort effort = effort_of(context, linear, 1.0);
    effort.tolerance = fmax(effort.tolerance, 0.05 * effort.gap);
    if (hw_logistic_board_solve(block, board, hawser_view(context, "v"), hawser_metric(context, "lambda"), &effort,
                                hawser_cache(context, "solution"), &error) != HAWSER_OK)
        return fail(context, &error);
    return hawser_touch(context, "solution", 0, count);
}

static hawser_status move(hawser_context *context)
{
    hw_logistic_board_move(hawser_scratch(context), hawser_view(context, "board"), hawser_view(context, "solution"),
                           hawser_local(context, "alpha"));
    return hawser_touch(context, "v", 0, 0); /* derived when the loop is left */
}

/* ---------------------------------------------------------------------------------------------------- all solve ---- */

static hawser_status model(hawser_context *context)
{
    hw_logistic_block *block = hawser_scratch(context);
    hawser_error error = {0};
    double tolerance = effort_of(context, block->linear, 1.0).tolerance;
    if (hw_logistic_rounds_begin(block, hawser_view(context, "v"), hawser_local(context, "alpha"),
                                 hawser_metric(context, "lambda"), 0.01 * tolerance, &error) != HAWSER_OK)
        return fail(context, &error);
    return HAWSER_OK;
}

/* One CoCoA round: an approximate solution of the local subproblem; alpha is tied to v. */
static hawser_status sweep(hawser_context *context)
{
    hw_logistic_block *block = hawser_scratch(context);
    const hw_linear *linear = block->linear;
    double slack = 0.0, every = linear->strided ? 1.0 : linear->settings.exchange_every;
    hw_logistic_effort effort = effort_of(context, linear, hawser_gain(context, "v"));
    hawser_error error = {0};
    if (every > 0.0)
        effort.steps = (uint64_t)ceil(every * (double)block->columns.X.cols);
    effort.slack = &slack;
    if (hw_logistic_rounds_sweep(block, &effort, hawser_local(context, "alpha"), hawser_cache(context, "v"), &error) !=
        HAWSER_OK)
        return fail(context, &error);
    return hawser_report(context, "slack", slack < NEVER ? slack : NEVER);
}

/* A search over all blocks (linear/search.h) on the model: from where all of them are, ... */
static hawser_status face(hawser_context *context)
{
    hw_logistic_block *block = hawser_scratch(context);
    hw_logistic_quadratic *own = &block->own;
    hawser_error error = {0};
    double sum = 0.0;
    hw_logistic_quadratic_residual(own, &block->point, hawser_view(context, "v"), block->start, block->residual);
    for (size_t i = 0; i < block->rows.count; i++)
        sum += block->residual[i];
    if (hw_linear_search_begin(&block->search, &own->columns, own->members.columns, own->members.count,
                               hawser_local(context, "alpha"), own->scale * hawser_metric(context, "lambda"),
                               block->residual, sum, &error) != HAWSER_OK)
        return fail(context, &error);
    return HAWSER_OK;
}

/* ... an exchange an iteration, ... */
static hawser_status search(hawser_context *context)
{
    hw_logistic_block *block = hawser_scratch(context);
    if (!hawser_stopping(context))
        hw_linear_search_advance(&block->search, &block->own.columns, block->own.scale * hawser_metric(context, "lambda"),
                                 hawser_clock(context) == 0, hawser_cache(context, "shares"));
    return HAWSER_OK;
}

static hawser_status aim(hawser_context *context)
{
    hw_logistic_block *block = hawser_scratch(context);
    double now = 0.0, then = 0.0;
    hw_linear_search_aim(&block->search, &block->own.columns, block->own.scale * hawser_metric(context, "lambda"),
                         hawser_local(context, "alpha"), hawser_cache(context, "shares"), &now, &then);
    HAWSER_TRY(hawser_report(context, "present_penalty", now));
    return hawser_report(context, "candidate_penalty", then);
}

/* ... and all go as far as the model surely falls. */
static hawser_status arrive(hawser_context *context)
{
    hw_logistic_block *block = hawser_scratch(context);
    double sum = 0.0;
    for (size_t i = 0; i < block->rows.count; i++)
        sum += block->residual[i];
    double reach =
        hw_linear_search_reach(&block->search, &block->own.columns, hawser_view(context, "shares"), block->residual, sum,
                               hawser_metric(context, "present_penalty"), hawser_metric(context, "candidate_penalty"));
    hw_linear_search_go(&block->search, reach, hawser_gain(context, "v"), hawser_local(context, "alpha"),
                        hawser_cache(context, "v"));
    return HAWSER_OK;
}

static hawser_status compare(hawser_context *context)
{
    double before = 0.0, after = 0.0;
    hw_logistic_rounds_penalties(hawser_scratch(context), hawser_local(context, "alpha"), hawser_metric(context, "lambda"),
                                 &before, &after);
    HAWSER_TRY(hawser_report(context, "penalty_before", before));
    return hawser_report(context, "penalty_after", after);
}

/* The model is only one of the objective: all go back as far as that asks. */
static hawser_status back(hawser_context *context)
{
    hw_logistic_block *block = hawser_scratch(context);
    double *v = hawser_cache(context, "v"), fall = 0.0;
    double tolerance = 0.01 * effort_of(context, block->linear, 1.0).tolerance;
    double share = hw_logistic_rounds_share(block, v, hawser_metric(context, "penalty_before"),
                                            hawser_metric(context, "penalty_after"), tolerance, &fall);
    if (share < 1.0)
        hw_logistic_rounds_back(block, share, hawser_gain(context, "v"), hawser_damping(context, "v"),
                                hawser_local(context, "alpha"), v);
    return hawser_report(context, "fall", fall);
}

/* A model's solution that made the objective fall by little beside the gap: the other columns matter more now. */
static bool models_done(hawser_progress *progress, void *user)
{
    const hw_linear *linear = user;
    uint64_t models = hawser_progress_clock(progress) + 1;
    double least = 0.3 * linear->settings.tolerance * linear->zero_objective;
    return linear->settings.certify_every > 0 || models >= MOST_MODELS || hawser_progress_stopping(progress) ||
           hawser_progress_metric(progress, "fall") <= fmax(0.05 * linear->gap, least);
}

/* Rounds find signs, but crawl over a face; with a squared penalty alone there is nothing but one face. */
static bool slow(hawser_progress *progress, void *user)
{
    const hw_linear *linear = user;
    return linear->settings.l1_ratio == 0.0 || hw_linear_slow(progress, user);
}

/* ------------------------------------------------------------------------------------------------------ program ---- */

/* v = X alpha from nothing: what keeps rounding and held-back updates out of certificates. */
static hawser_status rebuild(hawser_context *context)
{
    hw_linear_combine(hawser_data_view(context, "X"), hawser_local(context, "alpha"), hawser_cache(context, "v"));
    return HAWSER_OK;
}

/* Keeps the result of a lambda; measures it on the rows that this fold holds out. */
static hawser_status record(hawser_context *context)
{
    const hw_logistic_block *block = hawser_scratch(context);
    const hw_linear *linear = hawser_user(context);
    const double *alpha = hawser_local(context, "alpha");
    double weight = 0.0, errors = 0.0;
    uint32_t fold = fold_of(context);
    if (linear->lambda_count > 1 && fold == 0) {
        double *path = hawser_local(context, "path");
        size_t at = (size_t)hawser_metric(context, "lambda_number");
        for (size_t j = 0; j < block->columns.X.cols; j++)
            if (alpha[j] != 0.0)
                path[j * linear->lambda_count + at] = alpha[j];
    }
    hw_linear_held_out(linear, hawser_view(context, "v"), block->point.intercept, fold, &weight, &errors);
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
                   {"intercept", HAWSER_LAST},
                   {"penalty", HAWSER_SUM},
                   {"ratio", HAWSER_MAX},
                   {"nonzeros", HAWSER_SUM},
                   {"conjugate", HAWSER_SUM},
                   {"plain_conjugate", HAWSER_SUM},
                   {"dual_loss", HAWSER_LAST},
                   {"plain_dual_loss", HAWSER_LAST},
                   {"slack", HAWSER_SUM},
                   {"working_set", HAWSER_SUM},
                   {"largest_set", HAWSER_MAX},
                   {"screened", HAWSER_SUM},
                   {"held_weight", HAWSER_LAST},
                   {"held_errors", HAWSER_LAST},
                   {"present_penalty", HAWSER_SUM},
                   {"candidate_penalty", HAWSER_SUM},
                   {"penalty_before", HAWSER_SUM},
                   {"penalty_after", HAWSER_SUM},
                   {"fall", HAWSER_LAST}};
    for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++)
        hawser_metric_declare(program, metrics[k].name, metrics[k].by);
}

static void release(void *scratch)
{
    hw_logistic_block_release(scratch);
}

static void joint_work(hawser_program *p, hw_linear *linear, hawser_operator *work, hawser_state *v, hawser_state *alpha)
{
    size_t columns = linear->X->cols;
    hawser_state *whole = hawser_data_state(p, "whole", linear->X, HAWSER_WHOLE);
    hawser_state *board =
        hawser_partitioned_state(p, "board", linear->blocks * hw_logistic_board_share(columns, linear->blocks), NULL, NULL);
    hawser_state *solution = hawser_replicated_state(p, "solution", linear->blocks * hw_linear_room(columns, linear->blocks),
                                                     1, NULL, (hawser_rule){0});
    hawser_unit(work, "post", post, HAWSER_READS(alpha), HAWSER_UPDATES(board));
    hawser_unit_one(work, "solve", solve, HAWSER_READS(whole, v, board), HAWSER_UPDATES(solution));
    hawser_operator *once = hawser_loop(work, "joint", (hawser_until){.clocks = 1}, hawser_bsp());
    hawser_unit(once, "move", move, HAWSER_READS(board, solution), HAWSER_UPDATES(v, alpha));
}

static void rounds_work(hawser_program *p, hw_linear *linear, hawser_operator *work, hawser_state *X, hawser_state *v,
                        hawser_state *alpha)
{
    uint64_t clocks = linear->settings.certify_every;
    hawser_until solved = {.test = models_done, .user = linear};
    hawser_until rounds_done = {.clocks = clocks, .test = clocks > 0 ? NULL : hw_linear_rounds_done, .user = linear};
    work = hawser_loop(work, "models", solved, hawser_bsp());
    hawser_unit(work, "model", model, HAWSER_READS(X, v, alpha), NULL);
    hawser_operator *rounds = hawser_loop(work, "rounds", rounds_done, linear->sync);
    hawser_unit(rounds, "sweep", sweep, HAWSER_READS(X), HAWSER_UPDATES(v, alpha));
    if (linear->searched) {
        hawser_state *shares =
            hawser_replicated_state(p, "shares", linear->X->rows + HW_LINEAR_SEARCH_SUMS, 1, NULL, (hawser_rule){0});
        hawser_operator *far = hawser_sequence(hawser_branch(work, "slow", slow, linear));
        hawser_unit(far, "face", face, HAWSER_READS(X, v, alpha), NULL);
        hawser_operator *steps = hawser_loop(far, "search", (hawser_until){.clocks = SEARCH_CLOCKS}, hawser_bsp());
        hawser_unit(steps, "step", search, HAWSER_READS(X), HAWSER_UPDATES(shares));
        hawser_unit(far, "aim", aim, HAWSER_READS(X, alpha), HAWSER_UPDATES(shares));
        hawser_unit(far, "arrive", arrive, HAWSER_READS(X, shares), HAWSER_UPDATES(v, alpha));
    }
    hawser_unit(work, "compare", compare, HAWSER_READS(X, alpha), NULL);
    hawser_unit(work, "back", back, HAWSER_READS(X), HAWSER_UPDATES(v, alpha));
}

static hawser_program *build(hw_linear *linear)
{
    hawser_program *p = hawser_program_new("logistic", linear);
    declare_metrics(p);
    hawser_scratch_size(p, sizeof(hw_logistic_block), release);

    hawser_state *X = hawser_data_state(p, "X", linear->X, HAWSER_BY_COLUMN);
    hawser_rule rule = {.damping = linear->damping, .gain = linear->gain};
    hawser_state *v = hawser_replicated_state(p, "v", linear->X->rows, 1, linear->image, rule);
    hawser_state *alpha = hawser_local_state(p, "alpha", X, 1, linear->alpha);
    hawser_state *path = linear->lambda_count > 1 ? hawser_local_state(p, "path", X, linear->lambda_count, NULL) : NULL;
    hawser_tie(alpha, v);
    hawser_derive(v, rebuild);
    hawser_encoding(v, linear->form);

    hawser_until certified = {.test = hw_linear_certified, .user = linear};
    hawser_until path_done = {.test = hw_linear_next_lambda, .user = linear};
    hawser_until folds_done = {.test = hw_linear_next_fold, .user = linear};

    hawser_operator *folds = hawser_loop(hawser_root(p), "folds", folds_done, hawser_bsp());
    hawser_unit(folds, "prepare", prepare, HAWSER_READS(X), NULL);
    hawser_operator *begin = hawser_branch(folds, "begin", hw_linear_begin_path, linear);
    hawser_operator *lambdas = hawser_loop(begin, "path", path_done, hawser_bsp());
    hawser_operator *certify = hawser_loop(lambdas, "certify", certified, hawser_bsp());
    hawser_unit(certify, "measure", measure, HAWSER_READS(X, v, alpha), NULL);
    hawser_unit(certify, "bound", bound, HAWSER_READS(X), NULL);
    hawser_operator *work = hawser_sequence(hawser_branch(certify, "open", hw_linear_open, linear));
    hawser_unit(work, "choose", choose, HAWSER_READS(X, alpha), NULL);
    if (alone(linear)) {
        joint_work(p, linear, work, v, alpha);
    } else if (linear->joint) {
        hawser_operator *small = hawser_branch(work, "small", hw_linear_small, linear);
        joint_work(p, linear, hawser_sequence(small), v, alpha);
        rounds_work(p, linear, hawser_sequence(small), X, v, alpha);
    } else {
        rounds_work(p, linear, work, X, v, alpha);
    }
    hawser_unit(lambdas, "record", record, HAWSER_READS(X, v, alpha), path != NULL ? HAWSER_UPDATES(path) : NULL);
    return p;
}

/* A certificate of given coefficients, and nothing else, for what an early end has left behind. */
static hawser_program *build_certificate(hw_linear *linear, const double *alpha)
{
    hawser_program *p = hawser_program_new("certificate", linear);
    declare_metrics(p);
    hawser_scratch_size(p, sizeof(hw_logistic_block), release);
    hawser_state *X = hawser_data_state(p, "X", linear->X, HAWSER_BY_COLUMN);
    hawser_state *v = hawser_replicated_state(p, "v", linear->X->rows, 1, NULL, (hawser_rule){0});
    hawser_state *a = hawser_local_state(p, "alpha", X, 1, alpha);
    hawser_operator *all = hawser_sequence(hawser_branch(hawser_root(p), "begin", hw_linear_set_rest, linear));
    hawser_unit(all, "prepare", prepare, HAWSER_READS(X), NULL);
    hawser_unit(all, "image", rebuild, HAWSER_READS(X, a), HAWSER_UPDATES(v));
    hawser_unit(all, "measure", measure, HAWSER_READS(X, v, a), NULL);
    hawser_unit(all, "bound", bound, HAWSER_READS(X), NULL);
    return p;
}

static const hw_linear_programs programs = {.build = build, .build_certificate = build_certificate};

static hawser_status plan(hawser_job *job, const hawser_training_input *input, bool physical, bool dot, FILE *out,
                          hawser_error *error)
{
    return hw_linear_plan(hw_logistic_kind(), &programs, job, input, physical, dot, out, error);
}

static hawser_status train(hawser_job *job, const hawser_training_input *input, hawser_training *training,
                           hawser_error *error)
{
    return hw_linear_train(hw_logistic_kind(), &programs, job, input, training, error);
}

const hawser_algorithm *hw_logistic_algorithm(void)
{
    static const char citations[] =
        "J. Friedman, T. Hastie, R. Tibshirani: Regularization Paths by Coordinate Descent. J. Stat. Softw. 33(1), 2010\n"
        "G.-X. Yuan, C.-H. Ho, C.-J. Lin: An Improved GLMNET for L1-regularized Logistic Regression. JMLR 13, 2012\n"
        "M. Massias, S. Vaiter, A. Gramfort, J. Salmon: Dual Extrapolation for Sparse GLMs. JMLR 21(234), 2020 (working "
        "sets)\n"
        "V. Smith, S. Forte, C. Ma, M. Takac, M. Jordan, M. Jaggi: CoCoA. JMLR 18(230), 2018\n"
        "E. Ndiaye, O. Fercoq, A. Gramfort, J. Salmon: Gap Safe Screening Rules. JMLR 18(128), 2017\n"
        "T. Alt: Adaptive Consistency Management for Distributed Machine Learning. 2017 (states, units, yields)";
    static const hawser_algorithm algorithm = {.name = "logistic",
                                               .summary = "logistic regression with an L1, elastic-net or squared penalty",
                                               .citations = citations,
                                               .rows = hw_logistic_options,
                                               .train = train,
                                               .plan = plan,
                                               .predict = hw_logistic_predict,
                                               .label = hw_logistic_label,
                                               .evaluate = hw_logistic_evaluate};
    return &algorithm;
}
