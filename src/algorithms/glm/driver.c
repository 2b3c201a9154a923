#include "algorithms/glm/driver.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "algorithms/glm/path.h"
#include "algorithms/glm/policy.h"
#include "algorithms/glm/validation.h"
#include "algorithms/model/facts.h"
#include "algorithms/solve/extrapolate.h"
#include "hawser/advanced.h"
#include "hawser/kept_points.h"

enum {
    MOST_SPRINTS = 4,                     /* of HW_LINEAR_HISTORY rounds and an extrapolation, between two certificates */
    MOST_STRIDES = 2 * HW_LINEAR_HISTORY, /* sprints that are extrapolated over as a whole, between two certificates */
    MOST_ROUNDS = 30,                     /* between two certificates */
    LEAST_ROUNDS = 3,                     /* the same, where they are planned */
    BLIND_ROUNDS = 10,                    /* the same, if blocks do not know their local gap or work on stale values */
    MOST_STALE = 12,                      /* certificates without progress, after which only rounding is left */
    BLOCKS_MOST_STALE = 100,              /* the same for several blocks, which lower the gap slowly and unevenly */
    WATCHED = 6,                          /* certificates over which rounds that make progress halve the gap */
    GROUP = 10,   /* lambdas by which a path goes on, and by which its least error must precede its end */
    DOUBLINGS = 4 /* of sigma' before the rounds are run under BSP */
};

static const double NOISE = 0.05;
static const double RESERVE = 1.2;                        /* times the rounds that the fall of the gap lets expect */
static const double EXPLAINED = 0.999, LEAST_GAIN = 1e-5; /* of the loss, as glmnet's defaults */
static const double STALLED = 1e-3;             /* of the objective at zero: rounding does not explain a larger gap */
static const double FAR_ABOVE = 10.0;           /* times the objective of the start or of zero, whichever is larger */
static const double COIN = 0.69314718055994531; /* log loss of weights of zero; less if classes differ in size */
enum { MOST_RESTORES = 40 };                    /* in a row: under averaging each restores some digits */

/* Returns the lambda that is number `at` of the group in this fold. Every second fold goes through the lambdas upwards,
 * because it starts where the last one ended. */
static size_t lambda_at(const hw_linear_record *record, size_t at)
{
    return record->fold_at % 2 == 0 ? record->first + at : record->results.count - 1 - at;
}

static size_t lambda_index(const hw_linear_record *record)
{
    return lambda_at(record, record->at);
}

double hw_linear_current_lambda(const hw_linear_record *record)
{
    return record->lambdas[lambda_index(record)];
}

/* Publishes how many fits are left of the lambdas that are known, and by how many lambdas the path may go on. Within a fold,
 * fits count by the time that they took with all rows, as smaller lambdas take longer. */
static void count_fits(const hw_linear_record *record, hawser_progress *progress)
{
    size_t group = record->results.count - record->first;
    double left = 0.0, all = 0.0;
    for (size_t k = 0; k < group && record->fold_at > 0; k++) {
        double seconds = record->results.rows[lambda_at(record, k)].seconds;
        all += seconds;
        left += k >= record->at ? seconds : 0.0;
    }
    left = all > 0.0 ? left / all * (double)group : (double)(group - record->at);
    hawser_progress_set(progress, "fits_left", left + (double)(group * (record->results.folds - record->fold_at)));
    hawser_progress_set(progress, "lambdas_free", (double)(record->results.most - record->results.count));
}

static void begin_lambda(hw_linear_driver *driver, hawser_progress *progress)
{
    hw_linear_record *record = &driver->record;
    count_fits(record, progress);
    record->began = hawser_progress_seconds(progress);
    hawser_progress_set(progress, "lambda", hw_linear_current_lambda(record));
    hawser_progress_set(progress, "lambda_number", (double)lambda_index(record));
    hawser_progress_set(progress, "objective", INFINITY); /* those of the last lambda are not this one's */
    hawser_progress_set(progress, "gap", INFINITY);
    record->gap = record->best_gap = record->objective = record->best_objective = INFINITY;
    record->stale_certificates = 0;
    record->certified = record->at_precision = record->at_limit = record->restoring = false;
    record->start_objective = INFINITY;
    record->work_done = 0;
    record->watched = 0;
    record->early.error = NAN;
    if (hw_linear_validates(driver->linear))
        hawser_progress_set(progress, driver->linear->problem.kind->validation_name, INFINITY);
}

