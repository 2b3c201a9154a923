/* driver.c - what the driver decides at agreed clocks: lambdas, certificates, when rounds end, and the safeguard. */
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "algorithms/lasso/certificate.h"
#include "algorithms/lasso/extrapolate.h"
#include "algorithms/lasso/joint.h"
#include "algorithms/lasso/problem.h"

enum {
    MOST_SPRINTS = 4,                    /* of HW_LASSO_HISTORY rounds and an extrapolation, between two certificates */
    MOST_STRIDES = 2 * HW_LASSO_HISTORY, /* sprints that are extrapolated over as a whole, between two certificates */
    MOST_ROUNDS = 30,                    /* between two certificates */
    BLIND_ROUNDS = 10,     /* the same, where the blocks cannot tell how far they are or what they compute on is stale */
    PATIENCE = 12,         /* certificates without progress: floating point has given what it can */
    BLOCKS_PATIENCE = 100, /* the same where several blocks bring the gap down slowly and not evenly */
    DOUBLINGS = 4          /* of sigma' before the rounds are run under BSP */
};

static void note(hw_lasso *lasso, const char *text)
{
    for (size_t k = 0; lasso->training != NULL && k < sizeof lasso->training->notes / sizeof *lasso->training->notes; k++)
        if (lasso->training->notes[k][0] == '\0') {
            snprintf(lasso->training->notes[k], sizeof lasso->training->notes[k], "%s", text);
            return;
        }
}

static size_t lambda_index(const hw_lasso *lasso) /* every second fold goes up again: it starts where the last one ended */
{
    return lasso->fold_at % 2 == 0 ? lasso->at : lasso->lambda_count - 1 - lasso->at;
}

static void begin_lambda(hw_lasso *lasso, hawser_progress *progress)
{
    hawser_progress_set(progress, "lambda", lasso->lambdas[lambda_index(lasso)]);
    hawser_progress_set(progress, "lambda_number", (double)lambda_index(lasso));
    lasso->gap = lasso->best_gap = lasso->objective = lasso->best_objective = INFINITY;
    lasso->stale_certificates = 0;
    lasso->certified = lasso->at_precision = false;
}

bool hw_lasso_begin_path(hawser_progress *progress, void *user)
{
    hw_lasso *lasso = user;
    lasso->zero_objective = hawser_progress_metric(progress, "zero_objective");
    if (lasso->fold_at == 0)
        lasso->whole_zero_objective = lasso->zero_objective;
    if (lasso->fold_at == 0)
        hw_lasso_grid(lasso, hawser_progress_metric(progress, "lambda_max"));
    lasso->at = 0;
    lasso->begun = true;
    begin_lambda(lasso, progress);
    return true; /* the branch is there for the driver to have a word between the first scan and the path */
}

/* Objective and gap of the point that was just measured. */
static void certify(hw_lasso *lasso, hawser_progress *progress)
{
    hw_lasso_sums sums = {.loss = hawser_progress_metric(progress, "loss"),
                          .square = hawser_progress_metric(progress, "square"),
                          .target = hawser_progress_metric(progress, "target"),
                          .penalty = hawser_progress_metric(progress, "penalty"),
                          .curved = hawser_progress_metric(progress, "curved"),
                          .ratio = hawser_progress_metric(progress, "ratio")};
    double gap = hw_lasso_gap(&sums, hawser_progress_metric(progress, "conjugate"),
                              hawser_progress_metric(progress, "plain_conjugate"), lasso->zero_objective);
    bool better =
        gap < 0.99 * lasso->best_gap || hw_lasso_primal(&sums) < lasso->best_objective - 1e-14 * lasso->zero_objective;
    lasso->stale_certificates = better ? 0 : lasso->stale_certificates + 1;
    lasso->best_gap = gap < lasso->best_gap ? gap : lasso->best_gap;
    lasso->objective = hw_lasso_primal(&sums);
    lasso->best_objective = lasso->objective < lasso->best_objective ? lasso->objective : lasso->best_objective;
    lasso->last_gap = lasso->gap;
    lasso->gap = gap;
    lasso->certified = gap <= lasso->settings.tolerance * lasso->zero_objective;
    lasso->at_precision =
        !lasso->certified && lasso->stale_certificates >= (lasso->blocks == 1 ? PATIENCE : BLOCKS_PATIENCE);
    hawser_progress_set(progress, "objective", lasso->objective);
    hawser_progress_set(progress, "gap", gap);
}

