#include "adapt/earlier.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Lost trials as which another run counts a setting that the guard has barred. */
enum { LOSSES_OF_BARRED = 4 };
/* Times that a run takes longer than another one: less is chance. */
static const double SLOWER = 1.02;

static double within(const hw_bounds *bounds, hw_knob knob, double value)
{
    return fmin(fmax(value, bounds->least[knob]), bounds->most[knob]);
}

static bool is_kept(const hw_across *across, hw_knob knob, uint32_t block)
{
    const hw_across_trial *tried = &across->tried;
    return tried->kept && tried->setting.knob == knob && (knob != HW_KNOB_SHARE || tried->setting.block == block);
}

static void learn_values(hw_decider *d, const hw_decided *from)
{
    for (int k = 0; k < HW_KNOB_SHARE; k++) {
        bool judged = d->bounds.measured || (k != HW_KNOB_ENCODING && k != HW_KNOB_QUOTA);
        if (!judged || !hw_bounds_let(&d->bounds, (hw_knob)k) || !isfinite(from->value[k]) ||
            is_kept(&from->across, (hw_knob)k, 0))
            continue;
        d->value[k] = within(&d->bounds, (hw_knob)k, from->value[k]);
        d->learned[k] = k != HW_KNOB_SYNC; /* which is guarded from its begin */
    }
    d->learned_sync = d->value[HW_KNOB_SYNC];
    d->value[HW_KNOB_SYNC] = d->sent[HW_KNOB_SYNC];
    for (uint32_t b = 0; from->shares != NULL && hw_bounds_let(&d->bounds, HW_KNOB_SHARE) && b < d->blocks; b++)
        if (!is_kept(&from->across, HW_KNOB_SHARE, b))
            d->shares[b] = within(&d->bounds, HW_KNOB_SHARE, from->shares[b]);
}

void hw_decider_learn(hw_decider *d, const hw_decided *from, const char *reason)
{
    learn_values(d, from);
    d->across = from->across;
    d->learned_clocks = from->clocks;
    for (int k = 0; k < HW_KNOBS; k++)
        if ((d->losses[k] = from->losses[k]) > 0) {
            d->losses[k]--;
            hw_decider_let_wait(d, (hw_knob)k);
        }
    d->clocks = from->clocks;
    d->lost = from->lost;
    d->noise = d->bounds.is_gap ? from->noise : 0;
    hw_decider_keep_states(d);
    hw_decider_say(d, "%s", reason);
}

/* ----------------------------------------------------------------------------------------------- trials across runs ---- */

/* Sets a setting before the first clock. Under ssp the guard compares progress with that of the earlier run under bsp. */
static void begin(hw_decider *d, const hw_setting *setting)
{
    const double from = hw_decider_value(d, setting->knob, setting->block);
    if (setting->knob == HW_KNOB_SYNC && d->across.progress > 0)
        d->in_step = d->last_in_step = d->across.progress;
    hw_decider_keep(d, setting->knob, setting->block, from);
    hw_decider_set(d, setting->knob, setting->block, setting->to);
    d->moves = false;
}

static bool begins(const hw_decider *d, const hw_setting *setting)
{
    return setting->knob < HW_KNOBS && setting->block < d->blocks && hw_decider_opens(d, *setting);
}

bool hw_decider_across(hw_decider *d)
{
    const hw_across_trial *tried = &d->across.tried;
    const hw_untried *next = &d->across.next;
    if (tried->kept && begins(d, &tried->setting)) {
        hw_decider_say(d, "learned: a run with it took %.3g s, and the one before it %.3g s (--learn)", tried->after,
                       tried->before);
        begin(d, &tried->setting);
        return true;
    }
    if (d->tries || tried->kept || next->windows == 0 || !(d->across.seconds > 0) || !begins(d, &next->setting))
        return false;
    d->tries = true;
    d->across.tried = (hw_across_trial){.setting = next->setting,
                                        .from = hw_decider_value(d, next->setting.knob, next->setting.block),
                                        .before = d->across.seconds,
                                        .kept = true};
    hw_decider_say(d, "trial across runs (--learn): %s", next->why);
    begin(d, &next->setting);
    return true;
}

/* Returns what a run that has ended by its own test would have taken, had it begun with its last settings. */
static double cost_of(const hw_decider *d, double seconds)
{
    if (!(d->clocks_since > 0))
        return seconds;
    return seconds - fmax(0, d->seconds_before - d->clocks_before * (d->seconds_since / d->clocks_since));
}

static double *place_of(hw_decided *decided, double *shares, const hw_setting *setting)
{
    return setting->knob == HW_KNOB_SHARE ? &shares[setting->block] : &decided->value[setting->knob];
}

/* Takes a setting back that was tried, or kept before, and was slower or undone by the guard. */
static void lose(const hw_decider *d, double *shares, hw_decided *decided)
{
    hw_across_trial *tried = &decided->across.tried;
    *place_of(decided, shares, &tried->setting) = tried->from;
    tried->kept = false;
    decided->losses[tried->setting.knob]++;
    decided->lost += d->clocks - d->learned_clocks;
    decided->across.seconds = tried->before;
}