/* Notes a tolerance that no certificate can reach: it allows 16 DBL_EPSILON of the objective for rounding. */
static void note_unreachable(const hw_linear_driver *driver)
{
    double least = 16.0 * DBL_EPSILON, tolerance = driver->linear->choices.settings.tolerance;
    if (tolerance <= least)
        hw_note(driver->training,
                "--tol %g cannot be reached: rounding alone leaves a gap of %.2g of the objective at zero; the training "
                "ends when there is no more progress",
                tolerance, least);
}

static void note_assumed(const hw_linear_driver *driver)
{
    const hw_linear_settings *settings = &driver->linear->choices.settings;
    hawser_training *training = driver->training;
    if (settings->choice.assumed && training != NULL)
        snprintf(training->assumed, sizeof training->assumed,
                 "lambda %.4g was assumed, %g of lambda_max; --cv 10 chooses one by the data, --lambda sets one",
                 driver->record.lambdas[0], settings->choice.lambda_ratio);
}

/* Leaves one lambda of a path that the data should choose: no column enters at any. */
static void shorten(hw_linear_driver *driver)
{
    const hw_linear_settings *settings = &driver->linear->choices.settings;
    if (settings->choice.path_list != NULL || settings->choice.path_count == 0)
        return;
    driver->record.results.count = 1;
    hw_note(driver->training,
            "the path has one lambda, 0: no column is correlated with the target, so the model is the intercept");
}

bool hw_linear_begin_path(hawser_progress *progress, void *user)
{
    hw_linear_driver *driver = user;
    hw_linear_record *record = &driver->record;
    const hw_linear_problem *problem = &driver->linear->problem;
    record->zero_objective = hawser_progress_metric(progress, "zero_objective");
    record->reach = hawser_progress_metric(progress, "reach");
    if (record->fold_at == 0 && record->first == 0) {
        record->whole_zero_objective = record->zero_objective;
        record->lambda_max = hawser_progress_metric(progress, "lambda_max");
        record->rounding = problem->kind->rounding != NULL ? problem->kind->rounding(problem) : 0.0;
        hw_linear_grid(driver->linear, record->lambda_max, record->lambdas);
        if (record->lambda_max == 0.0)
            shorten(driver);
        record->stopped = hw_linear_vanishes(driver->linear, record->lambda_max,
                                             hawser_progress_metric(progress, "weakest")); /* hw_linear_train begins again */
        note_unreachable(driver);
        note_assumed(driver);
    }
    record->at = 0;
    record->begun = true;
    begin_lambda(driver, progress);
    return true; /* the branch only lets the driver choose the lambdas between the first scan and the path */
}

static double metric(const void *progress, const char *name)
{
    return hawser_progress_metric(progress, name);
}

/* Publishes the error on validation data of the point that was just certified, as `row`. With one lambda, --early-stopping
 * compares the errors of certificates. */
static void validate(hw_linear_driver *driver, hawser_progress *progress, const hw_member_row *row)
{
    hw_linear_record *record = &driver->record;
    double weight = hawser_progress_metric(progress, "valid_weight");
    if (record->fold_at > 0 || !hw_linear_validates(driver->linear))
        return;
    const hw_early *early = &driver->linear->early;
    record->early.error = weight > 0.0 ? hawser_progress_metric(progress, "valid_errors") / weight : NAN;
    record->early.evaluations++;
    hawser_progress_set(progress, driver->linear->problem.kind->validation_name, record->early.error);
    hawser_progress_set(progress, "evaluations", (double)record->early.evaluations);
    if (!hw_linear_keeps_valid(driver->linear))
        return;
    record->valid_last = hw_early_compare(early, &record->early);
    if (record->valid_last) {
        record->valid_row = *row;
        hawser_progress_keep(progress, HW_LINEAR_RESULT);
    }
    record->stopped = hw_early_ends(early, &record->early);
}