/* Staleness beyond what sigma' covers shows as a rising objective: be more careful, and in the end wait for each other. */
static void safeguard(hw_lasso *lasso, hawser_progress *progress, double before)
{
    double safe = lasso->damping * lasso->blocks; /* in step, this much always converges: less can only be asked for */
    if ((lasso->blocks < 2 && lasso->gain >= safe) ||
        lasso->objective <= before * (1.0 + 1e-9) + 1e-12 * lasso->zero_objective)
        return;
    char text[300];
    if (lasso->doublings++ < DOUBLINGS || lasso->gain < safe) {
        lasso->gain *= 2.0;
        hawser_progress_gain(progress, "v", lasso->gain);
        snprintf(text, sizeof text, "the objective rose from %.6g to %.6g: sigma' doubled to %g", before, lasso->objective,
                 lasso->gain);
    } else if (lasso->sync.tightness != HAWSER_BSP) {
        lasso->sync = hawser_bsp();
        hawser_progress_sync(progress, "rounds", lasso->sync);
        snprintf(text, sizeof text, "the objective rose again to %.6g: the rounds go on under bsp", lasso->objective);
    } else {
        return;
    }
    lasso->stale_certificates = 0;
    note(lasso, text);
}

bool hw_lasso_open(hawser_progress *progress, void *user)
{
    hw_lasso *lasso = user;
    double before = lasso->objective;
    certify(lasso, progress);
    safeguard(lasso, progress, before);
    return !lasso->certified && !lasso->at_precision;
}

bool hw_lasso_slow(hawser_progress *progress, void *user)
{
    const hw_lasso *lasso = user;
    (void)progress;
    return lasso->gap > 0.3 * lasso->last_gap;
}

bool hw_lasso_certified(hawser_progress *progress, void *user)
{
    const hw_lasso *lasso = user;
    (void)progress;
    return lasso->certified || lasso->at_precision;
}

/* How little the members of the working sets may be from their optimum before the other columns matter more. */
static double enough(const hw_lasso *lasso)
{
    double fraction = 0.02 * lasso->gap, least = 0.3 * lasso->settings.tolerance * lasso->zero_objective;
    return fraction > least ? fraction : least;
}

bool hw_lasso_small(hawser_progress *progress, void *user)
{
    const hw_lasso *lasso = user;
    return hawser_progress_metric(progress, "largest_set") <= (double)hw_lasso_joint_room(lasso->X->cols, lasso->blocks);
}

bool hw_lasso_sprints_done(hawser_progress *progress, void *user)
{
    const hw_lasso *lasso = user;
    uint64_t sprints = hawser_progress_clock(progress) + 1;
    return sprints >= (lasso->strided ? MOST_STRIDES : MOST_SPRINTS) ||
           hawser_progress_metric(progress, "slack") <= enough(lasso);
}

bool hw_lasso_rounds_done(hawser_progress *progress, void *user)
{
    const hw_lasso *lasso = user;
    uint64_t rounds = hawser_progress_clock(progress) + 1;
    double slack = hawser_progress_metric(progress, "slack");
    bool blind = !(slack < DBL_MAX) || lasso->sync.tightness != HAWSER_BSP;
    return slack <= enough(lasso) || rounds >= (blind ? BLIND_ROUNDS : MOST_ROUNDS);
}

bool hw_lasso_next_lambda(hawser_progress *progress, void *user)
{
    hw_lasso *lasso = user;
    double weight = hawser_progress_metric(progress, "held_weight"),
           squares = hawser_progress_metric(progress, "held_squares");
    size_t index = lambda_index(lasso);
    if (lasso->fold_at == 0)
        lasso->rows[index] = (hw_lasso_row){.lambda = lasso->lambdas[index],
                                            .objective = lasso->objective,
                                            .gap = lasso->gap,
                                            .penalty = hawser_progress_metric(progress, "penalty"),
                                            .nonzeros = hawser_progress_metric(progress, "nonzeros"),
                                            .intercept = hawser_progress_metric(progress, "intercept"),
                                            .error = weight > 0.0 ? squares / weight : NAN,
                                            .precision = lasso->at_precision,
                                            .done = !hawser_progress_stopping(progress)};
    else {
        /* A fold whose rows all weigh nothing says nothing: its error counts with weight zero. */
        lasso->errors[(lasso->fold_at - 1) * lasso->lambda_count + index] = weight > 0.0 ? squares / weight : 0.0;
        lasso->fold_weights[lasso->fold_at - 1] = weight;
    }
    if (++lasso->at >= lasso->lambda_count)
        return true;
    begin_lambda(lasso, progress);
    return false;
}

bool hw_lasso_next_fold(hawser_progress *progress, void *user)
{
    hw_lasso *lasso = user;
    if (lasso->fold_at >= lasso->settings.folds)
        return true;
    lasso->fold_at++;
    hawser_progress_set(progress, "fold", (double)lasso->fold_at);
    return false;
}