/* Judges the trial of this run, or what an earlier one has kept, by the seconds of the runs. */
static void judge(const hw_decider *d, double *shares, double seconds, bool ended, hw_decided *decided)
{
    hw_across *across = &decided->across;
    hw_across_trial *tried = &across->tried;
    if (!tried->kept)
        return;
    tried->after = seconds;
    const double value = *place_of(decided, shares, &tried->setting), to = tried->setting.to;
    const bool held = !(value < to || value > to) && !d->defaulted;
    const double limit = d->tries ? tried->before / HW_SHORTER : tried->before;
    if (!held || seconds > limit) {
        lose(d, shares, decided);
    } else if (d->tries && !ended) { /* a limit has ended it: there is no result */
        *place_of(decided, shares, &tried->setting) = tried->from;
        *tried = (hw_across_trial){.setting.knob = HW_KNOBS};
    }
}

/* Chooses what the next run tries: for the cause of most windows, unless it was lost before. */
static void choose_next(const hw_decider *d, hw_decided *decided)
{
    hw_across *across = &decided->across;
    const hw_untried *most = &d->untried[0];
    for (int cause = 1; cause < HAWSER_CAUSES; cause++)
        if (d->untried[cause].windows > most->windows)
            most = &d->untried[cause];
    const double own = d->clocks - d->learned_clocks;
    const bool affordable = decided->lost <= 0 || decided->lost + own <= HW_LOST_SHARE * decided->clocks;
    const bool is_short = !d->has_tried && d->longest_fit <= 2;
    if (!is_short || !affordable || d->tries || across->tried.kept || most->windows == 0 || most->setting.knob == HW_KNOBS ||
        d->losses[most->setting.knob] > 0)
        return;
    across->next = *most;
}

/* A run may lose the trial of a setting, and still be faster than a later run without it. Its measurements were then
 * misleading, so the next run tries the setting again. */
static void doubt_loss(const hw_decider *d, double seconds, hw_decided *decided)
{
    hw_across *across = &decided->across;
    if (d->doubted_loss.knob < HW_KNOBS) {
        across->lost = d->doubted_loss;
        across->lost_seconds = seconds;
        return;
    }
    if (d->tries || across->tried.kept || d->has_tried || !(across->lost_seconds > 0))
        return;
    if (seconds > across->lost_seconds * SLOWER) {
        across->next = (hw_untried){.windows = 1, .setting = across->lost};
        (void)snprintf(across->next.why, sizeof across->next.why, "%.3g s when its trial was lost, and %.3g s without",
                       across->lost_seconds, seconds);
    }
    across->lost_seconds = 0;
}

static void decide_across(const hw_decider *d, double *shares, double seconds, bool ended, hw_decided *decided)
{
    hw_across *across = &decided->across;
    *across = d->across;
    across->next = (hw_untried){.setting.knob = HW_KNOBS};
    across->seconds = ended ? cost_of(d, seconds) : 0;
    if (d->measured > 0 && d->in_step > 0)
        across->progress = d->in_step;
    judge(d, shares, seconds, ended, decided);
    if (ended) {
        choose_next(d, decided);
        doubt_loss(d, seconds, decided);
    }
}

void hw_decider_decided(const hw_decider *d, double *shares, double seconds, bool ended, hw_decided *decided)
{
    const hw_trial *trial = &d->trial;
    const bool tries = trial->stage == HW_TRIAL_NEW;
    const bool again = trial->stage == HW_TRIAL_BACK && (trial->kept || trial->behind);
    const bool shared = hw_bounds_let(&d->bounds, HW_KNOB_SHARE);
    *decided = (hw_decided){
        .shares = shared ? shares : NULL, .clocks = d->clocks, .lost = d->lost, .noise = d->bounds.is_gap ? d->noise : 0};
    memcpy(shares, d->shares, d->blocks * sizeof *shares);
    memcpy(decided->value, d->value, sizeof decided->value);
    if (d->learned_sync > 0)
        decided->value[HW_KNOB_SYNC] = d->learned_sync;
    if (tries && trial->knob == HW_KNOB_SHARE)
        shares[trial->block] = trial->from;
    else if (tries || again)
        decided->value[trial->knob] = again ? trial->to : trial->from;
    if (d->check.on)
        decided->value[d->check.knob] = d->check.from;
    for (int k = 0; k < HW_KNOBS; k++)
        decided->losses[k] = d->losses[k] + (d->barred[k] ? LOSSES_OF_BARRED : 0);
    decide_across(d, shares, seconds, ended, decided);
    for (int k = 0; k < HW_KNOBS; k++)
        if (!(decided->value[k] < d->bounds.start[k] || decided->value[k] > d->bounds.start[k]))
            decided->value[k] = (double)NAN;
}