/* Returns the number of the kept point that is the best certified one. */
static uint32_t best_point(const hw_linear_driver *driver)
{
    return driver->record.kept_worked && !hw_linear_keeps_valid(driver->linear) ? HW_LINEAR_RESULT : HW_LINEAR_CERTIFIED;
}

/* Describes the point that was just certified. */
static hw_member_row row_of(const hw_linear_record *record, const hawser_progress *progress, double objective, double gap)
{
    return (hw_member_row){.lambda = hawser_progress_metric(progress, "lambda"),
                           .objective = objective,
                           .gap = gap,
                           .rounding = record->gap_rounding,
                           .penalty = hawser_progress_metric(progress, "penalty"),
                           .nonzeros = hawser_progress_metric(progress, "nonzeros"),
                           .intercept = hawser_progress_metric(progress, "intercept"),
                           .error = NAN,
                           .done = true};
}

/* Plans the rounds to the next certificate: once the runtime has changed rounds (HAWSER_ADAPT), as many as reach the
 * tolerance if the gap falls as since the last one. */
static void plan_rounds(hw_linear_driver *driver, const hawser_progress *progress, double enough)
{
    hw_linear_record *record = &driver->record;
    const double rounds = (double)(hawser_progress_clocks(progress) - record->certified_at);
    const double needed = rounds * log(record->gap / enough) / log(record->last_gap / record->gap);
    record->certified_at = hawser_progress_clocks(progress);
    record->rounds_planned = MOST_ROUNDS;
    const bool changed = driver->linear->choices.settings.adapts && hawser_progress_change(progress, 0) != NULL;
    if (changed && needed > 0.0 && isfinite(record->last_gap))
        record->rounds_planned = (uint64_t)fmin(fmax(ceil(RESERVE * needed), LEAST_ROUNDS), MOST_ROUNDS);
}

/* Takes the certificate of the point that was just measured, and publishes its objective and gap. */
static void certify(hw_linear_driver *driver, hawser_progress *progress)
{
    hw_linear_record *record = &driver->record;
    const hw_linear *linear = driver->linear;
    double objective = 0.0, gap = 0.0;
    linear->problem.kind->certificate(metric, progress, record->zero_objective, &objective, &gap);
    bool better = gap < 0.99 * record->best_gap || objective < record->best_objective - 1e-14 * record->zero_objective;
    bool keep = isfinite(objective) && objective <= record->best_objective;
    record->stale_certificates = better ? 0 : record->stale_certificates + 1;
    record->best_gap = gap < record->best_gap ? gap : record->best_gap;
    record->objective = objective;
    record->best_objective = keep ? objective : record->best_objective;
    record->start_objective = isinf(record->start_objective) ? objective : record->start_objective;
    record->last_gap = record->gap;
    record->gap = gap;
    record->gap_rounding = 2.0 * DBL_EPSILON * record->reach * fmax(record->zero_objective, objective);
    const double enough = fmax(linear->choices.settings.tolerance * record->zero_objective, record->rounding);
    record->certified = gap + record->gap_rounding <= enough;
    plan_rounds(driver, progress, enough);
    hawser_progress_set(progress, "objective", record->objective);
    hawser_progress_set(progress, "gap", gap);
    record->last_intercept = hawser_progress_metric(progress, "intercept");
    hw_member_row row = row_of(record, progress, objective, gap);
    validate(driver, progress, &row);
    if (keep) {
        record->kept_row = row;
        record->kept_worked = hawser_progress_clocks(progress) > 0;
        hawser_progress_keep(progress, best_point(driver));
    }
}

