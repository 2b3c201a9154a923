/* driver.c - what the driver decides at agreed clocks: lambdas, certificates, when rounds end, and the safeguard. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algorithms/glm/policy.h"
#include "algorithms/solve/extrapolate.h"

enum {
    MOST_SPRINTS = 4,                     /* of HW_LINEAR_HISTORY rounds and an extrapolation, between two certificates */
    MOST_STRIDES = 2 * HW_LINEAR_HISTORY, /* sprints that are extrapolated over as a whole, between two certificates */
    MOST_ROUNDS = 30,                     /* between two certificates */
    BLIND_ROUNDS = 10,     /* the same, where the blocks cannot tell how far they are or what they compute on is stale */
    PATIENCE = 12,         /* certificates without progress: floating point has given what it can */
    BLOCKS_PATIENCE = 100, /* the same where several blocks bring the gap down slowly and not evenly */
    WATCHED = 6,           /* certificates over which the gap of rounds that do not crawl falls by half */
    DOUBLINGS = 4          /* of sigma' before the rounds are run under BSP */
};

static const double NOISE = 0.05;
static const double STALLED = 1e-3;   /* of the objective at zero: a gap above this is not one that rounding leaves */
static const double FAR_ABOVE = 10.0; /* times the objective of the start or of zero, whichever is larger */
static const double COIN =
    0.69314718055994531;     /* log loss of weights of zero; where classes differ in size it may be less */
enum { MOST_RESTORES = 40 }; /* in a row: averaging goes back by digits */

static void note(hw_linear *linear, const char *text)
{
    for (size_t k = 0; linear->training != NULL && k < sizeof linear->training->notes / sizeof *linear->training->notes; k++)
        if (linear->training->notes[k][0] == '\0') {
            snprintf(linear->training->notes[k], sizeof linear->training->notes[k], "%s", text);
            return;
        }
}

static size_t lambda_index(const hw_linear *linear) /* every second fold goes up again: it starts where the last one ended */
{
    return linear->fold_at % 2 == 0 ? linear->at : linear->lambda_count - 1 - linear->at;
}

double hw_linear_current_lambda(const hw_linear *linear)
{
    return linear->lambdas[lambda_index(linear)];
}

static void begin_lambda(hw_linear *linear, hawser_progress *progress)
{
    hawser_progress_set(progress, "lambda", hw_linear_current_lambda(linear));
    hawser_progress_set(progress, "lambda_number", (double)lambda_index(linear));
    linear->gap = linear->best_gap = linear->objective = linear->best_objective = INFINITY;
    linear->stale_certificates = 0;
    linear->certified = linear->at_precision = linear->at_limit = linear->restoring = false;
    linear->start_objective = INFINITY;
    linear->work_done = 0;
    linear->watched = 0;
    hawser_progress_set(progress, "best", INFINITY);
}

/* The allowance for rounding in certificates is 16 DBL_EPSILON of the objective: below it no gap is ever found. */
static void note_unreachable(hw_linear *linear)
{
    char text[300];
    double least = 16.0 * DBL_EPSILON;
    if (linear->settings.tolerance > least)
        return;
    snprintf(
        text, sizeof text,
        "--tol %g cannot be reached: rounding alone leaves a gap of %.2g of the objective at zero; the training ends when "
        "nothing more is gained",
        linear->settings.tolerance, least);
    note(linear, text);
}

bool hw_linear_begin_path(hawser_progress *progress, void *user)
{
    hw_linear *linear = user;
    linear->zero_objective = hawser_progress_metric(progress, "zero_objective");
    if (linear->fold_at == 0)
        linear->whole_zero_objective = linear->zero_objective;
    if (linear->fold_at == 0)
        hw_linear_grid(linear, hawser_progress_metric(progress, "lambda_max"));
    if (linear->fold_at == 0)
        note_unreachable(linear);
    linear->at = 0;
    linear->begun = true;
    begin_lambda(linear, progress);
    return true; /* the branch is there for the driver to have a word between the first scan and the path */
}

static double metric(const void *progress, const char *name)
{
    return hawser_progress_metric(progress, name);
}

