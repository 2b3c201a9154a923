/*
 * Decisions on a loop: which change follows from which cause, that a number beyond its limit changes the decision, what
 * trials keep, what the guard undoes; and over drawn feedback bounds, one change at a time, and what lost trials may take.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "adapt/decide.h"
#include "base/random.h"

enum { BLOCKS = 4 };

static const hw_bounds wide = {
    .start = {[HW_KNOB_WORK] = 1, [HW_KNOB_GAIN] = 1, [HW_KNOB_SHARE] = 1},
    .least = {[HW_KNOB_WORK] = 0.25, [HW_KNOB_GAIN] = 1, [HW_KNOB_SHARE] = 0.125},
    .most = {[HW_KNOB_ENCODING] = 2, [HW_KNOB_WORK] = 4, [HW_KNOB_SYNC] = 3, [HW_KNOB_GAIN] = 1, [HW_KNOB_SHARE] = 1},
    .measured = true,
    .is_gap = true};

/* A run that is simulated by its rates. */
typedef struct run {
    hw_decider decider;
    double seconds, clocks, y; /* y: the logarithm of the metric */
} run;

static run open_run(const hw_bounds *bounds)
{
    run r = {.y = 0};
    hawser_error error = {0};
    assert_int_equal(hw_decider_open(&r.decider, bounds, BLOCKS, &error), HAWSER_OK);
    return r;
}

static hw_feedback feedback_of(hawser_cause cause, double clock_seconds)
{
    return (hw_feedback){.found = {.cause = cause, .clocks = 10, .seconds = 10 * clock_seconds, .waited = 0.4, .measure = 2},
                         .units = 0.2,
                         .exchanging = 0.05,
                         .sent = 1000};
}

/* Takes a window, and then a point at which the metric has fallen by `fall` per clock. */
static void pass(run *r, hw_feedback feedback, double fall)
{
    hw_decider_window(&r->decider, &feedback);
    r->seconds += feedback.found.seconds;
    r->clocks += (double)feedback.found.clocks;
    r->y -= fall * (double)feedback.found.clocks;
    hw_decider_point(&r->decider, r->seconds, r->clocks, exp(r->y));
}

static void expect_change(run *r, hw_knob knob, double from, double to)
{
    hw_instruction made;
    if (!hw_decider_next(&r->decider, &made))
        fail_msg("there is no change of knob %d to %g", (int)knob, to);
    if (made.knob != knob || made.from != from || made.to != to)
        fail_msg("knob %d: %g -> %g, not knob %d: %g -> %g", (int)made.knob, made.from, made.to, (int)knob, from, to);
    assert_true(made.reason[0] != '\0');
}

static void expect_none(run *r)
{
    hw_instruction made;
    if (hw_decider_next(&r->decider, &made))
        fail_msg("knob %d changed: %g -> %g (%s)", (int)made.knob, made.from, made.to, made.reason);
}

/* Passes windows of one kind until something changes, which the caller looks at. */
static void pass_until_change(run *r, hw_feedback feedback, double fall)
{
    for (int i = 0; i < 10 && memcmp(r->decider.value, r->decider.sent, sizeof r->decider.value) == 0 &&
                    memcmp(r->decider.shares, r->decider.sent_shares, BLOCKS * sizeof(double)) == 0;
         i++)
        pass(r, feedback, fall);
}

/* A busy link first takes fewer bits, step by step while clocks get shorter. Work, which costs clocks, comes after. */
static void a_busy_link_gets_fewer_bits_and_then_more_work(void **state)
{
    (void)state;
    run r = open_run(&wide);
    pass(&r, feedback_of(HAWSER_CAUSE_LINK, 1), 0.1);
    expect_change(&r, HW_KNOB_ENCODING, 0, 1);
    pass_until_change(&r, feedback_of(HAWSER_CAUSE_LINK, 0.5), 0.1);
    expect_change(&r, HW_KNOB_ENCODING, 1, 2);
    pass_until_change(&r, feedback_of(HAWSER_CAUSE_LINK, 0.3), 0.1);
    expect_change(&r, HW_KNOB_WORK, 1, 2);
    hw_decider_close(&r.decider);
}