static double noise_of(const hw_linear_choices *choices, double least) /* with batches the objective sometimes rises */
{
    return choices->settings.batch > 0 ? NOISE : least;
}

static double safe_gain(
    const hw_linear_choices *choices) /* in step this sigma' always converges; only --sigma sets a smaller one */
{
    return choices->damping * choices->blocks;
}

/* Returns true if an objective is so much above the best that a training must not end with it. */
static bool linear_is_worse(const hw_linear_choices *choices, double objective, double best, double zero_objective)
{
    return !isfinite(objective) || objective > best * (1.0 + 1e-6) + noise_of(choices, 1e-9) * zero_objective;
}

/* Returns true if an objective is far above `start`, the objective where steps began, and above that of weights of zero. */
static bool linear_is_far(const hw_linear_choices *choices, double objective, double start, double zero_objective)
{
    double least = choices->settings.stored ? fmax(COIN, zero_objective) : zero_objective;
    return !(objective <= FAR_ABOVE * (isfinite(start) ? fmax(start, least) : least));
}

/* If staleness exceeds what sigma' covers, the objective rises: takes smaller steps, and in the end continues under bsp. */
static void safeguard(hw_linear_driver *driver, hawser_progress *progress, double before)
{
    hw_linear_record *record = &driver->record;
    const hw_linear_choices *choices = &driver->linear->choices;
    double safe = safe_gain(choices);
    bool rose = !isfinite(record->objective) ||
                record->objective > before * (1.0 + 1e-9) + noise_of(choices, 1e-12) * record->zero_objective;
    if (!rose || hw_linear_adapts_gain(choices) ||
        (!choices->settings.stored && choices->blocks < 2 && record->gain >= safe))
        return;
    if (choices->settings.stored) {
        double caution = ldexp(1.0, (int)++record->doublings);
        hawser_progress_set(progress, "caution", caution);
        hw_note(driver->training, "the objective rose from %.6g to %.6g: steps are shortened %g times", before,
                record->objective, caution);
    } else if (record->doublings++ < DOUBLINGS || record->gain < safe * choices->flights) {
        record->gain *= 2.0;
        hawser_progress_gain(progress, "v", record->gain);
        hw_note(driver->training, "the objective rose from %.6g to %.6g: sigma' doubled to %g", before, record->objective,
                record->gain);
    } else if (record->sync.tightness != HAWSER_BSP) {
        record->sync = hawser_bsp();
        hawser_progress_sync(progress, "rounds", record->sync);
        hw_note(driver->training, "the objective rose again to %.6g: the rounds go on under bsp", record->objective);
    } else {
        return;
    }
    record->stale_certificates = 0;
}

/* Tries rounds without progress at a large gap once more in step, with a sigma' that always converges. */
static bool tries_safest(hw_linear_driver *driver, hawser_progress *progress)
{
    hw_linear_record *record = &driver->record;
    const hw_linear_choices *choices = &driver->linear->choices;
    double safe = safe_gain(choices);
    if (choices->settings.stored || choices->blocks < 2 || (record->sync.tightness == HAWSER_BSP && record->gain >= safe))
        return false;
    record->gain = fmax(record->gain, safe);
    record->sync = hawser_bsp();
    hawser_progress_gain(progress, "v", record->gain);
    hawser_progress_sync(progress, "rounds", record->sync);
    hw_note(driver->training, "no progress at a gap of %.3g: the rounds go on under bsp, with sigma' %g", record->gap,
            record->gain);
    record->stale_certificates = 0;
    return true;
}

static void fail(hw_linear_record *record, hawser_progress *progress, hw_linear_failure failure)
{
    if (record->failure != HW_LINEAR_SOUND)
        return;
    record->failure = failure;
    record->failed_lambda = hw_linear_current_lambda(record);
    record->failed_objective = record->objective;
    record->failed_gap = record->gap;
    hawser_progress_set(progress, "failure", (double)failure);
}

/* Notes, once, that rounds of several blocks make little progress, if the gap falls by less than half over many
 * certificates, and a remedy. */