/* Objective and gap of the point that was just measured. */
static void certify(hw_linear *linear, hawser_progress *progress)
{
    double objective = 0.0, gap = 0.0;
    linear->kind->certificate(metric, progress, linear->zero_objective, &objective, &gap);
    bool better = gap < 0.99 * linear->best_gap || objective < linear->best_objective - 1e-14 * linear->zero_objective;
    bool keep = isfinite(objective) && objective <= linear->best_objective;
    linear->stale_certificates = better ? 0 : linear->stale_certificates + 1;
    linear->best_gap = gap < linear->best_gap ? gap : linear->best_gap;
    linear->objective = objective;
    linear->best_objective = keep ? objective : linear->best_objective;
    linear->start_objective = isinf(linear->start_objective) ? objective : linear->start_objective;
    linear->last_gap = linear->gap;
    linear->gap = gap;
    linear->certified = gap <= linear->settings.tolerance * linear->zero_objective;
    hawser_progress_set(progress, "objective", linear->objective);
    hawser_progress_set(progress, "gap", gap);
    linear->last_intercept = hawser_progress_metric(progress, "intercept");
    if (keep) {
        linear->kept_row = (hw_linear_row){.lambda = hw_linear_current_lambda(linear),
                                           .objective = objective,
                                           .gap = gap,
                                           .penalty = hawser_progress_metric(progress, "penalty"),
                                           .nonzeros = hawser_progress_metric(progress, "nonzeros"),
                                           .intercept = linear->last_intercept,
                                           .error = NAN,
                                           .done = true};
        linear->kept_worked = hawser_progress_clocks(progress) > 0;
        linear->keeps++;
    }
    hawser_progress_set(progress, "keep", keep ? linear->keeps : 0.0);
    hawser_progress_set(progress, "best", linear->best_objective);
}

static double noise_of(const hw_linear *linear, double least) /* batches make the objective rise now and then */
{
    return linear->settings.batch > 0 ? NOISE : least;
}

static double safe_gain(const hw_linear *linear) /* in step, this much always converges: less can only be asked for */
{
    return linear->damping * linear->blocks;
}

bool hw_linear_is_worse(const hw_linear *linear, double objective, double best, double zero_objective)
{
    return !isfinite(objective) || objective > best * (1.0 + 1e-6) + noise_of(linear, 1e-9) * zero_objective;
}

bool hw_linear_is_far(const hw_linear *linear, double objective, double start, double zero_objective)
{
    double least = linear->settings.stored ? fmax(COIN, zero_objective) : zero_objective;
    return !(objective <= FAR_ABOVE * (isfinite(start) ? fmax(start, least) : least));
}

/* Staleness beyond what sigma' covers shows as a rising objective: be more careful, and in the end wait for each other. */
static void safeguard(hw_linear *linear, hawser_progress *progress, double before)
{
    double safe = safe_gain(linear);
    bool rose = !isfinite(linear->objective) ||
                linear->objective > before * (1.0 + 1e-9) + noise_of(linear, 1e-12) * linear->zero_objective;
    if (!rose || (!linear->settings.stored && linear->blocks < 2 && linear->gain >= safe))
        return;
    char text[300];
    if (linear->settings.stored) {
        double caution = ldexp(1.0, (int)++linear->doublings);
        hawser_progress_set(progress, "caution", caution);
        snprintf(text, sizeof text, "the objective rose from %.6g to %.6g: steps are shortened %g times", before,
                 linear->objective, caution);
    } else if (linear->doublings++ < DOUBLINGS || linear->gain < safe * linear->flights) {
        linear->gain *= 2.0;
        hawser_progress_gain(progress, "v", linear->gain);
        snprintf(text, sizeof text, "the objective rose from %.6g to %.6g: sigma' doubled to %g", before, linear->objective,
                 linear->gain);
    } else if (linear->sync.tightness != HAWSER_BSP) {
        linear->sync = hawser_bsp();
        hawser_progress_sync(progress, "rounds", linear->sync);
        snprintf(text, sizeof text, "the objective rose again to %.6g: the rounds go on under bsp", linear->objective);
    } else {
        return;
    }
    linear->stale_certificates = 0;
    note(linear, text);
}