/* Where blocks mostly wait, the narrowest encoding is the first one. Once it was undone, the next one is tried. */
static void blocks_that_mostly_wait_get_the_fewest_bits_at_once(void **state)
{
    (void)state;
    run r = open_run(&wide);
    hw_feedback link = feedback_of(HAWSER_CAUSE_LINK, 1);
    link.found.waited = HW_MOSTLY;
    pass(&r, link, 0.1);
    expect_change(&r, HW_KNOB_ENCODING, 0, 2);
    pass(&r, link, 0.1);
    expect_change(&r, HW_KNOB_ENCODING, 2, 0);
    for (int i = 0; i < 2; i++) {
        expect_none(&r);
        hw_decider_window(&r.decider, &link);
    }
    expect_change(&r, HW_KNOB_ENCODING, 0, 1);
    hw_decider_close(&r.decider);
}

/* The trial of a gain goes on while the encoding changes, because it compares progress per clock: clocks that get shorter
 * in the new window say nothing about the gain. */
static void an_encoding_changes_within_the_trial_of_a_gain(void **state)
{
    (void)state;
    hw_bounds bounds = wide;
    bounds.least[HW_KNOB_GAIN] = 0.5;
    for (int better = 0; better < 2; better++) {
        run r = open_run(&bounds);
        pass_until_change(&r, feedback_of(HAWSER_CAUSE_NONE, 1), 0.1);
        expect_change(&r, HW_KNOB_GAIN, 1, 0.5);
        const hw_feedback link = feedback_of(HAWSER_CAUSE_LINK, 1);
        hw_decider_window(&r.decider, &link);
        expect_change(&r, HW_KNOB_ENCODING, 0, 1);
        for (int i = 0; i < 2; i++) /* the next point begins the measurement */
            pass(&r, feedback_of(HAWSER_CAUSE_OTHER, 0.25), better ? 0.2 : 0.1);
        if (better)
            assert_true(r.decider.value[HW_KNOB_GAIN] == 0.5 && r.decider.trial.stage == HW_TRIAL_NONE);
        else
            expect_change(&r, HW_KNOB_GAIN, 0.5, 1);
        expect_none(&r);
        assert_true(r.decider.value[HW_KNOB_ENCODING] == 1);
        hw_decider_close(&r.decider);
    }
}

/* Where only the quota may change, a link that is busy lets it fall to what units leave time to send, within its bounds and
 * by a half at least. If clocks stay as long, the quota is as before. */
static void a_busy_link_gets_a_quota(void **state)
{
    (void)state;
    hw_bounds bounds = {.start = {[HW_KNOB_QUOTA] = 8000, [HW_KNOB_WORK] = 1, [HW_KNOB_GAIN] = 1, [HW_KNOB_SHARE] = 1},
                        .least = {[HW_KNOB_QUOTA] = 90, [HW_KNOB_WORK] = 1, [HW_KNOB_GAIN] = 1, [HW_KNOB_SHARE] = 1},
                        .most = {[HW_KNOB_QUOTA] = 8000, [HW_KNOB_WORK] = 1, [HW_KNOB_GAIN] = 1, [HW_KNOB_SHARE] = 1}};
    run r = open_run(&bounds);
    hw_feedback link = feedback_of(HAWSER_CAUSE_LINK, 1);
    hw_decider_window(&r.decider, &link);
    expect_change(&r, HW_KNOB_QUOTA, 8000, 200); /* 1000 bytes were sent, and units took a fifth of the time */
    for (int i = 0; i < 3; i++) {
        link = feedback_of(HAWSER_CAUSE_LINK, 0.5);
        link.sent = i < 2 ? 600 : 400; /* 120 bytes are more than the half of 200; 80 are not */
        hw_decider_window(&r.decider, &link);
        if (i < 2)
            expect_none(&r);
    }
    expect_change(&r, HW_KNOB_QUOTA, 200, 90);
    link = feedback_of(HAWSER_CAUSE_LINK, 0.5);
    hw_decider_window(&r.decider, &link);
    expect_change(&r, HW_KNOB_QUOTA, 90, 200);
    for (int i = 0; i < 5; i++) {
        hw_feedback other = feedback_of(HAWSER_CAUSE_OTHER, 0.5);
        hw_decider_window(&r.decider, &other);
        expect_none(&r);
    }
    hw_decider_close(&r.decider);
}

/* Where the metric is measured in every window, trials wait until progress per clock is steady. A staleness that was kept
 * is compared with bsp anew once progress per clock has fallen behind. It comes back, but bsp stays if it is faster
 * twice. */
