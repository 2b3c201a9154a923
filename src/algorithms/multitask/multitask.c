/*
 * multitask.c - the multi-task lasso: linear regression on several targets whose columns enter together, by CoCoA+ rounds as
 * the lasso's.
 *
 * Columns are split over the blocks. A block keeps its coefficients alpha (q per column) and a copy of v = X alpha (by
 * target, then by row); blocks exchange v. Folds, paths, certificates, best points and ends are those of all linear models
 * (glm/program.h).
 */
#include <math.h>
#include <string.h>

#include "algorithms/glm/expect.h"
#include "algorithms/glm/sets.h"
#include "algorithms/glm/squared.h"
#include "algorithms/glm/train.h"
#include "algorithms/list.h"
#include "algorithms/multitask/block.h"
#include "algorithms/multitask/descent.h"
#include "algorithms/multitask/joint.h"
#include "algorithms/multitask/parts.h"
#include "hawser/job_data.h"

enum { SMALLEST_SET = 100, ROUNDS = 10 };

static hawser_status prepare(hawser_context *context)
{
    hw_multitask_block *block = hawser_scratch(context);
    const hw_linear *linear = hawser_user(context);
    uint32_t fold = hw_linear_fold_of(context);
    HAWSER_READ(context, hawser_matrix, X);
    double most = 0.0;
    HW_UNIT_TRY(context, hw_multitask_prepare(block, linear, X, fold, &error));
    if (fold == 0)
        HAWSER_TRY(hw_linear_record_means(context, block->columns.mean));
    if (fold == 0)
        HW_UNIT_TRY(context, hw_multitask_lambda_max(block, &most, &error));
    return hw_linear_report_fold(context, block->zero_objective, &block->columns, most);
}

static hawser_status measure(hawser_context *context)
{
    hw_multitask_block *block = hawser_scratch(context);
    HAWSER_READ(context, double, v);
    HAWSER_READ(context, double, alpha);
    hw_linear_sums sums;
    hw_multitask_measure(block, v);
    size_t nonzeros = hw_multitask_sums(block, alpha, hawser_metric(context, "lambda"), &sums);
    HAWSER_TRY(hw_linear_squared_report(context, &sums));
    HAWSER_TRY(hw_linear_report(context, "intercept", block->intercept[0]));
    return hawser_report(context, "nonzeros", (double)nonzeros);
}

/* Computes the dual part of the certificate, once the scaling by all blocks' columns is known. */
static hawser_status bound(hawser_context *context)
{
    const hw_multitask_block *block = hawser_scratch(context);
    double scaled = 0.0, plain = 0.0;
    hw_multitask_conjugate(block, hawser_metric(context, "lambda"), hw_linear_squared_scale(context), &scaled, &plain);
    HAWSER_TRY(hw_linear_report(context, "conjugate", scaled));
    return hw_linear_report(context, "plain_conjugate", plain);
}

static hawser_status choose(hawser_context *context)
{
    hw_multitask_block *block = hawser_scratch(context);
    HAWSER_READ(context, double, alpha);
    double lambda = hawser_metric(context, "lambda"), scale = hw_linear_squared_scale(context);
    double radius = hw_linear_squared_radius(context, scale);
    size_t least = SMALLEST_SET / hawser_blocks(context);
    HW_UNIT_TRY(context, hw_multitask_choose(block, alpha, lambda, scale, radius, least > 8 ? least : 8, &error));
    HAWSER_TRY(hawser_report(context, "working_set", (double)block->member_count));
    HAWSER_TRY(hawser_report(context, "largest_set", (double)block->member_count));
    return hawser_report(context, "screened", (double)block->screened);
}

/* Returns true if the work has a single clock. Leaving its loop derives v from alpha anyway, so moving v would be double
 * work. */
static bool one_clock(const hw_linear *linear)
{
    return linear->choices.route == HW_LINEAR_SINGLE;
}

static hw_multitask_round make_round(hawser_context *context, const hw_multitask_block *block)
{
    const hw_linear *linear = block->linear;
    return (hw_multitask_round){
        .lambda = hawser_metric(context, "lambda"),
        .gain = hawser_gain(context, "v"),
        .gap = hawser_metric(context, "gap"),
        .tolerance = 0.3 * linear->choices.settings.tolerance * hawser_metric(context, "zero_objective"),
        .steps = hw_linear_round_steps(&linear->choices, block->columns.X.cols, hawser_work(context)),
        .stop = {hw_linear_must_stop, context}};
}

/* Makes one CoCoA round. alpha is tied to v. */
static hawser_status sweep(hawser_context *context)
{
    hw_multitask_block *block = hawser_scratch(context);
    HAWSER_WRITE(context, double, v);
    HAWSER_WRITE(context, double, alpha);
    const hw_linear *linear = block->linear;
    hw_multitask_round round = make_round(context, block);
    round.alpha = alpha;
    round.image = one_clock(linear) ? NULL : v;
    /* Under ssp and tap other blocks may have changed v since the scan. */
    block->fresh = block->fresh && memcmp(block->measured, v, block->columns.X.rows * block->outputs * sizeof *v) == 0;
    if (!block->kept || !one_clock(linear) || linear->problem.free_count > 0) /* a projected one is no residual */
        hw_multitask_residual(block, v);
    block->kept = false; /* descents change the residual */
    HW_UNIT_TRY(context, hw_multitask_descend(block, &round, &error));
    block->fresh = false;
    return one_clock(linear) ? hawser_touch(context, "v", 0, 0) : HAWSER_OK;
}

