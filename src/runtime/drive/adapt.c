/* adapt.c - gives windows of clocks and metrics at BSP points to the decisions of adapt/decide.h, and makes the changes that
 * they ask for. */
#include "adapt/earlier.h"
#include "adapt/log.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/forms.h"
#include "hawser/advanced.h"
#include "runtime/drive/agent.h"
#include "runtime/drive/driver.h"
#include "runtime/drive/learn.h"
#include "runtime/job/decisions.h"

/* The decisions on one loop. */
struct hw_adapter {
    hw_decider decider;
    double gain;                     /* of the loop's state at the start */
    double metric;                   /* at the last point */
    double fits[HAWSER_FIT_METRICS]; /* the fit then */
    double bytes;                    /* of all blocks at the last window */
    bool begun;
    hw_log_place at;     /* points so far at the present number of clocks */
    uint64_t window;     /* clocks of the last window */
    uint32_t unmeasured; /* points in a row without a new metric */
};

/* Clocks under ssp after which the driver makes a point, if the program makes none; and points in a row without a new metric
 * after which it makes no more. */
enum { POINT_EVERY = 50, UNMEASURED_MOST = 3, AHEAD_MOST = 256 };

static const double LEAST_GAIN = 0.5, LEAST_SHARE = 0.125, LEAST_QUOTA = 256;

/* The forms by the numbers of HW_KNOB_ENCODING. */
static const hawser_form forms[] = {HAWSER_EXACT, HAWSER_AS_BF16, HAWSER_AS_INT8};
enum { FORMS = sizeof forms / sizeof *forms };

/* Returns what may change of a loop by its declaration, the options and the plan. */
static hw_bounds bounds_of(const hw_driver *driver, const hawser_operator *loop)
{
    const hw_plan *plan = driver->session->plan;
    const unsigned adapts = plan->settings.adapts;
    const hawser_state *state = loop->adapts;
    const char *why;
    hw_bounds bounds = {.is_gap = loop->metric_is_gap,
                        .measured = hw_loop_measures(loop),
                        .returns = plan->guards && hw_loop_measures(loop),
                        .often = !hw_loop_is_inner(loop)};
    for (int k = 0; k < HW_KNOBS; k++)
        bounds.start[k] = bounds.least[k] = bounds.most[k] =
            k == HW_KNOB_WORK || k == HW_KNOB_GAIN || k == HW_KNOB_SHARE ? 1 : 0;
    if (state != NULL && plan->states[state->number].narrows)
        bounds.most[HW_KNOB_ENCODING] = FORMS - 1;
    if (state != NULL && plan->states[state->number].quota_falls) {
        const double whole = (double)plan->states[state->number].filter.quota;
        bounds.start[HW_KNOB_QUOTA] = bounds.most[HW_KNOB_QUOTA] = whole;
        bounds.least[HW_KNOB_QUOTA] = fmin(LEAST_QUOTA, whole);
    }
    if (state != NULL && (adapts & HW_ADAPTS_GAIN) != 0 && (loop->gain_of != NULL || loop->gain_grows))
        bounds.least[HW_KNOB_GAIN] = LEAST_GAIN;
    if ((adapts & HW_ADAPTS_WORK) != 0) {
        bounds.least[HW_KNOB_WORK] = loop->work_least;
        bounds.most[HW_KNOB_WORK] = loop->work_most;
        bounds.least[HW_KNOB_SHARE] = loop->shares ? LEAST_SHARE : 1;
    }
    bounds.most[HW_KNOB_SYNC] = hw_plan_staleness_most(plan, loop, &why);
    return bounds;
}

static hawser_status open_one(hw_driver *driver, const hawser_operator *loop, hawser_error *error)
{
    const hw_bounds bounds = bounds_of(driver, loop);
    const uint32_t blocks = driver->session->blocks;
    struct hw_adapter **place = &driver->adapters[loop->number];
    if (!hw_bounds_allow(&bounds))
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(place, 1, "decisions on a loop", error));
    (*place)->metric = (double)NAN;
    return hw_decider_open(&(*place)->decider, &bounds, blocks, error);
}

/* Begins a run in the files of decisions, which have what identifies it. */
static hawser_status identify(const hw_driver *driver, hawser_error *error)
{
    const hw_session *session = driver->session;
    char *text = NULL;
    if (session->job->decisions == NULL || session->data == NULL)
        return HAWSER_OK;
    HAWSER_TRY(hw_session_identity(session, &text, error));
    hawser_status status = hw_decisions_begin(session->job, session->number, text, error);
    free(text);
    return status;
}