static void a_staleness_is_compared_with_bsp_anew(void **state)
{
    (void)state;
    for (int faster = 0; faster < 2; faster++) {
        hw_bounds bounds = wide;
        bounds.often = true;
        bounds.least[HW_KNOB_SHARE] = 1;
        run r = open_run(&bounds);
        hw_feedback turns = feedback_of(HAWSER_CAUSE_TURNS, 1), none = feedback_of(HAWSER_CAUSE_OTHER, 0.5);
        double fall = 1;
        pass(&r, turns, fall);
        for (int i = 0; i < 5; i++, fall /= 2.6) {
            pass(&r, turns, fall);
            expect_none(&r);
        }
        pass(&r, turns, fall);
        pass(&r, turns, fall);
        expect_change(&r, HW_KNOB_SYNC, 0, 1);
        pass(&r, none, fall);
        pass(&r, none, fall); /* clocks take half the time: kept at once */
        expect_none(&r);
        pass(&r, none, fall / 1.4);
        expect_none(&r);
        for (int times = 0; times < 2; times++) {
            pass(&r, none, fall / 1.6);
            pass(&r, none, fall / 1.6);
            expect_change(&r, HW_KNOB_SYNC, 1, 0);
            const hw_feedback bsp = feedback_of(HAWSER_CAUSE_OTHER, faster ? 1 : 0.4);
            pass(&r, bsp, fall / 1.6);
            pass(&r, bsp, fall / 1.6);
            if (!faster && times == 1)
                break;
            expect_change(&r, HW_KNOB_SYNC, 0, 1);
            pass(&r, none, fall / 1.6);
            pass(&r, none, fall / 1.8); /* what bsp does now is known */
            expect_none(&r);
            fall /= 1.6;
        }
        expect_none(&r);
        assert_true(!r.decider.barred[HW_KNOB_SYNC] && r.decider.undone == 0);
        assert_true((r.decider.value[HW_KNOB_SYNC] > 0) == faster);
        hw_decider_close(&r.decider);
    }
}

/* Progress that slows down by itself is no reason to lose a trial: what the old value would have done lies between what it
 * did before and after. Progress per clock falls to 0.7 from window to window. Clocks take half of the time, or all. */
static void a_trial_allows_for_progress_that_slows_down(void **state)
{
    (void)state;
    for (int shorter = 0; shorter < 2; shorter++) {
        hw_bounds bounds = wide;
        bounds.often = true;
        run r = open_run(&bounds);
        double fall = 1;
        for (int i = 0; i < 4; i++, fall *= 0.7)
            pass(&r, feedback_of(HAWSER_CAUSE_TURNS, 1), fall);
        expect_change(&r, HW_KNOB_SYNC, 0, 1);
        for (int i = 0; i < 2; i++, fall *= 0.7)
            pass(&r, feedback_of(HAWSER_CAUSE_OTHER, shorter ? 0.5 : 1), fall);
        expect_change(&r, HW_KNOB_SYNC, 1, 0);
        for (int i = 0; i < 2; i++, fall *= 0.7)
            pass(&r, feedback_of(HAWSER_CAUSE_OTHER, 1), fall);
        if (shorter)
            expect_change(&r, HW_KNOB_SYNC, 0, 1);
        expect_none(&r);
        hw_decider_close(&r.decider);
    }
}

/* Takes a window of any other known cause than a link. */
static void pass_without_link(run *r, double clock_seconds)
{
    static const hawser_cause causes[] = {HAWSER_CAUSE_NONE, HAWSER_CAUSE_WORKER, HAWSER_CAUSE_TURNS};
    const hw_feedback feedback = feedback_of(causes[r->decider.windows % 3], clock_seconds);
    hw_decider_window(&r->decider, &feedback);
}

/* A quota that was lowered doubles, up to the whole, as long as clocks do not get longer. One that makes them longer comes
 * back, and waits twice as long each time, unless clocks change by themselves; that counts as no change that was undone. */