/* Rounds that bring nothing more while the gap is large are tried once more in step, with a sigma' that always converges. */
static bool tries_safest(hw_linear *linear, hawser_progress *progress)
{
    double safe = safe_gain(linear);
    if (linear->settings.stored || linear->blocks < 2 || (linear->sync.tightness == HAWSER_BSP && linear->gain >= safe))
        return false;
    char text[300];
    linear->gain = fmax(linear->gain, safe);
    linear->sync = hawser_bsp();
    hawser_progress_gain(progress, "v", linear->gain);
    hawser_progress_sync(progress, "rounds", linear->sync);
    snprintf(text, sizeof text, "no progress at a gap of %.3g: the rounds go on under bsp, with sigma' %g", linear->gap,
             linear->gain);
    linear->stale_certificates = 0;
    note(linear, text);
    return true;
}

static void fail(hw_linear *linear, hawser_progress *progress, hw_linear_failure failure)
{
    if (linear->failure != HW_LINEAR_SOUND)
        return;
    linear->failure = failure;
    linear->failed_lambda = hw_linear_current_lambda(linear);
    linear->failed_objective = linear->objective;
    linear->failed_gap = linear->gap;
    hawser_progress_set(progress, "failure", (double)failure);
}

/* Rounds of several blocks that bring the gap down by less than half over many certificates crawl: says so once, and what helps. */
static void watch_rounds(hw_linear *linear, const hawser_progress *progress)
{
    if (linear->crawled || linear->settings.stored || linear->blocks < 2 || linear->joint)
        return;
    if (linear->watched++ == 0) {
        linear->watched_gap = linear->gap;
        linear->watched_clock = hawser_progress_clocks(progress);
    }
    if (linear->watched <= WATCHED)
        return;
    linear->watched = 0;
    if (!isfinite(linear->watched_gap) || !(linear->gap > 0.5 * linear->watched_gap))
        return;
    char text[300], better[200];
    hw_linear_better_policy(linear, linear->options, better, sizeof better);
    snprintf(text, sizeof text, "the rounds crawl: in the last %llu clocks the gap went from %.3g to %.3g; %s",
             (unsigned long long)(hawser_progress_clocks(progress) - linear->watched_clock), linear->watched_gap,
             linear->gap, better);
    note(linear, text);
    linear->crawled = true;
}

/* Whether this lambda ends here though the gap is above the tolerance. Batches come nearer by chance, now and then: they end with their
 * epochs. */
static void judge(hw_linear *linear, hawser_progress *progress)
{
    unsigned patience = linear->blocks == 1 ? PATIENCE : BLOCKS_PATIENCE;
    linear->at_precision = linear->work_most == 0 && linear->stale_certificates >= patience;
    linear->at_limit = linear->work_most > 0 && linear->work_done++ >= linear->work_most;
    if (linear->at_precision && linear->gap > STALLED * linear->zero_objective) {
        linear->at_precision = !tries_safest(linear, progress);
        if (linear->at_precision)
            fail(linear, progress, HW_LINEAR_STALLED);
    }
}

/* A point that is worse than the best one is left for that one: the work goes on, or ends, from there. */
bool hw_linear_open(hawser_progress *progress, void *user)
{
    hw_linear *linear = user;
    double before = linear->objective;
    bool over = linear->at_precision || linear->at_limit;
    certify(linear, progress);
    bool worse =
        !linear->certified && hw_linear_is_worse(linear, linear->objective, linear->best_objective, linear->zero_objective);
    if (!linear->restoring) {
        if (!linear->certified)
            safeguard(linear, progress, before);
        linear->at_precision = linear->at_limit = over = false;
        if (!linear->certified) {
            judge(linear, progress);
            watch_rounds(linear, progress);
        }
        over = linear->at_precision || linear->at_limit;
        if (over && worse && hw_linear_is_far(linear, linear->objective, linear->start_objective, linear->zero_objective))
            fail(linear, progress, HW_LINEAR_DIVERGED);
    }
    linear->restores = worse ? linear->restores + 1 : 0;
    linear->restoring = worse && linear->restores <= MOST_RESTORES;
    return !linear->certified && (!over || linear->restoring);
}

bool hw_linear_restoring(hawser_progress *progress, void *user)
{
    (void)progress;
    return ((const hw_linear *)user)->restoring;
}

bool hw_linear_uncurved(hawser_progress *progress, void *user)
{
    hw_linear *linear = user;
    (void)progress;
    if (linear->curved == linear->fold_at + 1)
        return false;
    linear->curved = linear->fold_at + 1;
    return true;
}

bool hw_linear_slow(hawser_progress *progress, void *user)
{
    const hw_linear *linear = user;
    (void)progress;
    return linear->gap > 0.3 * linear->last_gap;
}