/* Joint working sets (joint.h), first unit: all blocks write the members that they chose. */
static hawser_status post(hawser_context *context)
{
    const hw_multitask_block *block = hawser_scratch(context);
    HAWSER_READ(context, double, alpha);
    HAWSER_WRITE(context, double, sets);
    size_t first = 0;
    (void)hawser_part(context, "sets", &first);
    size_t posted = hw_multitask_joint_post(block, alpha, sets);
    return hawser_touch(context, "sets", first, posted);
}

/* Joint working sets, second unit: every block solves the union's problem alike. */
static hawser_status solve(hawser_context *context)
{
    hw_multitask_block *block = hawser_scratch(context);
    HAWSER_READ(context, double, v);
    HAWSER_READ(context, double, sets);
    HAWSER_READ(context, hawser_matrix, whole);
    hawser_error error = {0};
    hw_multitask_round round = make_round(context, block);
    hw_multitask_residual(block, v);
    HAWSER_TRY(hw_unit_ends(context, hw_multitask_joint_union(block, whole, sets, &error), &error));
    block->joint->columns.far = !block->columns.centred && hawser_metric(context, "far") > 0.0; /* of any block's columns */
    HAWSER_TRY(hawser_data_fetch(context, "whole", block->joint->members, block->joint->member_count));
    return hw_unit_ends(context, hw_multitask_joint_solve(block, &round, &error), &error);
}

/* Joint working sets, third unit: each block takes its own coefficients from the solution; v is derived from them. */
static hawser_status take(hawser_context *context)
{
    hw_multitask_block *block = hawser_scratch(context);
    HAWSER_WRITE(context, double, alpha);
    size_t q = block->outputs;
    for (size_t k = 0; k < block->solved && k < block->member_count; k++)
        memcpy(alpha + block->members[k] * q, block->solution + k * q, q * sizeof *alpha);
    block->solved = 0;
    block->fresh = false;
    return hawser_touch(context, "v", 0, 0);
}

static const double *intercepts(const void *scratch)
{
    return ((const hw_multitask_block *)scratch)->intercept;
}

/* Makes the branch for working sets that are small enough to be solved as one. Returns the operator for the other branch. */
static hawser_operator *joint_work(const hw_linear_frame *frame)
{
    const hw_linear *linear = frame->driver->linear;
    hawser_state *X = frame->X, *v = frame->v, *alpha = frame->alpha;
    hawser_state *whole = hw_linear_whole_state(frame);
    hawser_state *sets = hw_linear_sets_state(frame, hw_multitask_joint_fields(linear));
    hawser_operator *small = hawser_branch(frame->work, "small", hw_linear_small, frame->driver);
    hawser_operator *joint = hawser_sequence(small);
    HAWSER_UNIT(joint, "post", post, .reads = {alpha}, .updates = {sets});
    HAWSER_UNIT(joint, "solve", solve, .reads = {X, v, whole, sets});
    hawser_operator *once = hawser_loop(joint, "joint", (hawser_until){.clocks = 1}, hawser_bsp());
    HAWSER_UNIT(once, "take", take, .reads = {X}, .updates = {v, alpha});
    return hawser_sequence(small);
}

static void add_work(const hw_linear_frame *frame)
{
    const hw_linear *linear = frame->driver->linear;
    double outputs = (double)linear->problem.outputs;
    uint64_t every = linear->choices.settings.certify_every;
    bool joint = linear->choices.route == HW_LINEAR_JOINT;
    hw_linear_rounds_work(frame, joint ? joint_work(frame) : frame->work,
                          every > 0           ? every
                          : one_clock(linear) ? 1
                                              : ROUNDS,
                          sweep);
    /* without a Gram matrix, the images of a candidate and of a step have as many rows */
    double images = linear->problem.X->layout == HAWSER_CSC ? 4.0 : 2.0;
    hw_linear_needs needs = {.rows = images * outputs + hw_linear_weighted(&linear->problem),
                             .columns = outputs + 10.0,
                             .gram = true,
                             .kept_columns = outputs,
                             .kept_gram = true};
    /* every block has the union's residuals, and its moments and coefficients at the places of the whole's columns */
    if (joint) {
        needs.rows += outputs;
        needs.all = sizeof(double);
    }
    hw_linear_expect(frame->program, linear, &needs);
}

static const hw_linear_units units = {.kind = &hw_multitask_kind,
                                      .scratch = sizeof(hw_multitask_block),
                                      .release = hw_multitask_release,
                                      .visit = hw_multitask_visit,
                                      .declare = hw_linear_squared_declare,
                                      .prepare = prepare,
                                      .measure = measure,
                                      .bound = bound,
                                      .choose = choose,
                                      .intercepts = intercepts,
                                      .work = add_work};

const hawser_algorithm *hw_multitask_algorithm(void)
{
    static const char citations[] =
        "G. Obozinski, B. Taskar, M. Jordan: Joint covariate selection and joint subspace selection for multiple "
        "classification "
        "problems. Statistics and Computing 20, 2010\n"
        "V. Smith, S. Forte, C. Ma, M. Takac, M. Jordan, M. Jaggi: CoCoA. JMLR 18(230), 2018\n"
        "E. Ndiaye, O. Fercoq, A. Gramfort, J. Salmon: Gap Safe Screening Rules. JMLR 18(128), 2017";
    static const hawser_head heads[] = {
        {.name = "prediction", .width = hw_multitask_outputs, .compute = hw_multitask_predict}, {0}};
    static const hawser_algorithm algorithm = {.name = "multitask",
                                               .summary = "linear regression on several targets that share their columns",
                                               .citations = citations,
                                               .rows = hw_multitask_rows,
                                               .no_offset = true,
                                               .metrics = hw_multitask_metrics,
                                               HW_LINEAR_ALGORITHM(units),
                                               .heads = heads,
                                               .evaluate = hw_multitask_evaluate,
                                               .measures = hw_multitask_measures};
    return &algorithm;
}