static void watch_rounds(hw_linear_driver *driver, const hawser_progress *progress)
{
    hw_linear_record *record = &driver->record;
    const hw_linear_choices *choices = &driver->linear->choices;
    if (record->crawled || choices->blocks < 2 || choices->route == HW_LINEAR_SERVER || choices->route == HW_LINEAR_JOINT)
        return;
    if (record->watched++ == 0) {
        record->watched_gap = record->gap;
        record->watched_clock = hawser_progress_clocks(progress);
    }
    if (record->watched <= WATCHED)
        return;
    record->watched = 0;
    if (!isfinite(record->watched_gap) || !(record->gap > 0.5 * record->watched_gap))
        return;
    char better[200];
    hw_linear_better_policy(record->sync, driver->options, better, sizeof better);
    hw_note(driver->training, "the rounds crawl: in the last %llu clocks the gap went from %.3g to %.3g; %s",
            (unsigned long long)(hawser_progress_clocks(progress) - record->watched_clock), record->watched_gap, record->gap,
            better);
    record->crawled = true;
}

/* Decides whether this lambda ends although the gap is above the tolerance. Batches make progress only by chance at times,
 * so they end with their epochs. */
static void judge(hw_linear_driver *driver, hawser_progress *progress)
{
    hw_linear_record *record = &driver->record;
    const hw_linear_choices *choices = &driver->linear->choices;
    unsigned most = choices->blocks == 1 ? MOST_STALE : BLOCKS_MOST_STALE;
    record->at_precision = choices->work_most == 0 && record->stale_certificates >= most;
    record->at_limit = choices->work_most > 0 && record->work_done++ >= choices->work_most;
    if (record->at_precision && record->gap > STALLED * record->zero_objective) {
        record->at_precision = !tries_safest(driver, progress);
        if (record->at_precision)
            fail(record, progress, HW_LINEAR_STALLED);
    }
}

/* If a point is worse than the best one, the work continues, or ends, from the best one. */
bool hw_linear_open(hawser_progress *progress, void *user)
{
    hw_linear_driver *driver = user;
    hw_linear_record *record = &driver->record;
    const hw_linear_choices *choices = &driver->linear->choices;
    double before = record->objective;
    bool over = record->at_precision || record->at_limit;
    certify(driver, progress);
    bool worse =
        !record->certified && linear_is_worse(choices, record->objective, record->best_objective, record->zero_objective);
    if (!record->restoring) {
        if (!record->certified)
            safeguard(driver, progress, before);
        record->at_precision = record->at_limit = over = false;
        if (!record->certified) {
            judge(driver, progress);
            watch_rounds(driver, progress);
        }
        over = record->at_precision || record->at_limit;
        if (over && worse && linear_is_far(choices, record->objective, record->start_objective, record->zero_objective))
            fail(record, progress, HW_LINEAR_DIVERGED);
    }
    record->restores = worse ? record->restores + 1 : 0;
    record->restoring = worse && record->restores <= MOST_RESTORES && !record->stopped;
    return !record->certified && !record->stopped && (!over || record->restoring);
}

/* Publishes whether X alpha is that of the last joint solution. Returns what it was before. */
static bool set_apart(hw_linear_driver *driver, hawser_progress *progress, bool apart)
{
    bool before = driver->record.apart;
    if (!driver->linear->apart)
        return false;
    driver->record.apart = apart;
    hawser_progress_set(progress, "apart", apart ? 1.0 : 0.0);
    return before;
}

bool hw_linear_works(hawser_progress *progress, void *user)
{
    hw_linear_driver *driver = user;
    if (driver->record.restoring)
        (void)set_apart(driver, progress, false);
    if (driver->record.restoring && driver->record.kept_row.done)
        hawser_progress_return(progress, best_point(driver));
    return !driver->record.restoring;
}

bool hw_linear_uncurved(hawser_progress *progress, void *user)
{
    hw_linear_record *record = &((hw_linear_driver *)user)->record;
    (void)progress;
    if (record->curved == record->fold_at + 1)
        return false;
    record->curved = record->fold_at + 1;
    return true;
}

