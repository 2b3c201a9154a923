#include "adapt/decide.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* A metric has risen if it rose by more than this: the logarithm of a gap, and another metric in terms of its size. */
static const double GAP_NOISE = 0.05, NOISE = 1e-6;
static const double LEAST_SHARE_STEP = 1.5;
/* States are kept again after this share of all clocks, and so many: where all clocks are points that ends a phase. */
static const double KEPT_SHARE = 0.125, KEPT_LEAST = 50;
/* Windows after which a measurement ends, although the metric may have changed by chance. */
enum { MEASURED_MOST = 4 };

hawser_status hw_decider_open(hw_decider *decider, const hw_bounds *bounds, uint32_t blocks, hawser_error *error)
{
    *decider = (hw_decider){.bounds = *bounds,
                            .blocks = blocks,
                            .in_step = (double)NAN,
                            .last_in_step = (double)NAN,
                            .last = (double)NAN,
                            .decay = 1,
                            .clock_seconds = (double)NAN,
                            .best = INFINITY,
                            .kept_y = (double)NAN,
                            .doubted_loss = {.knob = HW_KNOBS},
                            .last_y = INFINITY};
    memcpy(decider->value, bounds->start, sizeof decider->value);
    memcpy(decider->sent, bounds->start, sizeof decider->sent);
    HAWSER_TRY(HW_NEW(&decider->shares, blocks, "shares of work", error));
    HAWSER_TRY(HW_NEW(&decider->sent_shares, blocks, "shares of work", error));
    for (uint32_t b = 0; b < blocks; b++)
        decider->shares[b] = decider->sent_shares[b] = 1;
    return HAWSER_OK;
}

void hw_decider_close(hw_decider *decider)
{
    free(decider->shares);
    free(decider->sent_shares);
}

bool hw_bounds_let(const hw_bounds *bounds, hw_knob knob)
{
    return bounds->least[knob] < bounds->most[knob];
}

bool hw_bounds_allow(const hw_bounds *bounds)
{
    for (int knob = 0; knob < HW_KNOBS; knob++)
        if (hw_bounds_let(bounds, (hw_knob)knob))
            return true;
    return false;
}

/* ------------------------------------------------------------------------------------------------------ changes ---- */

static double *place_of(hw_decider *d, hw_knob knob, uint32_t block)
{
    return knob == HW_KNOB_SHARE ? &d->shares[block] : &d->value[knob];
}

void hw_decider_say(hw_decider *d, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(d->reason, sizeof d->reason, format, arguments);
    va_end(arguments);
}

/* Has the states kept, which the guard takes back. Their metric is that of the last point. */
void hw_decider_keep_states(hw_decider *d)
{
    if (!d->bounds.returns || !d->bounds.measured)
        return;
    d->point = HW_POINT_KEEP;
    d->kept_y = d->last_y;
    d->kept_clocks = d->last_clocks;
}

/* Has the states return to what was kept last, from where the metric is measured anew. */
static void return_states(hw_decider *d)
{
    d->point = isnan(d->kept_y) ? HW_POINT_NONE : HW_POINT_RETURN;
    if (d->point == HW_POINT_RETURN)
        d->best = d->kept_y;
    d->measuring.begun = false;
}

/* Sets a value. What was measured before is that of another setting, but for progress per clock, which hardly depends on
 * the encoding. */
void hw_decider_set(hw_decider *d, hw_knob knob, uint32_t block, double to)
{
    if (d->bounds.often && d->rises == 0)
        hw_decider_keep_states(d);
    *place_of(d, knob, block) = to;
    d->clock_seconds = (double)NAN;
    d->moved = 0;
    d->moves = true;
    if (knob == HW_KNOB_ENCODING) {
        d->measuring.mixed = true;
        return;
    }
    d->measuring.begun = false;
    d->last = (double)NAN;
}

/* Remembers the change that the guard undoes first. */
void hw_decider_keep(hw_decider *d, hw_knob knob, uint32_t block, double from)
{
    d->changed = true;
    d->last_knob = knob;
    d->last_block = block;
    d->last_from = from;
    d->rises = 0;
}

/* Returns to the start's settings, for the rest of the run. */
static void give_up(hw_decider *d)
{
    d->defaulted = true;
    d->changed = false;
    d->trial.stage = HW_TRIAL_NONE;
    d->check.on = false;
    d->learned_sync = 0;
    memcpy(d->value, d->bounds.start, sizeof d->value);
    for (uint32_t b = 0; b < d->blocks; b++)
        d->shares[b] = 1;
}

/* Counts a change that was undone. The third one ends all changes. */
static void count_undone(hw_decider *d)
{
    if (++d->undone < HW_UNDONE_MOST)
        return;
    char last[HW_REASON];
    memcpy(last, d->reason, sizeof last);
    give_up(d);
    hw_decider_say(d, "three changes were undone, so the settings of the start stay; the last: %.90s", last);
}