static void a_quota_rises_while_clocks_stay_as_long(void **state)
{
    (void)state;
    hw_bounds bounds = {.start = {[HW_KNOB_QUOTA] = 3000, [HW_KNOB_WORK] = 1, [HW_KNOB_GAIN] = 1, [HW_KNOB_SHARE] = 1},
                        .least = {[HW_KNOB_QUOTA] = 90, [HW_KNOB_WORK] = 1, [HW_KNOB_GAIN] = 1, [HW_KNOB_SHARE] = 1},
                        .most = {[HW_KNOB_QUOTA] = 3000, [HW_KNOB_WORK] = 1, [HW_KNOB_GAIN] = 1, [HW_KNOB_SHARE] = 1}};
    run r = open_run(&bounds);
    pass_without_link(&r, 1);
    expect_none(&r); /* it was not lowered */
    const hw_feedback link = feedback_of(HAWSER_CAUSE_LINK, 1);
    hw_decider_window(&r.decider, &link);
    expect_change(&r, HW_KNOB_QUOTA, 3000, 200);
    for (int lost = 0; lost < 5; lost++) {
        pass_without_link(&r, 0.5);
        for (int waited = 0; waited < (lost == 0 ? 0 : (2 << (lost - 1)) - 1); waited++) {
            expect_none(&r);
            pass_without_link(&r, 0.5);
        }
        expect_change(&r, HW_KNOB_QUOTA, 200, 400);
        pass_without_link(&r, 0.56); /* more than 1.1 times longer */
        expect_change(&r, HW_KNOB_QUOTA, 400, 200);
    }
    assert_int_equal(r.decider.undone, 0);
    pass_without_link(&r, 0.5);
    for (int i = 0; i < 2; i++) { /* the link got faster */
        expect_none(&r);
        pass_without_link(&r, 0.2);
    }
    for (double quota = 200; quota < 3000; quota *= 2) {
        expect_change(&r, HW_KNOB_QUOTA, quota, fmin(2 * quota, 3000));
        pass_without_link(&r, 0.21);
    }
    expect_none(&r);
    hw_decider_close(&r.decider);
}

/* A gain that may be halved is tried first, whatever the cause that is known, but after fewer bits; once. */
static void a_gain_is_halved_once_for_any_known_cause(void **state)
{
    (void)state;
    hw_bounds bounds = wide;
    bounds.least[HW_KNOB_GAIN] = 0.5;
    for (int cause = HAWSER_CAUSE_NONE; cause < HAWSER_CAUSE_OTHER; cause++) {
        run r = open_run(&bounds);
        if (cause == HAWSER_CAUSE_LINK)
            r.decider.barred[HW_KNOB_ENCODING] = true;
        hw_feedback feedback = feedback_of((hawser_cause)cause, 1);
        pass_until_change(&r, feedback, 1);
        expect_change(&r, HW_KNOB_GAIN, 1, 0.5);
        for (int i = 0; i < 5; i++)
            pass(&r, feedback_of(HAWSER_CAUSE_OTHER, 1), 2);
        expect_none(&r);
        assert_true(r.decider.value[HW_KNOB_GAIN] == 0.5);
        hw_decider_close(&r.decider);
    }
}

/* Clocks get 1.12 or 1.08 times shorter; the limit is 1.1. */
static void an_encoding_is_undone_if_clocks_stay_as_long(void **state)
{
    (void)state;
    for (int shorter = 0; shorter < 2; shorter++) {
        run r = open_run(&wide);
        pass(&r, feedback_of(HAWSER_CAUSE_LINK, 1), 0.1);
        expect_change(&r, HW_KNOB_ENCODING, 0, 1);
        hw_feedback later = feedback_of(HAWSER_CAUSE_OTHER, 1 / (shorter ? 1.12 : 1.08));
        hw_decider_window(&r.decider, &later);
        if (shorter)
            expect_none(&r);
        else
            expect_change(&r, HW_KNOB_ENCODING, 1, 0);
        hw_decider_close(&r.decider);
    }
}

/* Clocks are half as long, but progress per clock is 0.6 or 0.7 of that before. The limit is 1 / 1.5, twice in a row. */
static void an_encoding_is_undone_if_progress_per_clock_falls_behind_twice(void **state)
{
    (void)state;
    for (int behind = 0; behind < 2; behind++) {
        run r = open_run(&wide);
        for (int i = 0; i < 3; i++)
            pass(&r, feedback_of(HAWSER_CAUSE_OTHER, 1), 1);
        pass(&r, feedback_of(HAWSER_CAUSE_LINK, 1), 1);
        expect_change(&r, HW_KNOB_ENCODING, 0, 1);
        hw_feedback shorter = feedback_of(HAWSER_CAUSE_OTHER, 0.5);
        pass(&r, shorter, 0.6);
        expect_none(&r);
        pass(&r, shorter, behind ? 0.6 : 0.7);
        if (behind)
            expect_change(&r, HW_KNOB_ENCODING, 1, 0);
        expect_none(&r);
        hw_decider_close(&r.decider);
    }
}

/* A slow worker has a pace of 4 medians, so it gets a quarter; at 1.4 the change would be too small. */
static void a_slow_worker_gets_the_share_that_makes_it_even(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        const double pace[BLOCKS] = {1, 1, slow ? 4 : 1.4, 1};
        run r = open_run(&wide);
        hw_feedback feedback = feedback_of(HAWSER_CAUSE_WORKER, 1);
        feedback.found.number = 2;
        feedback.pace = pace;
        pass_until_change(&r, feedback, 0.1);
        if (slow)
            expect_change(&r, HW_KNOB_SHARE, 1, 0.25);
        expect_none(&r);
        hw_decider_close(&r.decider);
    }
}