hawser_status hw_adapt_open(hw_driver *driver, hawser_error *error)
{
    const hawser_program *program = driver->session->program;
    HAWSER_TRY(identify(driver, error));
    if (driver->session->blocks == 1)
        return HAWSER_OK;
    HAWSER_TRY(HW_NEW(&driver->adapters, program->operator_count, "decisions on loops", error));
    const char *why;
    for (size_t i = 0; i < program->operator_count; i++)
        if (hw_plan_adapts(driver->session->plan, program->operators[i], &why))
            HAWSER_TRY(open_one(driver, program->operators[i], error));
    return HAWSER_OK;
}

void hw_adapt_close(hw_driver *driver)
{
    for (size_t i = 0; driver->adapters != NULL && i < driver->session->program->operator_count; i++) {
        if (driver->adapters[i] == NULL)
            continue;
        hw_decider_close(&driver->adapters[i]->decider);
        free(driver->adapters[i]);
    }
    free(driver->adapters);
}

void hw_adapt_end(const hw_driver *driver)
{
    const hawser_program *program = driver->session->program;
    for (size_t i = 0; driver->adapters != NULL && i < program->operator_count; i++)
        if (driver->adapters[i] != NULL && driver->adapters[i]->begun)
            hw_learn_end(driver, program->operators[i], &driver->adapters[i]->decider);
}

bool hw_loop_adapts(const hw_driver *driver, const hawser_operator *loop)
{
    return driver->adapters != NULL && driver->adapters[loop->number] != NULL;
}

/* Saves what a loop's decisions were given, and each change. */
static void save(const hw_driver *driver, const hawser_operator *loop, hw_log_line line)
{
    line.loop = loop->name;
    line.blocks = driver->session->blocks;
    hw_decisions_add(driver->session->job->decisions, &line);
}

/* Sets the gain that belongs to the work, staleness and factor that were decided. */
static void set_gain(hw_driver *driver, const hawser_operator *loop, const struct hw_adapter *adapter)
{
    const double *value = adapter->decider.value;
    if (loop->gain_of == NULL && !loop->gain_grows)
        return;
    double gain = loop->gain_grows
                      ? loop->adapts->rule.gain * (1 + value[HW_KNOB_SYNC])
                      : loop->gain_of(value[HW_KNOB_WORK], (uint32_t)value[HW_KNOB_SYNC], driver->session->program->user);
    gain = gain > 0 && isfinite(gain) ? gain : adapter->gain;
    hawser_progress_gain(&driver->progress, loop->adapts->name, gain * value[HW_KNOB_GAIN]);
}

static void obey(hw_driver *driver, const hawser_operator *loop, const struct hw_adapter *adapter,
                 const hw_instruction *instruction)
{
    hawser_progress *progress = &driver->progress;
    const uint32_t staleness = (uint32_t)instruction->to;
    switch (instruction->knob) {
    case HW_KNOB_ENCODING: hawser_progress_encoding(progress, loop->adapts->name, forms[(size_t)instruction->to]); break;
    case HW_KNOB_QUOTA: hawser_progress_quota(progress, loop->adapts->name, (uint64_t)instruction->to); break;
    case HW_KNOB_WORK:
        hawser_progress_work(progress, loop->name, instruction->to);
        set_gain(driver, loop, adapter);
        break;
    case HW_KNOB_SYNC:
        hawser_progress_sync(progress, loop->name, staleness > 0 ? hawser_ssp(staleness) : hawser_bsp());
        set_gain(driver, loop, adapter);
        break;
    case HW_KNOB_GAIN: set_gain(driver, loop, adapter); break;
    case HW_KNOB_SHARE: hawser_progress_share(progress, loop->name, instruction->block, instruction->to); break;
    case HW_KNOB_POINT: break;
    }
}

/* Makes a change, and names what asked for it. States are kept, or return, at the next message to the blocks. */
static void change(hw_driver *driver, const hawser_operator *loop, const struct hw_adapter *adapter,
                   const hw_instruction *instruction)
{
    if (instruction->knob == HW_KNOB_POINT) {
        hw_points_guard(driver, instruction->to > 0);
        return;
    }
    const hw_asker before = driver->policies.asking;
    hw_asker *asking = &driver->policies.asking;
    *asking = (hw_asker){.kind = "adaptation of loop", .name = loop->name, .clocks = driver->clocks};
    (void)snprintf(asking->reason, sizeof asking->reason, "%s", instruction->reason);
    obey(driver, loop, adapter, instruction);
    driver->remeasures = true;
    driver->policies.asking = before;
}