bool hw_linear_slow(hawser_progress *progress, void *user)
{
    const hw_linear_record *record = &((const hw_linear_driver *)user)->record;
    (void)progress;
    return record->gap > 0.3 * record->last_gap;
}

/* Goes back to the certificate of the least error on validation data, if a later one has a larger error. */
static void return_to_valid(hw_linear_driver *driver, hawser_progress *progress)
{
    hw_linear_record *record = &driver->record;
    record->returned = record->valid_row.done && !record->valid_last && !hawser_progress_stopping(progress);
    if (record->returned)
        hawser_progress_return(progress, HW_LINEAR_RESULT);
}

bool hw_linear_certified(hawser_progress *progress, void *user)
{
    hw_linear_driver *driver = user;
    const hw_linear_record *record = &driver->record;
    bool over = record->certified || record->stopped || (!record->restoring && (record->at_precision || record->at_limit));
    if (over)
        return_to_valid(driver, progress);
    return over;
}

/* Returns the distance of working sets from their optimum below which other columns matter more. */
static double enough(const hw_linear_driver *driver)
{
    const hw_linear_record *record = &driver->record;
    double fraction = 0.02 * record->gap, least = 0.3 * driver->linear->choices.settings.tolerance * record->zero_objective;
    return fraction > least ? fraction : least;
}

bool hw_linear_small(hawser_progress *progress, void *user)
{
    hw_linear_driver *driver = user;
    bool small = hawser_progress_metric(progress, "largest_set") <= (double)hw_linear_most_of_share(driver->linear);
    if (small)
        (void)set_apart(driver, progress, true);
    return small;
}

bool hw_linear_gathers(hawser_progress *progress, void *user)
{
    return set_apart(user, progress, false);
}

bool hw_linear_returned(hawser_progress *progress, void *user)
{
    hw_linear_driver *driver = user;
    return driver->record.returned && set_apart(driver, progress, false);
}

/* Raises sigma' towards a value that covers the staleness if rounds in flight overshoot. The objective may fall all the same
 * between certificates, by extrapolation and searches. */
static void watch_sprint(hw_linear_driver *driver, hawser_progress *progress)
{
    hw_linear_record *record = &driver->record;
    const hw_linear_choices *choices = &driver->linear->choices;
    double before = metric(progress, "sprint_loss") + metric(progress, "sprint_penalty");
    double after = metric(progress, "reached_loss") + metric(progress, "reached_penalty");
    double most = safe_gain(choices) * choices->flights;
    if (after <= before * (1.0 + 1e-9) + 1e-12 * record->zero_objective || record->gain >= most)
        return;
    record->gain = fmin(2.0 * record->gain, most);
    hawser_progress_gain(progress, "v", record->gain);
    hw_note(driver->training, "rounds overshoot (the objective rose from %.6g to %.6g): sigma' raised to %g", before, after,
            record->gain);
}

bool hw_linear_sprints_done(hawser_progress *progress, void *user)
{
    hw_linear_driver *driver = user;
    uint64_t sprints = hawser_progress_clock(progress) + 1;
    bool asynchronous = driver->linear->choices.route == HW_LINEAR_ASYNCHRONOUS;
    if (asynchronous)
        watch_sprint(driver, progress);
    return sprints >= (asynchronous ? MOST_STRIDES : MOST_SPRINTS) ||
           hawser_progress_metric(progress, "slack") <= enough(driver);
}

/* Returns whether blocks of rounds work on stale values, also because the runtime has changed their sync (HAWSER_ADAPT). */
static bool is_stale(const hw_linear_driver *driver, const hawser_progress *progress)
{
    const hawser_policy_change *change;
    bool stale = driver->record.sync.tightness != HAWSER_BSP;
    for (size_t i = 0; driver->linear->choices.settings.adapts && (change = hawser_progress_change(progress, i)) != NULL;
         i++)
        if (change->sync[0].tightness != change->sync[1].tightness)
            stale = change->sync[1].tightness != HAWSER_BSP;
    return stale;
}