bool hw_linear_certified(hawser_progress *progress, void *user)
{
    const hw_linear *linear = user;
    (void)progress;
    return linear->certified || (!linear->restoring && (linear->at_precision || linear->at_limit));
}

/* How little the members of the working sets may be from their optimum before the other columns matter more. */
static double enough(const hw_linear *linear)
{
    double fraction = 0.02 * linear->gap, least = 0.3 * linear->settings.tolerance * linear->zero_objective;
    return fraction > least ? fraction : least;
}

bool hw_linear_small(hawser_progress *progress, void *user)
{
    const hw_linear *linear = user;
    return hawser_progress_metric(progress, "largest_set") <= (double)hw_linear_room(linear);
}

/* Rounds in flight that overshoot: between certificates extrapolation and searches may still bring the objective down, but by no help of
 * theirs. sigma' grows towards what covers the staleness. */
static void watch_sprint(hw_linear *linear, hawser_progress *progress)
{
    double before = metric(progress, "sprint_loss") + metric(progress, "sprint_penalty");
    double after = metric(progress, "reached_loss") + metric(progress, "reached_penalty");
    double most = safe_gain(linear) * linear->flights;
    if (after <= before * (1.0 + 1e-9) + 1e-12 * linear->zero_objective || linear->gain >= most)
        return;
    char text[300];
    linear->gain = fmin(2.0 * linear->gain, most);
    hawser_progress_gain(progress, "v", linear->gain);
    snprintf(text, sizeof text, "rounds overshoot (the objective rose from %.6g to %.6g): sigma' raised to %g", before,
             after, linear->gain);
    note(linear, text);
}

bool hw_linear_sprints_done(hawser_progress *progress, void *user)
{
    hw_linear *linear = user;
    uint64_t sprints = hawser_progress_clock(progress) + 1;
    if (linear->strided)
        watch_sprint(linear, progress);
    return sprints >= (linear->strided ? MOST_STRIDES : MOST_SPRINTS) ||
           hawser_progress_metric(progress, "slack") <= enough(linear);
}

bool hw_linear_rounds_done(hawser_progress *progress, void *user)
{
    const hw_linear *linear = user;
    uint64_t rounds = hawser_progress_clock(progress) + 1;
    double slack = hawser_progress_metric(progress, "slack");
    bool blind = !(slack < DBL_MAX) || linear->sync.tightness != HAWSER_BSP;
    return slack <= enough(linear) || rounds >= (blind ? BLIND_ROUNDS : MOST_ROUNDS);
}

bool hw_linear_next_lambda(hawser_progress *progress, void *user)
{
    hw_linear *linear = user;
    double weight = hawser_progress_metric(progress, "held_weight"),
           errors = hawser_progress_metric(progress, "held_errors");
    size_t index = lambda_index(linear);
    if (linear->fold_at == 0)
        linear->rows[index] = (hw_linear_row){.lambda = linear->lambdas[index],
                                              .objective = linear->objective,
                                              .gap = linear->gap,
                                              .penalty = hawser_progress_metric(progress, "penalty"),
                                              .nonzeros = hawser_progress_metric(progress, "nonzeros"),
                                              .intercept = hawser_progress_metric(progress, "intercept"),
                                              .error = weight > 0.0 ? errors / weight : NAN,
                                              .precision = linear->at_precision,
                                              .spent = linear->at_limit,
                                              .done = !hawser_progress_stopping(progress)};
    else {
        /* A fold whose rows all weigh nothing says nothing: its error counts with weight zero. */
        linear->errors[(linear->fold_at - 1) * linear->lambda_count + index] = weight > 0.0 ? errors / weight : 0.0;
        linear->fold_weights[linear->fold_at - 1] = weight;
    }
    if (++linear->at >= linear->lambda_count)
        return true;
    begin_lambda(linear, progress);
    return false;
}

bool hw_linear_next_fold(hawser_progress *progress, void *user)
{
    hw_linear *linear = user;
    if (linear->fold_at >= linear->settings.folds)
        return true;
    linear->fold_at++;
    hawser_progress_set(progress, "fold", (double)linear->fold_at);
    return false;
}

bool hw_linear_set_rest(hawser_progress *progress, void *user)
{
    hawser_progress_set(progress, "lambda", ((const hw_linear *)user)->rest_lambda);
    return true;
}