/* Makes all changes that were decided, after a window (point 0) or at a point. Returns how many. */
static size_t obey_all(hw_driver *driver, const hawser_operator *loop, struct hw_adapter *adapter, uint64_t point)
{
    size_t made = 0;
    hw_instruction instruction;
    for (; hw_decider_next(&adapter->decider, &instruction); made++) {
        save(driver, loop, (hw_log_line){.kind = HW_LOG_CHANGE, .change = instruction, .place = {driver->clocks, point}});
        change(driver, loop, adapter, &instruction);
        if (instruction.knob != HW_KNOB_POINT)
            driver->repeatable = "settings were adapted to the times of the run (--auto, --sync auto and the like)";
    }
    return made;
}

/* Begins with what runs have kept across runs, or try, one setting after the other. Only one loop tries, because the seconds
 * of the whole run judge it. */
static void begin_across(hw_driver *driver, const hawser_operator *loop, struct hw_adapter *adapter)
{
    hw_decider *decider = &adapter->decider;
    for (size_t i = 0; i < driver->session->program->operator_count; i++)
        if (driver->adapters[i] != NULL && driver->adapters[i]->decider.tries)
            decider->across.next.windows = 0;
    while (hw_decider_across(decider))
        (void)obey_all(driver, loop, adapter, 1);
}

/* Takes the values from which a run goes on, the gain that the program has chosen, and what earlier runs have decided.
 * Returns false after a failure. */
static bool begin(hw_driver *driver, const hawser_operator *loop, struct hw_adapter *adapter)
{
    hw_decider *decider = &adapter->decider;
    const hw_knobs *knobs = &driver->knobs[loop->number];
    adapter->begun = true;
    decider->value[HW_KNOB_WORK] = decider->sent[HW_KNOB_WORK] = knobs->work;
    if (decider->bounds.least[HW_KNOB_QUOTA] < decider->bounds.most[HW_KNOB_QUOTA])
        decider->value[HW_KNOB_QUOTA] = decider->sent[HW_KNOB_QUOTA] = (double)driver->quotas[loop->adapts->number].now;
    for (uint32_t b = 0; knobs->shares != NULL && b < driver->session->blocks; b++)
        decider->shares[b] = decider->sent_shares[b] = knobs->shares[b];
    if (loop->adapts != NULL)
        adapter->gain = driver->gains[loop->adapts->number];
    save(driver, loop,
         (hw_log_line){.kind = HW_LOG_LOOP, .bounds = decider->bounds, .work = knobs->work, .shares = knobs->shares});
    if (hw_learn_begin(driver, loop, decider) != HAWSER_OK)
        return false;
    const char *before = driver->repeatable;
    (void)obey_all(driver, loop, adapter, 1);
    begin_across(driver, loop, adapter);
    if (driver->repeatable != before)
        driver->repeatable = "it began with the settings of an earlier run (--learn)";
    return true;
}

static bool replays(const hw_driver *driver)
{
    const hw_decisions *decisions = driver->session->job->decisions;
    return decisions != NULL && decisions->replay != NULL;
}

/* Makes the changes of a replay up to a place. A change is checked, because the file may have been edited. Returns how
 * many. */
static size_t replay(hw_driver *driver, const hawser_operator *loop, struct hw_adapter *adapter, uint64_t point)
{
    hw_decisions *decisions = driver->session->job->decisions;
    const hw_bounds *bounds = &adapter->decider.bounds;
    const hw_log_place here = {driver->clocks, point};
    const hw_instruction *made;
    size_t line = 0, count = 0;
    for (; driver->error.status == HAWSER_OK && (made = hw_decisions_next(decisions, loop->name, here, &line)) != NULL;
         count++) {
        const bool setting = made->knob != HW_KNOB_POINT;
        if (setting && !(made->to >= bounds->least[made->knob] && made->to <= bounds->most[made->knob])) {
            (void)hawser_fail(&driver->error, HAWSER_BAD_INPUT, "%s:%zu: expected a value of '%s' from %g to %g, not %g",
                              decisions->replay, line, hw_knob_name(made->knob), bounds->least[made->knob],
                              bounds->most[made->knob], made->to);
            return count;
        }
        if (setting && made->knob != HW_KNOB_SHARE)
            adapter->decider.value[made->knob] = made->to;
        change(driver, loop, adapter, made);
    }
    return count;
}