bool hw_linear_rounds_done(hawser_progress *progress, void *user)
{
    const hw_linear_driver *driver = user;
    const hw_linear_record *record = &driver->record;
    uint64_t rounds = hawser_progress_clock(progress) + 1;
    double slack = hawser_progress_metric(progress, "slack");
    bool blind = !(slack < DBL_MAX) || is_stale(driver, progress);
    const uint64_t planned = record->rounds_planned;
    return slack <= enough(driver) || rounds >= (blind && planned > BLIND_ROUNDS ? BLIND_ROUNDS : planned);
}

/* Returns whether the path ends because the errors of its last lambdas are not lower. The lambdas that were not tried are
 * left out. */
static bool ends_early(hw_linear_driver *driver, hawser_progress *progress)
{
    hw_linear_record *record = &driver->record;
    const hw_early *early = &driver->linear->early;
    if (record->results.most == 1 || hw_early_compare(early, &record->early) || !hw_early_ends(early, &record->early))
        return false;
    record->stopped = true;
    record->results.count = record->at;
    hawser_progress_set(progress, "fits_left", 0.0);
    return true;
}

/* Returns the row of the certificate that has the least validation error. */
static hw_member_row returned_row(const hw_linear_record *record, const hw_member_row *last)
{
    hw_member_row row = record->valid_row;
    row.error = record->early.lowest;
    row.seconds = last->seconds;
    row.precision = last->precision;
    row.spent = last->spent;
    row.done = last->done;
    return row;
}

bool hw_linear_next_lambda(hawser_progress *progress, void *user)
{
    hw_linear_driver *driver = user;
    hw_linear_record *record = &driver->record;
    double weight = hawser_progress_metric(progress, "held_weight"),
           errors = hawser_progress_metric(progress, "held_errors");
    size_t index = lambda_index(record);
    if (record->fold_at == 0)
        record->results.rows[index] = (hw_member_row){.lambda = record->lambdas[index],
                                                      .objective = record->objective,
                                                      .gap = record->gap,
                                                      .rounding = record->gap_rounding,
                                                      .penalty = hawser_progress_metric(progress, "penalty"),
                                                      .nonzeros = hawser_progress_metric(progress, "nonzeros"),
                                                      .intercept = hawser_progress_metric(progress, "intercept"),
                                                      .error = record->early.error,
                                                      .seconds = hawser_progress_seconds(progress) - record->began,
                                                      .precision = record->at_precision,
                                                      .spent = record->at_limit,
                                                      .done = !hawser_progress_stopping(progress)};
    if (record->returned)
        record->results.rows[index] = returned_row(record, &record->results.rows[index]);
    if (record->fold_at > 0) {
        /* If all rows of a fold have weight zero, its error has weight zero, too. */
        record->results.errors[(record->fold_at - 1) * record->results.most + index] = weight > 0.0 ? errors / weight : 0.0;
        record->results.fold_weights[record->fold_at - 1] = weight;
    }
    if (hawser_progress_stopping(progress)) /* this fit may be cut off, so it does not count */
        return true;
    if (++record->at >= record->results.count - record->first || (record->fold_at == 0 && ends_early(driver, progress)))
        return true;
    begin_lambda(driver, progress);
    return false;
}

/* Returns the share of the loss at zero that the model of a lambda explains, of all rows. */
static double explained(const hw_linear_record *record, size_t lambda)
{
    const hw_member_row *row = &record->results.rows[lambda];
    return 1.0 - (row->objective - row->penalty) / record->whole_zero_objective;
}

/* Returns true if all folds have finished a group, and smaller lambdas may have a lower error. glmnet ends its paths by the
 * two rules on the explained loss. */