/* Between old windows that progress by 1 per second, the new one does so by `faster`. */
static void a_trial_is_kept_if_progress_was_larger_than_in_both_old_windows(void **state)
{
    (void)state;
    static const double faster[] = {1.05, 1.2};
    for (int kept = 0; kept < 2; kept++) {
        run r = open_run(&wide);
        hw_feedback turns = feedback_of(HAWSER_CAUSE_TURNS, 1);
        pass_until_change(&r, turns, 1);
        expect_change(&r, HW_KNOB_SYNC, 0, 1);
        pass_until_change(&r, turns, faster[kept]);
        expect_change(&r, HW_KNOB_SYNC, 1, 0);
        if (!kept) { /* the first old window may have had the largest fall of all */
            pass(&r, turns, 1);
            pass(&r, turns, 1);
            expect_none(&r);
            assert_true(r.decider.lost > 0);
        } else {
            pass_until_change(&r, turns, 1);
            expect_change(&r, HW_KNOB_SYNC, 0, 1);
            assert_true(r.decider.lost <= 0);
        }
        hw_decider_close(&r.decider);
    }
}

/* A gap's first fall is its largest. Half of sigma' that progresses less than that is compared with the old value again, by
 * two measurements of each; if the run ends after one, by that. */
static void a_gain_that_a_first_fall_beats_is_compared_with_the_old_value_again(void **state)
{
    (void)state;
    static const struct {
        double back[2];
        int measured; /* before the run ends */
        bool kept;
    } cases[] = {
        {{1.4, 0.8}, 2, true}, {{1.4, 2.2}, 2, false}, {{1.4, 0}, 1, true}, {{1.7, 0}, 1, false}, {{0, 0}, 0, false}};
    hw_bounds own = wide;
    own.least[HW_KNOB_GAIN] = 0.5;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run r = open_run(&own);
        const hw_feedback other = feedback_of(HAWSER_CAUSE_OTHER, 1);
        pass_until_change(&r, feedback_of(HAWSER_CAUSE_NONE, 1), 3);
        expect_change(&r, HW_KNOB_GAIN, 1, 0.5);
        pass(&r, other, 2);
        expect_none(&r);
        pass(&r, other, 1.6);
        expect_change(&r, HW_KNOB_GAIN, 0.5, 1);
        for (int m = 0; m < cases[i].measured; m++)
            pass(&r, other, cases[i].back[m]);
        hw_decider_end(&r.decider);
        assert_true(r.decider.value[HW_KNOB_GAIN] == (cases[i].kept ? 0.5 : 1));
        assert_true((r.decider.lost > 0) == !cases[i].kept);
        hw_decider_close(&r.decider);
    }
}

/* Certificates may come faster than windows. They are exact, so that of a gain progress per clock is known at each. */
static void a_gain_needs_no_window(void **state)
{
    (void)state;
    hw_bounds own = wide;
    own.least[HW_KNOB_GAIN] = 0.5;
    for (int often = 0; often < 2; often++) {
        own.often = often;
        run r = open_run(&own);
        for (int i = 0; i < 10 && r.decider.trial.stage != HW_TRIAL_NEW; i++)
            pass(&r, feedback_of(HAWSER_CAUSE_NONE, 1), 1);
        expect_change(&r, HW_KNOB_GAIN, 1, 0.5);
        hw_decider_point(&r.decider, r.seconds + 0.04, r.clocks + 4, exp(r.y - 4 * 2));
        assert_true(r.decider.trial.stage == HW_TRIAL_NEW);
        hw_decider_point(&r.decider, r.seconds + 0.05, r.clocks + 5, exp(r.y - 5 * 2));
        assert_true((r.decider.trial.stage == HW_TRIAL_NONE) == !often);
        hw_decider_close(&r.decider);
    }
}

/* A trial that is not better than what was measured before and after it is lost, also if the first old window was slow. */
static void a_trial_that_the_second_old_window_matches_is_lost(void **state)
{
    (void)state;
    run r = open_run(&wide);
    hw_feedback turns = feedback_of(HAWSER_CAUSE_TURNS, 1);
    pass_until_change(&r, turns, 1);
    expect_change(&r, HW_KNOB_SYNC, 0, 1);
    pass_until_change(&r, turns, 1.4);
    expect_change(&r, HW_KNOB_SYNC, 1, 0);
    pass(&r, turns, 1.4);
    pass(&r, turns, 1.4);
    expect_none(&r);
    assert_true(r.decider.lost > 0);
    hw_decider_close(&r.decider);
}