void hw_adapt_clock(hw_driver *driver)
{
    const hawser_operator *loop = driver->policies.loop;
    if (hw_loop_adapts(driver, loop) && replays(driver))
        (void)replay(driver, loop, driver->adapters[loop->number], 0);
}

/* Estimates how often a block's updates are sent: to each other node, or up to where they are added up, and the sum. Of the
 * blocks of a node one sends for all. */
static double copies_of(const hw_driver *driver)
{
    const hw_plan_settings *settings = &driver->session->plan->settings;
    const double nodes = settings->nodes, local = settings->blocks / nodes;
    if (settings->adding.kind != HW_ADDING_SPREAD || nodes <= 1)
        return 2;
    return fmax(1, (nodes - 1 + 2 * (local - 1)) / local);
}

void hw_adapt_window(hw_driver *driver, const hw_window_shares *shares, const hw_finding *found)
{
    const hawser_operator *loop = driver->policies.loop;
    if (!hw_loop_adapts(driver, loop) || driver->stopping != NULL || replays(driver))
        return;
    struct hw_adapter *adapter = driver->adapters[loop->number];
    const hw_bounds *bounds = &adapter->decider.bounds;
    const bool measured = bounds->measured && bounds->often && bounds->returns && !isinf(adapter->decider.best);
    if (measured && hw_decider_is_risen(&adapter->decider, driver->metrics[loop->metric]))
        return; /* a change would have these states kept */
    const double clocks = (double)found->clocks * driver->session->blocks;
    const double sent = (driver->bytes - adapter->bytes) / clocks / copies_of(driver);
    const hw_feedback feedback = {
        .found = *found, .units = shares->units, .exchanging = shares->exchanging, .sent = sent, .pace = shares->pace};
    adapter->bytes = driver->bytes;
    adapter->window = found->clocks;
    save(driver, loop, (hw_log_line){.kind = HW_LOG_WINDOW, .feedback = feedback});
    hw_decider_window(&adapter->decider, &feedback);
    (void)obey_all(driver, loop, adapter, 0);
}

/* Returns whether another fit has begun since the last point. */
static bool fit_changed(const hw_driver *driver, struct hw_adapter *adapter)
{
    const hawser_program *program = driver->session->program;
    double fits[HAWSER_FIT_METRICS] = {0};
    for (uint32_t i = 0; i < program->fit_metric_count; i++)
        fits[i] = driver->metrics[program->fit_metrics[i]];
    bool changed = memcmp(fits, adapter->fits, sizeof fits) != 0;
    memcpy(adapter->fits, fits, sizeof fits);
    return changed;
}

/* Returns whether the last clock has reported that the metric of a loop is not a number. */
static bool is_lost(const hw_driver *driver, const hawser_operator *loop)
{
    return loop->metric != UINT32_MAX && (driver->reported >> loop->metric & 1) != 0 && isnan(driver->metrics[loop->metric]);
}

/* As hawser_report does in a run in which nothing changes. */
static void fail_lost(hw_driver *driver, const hawser_operator *loop)
{
    (void)hawser_fail(&driver->error, HAWSER_NOT_FINITE, "loop '%s': metric '%s' is not a number in clock %" PRIu64,
                      loop->name, driver->session->program->metrics[loop->metric].name, driver->progress.clock);
}

void hw_adapt_watch(hw_driver *driver, const hawser_operator *loop)
{
    if (!hw_loop_adapts(driver, loop) || replays(driver) || driver->error.status != HAWSER_OK || !is_lost(driver, loop))
        return;
    bool returns = driver->points.ends_phase; /* clocks that were in progress do not count */
    if (!returns && !hw_decider_undoes(&driver->adapters[loop->number]->decider))
        fail_lost(driver, loop);
}