static bool goes_on(hw_linear_record *record)
{
    size_t last = record->results.count - 1;
    if (last == 0 || record->results.count >= record->results.most || record->failure != HW_LINEAR_SOUND)
        return false;
    hw_selection selection = hw_linear_select(record, false);
    double most = explained(record, last);
    bool better = most - explained(record, last - 1) >= LEAST_GAIN * most;
    return selection.crossed && !hw_error_has_risen(selection.least, last, GROUP) && most <= EXPLAINED && better;
}

bool hw_linear_resumes(hawser_progress *progress, void *user)
{
    const hw_linear_record *record = &((const hw_linear_driver *)user)->record;
    if (record->first == 0 || record->fold_at > 0)
        return false;
    (void)set_apart(user, progress, false);
    hawser_progress_set(progress, "lambda_number", (double)(record->first - 1));
    return true;
}

bool hw_linear_next_fold(hawser_progress *progress, void *user)
{
    hw_linear_record *record = &((hw_linear_driver *)user)->record;
    bool over = record->fold_at >= record->results.folds;
    if (hawser_progress_stopping(progress) || (over && !goes_on(record)))
        return true;
    record->fold_at = over ? 0 : record->fold_at + 1;
    record->at = 0; /* the run may end before the fold begins */
    if (over) {
        record->first = record->results.count;
        record->results.count = record->first + GROUP < record->results.most ? record->first + GROUP : record->results.most;
    }
    hawser_progress_set(progress, "fold", (double)record->fold_at);
    return false;
}

void hw_linear_driver_visit(hawser_record *bytes, void *object)
{
    hw_linear_driver *driver = object;
    hawser_training *training = driver->training;
    if (hawser_record_reads(bytes))
        hw_linear_record_free(&driver->record);
    hw_linear_record_visit(bytes, &driver->record);
    if (training == NULL)
        return;
    hawser_record_bytes(bytes, training->notes, sizeof training->notes);
    hawser_record_bytes(bytes, training->assumed, sizeof training->assumed);
}

bool hw_linear_lost(hawser_progress *progress, void *user)
{
    (void)progress;
    return !((const hw_linear_driver *)user)->record.kept_row.done;
}

bool hw_linear_has_rest(hawser_progress *progress, void *user)
{
    const hw_linear_driver *driver = user;
    const hw_linear_record *record = &driver->record;
    bool finished = hw_linear_keeps_path(&driver->linear->choices) && record->results.rows[0].done;
    if (!hawser_progress_stopping(progress) || finished || record->valid_row.done)
        return false;
    (void)set_apart(user, progress, false);
    if (!record->begun && hw_linear_given_lambda(driver->linear))
        hawser_progress_set(progress, "lambda", hw_linear_one_lambda(driver->linear, 0.0));
    return record->begun || hw_linear_given_lambda(driver->linear);
}

bool hw_linear_unprepared(hawser_progress *progress, void *user)
{
    (void)progress;
    return !((const hw_linear_driver *)user)->record.begun;
}

/* The point that was reached is the result, unless it is worse than the best certified one. */
bool hw_linear_take_rest(hawser_progress *progress, void *user)
{
    hw_linear_driver *driver = user;
    hw_linear_record *record = &driver->record;
    const hw_linear_choices *choices = &driver->linear->choices;
    double objective = 0.0, gap = 0.0, zero = hawser_progress_metric(progress, "zero_objective");
    if (!record->begun)
        record->whole_zero_objective = zero;
    driver->linear->problem.kind->certificate(metric, progress, zero, &objective, &gap);
    bool worse = record->kept_row.done && linear_is_worse(choices, objective, record->best_objective, zero);
    record->rest = worse ? record->kept_row : row_of(record, progress, objective, gap);
    record->rested = true;
    if (worse && linear_is_far(choices, objective, record->best_objective, zero)) {
        record->objective = objective;
        fail(record, progress, HW_LINEAR_DIVERGED);
        record->failed_lambda = hawser_progress_metric(progress, "lambda"); /* the record may have none yet */
    }
    if (worse)
        hawser_progress_return(progress, best_point(driver));
    hawser_progress_keep(progress, HW_LINEAR_RESULT);
    return false;
}