/* Runs a trial of sync that is kept. */
static run with_staleness(void)
{
    run r = open_run(&wide);
    hw_feedback turns = feedback_of(HAWSER_CAUSE_TURNS, 1);
    pass_until_change(&r, turns, 1);
    expect_change(&r, HW_KNOB_SYNC, 0, 1);
    pass(&r, turns, 2); /* plainly more: there is no second old window */
    pass(&r, feedback_of(HAWSER_CAUSE_OTHER, 1), 2);
    expect_none(&r);
    assert_true(r.decider.value[HW_KNOB_SYNC] == 1 && r.decider.trial.stage == HW_TRIAL_NONE);
    return r;
}

static void progress_per_clock_that_falls_behind_ends_staleness_for_the_run(void **state)
{
    (void)state;
    for (int behind = 0; behind < 2; behind++) {
        run r = with_staleness();
        hw_feedback other = feedback_of(HAWSER_CAUSE_OTHER, 1), turns = feedback_of(HAWSER_CAUSE_TURNS, 1);
        pass(&r, other, 1);
        pass(&r, other, behind ? 0.6 : 0.7); /* the limit is 1 / 1.5 */
        if (!behind) {
            expect_none(&r);
        } else {
            expect_change(&r, HW_KNOB_SYNC, 1, 0);
            for (int i = 0; i < 200; i++)
                pass(&r, turns, 1);
            expect_none(&r);
        }
        hw_decider_close(&r.decider);
    }
}

/* The metric rises at one point, which may be noise, or at two; or it is not finite. */
static void the_guard_undoes_the_last_change_if_the_metric_rises_twice(void **state)
{
    (void)state;
    enum { ONCE, TWICE, NOT_FINITE };
    for (int kind = ONCE; kind <= NOT_FINITE; kind++) {
        run r = with_staleness();
        hw_feedback other = feedback_of(HAWSER_CAUSE_OTHER, 1);
        hw_decider_point(&r.decider, r.seconds, r.clocks, kind == NOT_FINITE ? INFINITY : exp(r.y + 1));
        if (kind != NOT_FINITE)
            expect_none(&r);
        if (kind == TWICE)
            hw_decider_point(&r.decider, r.seconds, r.clocks, exp(r.y + 1.1));
        if (kind == ONCE)
            expect_none(&r);
        else
            expect_change(&r, HW_KNOB_SYNC, 1, 0);
        assert_int_equal(r.decider.barred[HW_KNOB_SYNC], kind != ONCE);
        pass(&r, other, 1);
        hw_decider_close(&r.decider);
    }
}

/* An encoding that never makes clocks shorter is tried after 2, 4, 8 ... windows. One that does, and holds progress up, is
 * undone three times, and then never tried again. */
static void three_changes_undone_end_all_changes(void **state)
{
    (void)state;
    hw_bounds bounds = wide;
    for (int k = 0; k < HW_KNOBS; k++)
        if (k != HW_KNOB_ENCODING)
            bounds.least[k] = bounds.most[k];
    for (int harms = 0; harms < 2; harms++) {
        run r = open_run(&bounds);
        hw_instruction made;
        int tries = 0, windows[20] = {0};
        bool narrow = false;
        for (int i = 0; i < 3; i++)
            pass(&r, feedback_of(HAWSER_CAUSE_OTHER, 1), 0.1);
        for (int i = 0; i < 200; i++) {
            pass(&r, feedback_of(HAWSER_CAUSE_LINK, harms && narrow ? 0.5 : 1), harms && narrow ? 0.02 : 0.1);
            while (hw_decider_next(&r.decider, &made)) {
                narrow = made.to > 0;
                if (narrow)
                    windows[tries++] = i;
            }
        }
        if (harms)
            assert_int_equal(tries, HW_UNDONE_MOST);
        else
            assert_true(tries > HW_UNDONE_MOST && tries < 8 && windows[2] - windows[1] > windows[1] - windows[0]);
        assert_true(r.decider.defaulted == harms);
        hw_decider_close(&r.decider);
    }
}

/* ---- drawn feedback ---- */

typedef struct seen {
    double value[HW_KNOBS], shares[BLOCKS];
} seen;

static double drawn(hw_random *random, double low, double high)
{
    return low + (high - low) * hw_random_uniform(random);
}