/* Gives the metric of a loop to its decisions. Returns false if there is none, or if it has not changed. */
static bool take_metric(hw_driver *driver, const hawser_operator *loop, struct hw_adapter *adapter)
{
    if (loop->metric == UINT32_MAX)
        return false;
    if (fit_changed(driver, adapter)) {
        save(driver, loop, (hw_log_line){.kind = HW_LOG_RESTART});
        hw_decider_restart(&adapter->decider);
    }
    const double metric = driver->metrics[loop->metric];
    const bool differs = metric < adapter->metric || metric > adapter->metric || (isnan(adapter->metric) && !isnan(metric));
    if (!differs && !is_lost(driver, loop))
        return false;
    adapter->metric = metric;
    const double seconds = hawser_progress_seconds(&driver->progress);
    save(driver, loop,
         (hw_log_line){.kind = HW_LOG_POINT, .seconds = seconds, .clocks = (double)driver->clocks, .metric = metric});
    hw_decider_point(&adapter->decider, seconds, (double)driver->clocks, metric);
    return true;
}

void hw_adapt_point(hw_driver *driver, const hawser_operator *loop)
{
    if (!hw_loop_adapts(driver, loop) || driver->error.status != HAWSER_OK)
        return;
    struct hw_adapter *adapter = driver->adapters[loop->number];
    if (!adapter->begun && !begin(driver, loop, adapter))
        return;
    adapter->at = (hw_log_place){driver->clocks, adapter->at.clocks == driver->clocks ? adapter->at.point + 1 : 1};
    size_t changes = 0;
    if (replays(driver)) {
        changes = replay(driver, loop, adapter, adapter->at.point);
    } else if (take_metric(driver, loop, adapter)) {
        adapter->unmeasured = 0;
        changes = obey_all(driver, loop, adapter, adapter->at.point);
    } else {
        adapter->unmeasured++;
    }
    if (driver->error.status == HAWSER_OK && hw_points_send(driver) == HAWSER_OK && changes == 0 && is_lost(driver, loop))
        fail_lost(driver, loop);
}

bool hw_adapt_wants_point(const hw_driver *driver, const hawser_operator *loop)
{
    const bool apart = driver->syncs[loop->number].tightness == HAWSER_SSP;
    if (!hw_loop_adapts(driver, loop) || hw_loop_is_inner(loop) || !(apart || driver->paced))
        return false;
    const struct hw_adapter *adapter = driver->adapters[loop->number];
    const hw_decider *decider = &adapter->decider;
    const bool judges = decider->bounds.measured && !decider->defaulted && !replays(driver);
    const uint64_t clocks = driver->clocks - adapter->at.clocks; /* since the last point */
    const bool alarm = decider->bounds.returns && clocks >= HW_WINDOW_CLOCKS && hw_decider_undoes(decider) &&
                       hw_decider_is_risen(decider, driver->metrics[loop->metric]);
    if (!judges || !adapter->begun || adapter->unmeasured >= UNMEASURED_MOST || clocks == 0)
        return false;
    return alarm || (apart && !decider->measuring.begun) ||
           (apart && decider->measuring.windows > 0 && (decider->trial.stage != HW_TRIAL_NONE || clocks >= POINT_EVERY));
}

bool hw_adapt_paces(const hw_driver *driver, const hawser_operator *loop)
{
    return hw_loop_adapts(driver, loop) && hw_loop_untested(loop) && !replays(driver);
}

uint64_t hw_adapt_ahead(const hw_driver *driver, const hawser_operator *loop)
{
    uint64_t window = driver->adapters[loop->number]->window;
    window = window < HW_WINDOW_CLOCKS ? HW_WINDOW_CLOCKS : window > AHEAD_MOST ? AHEAD_MOST : window;
    return window - hw_causes_clocks(driver) % window;
}

/* Returns whether a test or a metric has ended the last loop, and neither a limit nor a signal. */
static bool ended_by_itself(const hw_driver *driver)
{
    static const char *const limits[] = {"clocks", "seconds", "end"};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (driver->stop_reason == NULL || strcmp(driver->stop_reason, limits[i]) == 0)
            return false;
    return driver->stopping == NULL;
}

void hw_adapt_last(hw_driver *driver)
{
    const hawser_program *program = driver->session->program;
    driver->ended_after = hawser_progress_seconds(&driver->progress);
    driver->ended_by_itself = ended_by_itself(driver);
    for (size_t i = 0; driver->adapters != NULL && i < program->operator_count; i++)
        if (driver->session->job->learning != NULL && driver->adapters[i] != NULL && driver->adapters[i]->begun) {
            (void)take_metric(driver, program->operators[i], driver->adapters[i]);
            hw_decider_end(&driver->adapters[i]->decider);
        }
}