/* Lets a knob wait for 2, 4, 8 ... windows. */
void hw_decider_let_wait(hw_decider *d, hw_knob knob)
{
    uint32_t times = d->losses[knob]++;
    d->waits[knob] = d->windows + (UINT64_C(2) << (times < 20 ? times : 20));
}

bool hw_decider_next(hw_decider *d, hw_instruction *instruction)
{
    if (d->point != HW_POINT_NONE) {
        const bool back = d->point == HW_POINT_RETURN;
        d->point = HW_POINT_NONE;
        *instruction = (hw_instruction){HW_KNOB_POINT, 0, 0, back, d->reason};
        return true;
    }
    for (int k = 0; k < HW_KNOB_SHARE; k++) {
        if (!(d->value[k] < d->sent[k] || d->value[k] > d->sent[k]))
            continue;
        *instruction = (hw_instruction){(hw_knob)k, 0, d->sent[k], d->value[k], d->reason};
        d->sent[k] = d->value[k];
        return true;
    }
    for (uint32_t b = 0; b < d->blocks; b++) {
        if (!(d->shares[b] < d->sent_shares[b] || d->shares[b] > d->sent_shares[b]))
            continue;
        *instruction = (hw_instruction){HW_KNOB_SHARE, b, d->sent_shares[b], d->shares[b], d->reason};
        d->sent_shares[b] = d->shares[b];
        return true;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------------- choice ---- */

static void explain(char *text, size_t size, const hw_feedback *feedback)
{
    const hw_finding *found = &feedback->found;
    const double waited = 100 * found->waited;
    if (found->cause == HAWSER_CAUSE_LINK)
        (void)snprintf(text, size, "link of node %u busy %.0f %% (limit %.0f %%), waits %.0f %%", found->number,
                       100 * found->measure, HW_LINK_BUSY * waited, waited);
    else if (found->cause == HAWSER_CAUSE_WORKER)
        (void)snprintf(text, size, "worker %u %.1f times the median (limit %g), waits %.0f %%", found->number,
                       found->measure, HW_SLOW, waited);
    else if (found->cause == HAWSER_CAUSE_TURNS)
        (void)snprintf(text, size, "slowest in turn, %.1f times the median (limit %g), waits %.0f %%", found->measure,
                       HW_SLOW, waited);
    else
        (void)snprintf(text, size, "waits %.0f %% (limit %.0f %%)", waited, 100 * HW_WAITS);
}

double hw_decider_value(const hw_decider *d, hw_knob knob, uint32_t block)
{
    return knob == HW_KNOB_SHARE ? d->shares[block] : d->value[knob];
}

bool hw_decider_opens(const hw_decider *d, hw_setting setting)
{
    const hw_knob knob = setting.knob;
    const double to = setting.to, now = hw_decider_value(d, knob, setting.block);
    bool inside = to >= d->bounds.least[knob] && to <= d->bounds.most[knob];
    return hw_bounds_let(&d->bounds, knob) && inside && (to < now || to > now) && !d->barred[knob];
}

/* Returns whether a knob can take a value now. */
static bool is_open(const hw_decider *d, hw_knob knob, uint32_t block, double to)
{
    return hw_decider_opens(d, (hw_setting){knob, block, to}) && d->windows >= d->waits[knob];
}

static bool is_tried(const hw_decider *d)
{
    return d->trial.stage == HW_TRIAL_NEW || d->trial.stage == HW_TRIAL_BACK;
}

/* Changes encoding or quota at once: the next window shows whether clocks get shorter. */
static bool change(hw_decider *d, hw_knob knob, double to, double clock_seconds, const char *why)
{
    if (d->check.on || !is_open(d, knob, 0, to))
        return false;
    /* A fit's first fall is its largest. Under ssp the last measurement counts. */
    const bool late = d->value[HW_KNOB_SYNC] > 0, known = d->measured > 1 && !is_tried(d);
    const double before = late ? d->last : d->in_step;
    d->check = (hw_check){.on = true,
                          .knob = knob,
                          .from = d->value[knob],
                          .to = to,
                          .before = known ? before : (double)NAN,
                          .clock_seconds = clock_seconds};
    hw_decider_say(d, "%s", why);
    hw_decider_keep(d, knob, 0, d->value[knob]);
    hw_decider_set(d, knob, 0, to);
    return true;
}

/* Begins a trial at the next BSP point at which progress under the present setting is known. The first lost trial is free;
 * after it lost trials take a small share of all clocks. */
static bool try(hw_decider *d, hw_knob knob, uint32_t block, double to, const char *why)
{
    bool affordable = d->lost <= 0 || d->lost + d->interval <= HW_LOST_SHARE * d->clocks;
    if (!d->bounds.measured || !is_open(d, knob, block, to) || !affordable)
        return false;
    d->trial =
        (hw_trial){.stage = HW_TRIAL_WAITS, .knob = knob, .block = block, .from = *place_of(d, knob, block), .to = to};
    (void)snprintf(d->trial.reason, sizeof d->trial.reason, "%s", why);
    return true;
}

/* Returns the share with which a block would be as fast as the median one. */
static double even_share(const hw_decider *d, const hw_feedback *feedback, uint32_t block)
{
    double share = feedback->pace[block] > 0 ? 1 / feedback->pace[block] : 1;
    return fmin(fmax(share, d->bounds.least[HW_KNOB_SHARE]), d->bounds.most[HW_KNOB_SHARE]);
}

/* Raises the share of a block that was slow and is not so any more. */
static bool give_back(hw_decider *d, const hw_feedback *feedback)
{
    for (uint32_t b = 0; feedback->pace != NULL && hw_bounds_let(&d->bounds, HW_KNOB_SHARE) && b < d->blocks; b++) {
        double even = even_share(d, feedback, b);
        char why[80];
        (void)snprintf(why, sizeof why, "worker %u is %.1f times the median per work", b, feedback->pace[b]);
        if (d->shares[b] < 1 && even > HW_SLOW * d->shares[b] && try(d, HW_KNOB_SHARE, b, even, why))
            return true;
    }
    return false;
}

/* Returns the next narrower encoding; where blocks mostly wait, the narrowest one at once, unless it was undone before. */
static double narrower(const hw_decider *d, const hw_feedback *feedback)
{
    const bool at_once = feedback->found.waited >= HW_MOSTLY && d->losses[HW_KNOB_ENCODING] == 0;
    return at_once ? d->bounds.most[HW_KNOB_ENCODING] : d->value[HW_KNOB_ENCODING] + 1;
}

static bool choose_encoding(hw_decider *d, const hw_feedback *feedback)
{
    char why[HW_REASON / 2];
    explain(why, sizeof why, feedback);
    const double clock = feedback->found.seconds / (double)feedback->found.clocks;
    return change(d, HW_KNOB_ENCODING, narrower(d, feedback), clock, why);
}

static void choose_for_link(hw_decider *d, const hw_feedback *feedback, const char *why)
{
    const double clock = feedback->found.seconds / (double)feedback->found.clocks;
    if (choose_encoding(d, feedback))
        return;
    /* What the link carries while units compute: then it is not what blocks wait for. */
    double quota = floor(feedback->sent * fmax(feedback->units, 0.125));
    if (quota <= d->value[HW_KNOB_QUOTA] / 2 && /* less would hardly show in the length of clocks */
        change(d, HW_KNOB_QUOTA, fmax(quota, d->bounds.least[HW_KNOB_QUOTA]), clock, why))
        return;
    if (try(d, HW_KNOB_GAIN, 0, d->value[HW_KNOB_GAIN] / 2, why) || try(d, HW_KNOB_WORK, 0, 2 * d->value[HW_KNOB_WORK], why))
        return;
    if (feedback->units >= HW_UNITS_OVERLAP && d->value[HW_KNOB_SYNC] < 1)
        (void)try(d, HW_KNOB_SYNC, 0, 1, why);
}

/* Doubles a quota that was lowered, since no link holds the training up: it may have become faster. */
static bool raise_quota(hw_decider *d, const hw_feedback *feedback, const char *why)
{
    const double clock = feedback->found.seconds / (double)feedback->found.clocks;
    const double most = d->bounds.most[HW_KNOB_QUOTA];
    return change(d, HW_KNOB_QUOTA, fmin(2 * d->value[HW_KNOB_QUOTA], most), clock, why);
}

/* Chooses a change for the cause of a window; the order of the knobs is that of docs/adaptation.md. */
static void choose(hw_decider *d, const hw_feedback *feedback)
{
    char why[HW_REASON / 2];
    explain(why, sizeof why, feedback);
    const uint32_t block = feedback->found.number;
    if (give_back(d, feedback))
        return;
    if (feedback->found.cause == HAWSER_CAUSE_LINK) {
        choose_for_link(d, feedback, why);
        return;
    }
    if (feedback->found.cause != HAWSER_CAUSE_OTHER && raise_quota(d, feedback, why))
        return;
    if (try(d, HW_KNOB_GAIN, 0, d->value[HW_KNOB_GAIN] / 2, why)) /* fewer clocks are less of whatever they cost */
        return;
    switch (feedback->found.cause) {
    case HAWSER_CAUSE_WORKER:
        if (feedback->pace != NULL && block < d->blocks &&
            even_share(d, feedback, block) < d->shares[block] / LEAST_SHARE_STEP)
            (void)try(d, HW_KNOB_SHARE, block, even_share(d, feedback, block), why);
        break;
    case HAWSER_CAUSE_TURNS: (void)try(d, HW_KNOB_SYNC, 0, d->value[HW_KNOB_SYNC] + 1, why); break;
    case HAWSER_CAUSE_NONE:
        if (feedback->exchanging < HW_EXCHANGE_IDLE)
            (void)try(d, HW_KNOB_WORK, 0, d->value[HW_KNOB_WORK] / 2, why);
        break;
    case HAWSER_CAUSE_LINK:
    case HAWSER_CAUSE_OTHER: break;
    }
}

/* Notes what another run may begin with, if this one ends before it can try anything. Its clocks are then as many as its
 * first measurement takes, so only settings that make clocks shorter help. */
static void note_untried(hw_decider *d, const hw_feedback *feedback)
{
    const uint32_t block = feedback->found.number;
    hw_untried *untried = &d->untried[feedback->found.cause];
    hw_setting *setting = &untried->setting;
    *setting = (hw_setting){.knob = HW_KNOBS};
    untried->windows++;
    switch (feedback->found.cause) {
    case HAWSER_CAUSE_OTHER: /* waits of less than what makes a link the cause */
    case HAWSER_CAUSE_LINK:  /* of sending and units the longer one remains of a clock under ssp:1 */
        if (feedback->units >= HW_EXCHANGE_IDLE)
            *setting = (hw_setting){HW_KNOB_SYNC, 0, d->value[HW_KNOB_SYNC] + 1};
        break;
    case HAWSER_CAUSE_TURNS: *setting = (hw_setting){HW_KNOB_SYNC, 0, d->value[HW_KNOB_SYNC] + 1}; break;
    case HAWSER_CAUSE_WORKER:
        if (feedback->pace != NULL && block < d->blocks)
            *setting = (hw_setting){HW_KNOB_SHARE, block, even_share(d, feedback, block)};
        break;
    case HAWSER_CAUSE_NONE:
        if (feedback->exchanging < HW_EXCHANGE_IDLE)
            *setting = (hw_setting){HW_KNOB_WORK, 0, d->value[HW_KNOB_WORK] / 2};
        break;
    }
    if (setting->knob != HW_KNOBS && !hw_decider_opens(d, *setting))
        setting->knob = HW_KNOBS;
    explain(untried->why, sizeof untried->why, feedback);
}

/* Undoes a change of encoding or quota, which waits before it is made again. */
static void undo_check(hw_decider *d)
{
    hw_check *check = &d->check;
    check->on = false;
    d->changed = false;
    hw_decider_set(d, check->knob, 0, check->from);
    hw_decider_let_wait(d, check->knob);
}

/* Judges an encoding or a quota by the length of clocks. Returns false if the old value came back. */
static bool check_length(hw_decider *d, double clock)
{
    hw_check *check = &d->check;
    const double before = check->clock_seconds;
    if (check->knob == HW_KNOB_QUOTA && check->to > check->from) {
        check->on = false;
        if (clock <= HW_SHORTER * before) { /* a clock sends more, and takes as long */
            d->losses[HW_KNOB_QUOTA] = 0;
            return true;
        }
        undo_check(d);
        hw_decider_say(d, "trial lost: clocks got %.2f times longer (limit %g)", clock / before, HW_SHORTER);
        return false;
    }
    if (clock > before / HW_SHORTER) { /* it does no harm, so it is no change for the guard to count */
        undo_check(d);
        hw_decider_say(d, "undone: clocks got %.2f times shorter (limit %g)", before / clock, HW_SHORTER);
        return false;
    }
    check->clock_seconds = 0; /* what remains is progress per clock, if there is a metric */
    check->on = !isnan(check->before);
    return true;
}

/* Returns whether clocks changed their length by themselves for two windows: then what was found before counts no more. */
static void watch_length(hw_decider *d, double clock)
{
    double before = d->clock_seconds;
    if (isnan(before)) {
        d->clock_seconds = clock;
        return;
    }
    if (clock < HW_MOVED * before && before < HW_MOVED * clock) {
        d->moved = 0;
        return;
    }
    if (++d->moved < 2)
        return;
    d->moved = 0;
    d->clock_seconds = clock;
    memset(d->waits, 0, sizeof d->waits);
    memset(d->losses, 0, sizeof d->losses);
}

void hw_decider_window(hw_decider *d, const hw_feedback *feedback)
{
    const double clocks = (double)feedback->found.clocks, clock = feedback->found.seconds / clocks;
    d->clocks += clocks;
    d->windows++;
    d->measuring.windows++;
    d->has_tried = d->has_tried || is_tried(d);
    if (d->defaulted)
        return;
    if (d->check.on && d->check.clock_seconds > 0 && !check_length(d, clock))
        return;
    watch_length(d, clock);
    if (d->moves) { /* what was found before is of another setting */
        memset(d->untried, 0, sizeof d->untried);
        d->moves = false;
        d->seconds_before += d->seconds_since;
        d->clocks_before += d->clocks_since;
        d->seconds_since = d->clocks_since = 0;
    }
    d->seconds_since += feedback->found.seconds;
    d->clocks_since += clocks;
    note_untried(d, feedback);
    if (d->trial.stage == HW_TRIAL_NONE)
        choose(d, feedback);
    else if (feedback->found.cause == HAWSER_CAUSE_LINK && (!is_tried(d) || d->trial.knob == HW_KNOB_GAIN))
        choose_encoding(d, feedback); /* it waits for no trial, and that of a gain does not depend on it */
}

/* ------------------------------------------------------------------------------------------- trials and the guard ---- */

void hw_decider_restart(hw_decider *d)
{
    d->measuring.begun = false;
    d->in_step = d->last_in_step = d->last = (double)NAN;
    d->measured = d->in_fit = 0;
    d->best = INFINITY;
    d->rises = 0;
    if (d->trial.stage == HW_TRIAL_NEW || d->trial.stage == HW_TRIAL_BACK) {
        bool learned = d->trial.kept;
        hw_decider_say(d, "a trial ended without a result: another fit began");
        hw_decider_set(d, d->trial.knob, d->trial.block, learned ? d->trial.to : d->trial.from);
        d->learned[d->trial.knob] = learned;
    }
    d->trial.stage = HW_TRIAL_NONE;
    d->check.on = false;
    d->point = HW_POINT_NONE;
    d->kept_y = (double)NAN; /* it was that of the other fit */
    d->last_y = INFINITY;
}

static void lose(hw_decider *d, double ratio)
{
    hw_trial *trial = &d->trial;
    if (!d->bounds.often) /* where the metric is measured rarely, a trial may be lost by one uneven fall */
        d->doubted_loss = (hw_setting){trial->knob, trial->block, trial->to};
    hw_decider_let_wait(d, trial->knob);
    d->lost += d->clocks - trial->began;
    hw_decider_say(d, "trial lost: progress %.2f times the old (limit %g)", ratio, HW_SHORTER);
    if (trial->stage == HW_TRIAL_NEW)
        hw_decider_set(d, trial->knob, trial->block, trial->from);
    trial->stage = HW_TRIAL_NONE;
}

/* Ends a trial: the new value stays. */
static void win(hw_decider *d, double ratio)
{
    hw_trial *trial = &d->trial;
    trial->stage = HW_TRIAL_NONE;
    d->losses[trial->knob] = 0;
    hw_decider_say(d, "kept: %.2f times the progress; %s", ratio, trial->reason);
    hw_decider_keep(d, trial->knob, trial->block, trial->from);
}

/* Ends a comparison of a staleness with bsp: bsp stays if it was plainly faster in two comparisons, as one may be so by
 * chance. */
static void judge_anew(hw_decider *d, double ratio)
{
    hw_trial *trial = &d->trial;
    const bool faster = d->clear && ratio * HW_SHORTER < 1;
    trial->stage = HW_TRIAL_NONE;
    if (faster && d->doubted) {
        hw_decider_let_wait(d, HW_KNOB_SYNC);
        d->changed = d->doubted = false;
        return;
    }
    hw_decider_say(d,
                   faster ? "bsp was %.2f times as fast; it will be measured once more"
                          : "kept: bsp was measured again, and is %.2f times as fast",
                   1 / ratio);
    d->doubted = faster;
    hw_decider_keep(d, HW_KNOB_SYNC, 0, 0);
    hw_decider_set(d, HW_KNOB_SYNC, 0, trial->to);
}

/* Returns the ratio of two rates of progress. The old rate may be zero or negative. */
static double ratio_of(double now, double old)
{
    return old > 0 ? now / old : now > 0 ? HW_SHORTER : 0;
}

/* Returns whether a trial allows for progress that slows down by itself. Another amount of work per clock changes how
 * fast it does, so what the old value would have done is unknown then. */
static bool slows(const hw_decider *d)
{
    return d->bounds.often && d->trial.knob == HW_KNOB_SYNC;
}

/* Begins a trial: sets the new value. */
static void begin_trial(hw_decider *d, double rate)
{
    hw_trial *trial = &d->trial;
    if (d->bounds.often && (!d->steady || (!slows(d) && d->decay * HW_STEADY < 1)))
        return;
    trial->stage = HW_TRIAL_NEW;
    trial->before = rate;
    trial->expected = slows(d) ? rate * d->decay : rate;
    trial->began = d->clocks;
    trial->first = d->measured == 1 && !d->bounds.often;
    hw_decider_say(d, "trial: %s", trial->reason);
    hw_decider_set(d, trial->knob, trial->block, trial->to);
    d->measuring.begun = trial->knob == HW_KNOB_GAIN; /* others are measured from the next point on */
    trial->seen = !d->measuring.begun;
}

/* Goes on with a trial after progress with the new value. Where the old one had a fit's first fall, which is its largest, it
 * is measured again before the new one is lost. */
static void judge_new(hw_decider *d, double rate)
{
    hw_trial *trial = &d->trial;
    const double ratio = ratio_of(rate, trial->before), expected = ratio_of(rate, trial->expected);
    const bool plain = ratio <= 0 || ratio >= HW_PLAINLY, gain = trial->knob == HW_KNOB_GAIN;
    trial->after = rate;
    if (!trial->seen && !plain) {
        trial->seen = true;
        trial->once = rate;
    } else if (expected < HW_SHORTER && !(trial->first && ratio > 0)) {
        lose(d, expected);
    } else if (expected >= HW_SHORTER && (ratio >= HW_PLAINLY || gain)) {
        win(d, ratio);
    } else {
        trial->stage = HW_TRIAL_BACK;
        hw_decider_say(d, "trial: the old setting again, after %.2f times its progress", ratio);
        hw_decider_set(d, trial->knob, trial->block, trial->from);
        d->measuring.begun = gain;
        trial->after = gain ? (trial->once + rate) / 2 : rate;
        trial->seen = !gain; /* a gap falls unevenly: two measurements of each value are compared */
    }
}

/* Ends a trial after progress with the old value again. */
static void judge_back(hw_decider *d, double rate)
{
    hw_trial *trial = &d->trial;
    const bool gain = trial->knob == HW_KNOB_GAIN && trial->first;
    if (gain && !trial->seen && ratio_of(trial->after, rate) < HW_PLAINLY) {
        trial->seen = true;
        trial->once = rate;
        return;
    }
    if (gain && trial->seen)
        rate = (trial->once + rate) / 2;
    /* Where progress slows down by itself, the old value would have done what lies between before and after. */
    const bool between = slows(d) && rate > 0 && trial->before > DBL_MIN;
    const double ratio = ratio_of(trial->after, between ? sqrt(trial->before * rate) : rate);
    if (trial->behind) {
        judge_anew(d, ratio);
        return;
    }
    if (ratio < HW_SHORTER) {
        lose(d, ratio);
        return;
    }
    win(d, between || trial->first ? ratio : fmin(ratio, ratio_of(trial->after, trial->before)));
    hw_decider_set(d, trial->knob, trial->block, trial->to);
}

/* Goes on with a trial once progress under a setting is known: per clock, and the seconds of a clock; NaN: unknown. */
static void step_trial(hw_decider *d, double per_clock, double clock)
{
    const double rate = d->trial.knob == HW_KNOB_GAIN ? per_clock : per_clock / clock; /* a gain costs no time */
    if (isnan(rate) || d->check.on)
        return;
    switch (d->trial.stage) {
    case HW_TRIAL_NONE: break;
    case HW_TRIAL_WAITS: begin_trial(d, rate); break;
    case HW_TRIAL_NEW: judge_new(d, rate); break;
    case HW_TRIAL_BACK: judge_back(d, rate); break;
    }
}

static bool is_at_start(const hw_decider *d)
{
    for (uint32_t b = 0; b < d->blocks; b++)
        if (d->shares[b] < 1)
            return false;
    for (int k = 0; k < HW_KNOB_SHARE; k++)
        if (d->value[k] < d->bounds.start[k] || d->value[k] > d->bounds.start[k])
            return false;
    return true;
}

/* Undoes what may have made the metric rise: the trial, else the last change, else all of them. */
static void undo(hw_decider *d)
{
    hw_trial *trial = &d->trial;
    if (trial->stage == HW_TRIAL_NEW) {
        d->lost += d->clocks - trial->began;
        d->barred[trial->knob] = true;
        hw_decider_set(d, trial->knob, trial->block, trial->from);
    } else if (d->changed) {
        d->barred[d->last_knob] = true;
        hw_decider_set(d, d->last_knob, d->last_block, d->last_from);
    } else {
        give_up(d);
    }
    trial->stage = HW_TRIAL_NONE;
    d->check.on = false;
    d->changed = false;
    d->rises = 0;
    return_states(d);
    hw_decider_say(d, "undone and barred: the metric rose above its noise at two points, or is not finite%s",
                   d->point == HW_POINT_RETURN ? "; states return to kept ones" : "");
    count_undone(d);
}

static double measure_of(const hw_decider *d, double metric)
{
    return d->bounds.is_gap && isfinite(metric) ? log(fmax(metric, DBL_MIN)) : metric;
}

bool hw_decider_is_risen(const hw_decider *d, double metric)
{
    const double y = measure_of(d, metric);
    /* What each clock reports, as the loss of its batches, is about as noisy as a gap. */
    double least = d->bounds.is_gap ? GAP_NOISE : (d->bounds.often ? GAP_NOISE : NOISE) * fabs(d->best);
    return !isfinite(y) || y > d->best + fmax(d->noise, least);
}

bool hw_decider_undoes(const hw_decider *d)
{
    return !d->defaulted && (d->trial.stage == HW_TRIAL_NEW || !is_at_start(d));
}

/* Returns whether the guard has undone something at a point. */
static bool guard(hw_decider *d, double metric)
{
    const double y = measure_of(d, metric);
    const bool new_value = hw_decider_undoes(d);
    d->rises = hw_decider_is_risen(d, metric) ? d->rises + 1 : 0;
    if (y < d->best)
        d->best = y;
    if (!new_value || (isfinite(y) ? d->rises < 2 : d->rises < 1))
        return false;
    undo(d);
    return true;
}

/* Compares a staleness that was kept with bsp anew, because progress has fallen behind that of bsp, which was measured long
 * ago. Bsp begins at once. Returns false if the staleness must be undone instead. */
static bool compare_anew(hw_decider *d, double progress, double rate)
{
    if (!d->bounds.often || d->trial.stage == HW_TRIAL_NEW || !(rate > 0))
        return false;
    d->trial = (hw_trial){.stage = HW_TRIAL_BACK,
                          .knob = HW_KNOB_SYNC,
                          .to = d->value[HW_KNOB_SYNC],
                          .before = DBL_MIN, /* bsp alone counts */
                          .after = rate,
                          .began = d->clocks,
                          .behind = true};
    hw_decider_say(d, "bsp for a measurement: progress per clock is %.2f of what it was under bsp (limit 1/%g)",
                   progress / d->in_step, HW_FALLS_BEHIND);
    hw_decider_set(d, HW_KNOB_SYNC, 0, 0);
    return true;
}

/* Ends a staleness under which progress has fallen behind that under bsp. Returns whether it has. The trial of another
 * setting judges by itself. */
static bool guard_staleness(hw_decider *d, double progress, double rate)
{
    const bool tried = d->trial.stage == HW_TRIAL_NEW;
    const double expected = d->in_step * (tried && d->bounds.often ? d->decay : 1);
    const double missing = (expected / HW_FALLS_BEHIND - progress) * d->value[HW_KNOB_WORK] * d->interval;
    if ((tried && d->trial.knob != HW_KNOB_SYNC) || !(expected > 0) || !(missing > d->rose))
        return false;
    if (tried && d->trial.from > 0) { /* the staleness before it was judged and kept */
        lose(d, progress / expected);
        return true;
    }
    if (compare_anew(d, progress, rate))
        return true;
    d->barred[HW_KNOB_SYNC] = true;
    if (tried)
        d->lost += d->clocks - d->trial.began;
    d->trial.stage = HW_TRIAL_NONE;
    d->changed = false;
    hw_decider_say(d, "undone and barred: progress per clock is %.2f of that under bsp (limit 1/%g)", progress / expected,
                   HW_FALLS_BEHIND);
    hw_decider_set(d, HW_KNOB_SYNC, 0, 0);
    count_undone(d);
    return true;
}

/* Judges an encoding or a quota by progress, once clocks were short enough. Returns whether it was undone. */
static bool check_progress(hw_decider *d, double progress)
{
    hw_check *check = &d->check;
    if (!check->on || check->clock_seconds > 0)
        return false;
    const bool behind = check->before > 0 && progress < check->before / HW_FALLS_BEHIND;
    check->on = behind && !check->behind; /* one measurement may be behind by chance, as a gap falls unevenly */
    if (!behind || !check->behind) {
        check->behind = behind;
        return false;
    }
    undo_check(d);
    hw_decider_say(d, "undone: progress per clock became %.2f times that before (limit 1/%g)", progress / check->before,
                   HW_FALLS_BEHIND);
    if (d->value[HW_KNOB_SYNC] <= 0) /* what the undone value did is no measure of the old one */
        d->in_step = d->last_in_step = check->before;
    count_undone(d);
    return true;
}

/* Takes progress per clock, in terms of its work, and per second, and the rises in between. Returns whether it has undone
 * something. */
static bool take_progress(hw_decider *d, double progress, double rate, double rises)
{
    if (d->value[HW_KNOB_SYNC] > 0 && guard_staleness(d, progress, rate))
        return true;
    if (check_progress(d, progress))
        return true;
    const bool bsp = d->value[HW_KNOB_SYNC] <= 0,
               bsp_again = d->trial.stage == HW_TRIAL_BACK && d->trial.knob == HW_KNOB_SYNC;
    if (is_tried(d) && !bsp_again)
        return false;
    const double before = bsp ? d->last_in_step : d->last;
    d->steady = before > 0 && progress < HW_STEADY * before && before < HW_STEADILY * progress;
    d->decay = d->steady ? fmin(progress / before, 1) : 1;
    d->last = progress;
    if (bsp) {
        d->rose = rises;
        d->in_step = d->measured++ == 0 ? progress : fmin(before, progress);
        d->last_in_step = progress;
    }
    return false;
}

/* Sets the staleness of an earlier run, unless a trial goes on. Returns whether it has. */
static bool begin_learned_sync(hw_decider *d)
{
    const double to = d->learned_sync;
    if (to <= 0 || d->measured < 2 || (d->trial.stage != HW_TRIAL_NONE && d->trial.stage != HW_TRIAL_WAITS))
        return false;
    d->learned_sync = 0;
    d->trial.stage = HW_TRIAL_NONE;
    if (d->barred[HW_KNOB_SYNC] || to <= d->value[HW_KNOB_SYNC])
        return false;
    hw_decider_say(d, "as an earlier run ended (--learn); progress per clock under bsp is known");
    hw_decider_keep(d, HW_KNOB_SYNC, 0, d->value[HW_KNOB_SYNC]);
    hw_decider_set(d, HW_KNOB_SYNC, 0, to);
    return true;
}

/* Returns to the start's value of a setting that an earlier run has decided, for a measurement, as the old value of a trial.
 * It waits until that takes as small a share of the run as lost trials may. Returns whether it has. */
static bool check_learned(hw_decider *d, double per_clock, double rate)
{
    bool small = d->interval <= HW_LOST_SHARE * (d->clocks - d->learned_clocks);
    if (!small || d->check.on || (d->trial.stage != HW_TRIAL_NONE && d->trial.stage != HW_TRIAL_WAITS))
        return false;
    for (int k = 0; k < HW_KNOB_SHARE; k++) {
        const double start = d->bounds.start[k], now = d->value[k];
        if (!d->learned[k] || !(now < start || now > start))
            continue;
        d->learned[k] = false;
        d->trial = (hw_trial){.stage = HW_TRIAL_BACK,
                              .knob = (hw_knob)k,
                              .from = start,
                              .to = now,
                              .before = DBL_MIN, /* what follows alone counts */
                              .after = k == HW_KNOB_GAIN ? per_clock : rate,
                              .began = d->clocks,
                              .kept = true};
        (void)snprintf(d->trial.reason, sizeof d->trial.reason, "an earlier run ended with it (--learn)");
        hw_decider_say(d, "the setting of the start for a measurement, to compare what was learned (--learn) with it");
        hw_decider_set(d, (hw_knob)k, 0, start);
        return true;
    }
    return false;
}

/* Takes a point of a measurement under bsp. Rises are the metric's noise, unless a trial is their cause. */
static void note_rise(hw_decider *d, double y)
{
    hw_measuring *measuring = &d->measuring;
    if (is_at_start(d) && isfinite(y))
        d->noise = fmax(d->noise, y - measuring->y);
    if (d->bounds.often && isfinite(y))
        measuring->rises += fmax(y - measuring->now, 0);
    measuring->now = y;
}

/* Returns whether a metric has fallen by more than it rose in between. */
static bool is_clear(const hw_decider *d, double y)
{
    return d->measuring.y - y >= d->measuring.rises;
}

/* Returns whether progress per clock, by which the trial of a gain is judged, is known before a window is full: a program
 * that measures rarely does so exactly. */
static bool is_gain_measured(const hw_decider *d, double clocks)
{
    return is_tried(d) && d->trial.knob == HW_KNOB_GAIN && !d->bounds.often &&
           clocks - d->measuring.clocks >= HW_WINDOW_CLOCKS;
}

void hw_decider_point(hw_decider *d, double seconds, double clocks, double metric)
{
    const double y = measure_of(d, metric);
    hw_measuring *measuring = &d->measuring;
    d->has_tried = d->has_tried || is_tried(d);
    if (d->defaulted || (!isfinite(metric) && isinf(d->best)))
        return;
    if (measuring->begun && d->value[HW_KNOB_SYNC] <= 0 && d->trial.stage != HW_TRIAL_NEW)
        note_rise(d, y);
    if (guard(d, metric) || !isfinite(y))
        return;
    d->last_y = y;
    d->last_clocks = clocks;
    d->in_fit++;
    d->longest_fit = d->in_fit > d->longest_fit ? d->in_fit : d->longest_fit;
    const double least = fmax(KEPT_LEAST, KEPT_SHARE * clocks);
    const bool old = isnan(d->kept_y) || clocks - d->kept_clocks >= least;
    const bool due = !d->bounds.often || (!is_at_start(d) && old);
    if (d->rises == 0 && due)
        hw_decider_keep_states(d);
    const bool brief = measuring->windows == 0 && !is_gain_measured(d, clocks);
    if (measuring->begun && (brief || (!is_clear(d, y) && measuring->windows < MEASURED_MOST)))
        return;
    const hw_measuring from = *measuring;
    d->clear = is_clear(d, y);
    *measuring = (hw_measuring){.begun = true, .seconds = seconds, .clocks = clocks, .y = y, .now = y};
    if (!from.begun || !(seconds > from.seconds) || !(clocks > from.clocks))
        return;
    double fall = from.y - y - (d->bounds.is_gap ? 0 : d->noise);
    d->interval = clocks - from.clocks;
    const double per_clock = fall / d->interval;
    const double rate = fall / (seconds - from.seconds);
    if (take_progress(d, per_clock / d->value[HW_KNOB_WORK], rate, from.rises))
        return;
    if (begin_learned_sync(d) || check_learned(d, per_clock, rate))
        return;
    step_trial(d, per_clock, from.mixed ? d->clock_seconds : (seconds - from.seconds) / d->interval);
}

void hw_decider_end(hw_decider *d)
{
    const hw_trial *trial = &d->trial;
    if (trial->stage != HW_TRIAL_BACK || !trial->first)
        return;
    if (trial->knob == HW_KNOB_GAIN && trial->seen)
        judge_back(d, trial->once);
    else
        lose(d, ratio_of(trial->after, trial->before));
}
