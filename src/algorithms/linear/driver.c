/* driver.c - what the driver decides at agreed clocks: lambdas, certificates, when rounds end, and the safeguard. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algorithms/linear/extrapolate.h"
#include "algorithms/linear/problem.h"

enum {
    MOST_SPRINTS = 4,                     /* of HW_LINEAR_HISTORY rounds and an extrapolation, between two certificates */
    MOST_STRIDES = 2 * HW_LINEAR_HISTORY, /* sprints that are extrapolated over as a whole, between two certificates */
    MOST_ROUNDS = 30,                     /* between two certificates */
    BLIND_ROUNDS = 10,     /* the same, where the blocks cannot tell how far they are or what they compute on is stale */
    PATIENCE = 12,         /* certificates without progress: floating point has given what it can */
    BLOCKS_PATIENCE = 100, /* the same where several blocks bring the gap down slowly and not evenly */
    DOUBLINGS = 4          /* of sigma' before the rounds are run under BSP */
};

static const double NOISE = 0.05;

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

static void begin_lambda(hw_linear *linear, hawser_progress *progress)
{
    hawser_progress_set(progress, "lambda", linear->lambdas[lambda_index(linear)]);
    hawser_progress_set(progress, "lambda_number", (double)lambda_index(linear));
    linear->gap = linear->best_gap = linear->objective = linear->best_objective = INFINITY;
    linear->stale_certificates = 0;
    linear->certified = linear->at_precision = linear->at_limit = false;
    linear->work_done = 0;
}

bool hw_linear_begin_path(hawser_progress *progress, void *user)
{
    hw_linear *linear = user;
    linear->zero_objective = hawser_progress_metric(progress, "zero_objective");
    if (linear->fold_at == 0)
        linear->whole_zero_objective = linear->zero_objective;
    if (linear->fold_at == 0)
        hw_linear_grid(linear, hawser_progress_metric(progress, "lambda_max"));
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
    linear->stale_certificates = better ? 0 : linear->stale_certificates + 1;
    linear->best_gap = gap < linear->best_gap ? gap : linear->best_gap;
    linear->objective = objective;
    linear->best_objective = linear->objective < linear->best_objective ? linear->objective : linear->best_objective;
    linear->last_gap = linear->gap;
    linear->gap = gap;
    linear->certified = gap <= linear->settings.tolerance * linear->zero_objective;
    unsigned patience = linear->blocks == 1 ? PATIENCE : BLOCKS_PATIENCE;
    /* Batches come nearer by chance, now and then: they end with their epochs. */
    linear->at_precision = !linear->certified && linear->work_most == 0 && linear->stale_certificates >= patience;
    hawser_progress_set(progress, "objective", linear->objective);
    hawser_progress_set(progress, "gap", gap);
}

/* Staleness beyond what sigma' covers shows as a rising objective: be more careful, and in the end wait for each other. */
static void safeguard(hw_linear *linear, hawser_progress *progress, double before)
{
    double safe = linear->damping * linear->blocks; /* in step, this much always converges: less can only be asked for */
    double noise = linear->settings.batch > 0 ? NOISE : 1e-12; /* batches make it rise now and then */
    if ((!linear->settings.stored && linear->blocks < 2 && linear->gain >= safe) ||
        linear->objective <= before * (1.0 + 1e-9) + noise * linear->zero_objective)
        return;
    char text[300];
    if (linear->settings.stored) {
        double caution = ldexp(1.0, (int)++linear->doublings);
        hawser_progress_set(progress, "caution", caution);
        snprintf(text, sizeof text, "the objective rose from %.6g to %.6g: steps are shortened %g times", before,
                 linear->objective, caution);
    } else if (linear->doublings++ < DOUBLINGS || linear->gain < safe) {
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

bool hw_linear_open(hawser_progress *progress, void *user)
{
    hw_linear *linear = user;
    double before = linear->objective;
    certify(linear, progress);
    safeguard(linear, progress, before);
    linear->at_limit = !linear->certified && linear->work_most > 0 && linear->work_done++ >= linear->work_most;
    return !linear->certified && !linear->at_precision && !linear->at_limit;
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
    return linear->certified || linear->at_precision || linear->at_limit;
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
    return hawser_progress_metric(progress, "largest_set") <= (double)hw_linear_room(linear->X->cols, linear->blocks);
}

bool hw_linear_shared(hawser_progress *progress, void *user)
{
    (void)user;
    return hawser_progress_metric(progress, "shared") > 0.0;
}

bool hw_linear_solved(hawser_progress *progress, void *user)
{
    (void)user;
    return hawser_progress_metric(progress, "unsolved") <= 0.0;
}

bool hw_linear_sprints_done(hawser_progress *progress, void *user)
{
    const hw_linear *linear = user;
    uint64_t sprints = hawser_progress_clock(progress) + 1;
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