/* Checks all changes after one window or point against what holds before. */
static void check_changes(run *r, const hw_bounds *bounds, seen *now)
{
    hw_instruction made;
    int changes = 0;
    bool was_defaulted = r->decider.defaulted;
    while (hw_decider_next(&r->decider, &made)) {
        double *place = made.knob == HW_KNOB_SHARE ? &now->shares[made.block] : &now->value[made.knob];
        if (made.from != *place || made.to == made.from)
            fail_msg("knob %d: %g -> %g, and it is %g", (int)made.knob, made.from, made.to, *place);
        if (made.to < bounds->least[made.knob] || made.to > bounds->most[made.knob])
            fail_msg("knob %d became %g, outside of %g to %g", (int)made.knob, made.to, bounds->least[made.knob],
                     bounds->most[made.knob]);
        *place = made.to;
        changes++;
    }
    if (changes > 1 && !was_defaulted)
        fail_msg("%d changes at once", changes);
}

static void check_drawn_run(uint64_t seed)
{
    hw_random random = hw_random_at(seed, 0, 0, 0);
    hw_bounds bounds = wide;
    bounds.is_gap = hw_random_uniform(&random) < 0.5;
    bounds.least[HW_KNOB_GAIN] = hw_random_uniform(&random) < 0.5 ? 0.5 : 1;
    if (hw_random_uniform(&random) < 0.5) { /* a state with a filter keeps its form */
        bounds.most[HW_KNOB_ENCODING] = 0;
        bounds.least[HW_KNOB_QUOTA] = 64;
        bounds.start[HW_KNOB_QUOTA] = bounds.most[HW_KNOB_QUOTA] = 4000;
    }
    run r = open_run(&bounds);
    seen now;
    memcpy(now.value, bounds.start, sizeof now.value);
    for (int b = 0; b < BLOCKS; b++)
        now.shares[b] = 1;
    double first_lost = 0;
    for (int i = 0; i < 200; i++) {
        double pace[BLOCKS];
        for (int b = 0; b < BLOCKS; b++)
            pace[b] = drawn(&random, 0.5, 6);
        hw_feedback feedback = feedback_of((hawser_cause)(5 * hw_random_uniform(&random)), drawn(&random, 0.1, 2));
        feedback.found.number = (uint32_t)(BLOCKS * hw_random_uniform(&random));
        feedback.units = hw_random_uniform(&random);
        feedback.sent = drawn(&random, 0, 5000);
        feedback.pace = pace;
        hw_decider_window(&r.decider, &feedback);
        check_changes(&r, &bounds, &now);
        r.seconds += feedback.found.seconds;
        r.clocks += 10;
        r.y -= drawn(&random, -0.2, 1);
        double metric = hw_random_uniform(&random) < 0.02 ? (double)NAN : bounds.is_gap ? exp(r.y) : r.y;
        hw_decider_point(&r.decider, r.seconds, r.clocks, metric);
        check_changes(&r, &bounds, &now);
        first_lost = first_lost > 0 ? first_lost : r.decider.lost;
        bool guarded = r.decider.undone > 0; /* the guard may end a trial, whose loss nothing could foresee */
        /* A trial that began in time may last longer, as the encoding may change and points may have no finite metric. */
        if (!guarded && r.decider.lost > first_lost + HW_LOST_SHARE * r.clocks + 60)
            fail_msg("seed %d: lost trials took %g of %g clocks", (int)seed, r.decider.lost, r.clocks);
        assert_true(r.decider.undone <= HW_UNDONE_MOST);
        if (r.decider.defaulted && memcmp(now.value, bounds.start, sizeof now.value) != 0)
            fail_msg("seed %d: the settings are not those of the start", (int)seed);
    }
    hw_decider_close(&r.decider);
}

static void drawn_feedback_keeps_bounds_and_budget(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++)
        check_drawn_run(seed);
}

/* States are kept before a change. They return when the metric rises twice, or is not finite, and the metric is judged anew
 * from where it was then. */
static void states_are_kept_before_a_change_and_return(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const double harm = i == 0 ? 5 : i == 1 ? INFINITY : i == 2 ? (double)NAN : 1.5;
        hw_bounds bounds = wide;
        bounds.returns = bounds.often = true;
        bounds.least[HW_KNOB_GAIN] = 0.5;
        bounds.most[HW_KNOB_ENCODING] = 0;
        run r = open_run(&bounds);
        pass_until_change(&r, feedback_of(HAWSER_CAUSE_OTHER, 1), 0.1);
        expect_change(&r, HW_KNOB_POINT, 0, 0);
        expect_change(&r, HW_KNOB_GAIN, 1, 0.5);
        const double kept = r.y;
        for (int point = 0; point < (isfinite(harm) ? 2 : 1); point++) {
            expect_none(&r);
            hw_decider_point(&r.decider, r.seconds += 1, r.clocks += 10, harm * exp(r.y));
        }
        expect_change(&r, HW_KNOB_POINT, 0, 1);
        expect_change(&r, HW_KNOB_GAIN, 0.5, 1);
        assert_non_null(strstr(r.decider.reason, "undone and barred"));
        assert_true(r.decider.barred[HW_KNOB_GAIN] && r.decider.best == kept && r.decider.rises == 0);
        for (int point = 0; point < 3; point++) /* small rises of the returned states are no harm */
            pass(&r, feedback_of(HAWSER_CAUSE_OTHER, 1), 0.1);
        expect_none(&r);
        hw_decider_close(&r.decider);
    }
}

/* Where states cannot return, or at the start's settings, nothing is said of points. */
static void nothing_is_kept_where_nothing_changes(void **state)
{
    (void)state;
    hw_bounds bounds = wide;
    bounds.returns = bounds.often = true;
    for (int k = 0; k < HW_KNOBS; k++)
        bounds.least[k] = bounds.most[k] = bounds.start[k];
    run r = open_run(&bounds);
    for (int i = 0; i < 20; i++) {
        pass(&r, feedback_of(HAWSER_CAUSE_LINK, 1), i % 2 == 0 ? 0.1 : -0.2);
        expect_none(&r);
    }
    hw_decider_point(&r.decider, r.seconds + 1, r.clocks + 1, (double)NAN);
    expect_none(&r);
    hw_decider_close(&r.decider);
}

/* A setting that stays for long has its states kept anew, so that a return loses few clocks: between turns of a loop around
 * it at each good point, else once 50 clocks and an eighth of all have passed. */
static void states_are_kept_anew(void **state)
{
    (void)state;
    for (int often = 0; often < 2; often++) {
        hw_bounds bounds = wide;
        bounds.returns = true;
        bounds.often = often;
        bounds.most[HW_KNOB_SYNC] = bounds.most[HW_KNOB_ENCODING] = 0;
        run r = open_run(&bounds);
        r.decider.value[HW_KNOB_WORK] = r.decider.sent[HW_KNOB_WORK] = 2; /* it goes on with that */
        uint32_t kept = 0;
        for (int i = 0; i < 100; i++) {
            pass(&r, feedback_of(HAWSER_CAUSE_OTHER, 1), 0.1);
            hw_instruction made;
            while (hw_decider_next(&r.decider, &made)) {
                assert_true(made.knob == HW_KNOB_POINT && made.to == 0);
                kept++;
            }
        }
        if (often ? kept < 10 || kept > 25 : kept != 100)
            fail_msg("states were kept %u times", kept);
        hw_decider_close(&r.decider);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_busy_link_gets_fewer_bits_and_then_more_work),
        cmocka_unit_test(a_busy_link_gets_a_quota),
        cmocka_unit_test(a_staleness_is_compared_with_bsp_anew),
        cmocka_unit_test(a_trial_allows_for_progress_that_slows_down),
        cmocka_unit_test(a_quota_rises_while_clocks_stay_as_long),
        cmocka_unit_test(a_gain_is_halved_once_for_any_known_cause),
        cmocka_unit_test(blocks_that_mostly_wait_get_the_fewest_bits_at_once),
        cmocka_unit_test(an_encoding_changes_within_the_trial_of_a_gain),
        cmocka_unit_test(an_encoding_is_undone_if_clocks_stay_as_long),
        cmocka_unit_test(an_encoding_is_undone_if_progress_per_clock_falls_behind_twice),
        cmocka_unit_test(a_slow_worker_gets_the_share_that_makes_it_even),
        cmocka_unit_test(a_trial_is_kept_if_progress_was_larger_than_in_both_old_windows),
        cmocka_unit_test(a_gain_that_a_first_fall_beats_is_compared_with_the_old_value_again),
        cmocka_unit_test(a_gain_needs_no_window),
        cmocka_unit_test(a_trial_that_the_second_old_window_matches_is_lost),
        cmocka_unit_test(progress_per_clock_that_falls_behind_ends_staleness_for_the_run),
        cmocka_unit_test(the_guard_undoes_the_last_change_if_the_metric_rises_twice),
        cmocka_unit_test(three_changes_undone_end_all_changes),
        cmocka_unit_test(drawn_feedback_keeps_bounds_and_budget),
        cmocka_unit_test(states_are_kept_before_a_change_and_return),
        cmocka_unit_test(nothing_is_kept_where_nothing_changes),
        cmocka_unit_test(states_are_kept_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
